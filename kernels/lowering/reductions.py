"""Reductions: accumulators in registers, loops, and the meeting of a work-group's partial results in shared memory.

One reduction, or several over the same loops that do not wait for each other, become

    accumulators at the identity
    for (reduce loops) { terms of all unroll lanes, added up in a tree (or one multiply-add each) }
    lanes of a vector accumulator added up
    shared memory: every work-item's partial result | barrier | the group's results reduced again

Half and bfloat16 accumulate in float and are rounded once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernels.dtypes import BFLOAT16, BOOL, FLOAT16, FLOAT32, INT64, DType
from kernels.index import Index, upper
from kernels.lowering.context import Context, Point
from kernels.lowering.dependence import Reduction
from kernels.lowering.scope import Scope
from kernels.ops import Ops
from kernels.render import memory, opencl, types
from kernels.render.value import Value
from kernels.validity import Validity

if TYPE_CHECKING:
    from kernels.lowering.values import Values

#: From so many accumulators on, the latency of one is hidden behind the others.
_CHAINS = 4


class Reductions:
    """Writes the reductions of one kernel."""

    def __init__(self, context: Context, values: Values) -> None:
        self.context = context
        self.values = values
        self._written: set[int] = set()
        self._needs = self._reductions_below()

    def write(self, node: int, scope: Scope) -> None:
        """Write reduction number `node`, with those that can share its loops, where it belongs around `scope`."""
        if node in self._written:
            return
        home = scope.home(self.context.loop_axes[node])
        together = [node, *self._companions(node, home)]
        self._written.update(together)
        reductions = [self.context.dependence.reductions[each] for each in together]
        partial = {reduction.node: self._accumulators(reduction, home) for reduction in reductions}
        inner = self.open_loops(reductions[0].loops, home)
        for reduction in reductions:
            self._accumulate(reduction, partial[reduction.node], inner)
        self.close_loops(reductions[0].loops, inner)
        for reduction in reductions:
            results = self._horizontal(reduction, partial[reduction.node], home)
            self._repeat(reduction, results, home)
            if reduction.groups:
                self._across_group(reduction, results, home)
            self._finish(reduction, results, home)

    def _reductions_below(self) -> dict[int, frozenset[int]]:
        """Per reduction, those that its source needs, directly or not."""
        nodes = self.context.nest.ast.nodes
        below: list[frozenset[int]] = []
        result: dict[int, frozenset[int]] = {}
        for number, found in enumerate(nodes):
            own = frozenset().union(*(below[source] for source in found.src))
            if found.op is Ops.REDUCE_AXIS:
                result[number] = own
                own |= {number}
            below.append(own)
        return result

    def _companions(self, node: int, home: Scope) -> list[int]:
        """The other reductions over the same loops and group axes that could be written here, now."""
        context, first = self.context, self.context.dependence.reductions[node]
        found = []
        for number, other in context.dependence.reductions.items():
            same = other.loops == first.loops and other.groups == first.groups and bool(first.loops)
            if number == node or number in self._written or not same:
                continue
            if home is not home.home(context.loop_axes[number]) or not context.loop_axes[number] <= home.axes:
                continue
            waits = (each for each in self._needs[number] if each not in self._written)
            if not any(context.loop_axes[each] <= home.axes for each in waits):
                found.append(number)
        return found

    def _accumulating(self, reduction: Reduction) -> DType:
        dtype = self.context.nest.ast.nodes[reduction.node].dtype
        assert dtype is not None
        return FLOAT32 if dtype in (FLOAT16, BFLOAT16) else dtype

    def _has_own_lanes(self, reduction: Reduction) -> bool:
        lanes = self.context.lanes.axes
        return bool(lanes) and lanes[0] in reduction.unrolls

    def _accumulators(self, reduction: Reduction, home: Scope) -> dict[tuple[int, ...], Value]:
        """A variable at the identity for each upcast position of the result."""
        context = self.context
        source = context.nest.ast.nodes[reduction.node].src[0]
        width = context.lanes.width if context.is_vector(source) else 1
        identity = opencl.widen(_identity(reduction.op, self._accumulating(reduction)), width)
        result: dict[tuple[int, ...], Value] = {}
        for point in context.points(context.outer[reduction.node]):
            name = context.variable("s")
            home.lines.append(f"{types.type_of(identity)} {name} = {identity.text};")
            result[tuple(point.values())] = Value(name, identity.dtype, width, identity.mask_bits, simple=True)
        return result

    def open_loops(self, loops: tuple[int, ...], scope: Scope) -> Scope:
        """The scope inside `loops`, to be written in until close_loops."""
        for axis in loops:
            scope = Scope(scope, scope.axes | {axis})
        return scope

    def close_loops(self, loops: tuple[int, ...], inner: Scope) -> None:
        """Put the loops, now complete, into the scope that they were opened in."""
        scope = inner
        for axis in reversed(loops):
            assert scope.parent is not None
            size = self.context.integers.expression(self.context.dependence.loops[axis])
            kind = "int" if upper(self.context.dependence.loops[axis]) < 2**31 else "long"
            scope.parent.lines.append(f"for ({kind} r{axis} = 0; r{axis} < {size}; r{axis}++) {{")
            scope.parent.lines += [f"  {line}" for line in scope.lines]
            scope.parent.lines.append("}")
            scope = scope.parent

    def _product(self, reduction: Reduction) -> tuple[int, int] | None:
        """The factors of a sum of products of floats, to be added by one multiply-add each."""
        nodes = self.context.nest.ast.nodes
        found = nodes[nodes[reduction.node].src[0]]
        if reduction.op is not Ops.ADD or (reduction.paddings.conditions and not self._padding_is_zero(reduction)):
            return None
        if found.op is Ops.CAST and found.dtype is FLOAT32 and nodes[found.src[0]].dtype in (FLOAT16, BFLOAT16):
            found = nodes[found.src[0]]
        if found.op is not Ops.MUL or found.dtype is None or not found.dtype.is_float:
            return None
        return found.src[0], found.src[1]

    def _padding_is_zero(self, reduction: Reduction) -> bool:
        """True if both factors of the product are loads that give 0 where this reduction is padded."""
        nodes = self.context.nest.ast.nodes
        found = nodes[nodes[reduction.node].src[0]]
        if found.op is Ops.CAST:
            found = nodes[found.src[0]]
        wanted = reduction.paddings.axes
        return found.op is Ops.MUL and all(
            nodes[source].op is Ops.LOAD and wanted <= self.context.dependence.locations[source].validity.axes
            for source in found.src
        )

    def _roots(self, reduction: Reduction) -> tuple[int, ...]:
        factors = self._product(reduction)
        return factors if factors is not None else (self.context.nest.ast.nodes[reduction.node].src[0],)

    def _accumulate(self, reduction: Reduction, accumulators: dict[tuple[int, ...], Value], scope: Scope) -> None:
        """Take in the terms of one unroll position after the other, each written just before.

        With few accumulators the terms of all positions are added up in a tree first, so that they need not wait for
        one another; a multiply-add waits for its accumulator alone.
        """
        lanes = set(self.context.lanes.axes)
        unrolls = list(self.context.points(tuple(axis for axis in reduction.unrolls if axis not in lanes)))
        roots, product = self._roots(reduction), self._product(reduction) is not None
        in_tree = not product and reduction.op is not Ops.MAX and len(accumulators) < _CHAINS
        waiting: dict[tuple[int, ...], list[Value]] = {key: [] for key in accumulators}
        for unroll in unrolls:
            self.values.prepare(roots, scope, unroll)
            for key, accumulator in accumulators.items():
                term = self._term(reduction, self._point(reduction, key) | unroll, scope)
                if in_tree:
                    waiting[key].append(term)
                elif product:
                    scope.lines.append(f"{accumulator.text} += {term.text};")
                else:
                    self._take_in(reduction, accumulator, term, scope.lines)
        for key, terms in waiting.items():
            if terms:
                self._take_in(reduction, accumulators[key], self._tree(reduction, terms, scope), scope.lines)

    def _take_in(
        self, reduction: Reduction, accumulator: Value, term: Value, lines: list[str], indent: str = ""
    ) -> None:
        text = opencl.accumulated(reduction.op, self._accumulating(reduction), accumulator, term)
        lines.append(f"{indent}{accumulator.text} = {text};")

    def _point(self, reduction: Reduction, key: tuple[int, ...]) -> Point:
        return dict(zip(self.context.outer[reduction.node], key, strict=True))

    def _term(self, reduction: Reduction, point: Point, scope: Scope) -> Value:
        """What is accumulated at `point`: the source's value, or the reduction's identity where it is padded."""
        dtype = self._accumulating(reduction)
        factors = self._product(reduction)
        if factors is not None:
            values = [self.values.converted(factor, dtype, point, scope) for factor in factors]
            return opencl.operation(Ops.MUL, dtype, values)
        source = self.context.nest.ast.nodes[reduction.node].src[0]
        value = self.values.converted(source, dtype, point, scope)
        if not reduction.paddings.conditions or self._all_padding_zero(reduction):
            return value
        identity = _identity(reduction.op, dtype)
        width = self.context.lanes.width
        paddings = reduction.paddings.substitute(self.context.launched)
        if paddings.axes.isdisjoint(self.context.lanes.axes):
            real = self._real(paddings, point, scope)
            return value if real is None else opencl.select(real, value, identity)
        truths = []
        for lane in self.context.lane_points(self.context.lanes.axes):
            truth = self._real(paddings, point | lane, scope)
            truths.append(Value("true", BOOL, simple=True) if truth is None else truth)
        return opencl.select(opencl.from_lanes(truths), opencl.widen(value, width), opencl.widen(identity, width))

    def _all_padding_zero(self, reduction: Reduction) -> bool:
        """True for a sum of a load that is 0 where it is padded."""
        source = self.context.nest.ast.nodes[reduction.node].src[0]
        found = self.context.nest.ast.nodes[source]
        if reduction.op is not Ops.ADD or found.op is not Ops.LOAD:
            return False
        return reduction.paddings.axes <= self.context.dependence.locations[source].validity.axes

    def _real(self, paddings: Validity, point: Point, scope: Scope) -> Value | None:
        own = {axis: i for axis, i in point.items() if axis in paddings.axes}
        condition = self.context.integers.condition(paddings.substitute(self.context.at(own)), scope)
        return None if condition is None else Value(condition, BOOL, simple=True)

    def _tree(self, reduction: Reduction, terms: list[Value], scope: Scope) -> Value:
        """All terms combined in pairs, so that no chain is longer than it needs to be."""
        while len(terms) > 1:
            paired = [
                self._combined(reduction, terms[i], terms[i + 1], scope) if i + 1 < len(terms) else terms[i]
                for i in range(0, len(terms), 2)
            ]
            terms = paired
        return terms[0]

    def _combined(self, reduction: Reduction, a: Value, b: Value, scope: Scope) -> Value:
        return self.context.declare(opencl.operation(reduction.op, self._accumulating(reduction), [a, b]), scope)

    def _horizontal(
        self, reduction: Reduction, accumulators: dict[tuple[int, ...], Value], home: Scope
    ) -> dict[tuple[int, ...], Value]:
        """The accumulators with their own lanes combined, each in a variable that can be assigned to."""
        if not self._has_own_lanes(reduction):
            return accumulators
        context, result = self.context, {}
        own = context.is_vector(context.nest.ast.nodes[reduction.node].src[0])
        for key, accumulator in accumulators.items():
            value = accumulator
            while value.width > 1:
                low, high = opencl.halves(value)
                text = opencl.accumulated(reduction.op, value.dtype, low, high)
                value = context.declare(Value(text, low.dtype, low.width, low.mask_bits), home)
            if not own:  # the source is the same in all lanes: it counts once for each
                value = self._tree(reduction, [value] * context.lanes.width, home)
            name = context.variable("s")
            home.lines.append(f"{types.type_of(value)} {name} = {value.text};")
            result[key] = Value(name, value.dtype, 1, value.mask_bits, simple=True)
        return result

    def _repeat(self, reduction: Reduction, results: dict[tuple[int, ...], Value], home: Scope) -> None:
        """Let each result count as often as its source is the same along axes that are reduced."""
        if reduction.repeats == 1 or reduction.op is Ops.MAX or self._accumulating(reduction) is BOOL:
            return
        times = self.context.integers.expression(reduction.repeats)
        for value in results.values():
            if reduction.op is Ops.ADD:
                count = opencl.cast(Value(times, INT64), value.dtype)
                home.lines.append(f"{value.text} *= {count.text};")
            else:
                one = self.context.declare(Value(value.text, value.dtype, value.width, value.mask_bits), home)
                home.lines.append(f"for (long q = 1; q < {times}; q++) {value.text} *= {one.text};")

    def _across_group(self, reduction: Reduction, results: dict[tuple[int, ...], Value], home: Scope) -> None:
        """Combine the partial results of the work-items that differ in this reduction's group axes alone."""
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
        base = context.integers.text(others * (count * elements), home)
        if home.axes or len(context.shared) > 1:
            home.lines.append("barrier(CLK_LOCAL_MEM_FENCE);")
        values = list(results.values())
        for place, chunk in _chunks(values):
            home.lines.append(memory.store_shared(name, f"{own}+{place * width}", opencl.from_lanes(chunk)))
        home.lines.append("barrier(CLK_LOCAL_MEM_FENCE);")
        again = self._is_used_by_reductions(reduction)
        body = self._combine(reduction, values, name, base, count)
        inside = body if again else [f"if ({context.integers.expression(groups)} == 0) {{", *body, "}"]
        home.lines += inside

    def _combine(self, reduction: Reduction, values: list[Value], name: str, base: str, count: int) -> list[str]:
        """The statements that make `values` the group's results, from the partial ones in shared memory at `base`."""
        lanes = next((lanes for lanes in (16, 8, 4) if count % lanes == 0), 1)
        first, elements = values[0], len(values) * values[0].width
        if elements == 1 and lanes > 1 and self.context.target.vector_widths and first.dtype is not BOOL:
            return self._combine_in_lanes(reduction, first, name, base, count, lanes)
        identity = opencl.widen(_identity(reduction.op, first.dtype), first.width)
        lines = [f"{value.text} = {opencl.assignable(identity, value)};" for value in values]
        lines.append(f"for (int q = 0; q < {count}; q++) {{")
        for place, chunk in _chunks(values):
            whole = opencl.from_lanes(chunk)
            other = memory.load_shared(name, f"{base}+q*{elements}+{place * first.width}", whole)
            if len(chunk) > 1:
                variable = self.context.variable()
                lines.append(f"  {types.type_of(other)} {variable} = {other.text};")
                other = Value(variable, other.dtype, other.width, simple=True)
            for lane, value in enumerate(chunk):
                one = opencl.lane_of(other, lane) if len(chunk) > 1 else other
                self._take_in(reduction, value, one, lines, "  ")
        return [*lines, "}"]

    def _combine_in_lanes(
        self, reduction: Reduction, value: Value, name: str, base: str, count: int, lanes: int
    ) -> list[str]:
        """As _combine for one scalar: `lanes` partial results at a time, their vector's halves in the end."""
        total = Value(self.context.variable(), value.dtype, lanes, simple=True)
        lines = [f"{types.type_of(total)} {total.text} = {memory.load_shared(name, base, total).text};"]
        if count > lanes:
            lines.append(f"for (int q = {lanes}; q < {count}; q += {lanes}) {{")
            self._take_in(reduction, total, memory.load_shared(name, f"{base}+q", total), lines, "  ")
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

    def _is_used_by_reductions(self, reduction: Reduction) -> bool:
        return any(reduction.node in needs for needs in self._needs.values())

    def _finish(self, reduction: Reduction, results: dict[tuple[int, ...], Value], home: Scope) -> None:
        """Round to the dtype, and make the results known."""
        dtype = self.context.nest.ast.nodes[reduction.node].dtype
        assert dtype is not None
        for key, value in results.items():
            rounded = value if value.dtype is dtype else self.context.declare(opencl.cast(value, dtype), home)
            home.values[(reduction.node, *key)] = rounded


def _identity(op: Ops, dtype: DType) -> Value:
    if op is Ops.ADD:
        return types.literal(0, dtype)
    return types.literal(1 if op is Ops.MUL else dtype.min, dtype)


def _chunks(values: list[Value]) -> Iterator[tuple[int, list[Value]]]:
    """Values with their places, by fours and twos where they are scalar numbers: each chunk is one memory access."""
    place = 0
    while place < len(values):
        left = len(values) - place
        alone = values[0].width > 1 or values[0].dtype is BOOL
        size = 1 if alone or left == 1 else 2 if left < 4 else 4
        yield place, values[place : place + size]
        place += size
