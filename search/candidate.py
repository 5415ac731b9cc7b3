"""`Candidate`: a kernel with opts that may be tried, and when two of them are one.

Two are merged where the resulting kernels are the same, whatever Opts led there (`state_key`, arithmetic on sizes), and
where the programs are the same (`Candidate.key`, after lowering).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable
from enum import StrEnum
from functools import cached_property

from kernels import CODEGEN_VERSION, Kernel, Opt, Program, ProgramError
from kernels.state import KernelState, Split, rules_newest_first


class Origin(StrEnum):
    """Which of the two kernels that a search begins with a candidate comes from."""

    HEURISTIC = "heuristic"
    UNOPTIMISED = "unoptimised"


class Candidate:
    """A kernel with opts. It is lowered when its program is first asked for, and only once."""

    def __init__(self, kernel: Kernel, origin: Origin) -> None:
        self.kernel = kernel
        self.origin = origin

    @property
    def opts(self) -> tuple[Opt, ...]:
        """The Opts in the order in which they were applied."""
        return self.kernel.applied_opts

    @cached_property
    def state_key(self) -> Hashable:
        """Equal for candidates whose resulting kernels are the same."""
        return state_key(self.kernel.state)

    @cached_property
    def lowered(self) -> Program | ProgramError:
        """The program, or the error that says which limit is in the way of one."""
        try:
            return self.kernel.to_program()
        except ProgramError as error:
            return error

    @cached_property
    def key(self) -> str:
        """SHA-256 (hex) that names the program; where there can be none, the opts."""
        program = self.lowered
        document: list[object]
        if isinstance(program, ProgramError):
            document = ["opts", CODEGEN_VERSION, [opt.to_wire() for opt in self.opts]]
        else:
            sizes = [str(size) for size in program.global_size]
            document = ["program", program.codegen_version, program.source, program.name, sizes, program.local_size]
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()


def state_key(state: KernelState) -> Hashable:
    """What the axes are, and how those of the nest come from them: all that a program depends on.

    Each axis is described by its size, the nest's axis that it is a part of and by how much a step moves along that and
    along each padded axis. Launched axes and loops are in order, since that decides the launch and the nesting. Upcast
    and unroll axes are not: they are registers, whichever was made first.
    """
    steps, pads = _steps(state)
    axes = [(size, *steps[axis], pads.get(axis, ())) for axis, size in zip(state.ids, state.sizes, strict=True)]
    registers = zip(state.unrolled, axes[state.first_upcast :], strict=True)
    return (
        (state.n_global, state.first_reduce, state.first_loop, state.no_locals),
        tuple(axes[: state.first_upcast]),
        # sizes of registers are plain integers, so all that is compared is numbers
        tuple(sorted(registers, key=repr)),
        None if state.tc is None else state.opts[0],
    )


def _steps(state: KernelState) -> tuple[dict[int, tuple[int, int]], dict[int, tuple[tuple[int, int, int], ...]]]:
    """By axis id: (the nest's axis, the step along it), and (old size, new size, step) for each padding it is under."""
    parts: dict[int, dict[int, int]] = {axis: {axis: 1} for axis in state.ids}
    pads: dict[int, tuple[tuple[int, int, int], ...]] = {}
    for rule in rules_newest_first(state):
        if isinstance(rule, Split):
            whole = {axis: step * rule.inner_size for axis, step in parts.pop(rule.outer).items()}
            parts[rule.parent] = whole | parts.pop(rule.inner)
        else:
            parts[rule.parent] = parts.pop(rule.padded)
            for axis, step in parts[rule.parent].items():
                pads[axis] = (*pads.get(axis, ()), (rule.old_size, rule.new_size, step))
    return {axis: (root, step) for root, own in parts.items() for axis, step in own.items()}, pads
