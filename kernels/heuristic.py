"""The hand-coded heuristic: Opts that are good on most devices, chosen without measuring.

It is the baseline that every search is held against, so it chooses exactly what tinygrad 0.10.2's does. Each step looks
at the kernel as the steps before have left it, and an Opt that is refused is skipped:

    matrix-vector   group the reduction, a few rows per work-item; then done
    group           few outputs: spread the reduction over a work-group; then done
    masked          small masked axes become registers, so that the masks are decided when compiling
    reuse           upcast axes on which some operand does not change, while there is enough parallel work
    unroll          the last reduced axis, if short
    vectorise       something has to be upcast
    locals          work-groups of up to 128
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cmp_to_key
from math import prod

from kernels.apply import apply_opt
from kernels.errors import KernelOptError
from kernels.index import Index, lower, product, upper
from kernels.ir import ReduceArg
from kernels.nest import Nest
from kernels.ops import Ops
from kernels.opt import Opt, OptOps
from kernels.raw_view import carried_strides
from kernels.rows import masked_axes, row_spans, row_strides
from kernels.state import KernelState
from kernels.target import Target


@dataclass(frozen=True, slots=True)
class HeuristicSettings:
    """What can be set: the matrix-vector step and its numbers, and NOLOCALS in place of locals."""

    matrix_vector: bool = True
    block_size: int = 4
    threads_per_row: int = 8
    rows_per_thread: int = 4
    no_locals: bool = False


DEFAULT_SETTINGS = HeuristicSettings()

#: Matrix-vector and grouping: outputs up to which the reduction is worth spreading, and by how much.
_GROUP_OUTPUTS = 2048
_FEW_OUTPUTS = 32
#: Masked axes: the most elements of one, and of all that is upcast together (a 3x3 Winograd tile has 7x7).
_MASKED_SIZE = 7
_MASKED_PRODUCT = 49
#: Reuse: outputs that must be left to run in parallel.
_PARALLEL_OUTPUTS = 1024
_WORK_GROUP = 128


def hand_coded(
    state: KernelState, nest: Nest, target: Target, settings: HeuristicSettings = DEFAULT_SETTINGS
) -> KernelState:
    """The state with the heuristic's Opts applied, tensor cores aside."""
    steps = _Steps(state, nest, target, settings)
    if not steps.matrix_vector():
        steps.group()
        if not steps.state.n_group:
            steps.masked()
            steps.reuse()
            steps.unroll()
            steps.vectorise()
            steps.locals()
    return steps.state


class _Steps:
    """The steps, over one kernel's state as it changes."""

    def __init__(self, state: KernelState, nest: Nest, target: Target, settings: HeuristicSettings) -> None:
        self.state = state
        self.nest = nest
        self.target = target
        self.settings = settings

    def try_opt(self, op: OptOps, axis: int | None = None, arg: int | None = None) -> bool:
        """Apply the Opt unless it is refused; True if it was applied."""
        try:
            self.state = apply_opt(self.state, Opt(op, axis, arg), self.nest, self.target)
        except KernelOptError:
            return False
        return True

    def matrix_vector(self) -> bool:
        """A product of a matrix and a vector, read along the matrix' rows: True if that is what the kernel is."""
        settings, state = self.settings, self.state
        if not (settings.matrix_vector and self._can_group() and self._is_row_product()):
            return False
        length = state.sizes[state.first_reduce]
        if not isinstance(length, int) or length % settings.threads_per_row:
            return False
        for axis in range(state.n_global):
            size = state.sizes[axis]
            if isinstance(size, int) and size % (settings.block_size * settings.rows_per_thread) == 0:
                if settings.threads_per_row > 1:
                    self.try_opt(OptOps.GROUP, 0, settings.threads_per_row)
                if settings.block_size > 1:
                    self.try_opt(OptOps.LOCAL, axis, settings.block_size)
                if settings.rows_per_thread > 1:
                    self.try_opt(OptOps.UPCAST, axis, settings.rows_per_thread)
                return True
        return False

    def _can_group(self) -> bool:
        return self.target.has_local and self.target.has_shared

    def _is_row_product(self) -> bool:
        """The first reduction sums products of two loads, the first of them read along it, and one is not broadcast."""
        state, ast = self.state, self.nest.ast
        if not self.nest.reduces or len(state.sizes) < 2 or state.first_reduce >= len(state.sizes):
            return False
        reduce = ast.nodes[self.nest.reduces[0]]
        value = ast.nodes[reduce.src[0]]
        summed = isinstance(reduce.arg, ReduceArg) and reduce.arg.op is Ops.ADD and value.op is Ops.MUL
        if not summed or any(ast.nodes[source].op is not Ops.LOAD for source in value.src):
            return False
        first, second = (row_strides(state, self.nest, self.nest.access_of(source).row) for source in value.src)
        return first[state.first_reduce] == 1 and not (0 in first and 0 in second)

    def group(self) -> None:
        """Few outputs: spread the first reduced axis over a work-group, from the top."""
        state = self.state
        outputs = state.sizes[: state.first_reduce]
        if not self._can_group() or len(outputs) > 2 or len(outputs) == len(state.sizes):
            return
        plain = [size for size in outputs if isinstance(size, int)]
        if len(plain) < len(outputs) or prod(plain) > _GROUP_OUTPUTS or self._has_vector_output():
            return
        length = state.sizes[state.first_reduce]
        for amount in (256, 16) if prod(plain) <= _FEW_OUTPUTS else (16,):
            if isinstance(length, int) and length % amount == 0 and self.try_opt(OptOps.GROUPTOP, 0, amount):
                return

    def _has_vector_output(self) -> bool:
        """The output is written along an upcast axis of a multiple of 4."""
        state, output = self.state, self.nest.accesses[0].row
        strides = row_strides(state, self.nest, output)
        spans = row_spans(state, output)
        return any(
            spans[axis] and strides[axis] == 1 and _plain(state.sizes[axis]) % 4 == 0
            for axis in range(state.first_upcast, len(state.sizes))
        )

    def masked(self) -> None:
        """Small masked axes are upcast whole."""
        state = self.state
        masked = set().union(*(masked_axes(state, self.nest, row) for row in self.nest.rows))
        chosen: list[int] = []
        lanes = prod(_plain(size) for size in state.sizes[state.first_upcast :])
        for axis in range(state.first_reduce):
            size = state.sizes[axis]
            if not isinstance(size, int) or size > _MASKED_SIZE or state.ids[axis] not in masked:
                continue
            if lanes * size <= _MASKED_PRODUCT:
                chosen.append(axis)
                lanes *= size
        for axis in reversed(chosen):
            self.try_opt(OptOps.UPCAST, axis, 0)

    def reuse(self) -> None:
        """Upcast axes on which an operand stays the same, by 3 or 4, those that disturb the others least first."""
        used: set[int] = set()
        while upper(product(self.state.sizes[: self.state.first_reduce])) >= _PARALLEL_OUTPUTS:
            choices = self._reuse_choices(used)
            if not choices:
                return
            # sorted, not min: with sums that do not compare, the order that sorting leaves them in decides
            best = sorted(choices, key=cmp_to_key(_compare_choices))[0]
            self.try_opt(OptOps.UPCAST, best.axis, best.amount)
            used.add(best.axis)

    def _reuse_choices(self, used: set[int]) -> list[_Choice]:
        state, rows = self.state, self.nest.rows
        raw = [carried_strides(state, row.raw) for row in rows]
        free = [0 not in row_strides(state, self.nest, row)[state.first_upcast :] for row in rows]
        choices: list[_Choice] = []
        for axis in range(state.first_reduce):
            size = state.sizes[axis]
            if axis in used or not isinstance(size, int):
                continue
            strides = tuple(own[axis] for own in raw)
            if any(stride == 0 and unused for stride, unused in zip(strides, free, strict=True)):
                choices += [_Choice(strides, axis, amount) for amount in (3, 4) if size % amount == 0]
        return choices

    def unroll(self) -> None:
        """The last reduced axis: whole if short (and the next with it if both are very short), else by 4."""
        state = self.state
        lanes = prod(_plain(size) for size in state.sizes[state.first_upcast :])
        if state.first_reduce == state.first_upcast or lanes >= 64 or (lanes > 4 and any(state.unrolled)):
            return
        size = state.sizes[state.first_upcast - 1]
        if not isinstance(size, int):
            return
        if size > 32:
            if size % 4 == 0:
                self._unroll_last(4)
            return
        self._unroll_last(0)
        state = self.state
        if state.first_reduce < state.first_upcast and size <= 3:
            following = state.sizes[state.first_upcast - 1]
            if isinstance(following, int) and following <= 3:
                self._unroll_last(0)

    def _unroll_last(self, amount: int) -> None:
        self.try_opt(OptOps.UNROLL, self.state.first_upcast - 1 - self.state.first_reduce, amount)

    def vectorise(self) -> None:
        """Where nothing is upcast yet, the last axis is, by 4."""
        state = self.state
        if state.unrolled or not state.sizes:
            return
        size = state.sizes[-1]
        if isinstance(size, int) and size % 4 == 0:
            self.try_opt(OptOps.UPCAST, len(state.sizes) - 1, 4)

    def locals(self) -> None:
        """Make up to three axes local, those on which an operand stays the same first, then the innermost first."""
        if not self.target.has_local:
            return
        if self.settings.no_locals and not self.state.n_local and not self.state.n_group:
            self.try_opt(OptOps.NOLOCALS)
            return
        state = self.state
        raw = [carried_strides(state, row.raw) for row in self.nest.rows]
        ranked = sorted(range(state.first_reduce), key=lambda axis: (all(own[axis] != 0 for own in raw), -axis))
        chosen: list[tuple[int, int]] = []
        items = 1
        for axis in ranked:
            size = state.sizes[axis]
            amounts = (32, 16, 8, 4, 3, 2) if axis == 0 else (16, 8, 4, 3, 2)
            fitting = (n for n in amounts if isinstance(size, int) and size % n == 0 and items * n <= _WORK_GROUP)
            amount = next(fitting, None)
            if amount is not None:
                chosen.append((axis, amount))
                items *= amount
        gone = 0
        for axis, amount in sorted(chosen[:3]):
            whole = self.state.sizes[axis - gone] == amount
            self.try_opt(OptOps.LOCAL, axis - gone, amount)
            gone += whole


def _plain(size: Index) -> int:
    """The size of an upcast axis, which is always a plain integer."""
    assert isinstance(size, int)
    return size


@dataclass(frozen=True, slots=True)
class _Choice:
    """An axis that the reuse step may upcast by `amount`, and every row's raw stride on it."""

    strides: tuple[Index, ...]
    axis: int
    amount: int

    @property
    def dynamic(self) -> bool:
        return not all(isinstance(stride, int) for stride in self.strides)

    @property
    def moving(self) -> int:
        return sum(lower(stride) > 0 for stride in self.strides)


def _compare_choices(a: _Choice, b: _Choice) -> int:
    """Order by (rows that move forward, sum of strides, axis, amount).

    tinygrad 0.10.2 counts the rows in bool arithmetic once a stride has a variable in it: then all that is compared is
    whether any row moves.
    """
    if (a.dynamic or b.dynamic) and a.strides != b.strides:
        return bool(a.moving) - bool(b.moving)
    keys = [(c.moving, 0 if c.dynamic else sum(map(lower, c.strides)), c.axis, c.amount) for c in (a, b)]
    return (keys[0] > keys[1]) - (keys[0] < keys[1])
