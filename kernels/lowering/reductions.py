"""Reductions: accumulators in registers, loops, and the meeting of a work-group's partial results in shared memory.

One reduction, or several over the same loops that do not wait for each other, become

    accumulators at the identity
    for (reduce loops) { terms of all unroll lanes, added up in a tree (or one multiply-add each) }
    lanes of a vector accumulator added up
    the partial results of a work-group, where it shares a reduction, met in shared memory (meeting.py)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kernels.dtypes import BFLOAT16, BOOL, FLOAT16, FLOAT32, INT64, DType
from kernels.index import upper
from kernels.lowering.accumulators import accumulating, identity, taken_in
from kernels.lowering.context import Context, Point
from kernels.lowering.dependence import Reduction
from kernels.lowering.meeting import BARRIER, Meeting, Results, Shared
from kernels.lowering.scope import Scope
from kernels.ops import Ops
from kernels.render import opencl, types
from kernels.render.value import Value
from kernels.validity import Validity

if TYPE_CHECKING:
    from kernels.lowering.values import Values


@dataclass(frozen=True, slots=True)
class _Unmet:
    """A reduction whose partial results are in shared memory and have not been combined yet."""

    reduction: Reduction
    results: Results
    shared: Shared


#: Of a processor, for vectors as for scalars.
_REGISTERS = 16
#: From so many accumulators on, the latency of one is hidden behind the others.
_CHAINS = 4


class Reductions:
    """Writes the reductions of one kernel."""

    def __init__(self, context: Context, values: Values) -> None:
        self.context = context
        self.values = values
        self.meeting = Meeting(context)
        self._written: set[int] = set()
        self._needs = self._reductions_below()
        self._unmet: list[_Unmet] = []

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
                last = not home.axes and not self._is_used_by_reductions(reduction)
                shared = self.meeting.share(reduction, results, home, waits=not last)
                if last:
                    self._unmet.append(_Unmet(reduction, results, shared))
                    continue
                self.meeting.combine(reduction, results, shared, home)
            self._finish(reduction, results, home)

    @property
    def in_one_stage(self) -> bool:
        """True where all reductions meet at one barrier, behind which nothing but their results is wanted."""
        reductions = self.context.dependence.reductions.values()
        return all(reduction.groups and not self._is_used_by_reductions(reduction) for reduction in reductions)

    def meet(self, before: Scope, after: Scope) -> list[str]:
        """Write into `after` what is left of the reductions in `before`: the groups' results. What goes between them.

        What is computed on one side of a barrier and used on the other costs memory for every work-item, so nothing but
        the results of reductions is taken over.
        """
        for key, value in before.values.items():
            if key[0] in self._written:
                after.values[key] = value
        for unmet in self._unmet:
            results = {key: replace(value, text=self.context.variable("s")) for key, value in unmet.results.items()}
            after.lines += [f"{types.type_of(value)} {value.text};" for value in results.values()]
            self.meeting.combine(unmet.reduction, results, unmet.shared, after)
            self._finish(unmet.reduction, results, after)
        return [BARRIER] if self._unmet else []

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
        return accumulating(dtype)

    def _has_own_lanes(self, reduction: Reduction) -> bool:
        lanes = self.context.lanes.axes
        return bool(lanes) and lanes[0] in reduction.unrolls

    def _accumulators(self, reduction: Reduction, home: Scope) -> Results:
        """A variable at the identity for each upcast position of the result."""
        context = self.context
        source = context.nest.ast.nodes[reduction.node].src[0]
        width = context.lanes.width if context.is_vector(source) else 1
        start = opencl.widen(identity(reduction.op, self._accumulating(reduction)), width)
        result: Results = {}
        for point in context.points(context.outer[reduction.node]):
            name = context.variable("s")
            home.lines.append(f"{types.type_of(start)} {name} = {start.text};")
            result[tuple(point.values())] = Value(name, start.dtype, width, start.mask_bits, simple=True)
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

    def _accumulate(self, reduction: Reduction, accumulators: Results, scope: Scope) -> None:
        """Take in the terms of one unroll position after the other, each written just before.

        More accumulators than there are registers go to memory and back for every term: then each takes in the terms of
        all positions while it is at hand.
        With few accumulators the terms of all positions are added up in a tree first, so that they need not wait for
        one another; a multiply-add waits for its accumulator alone.
        """
        lanes = set(self.context.lanes.axes)
        unrolls = list(self.context.points(tuple(axis for axis in reduction.unrolls if axis not in lanes)))
        roots, product = self._roots(reduction), self._product(reduction) is not None
        in_tree = not product and reduction.op is not Ops.MAX and len(accumulators) < _CHAINS
        waiting: dict[tuple[int, ...], list[Value]] = {key: [] for key in accumulators}
        together = len(accumulators) > _REGISTERS
        for each in [unrolls] if together else [[unroll] for unroll in unrolls]:
            for unroll in each:
                self.values.prepare(roots, scope, unroll)
            for key, accumulator in accumulators.items():
                for unroll in each:
                    term = self._term(reduction, self._point(reduction, key) | unroll, scope)
                    if in_tree:
                        waiting[key].append(term)
                    elif product:
                        scope.lines.append(f"{accumulator.text} += {term.text};")
                    else:
                        scope.lines.append(taken_in(reduction.op, accumulator, term))
        for key, terms in waiting.items():
            if terms:
                scope.lines.append(taken_in(reduction.op, accumulators[key], self._tree(reduction, terms, scope)))

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
        start = identity(reduction.op, dtype)
        width = self.context.lanes.width
        paddings = reduction.paddings.substitute(self.context.launched)
        if paddings.axes.isdisjoint(self.context.lanes.axes):
            real = self._real(paddings, point, scope)
            return value if real is None else opencl.select(real, value, start)
        truths = []
        for lane in self.context.lane_points(self.context.lanes.axes):
            truth = self._real(paddings, point | lane, scope)
            truths.append(Value("true", BOOL, simple=True) if truth is None else truth)
        return opencl.select(opencl.from_lanes(truths), opencl.widen(value, width), opencl.widen(start, width))

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

    def _horizontal(self, reduction: Reduction, accumulators: Results, home: Scope) -> Results:
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

    def _repeat(self, reduction: Reduction, results: Results, home: Scope) -> None:
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

    def _is_used_by_reductions(self, reduction: Reduction) -> bool:
        return any(reduction.node in needs for needs in self._needs.values())

    def _finish(self, reduction: Reduction, results: Results, home: Scope) -> None:
        """Round to the dtype, and make the results known."""
        dtype = self.context.nest.ast.nodes[reduction.node].dtype
        assert dtype is not None
        for key, value in results.items():
            rounded = value if value.dtype is dtype else self.context.declare(opencl.cast(value, dtype), home)
            home.values[(reduction.node, *key)] = rounded
