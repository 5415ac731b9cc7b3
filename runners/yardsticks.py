"""What a kernel's outputs can be held against, in the order in which it is tried.

The NumPy reference over everything where that is cheap. Else a program of the same kernel that is held against the
reference in a sample: the unoptimised one, or the heuristic's where that one would take too long.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

from kernels import Ast, Kernel, Program
from kernels.estimate import estimate
from kernels.index import upper
from runners.api import DeviceInfo, DeviceKind

#: Up to so many operations the reference over everything takes well under a second.
WHOLE_OPERATIONS = 30_000_000
#: An unoptimised program that is predicted to run longer is no yardstick.
UNOPTIMISED_S = 2.0
#: Operations a second of one work-item at a time, as unoptimised programs do at the least: on a processor's thread, and
#: on one lane of a graphics processor.
_THREAD_RATE, _LANE_RATE = 2e8, 2e7
#: Lanes of a multiprocessor that work at once.
_LANES = 64


@dataclass(frozen=True, slots=True)
class Yardstick:
    """name: what outputs are held against. beside_unoptimised: the unoptimised program's bits are wanted as well."""

    name: Literal["reference", "unoptimised", "heuristic"]
    beside_unoptimised: bool = False


def yardsticks_of(ast: Ast, info: DeviceInfo) -> tuple[Yardstick, ...]:
    """The first is the right one; those after it are for where a program does not run. The last needs no device."""
    kernel = Kernel(ast, info.target)
    operations, _ = estimate(kernel.nest, kernel.state)
    if operations <= WHOLE_OPERATIONS:
        return Yardstick("reference", beside_unoptimised=True), Yardstick("reference")
    slow = predicted_unoptimised_s(kernel, operations, info) > UNOPTIMISED_S
    programs = (Yardstick("heuristic"),) if slow else (Yardstick("unoptimised"), Yardstick("heuristic"))
    return *programs, Yardstick("reference")


def predicted_unoptimised_s(kernel: Kernel, operations: int, info: DeviceInfo) -> float:
    """Seconds that an unoptimised kernel takes: its operations, shared by as many work-items as can go at once."""
    items = prod(upper(size) for size in kernel.full_shape[: kernel.global_dims])
    gpu = info.kind is DeviceKind.GPU
    at_once = min(items, info.identity.compute_units * (_LANES if gpu else 1))
    return operations / (at_once * (_LANE_RATE if gpu else _THREAD_RATE))


def yardstick_program(ast: Ast, info: DeviceInfo, *, heuristic: bool) -> Program:
    """The unoptimised or the heuristic's program. Raises ProgramError where there is none for the device."""
    kernel = Kernel(ast, info.target)
    return (kernel.default_opts() if heuristic else kernel).to_program()
