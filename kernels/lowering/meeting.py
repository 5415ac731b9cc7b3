"""The meeting of a work-group's partial results in shared memory.

every work-item's results into shared memory | barrier | the results of each group reduced again
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from kernels.dtypes import BOOL
from kernels.index import Index
from kernels.lowering.accumulators import identity, taken_in
from kernels.lowering.context import Context
from kernels.lowering.dependence import Reduction
from kernels.lowering.scope import Scope
from kernels.render import memory, opencl, types
from kernels.render.value import Value

BARRIER = "barrier(CLK_LOCAL_MEM_FENCE);"
#: A reduction's accumulators, by their position on the upcast axes.
Results: TypeAlias = dict[tuple[int, ...], Value]


@dataclass(frozen=True, slots=True)
class Shared:
    """Where the partial results of a group are: the array, their first position in it, and of how many work-items."""

    name: str
    base: Index
    count: int


class Meeting:
    """Writes what work-items of one kernel tell each other."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def share(self, reduction: Reduction, results: Results, home: Scope, waits: bool) -> Shared:
        """Put the partial results into shared memory; where it `waits`, until those of all work-items are there."""
        context = self.context
        groups, count, others = self._group_position(reduction)
        first = next(iter(results.values()))
        width, number = first.width, len(results)
        elements = number * width
        total = elements * count * self._others_size(reduction)
        element = Value("", first.dtype, 1, first.mask_bits and 8)
        itemsize = 1 if first.dtype is BOOL else first.dtype.itemsize
        element_type = "char" if first.dtype is BOOL else types.type_of(element)
        name = context.variable("shared")
        context.shared.append(f"__local {element_type} {name}[{total}];")
        context.shared_bytes += total * itemsize
        own = context.integers.text((others * count + groups) * elements, home)
        if home.axes:
            home.lines.append(BARRIER)  # the turn before has read what was there
        for place, chunk in _chunks(list(results.values())):
            home.lines.append(memory.store_shared(name, f"{own}+{place * width}", opencl.from_lanes(chunk)))
        if waits:
            home.lines.append(BARRIER)
        return Shared(name, others * (count * elements), count)

    def combine(self, reduction: Reduction, results: Results, shared: Shared, home: Scope) -> None:
        """Write the statements that make `results` the group's, from the partial ones in shared memory."""
        values, count = list(results.values()), shared.count
        base = self.context.integers.text(shared.base, home)
        lanes = next((lanes for lanes in (16, 8, 4) if count % lanes == 0), 1)
        first, elements = values[0], len(values) * values[0].width
        if elements == 1 and lanes > 1 and self.context.target.vector_widths and first.dtype is not BOOL:
            home.lines += self._combine_in_lanes(reduction, first, shared.name, base, count, lanes)
            return
        start = opencl.widen(identity(reduction.op, first.dtype), first.width)
        lines = [f"{value.text} = {opencl.assignable(start, value)};" for value in values]
        lines.append(f"for (int q = 0; q < {count}; q++) {{")
        for place, chunk in _chunks(values):
            whole = opencl.from_lanes(chunk)
            other = memory.load_shared(shared.name, f"{base}+q*{elements}+{place * first.width}", whole)
            if len(chunk) > 1:
                variable = self.context.variable()
                lines.append(f"  {types.type_of(other)} {variable} = {other.text};")
                other = Value(variable, other.dtype, other.width, simple=True)
            for lane, value in enumerate(chunk):
                one = opencl.lane_of(other, lane) if len(chunk) > 1 else other
                lines.append(f"  {taken_in(reduction.op, value, one)}")
        home.lines += [*lines, "}"]

    def _combine_in_lanes(
        self, reduction: Reduction, value: Value, name: str, base: str, count: int, lanes: int
    ) -> list[str]:
        """As _combine for one scalar: `lanes` partial results at a time, their vector's halves in the end."""
        total = Value(self.context.variable(), value.dtype, lanes, simple=True)
        lines = [f"{types.type_of(total)} {total.text} = {memory.load_shared(name, base, total).text};"]
        if count > lanes:
            lines.append(f"for (int q = {lanes}; q < {count}; q += {lanes}) {{")
            one = memory.load_shared(name, f"{base}+q", total)
            lines.append(f"  {taken_in(reduction.op, total, one)}")
            lines.append("}")
        while total.width > 1:
            low, high = opencl.halves(total)
            text = opencl.accumulated(reduction.op, total.dtype, low, high)
            total = Value(self.context.variable(), total.dtype, low.width, simple=True)
            lines.append(f"{types.type_of(total)} {total.text} = {text};")
        return [*lines, f"{value.text} = {total.text};"]

    def _group_position(self, reduction: Reduction) -> tuple[Index, int, Index]:
        """(position among the group's work-items, how many they are, position of the group among the work-group's)."""
        state, positions = self.context.state, self.context.launch.positions
        groups: Index = 0
        others: Index = 0
        count = 1
        for place in range(state.n_global, state.first_loop):
            axis, size = state.ids[place], state.sizes[place]
            assert isinstance(size, int)
            position = positions.get(axis, 0)
            if axis in reduction.groups:
                groups, count = groups * size + position, count * size
            else:
                others = others * size + position
        return groups, count, others

    def _others_size(self, reduction: Reduction) -> int:
        state, size = self.context.state, 1
        for place in range(state.n_global, state.first_loop):
            if state.ids[place] not in reduction.groups:
                own = state.sizes[place]
                assert isinstance(own, int)
                size *= own
        return size


def _chunks(values: list[Value]) -> Iterator[tuple[int, list[Value]]]:
    """Values with their places, by fours and twos where they are scalar numbers: each chunk is one memory access."""
    place = 0
    while place < len(values):
        left = len(values) - place
        alone = values[0].width > 1 or values[0].dtype is BOOL
        size = 1 if alone or left == 1 else 2 if left < 4 else 4
        yield place, values[place : place + size]
        place += size
