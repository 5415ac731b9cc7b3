"""What a device's child needs of a backend. One implementation for each way to reach a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kernels.reference.formats import Array
from runners.api import DeviceInfo


@dataclass(frozen=True, slots=True)
class Listed:
    """A device that a driver shows: where it is, and what it says of itself. platform: the driver's name for itself."""

    platform_index: int
    device_index: int
    platform: str
    info: DeviceInfo


@dataclass(frozen=True, slots=True)
class RunTime:
    """Seconds of one run: by the device's own clock (None where it tells none), and from asking to knowing it ended."""

    device_s: float | None
    wall_s: float


class Memory(Protocol):
    """Bytes on a device."""

    def write(self, data: Array, offset_bytes: int = 0) -> None:
        """Copy `data` to `offset_bytes` and on. Raises BackendError."""
        ...

    def read(self, size_bytes: int, offset_bytes: int = 0) -> Array:
        """A copy of the bytes there, as uint8. Raises BackendError."""
        ...

    def copy_from(self, other: Memory) -> None:
        """Take over the contents of as large a memory, on the device. Raises BackendError."""
        ...

    def part(self, offset_bytes: int, size_bytes: int) -> Memory:
        """A part of it, which shares its bytes."""
        ...


class Executable(Protocol):
    """A program that was compiled."""

    @property
    def work_group_max(self) -> int:
        """Work-items that a work-group of it may have on this device."""
        ...

    @property
    def shared_bytes(self) -> int:
        """Local memory that a work-group of it takes."""
        ...


class OpenDevice(Protocol):
    """A device that is in use."""

    @property
    def info(self) -> DeviceInfo:
        """What the device says of itself."""
        ...

    def build(self, source: str, name: str) -> Executable:
        """Compile the entry point `name`. Raises BuildError with the compiler's words."""
        ...

    def allocate(self, size_bytes: int) -> Memory:
        """Memory of any content. Raises OutOfMemoryError."""
        ...

    def run(
        self,
        executable: Executable,
        items: tuple[int, int, int],
        local_size: tuple[int, int, int] | None,
        buffers: Sequence[Memory],
        values: Sequence[int],
    ) -> RunTime:
        """Run to the end: arguments are the buffers, then the values as int32. Raises BackendError."""
        ...


class Backend(Protocol):
    """A way to reach devices."""

    def list_devices(self) -> tuple[Listed, ...]:
        """Every device of every platform that this process sees."""
        ...

    def open(self, platform_index: int, device_index: int) -> OpenDevice:
        """A device, ready for use. Raises BackendError."""
        ...
