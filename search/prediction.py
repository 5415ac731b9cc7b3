"""What is predicted of a program before anything runs: rough, and only used to leave out what is hopeless."""

from __future__ import annotations

from math import prod

from kernels import Program
from kernels.index import upper
from runners.api import DeviceInfo, DeviceKind

#: A candidate with this many times the work of the best one is not run.
HOPELESS_WORK = 1000.0
#: Simple operations a second that a compute unit does in a program without vectors or work-groups.
_PLAIN_OPERATIONS = 1e9
#: Work-items that a graphics processor moves at once.
_GPU_LANES = 32


def predicted_work(program: Program, device: DeviceInfo) -> float:
    """Operations, or bytes where they are more, times the share of the device that would be idle.

    A unit is idle where there are fewer work-groups than units, a GPU's lane where a group is smaller than a warp. For
    comparing two programs of one kernel; no unit.
    """
    items = prod(program.local_size or (1, 1, 1))
    lanes = _GPU_LANES if device.kind is DeviceKind.GPU and program.local_size is not None else 1
    idle = device.identity.compute_units / _busy_units(program, device) * lanes / min(lanes, items)
    return max(program.operations, program.bytes, 1) * idle


def predicted_plain_s(program: Program, device: DeviceInfo) -> float:
    """Seconds that a program without any Opts takes, within a factor of ten."""
    return program.operations / (_PLAIN_OPERATIONS * _busy_units(program, device))


def _busy_units(program: Program, device: DeviceInfo) -> int:
    groups = prod(upper(size) for size in program.global_size)
    return max(min(device.identity.compute_units, groups), 1)
