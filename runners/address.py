"""`DeviceAddress`: where a device is found on this machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeviceAddress:
    """A device of a driver. library: the driver, as the ICD loader is told. The numbers count what it shows."""

    backend: str
    library: str
    platform_index: int
    device_index: int
