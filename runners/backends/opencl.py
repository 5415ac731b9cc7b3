"""OpenCL devices, by pyopencl. Nothing but a device's child imports this."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyopencl as cl

from kernels.reference.formats import Array
from runners.api import DeviceIdentity, DeviceInfo, DeviceKind, DeviceLimits, Fingerprint
from runners.backends.base import Executable, Listed, Memory, RunTime
from runners.backends.errors import BackendError, BuildError, DeviceLimitError, LaunchError, OutOfMemoryError

#: The log of a compiler that failed is kept to so many characters of its end.
LOG_TAIL = 1500
_MEMORY_CODES = frozenset({cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE, cl.status_code.OUT_OF_HOST_MEMORY})
_LIMIT_CODES = frozenset(
    {
        cl.status_code.INVALID_WORK_GROUP_SIZE,
        cl.status_code.INVALID_WORK_ITEM_SIZE,
        cl.status_code.INVALID_GLOBAL_WORK_SIZE,
    }
)


class OpenCLBackend:
    """The platforms that the loader of this process shows."""

    def list_devices(self) -> tuple[Listed, ...]:
        """Every device of every platform."""
        return tuple(
            Listed(number, place, platform.name, describe(platform, device))
            for number, platform in enumerate(_platforms())
            for place, device in enumerate(_devices(platform))
        )

    def open(self, platform_index: int, device_index: int) -> OpenCLDevice:
        """The device with a context and a queue of its own. Raises LaunchError where it is not there or refuses."""
        with _as_backend_error():
            platform = cl.get_platforms()[platform_index]
            return OpenCLDevice(platform, platform.get_devices()[device_index])


def _platforms() -> list[Any]:
    try:
        return list(cl.get_platforms())
    except cl.LogicError as error:
        if error.code == _PLATFORM_NOT_FOUND:
            return []
        raise


#: What the ICD loader answers where no driver can be loaded (cl_khr_icd).
_PLATFORM_NOT_FOUND = -1001


def _devices(platform: Any) -> list[Any]:
    try:
        return list(platform.get_devices())
    except cl.RuntimeError as error:
        if error.code == cl.status_code.DEVICE_NOT_FOUND:
            return []
        raise


# ---- what a device says of itself ------------------------------------------------------------------------------------


def describe(platform: Any, device: Any) -> DeviceInfo:
    """A device in its driver's own words."""
    kind = _kind(device)
    extensions = device.extensions.split()
    x, y, z = (*device.max_work_item_sizes, 1, 1)[:3]
    return DeviceInfo(
        identity=DeviceIdentity(
            "opencl", device.vendor, device.name, _arch(device, extensions), device.max_compute_units
        ),
        fingerprint=Fingerprint(device.driver_version, platform.version, device.opencl_c_version),
        limits=DeviceLimits(
            memory_bytes=device.global_mem_size,
            max_alloc_bytes=device.max_mem_alloc_size,
            shared_max=device.local_mem_size,
            local_max=(x, y, z),
            work_group_max=device.max_work_group_size,
            fp16="cl_khr_fp16" in extensions,
            fp64="cl_khr_fp64" in extensions,
            float_width=1 if kind is DeviceKind.GPU else _lanes(device.native_vector_width_float),
        ),
        kind=kind,
    )


def _kind(device: Any) -> DeviceKind:
    if device.type & cl.device_type.GPU:
        return DeviceKind.GPU
    return DeviceKind.CPU if device.type & cl.device_type.CPU else DeviceKind.ACCELERATOR


def _lanes(width: int) -> int:
    """The largest vector of OpenCL C within `width` lanes."""
    return max(lanes for lanes in (1, 2, 4, 8, 16) if lanes <= max(width, 1))


def _arch(device: Any, extensions: list[str]) -> str:
    """Of NVIDIA's, from the compute capability, "sm_90"; other drivers do not tell."""
    if "cl_nv_device_attribute_query" not in extensions:
        return ""
    return f"sm_{device.compute_capability_major_nv}{device.compute_capability_minor_nv}"


# ---- a device in use -------------------------------------------------------------------------------------------------


class OpenCLMemory:
    """A buffer, or a part of one."""

    def __init__(self, queue: Any, buffer: Any) -> None:
        self.queue = queue
        self.buffer = buffer

    def write(self, data: Array, offset_bytes: int = 0) -> None:
        """Copy `data` there."""
        if data.nbytes:
            with _as_backend_error():
                cl.enqueue_copy(self.queue, self.buffer, np.ascontiguousarray(data), dst_offset=offset_bytes)

    def read(self, size_bytes: int, offset_bytes: int = 0) -> Array:
        """A copy of the bytes there."""
        found = np.empty(size_bytes, np.uint8)
        if size_bytes:
            with _as_backend_error():
                cl.enqueue_copy(self.queue, found, self.buffer, src_offset=offset_bytes)
        return found

    def copy_from(self, other: Memory) -> None:
        """Take over the other's contents."""
        with _as_backend_error():
            cl.enqueue_copy(self.queue, self.buffer, _buffer_of(other)).wait()

    def part(self, offset_bytes: int, size_bytes: int) -> OpenCLMemory:
        """A sub-buffer; the offset must be a multiple of the device's base alignment."""
        with _as_backend_error():
            return OpenCLMemory(self.queue, self.buffer.get_sub_region(offset_bytes, size_bytes))


def _buffer_of(memory: Memory) -> Any:
    assert isinstance(memory, OpenCLMemory)
    return memory.buffer


class OpenCLExecutable:
    """A built kernel, with what the driver says of it on this device."""

    def __init__(self, kernel: Any, device: Any) -> None:
        self.kernel = kernel
        info = cl.kernel_work_group_info
        self.work_group_max: int = kernel.get_work_group_info(info.WORK_GROUP_SIZE, device)
        self.shared_bytes: int = kernel.get_work_group_info(info.LOCAL_MEM_SIZE, device)


class OpenCLDevice:
    """A device with a context and an in-order queue that tells times."""

    def __init__(self, platform: Any, device: Any) -> None:
        self.info = describe(platform, device)
        self._device = device
        self._context = cl.Context([device])
        self._queue = cl.CommandQueue(self._context, properties=cl.command_queue_properties.PROFILING_ENABLE)

    def build(self, source: str, name: str) -> OpenCLExecutable:
        """Compile without options: none is needed, and those for fast mathematics would change values."""
        program = cl.Program(self._context, source)
        try:
            return OpenCLExecutable(cl.Kernel(program.build(), name), self._device)
        except cl.Error as error:
            raise BuildError(_tail(self._log(program) or str(error))) from error

    def _log(self, program: Any) -> str:
        try:
            return str(program.get_build_info(self._device, cl.program_build_info.LOG)).strip()
        except cl.Error:
            return ""

    def allocate(self, size_bytes: int) -> OpenCLMemory:
        """A buffer. Some drivers find out that there is no room for it only when it is written."""
        try:
            return OpenCLMemory(self._queue, cl.Buffer(self._context, cl.mem_flags.READ_WRITE, size_bytes))
        except cl.Error as error:
            raise OutOfMemoryError(f"no buffer of {size_bytes} bytes: {error}") from error

    def run(
        self,
        executable: Executable,
        items: tuple[int, int, int],
        local_size: tuple[int, int, int] | None,
        buffers: Sequence[Memory],
        values: Sequence[int],
    ) -> RunTime:
        """Run to the end."""
        assert isinstance(executable, OpenCLExecutable)
        with _as_backend_error():
            executable.kernel.set_args(*map(_buffer_of, buffers), *map(np.int32, values))
            started = time.perf_counter()
            event = cl.enqueue_nd_range_kernel(self._queue, executable.kernel, items, local_size)
            event.wait()
            wall_s = time.perf_counter() - started
        return RunTime(_event_s(event), wall_s)


def _event_s(event: Any) -> float | None:
    try:
        return float(event.profile.end - event.profile.start) * 1e-9
    except cl.Error:  # a driver that tells no times
        return None


@contextmanager
def _as_backend_error() -> Iterator[None]:
    """A driver's refusal as what it is for the program at hand."""
    try:
        yield
    except cl.Error as error:
        raise _error_class(error.code)(_tail(str(error))) from error
    except IndexError as error:
        raise LaunchError(f"no such device: {error}") from error


def _error_class(code: int) -> type[BackendError]:
    if code in _MEMORY_CODES:
        return OutOfMemoryError
    return DeviceLimitError if code in _LIMIT_CODES else LaunchError


def _tail(text: str) -> str:
    return text if len(text) <= LOG_TAIL else f"... {text[-LOG_TAIL:]}"
