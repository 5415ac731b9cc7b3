"""Loads and stores: where each lane goes, one vector access for lanes that are neighbours, nothing out of bounds.

A load that is not valid gives 0 and reads nothing; a store that is not valid is not done. Lanes that are consecutive
elements and valid together are one vector access; lanes that are so in part are put together from shorter ones.
"""

from __future__ import annotations

from itertools import product

from kernels.dtypes import BOOL, DType
from kernels.index import Axis, Expr, Index, axes_in, substitute
from kernels.ir import BufferArg
from kernels.lowering.context import Context, Point
from kernels.lowering.lanes import lane_strides
from kernels.lowering.memory_lanes import MemoryLanes, memory_lanes
from kernels.lowering.scope import Scope
from kernels.ops import Ops
from kernels.render import memory, opencl, types
from kernels.render.value import Value
from kernels.validity import VALID, Validity


class Accesses:
    """Writes the loads, validities and stores of one kernel."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._strides: dict[int, dict[int, int | None]] = {
            node: lane_strides(location.position, context.dependence) for node, location in context.locations.items()
        }
        self._bases: dict[int, Index] = {}
        self._memory_lanes: dict[int, MemoryLanes] = {}
        #: By slot, how the buffer must be aligned where that is more than an element is, in bytes.
        self.alignments: dict[int, int] = {}

    def lanes_in_memory(self, node: int) -> MemoryLanes:
        """Which lanes of a LOAD or STORE are one access to memory although arithmetic is scalar."""
        found = self._memory_lanes.get(node)
        if found is None:
            dtype = self._dtype(node)
            found = self._memory_lanes[node] = memory_lanes(self.context, node, dtype)
            if found.aligned:
                slot, size_bytes = self._slot(node), found.width * dtype.itemsize
                self.alignments[slot] = max(self.alignments.get(slot, 0), size_bytes)
        return found

    def _dtype(self, node: int) -> DType:
        """Of the buffer that LOAD or STORE number `node` goes to."""
        nodes = self.context.nest.ast.nodes
        dtype = nodes[nodes[node].src[0]].dtype
        assert dtype is not None
        return dtype

    def load(self, node: int, point: Point, scope: Scope) -> Value:
        """The value of LOAD number `node` at `point` of the upcast axes that are not lanes."""
        context = self.context
        dtype = context.nest.ast.nodes[node].dtype
        assert dtype is not None
        pointer = f"p{self._slot(node)}"
        if not context.is_vector(node):
            if self.lanes_in_memory(node).width > 1:
                return self._load_lane(node, point, pointer, dtype, scope)
            return self._guarded_load(node, point, pointer, dtype, 1, scope)
        first = {**point, **dict.fromkeys(context.lanes.axes, 0)}
        width = self._run(node)
        if width == context.lanes.width:
            return self._guarded_load(node, first, pointer, dtype, width, scope)
        points = context.lane_points(context.lanes.axes)[::width]
        parts = [self._guarded_load(node, {**point, **lane}, pointer, dtype, width, scope) for lane in points]
        gathered = opencl.from_lanes(parts)
        inside = self._all_lanes_valid(node, point)
        if inside is None or not inside.possible:
            return gathered
        condition = context.integers.condition(inside, scope)
        whole = memory.load(pointer, self._position(node, first, scope), dtype, context.lanes.width)
        return whole if condition is None else opencl.select(Value(condition, BOOL), whole, gathered)

    def _load_lane(self, node: int, point: Point, pointer: str, dtype: DType, scope: Scope) -> Value:
        """One lane of a vector in memory, which is read once for all of them."""
        lanes = self.lanes_in_memory(node)
        first, lane = lanes.place({axis: point[axis] for axis in self.context.outer[node]})
        validity = self._validity_at(self.context.locations[node].validity, point)
        if not validity.possible:
            return types.literal(0, dtype)
        key = ("memory", node, *first.values())
        vector = scope.values.get(key)
        if vector is None:
            kind = types.vector_type(types.memory_type(dtype), lanes.width)
            text = memory.load_together(pointer, self._position(node, first, scope), kind, lanes.aligned)
            condition = self.context.integers.condition(validity, scope)
            name = self.context.variable()
            scope.lines.append(
                f"{kind} {name} = {text if condition is None else f'{condition} ? {text} : ({kind})(0)'};"
            )
            vector = scope.values[key] = Value(name, dtype, lanes.width, simple=True)
        return memory.lane_loaded(vector, lane)

    def _all_lanes_valid(self, node: int, point: Point) -> Validity | None:
        """Where all lanes are valid, if they are consecutive elements; None where the corners do not tell."""
        context = self.context
        if self._run(node, masked=True) != context.lanes.width:
            return None
        validity = context.locations[node].validity
        if not all(_is_linear(condition.expr, context.lanes.axes) for condition in validity.conditions):
            return None
        result = VALID
        last = {axis: context.dependence.lanes[axis] - 1 for axis in context.lanes.axes}
        for corner in product(*((0, end) for end in last.values())):
            lanes = dict(zip(last, corner, strict=True))
            result = _both(result, self._validity_at(validity, {**point, **lanes}))
        return result

    def valid(self, node: int, point: Point, scope: Scope) -> Value:
        """The value of VALID number `node`: whether its view has the element."""
        context = self.context
        validity = context.locations[node].validity
        if not context.is_vector(node):
            return self._truth(validity, point, scope)
        if all(_is_linear(condition.expr, context.lanes.axes) for condition in validity.conditions):
            return self._compared_lanes(self._validity_at(validity, point), scope)
        lanes = context.lane_points(context.lanes.axes)
        return opencl.from_lanes([self._truth(validity, {**point, **lane}, scope) for lane in lanes])

    def _compared_lanes(self, validity: Validity, scope: Scope) -> Value:
        """A mask of the lanes, each condition compared in all of them at once."""
        context, width = self.context, self.context.lanes.width
        value: Value | None = None
        for condition in validity.conditions:
            offsets = []
            for lane in context.lane_points(context.lanes.axes):
                moved = substitute(condition.expr, context.at(lane)) - self._at_first_lane(condition.expr)
                assert isinstance(moved, int)
                offsets.append(moved)
            base = context.integers.text(self._at_first_lane(condition.expr), scope)
            mask = opencl.compared(base, offsets, condition.lo, condition.hi, width)
            value = mask if value is None else opencl.operation(Ops.AND, BOOL, [value, mask])
        return opencl.widen(types.literal(validity.possible, BOOL), width) if value is None else value

    def _at_first_lane(self, expr: Index) -> Index:
        return substitute(expr, self.context.at(dict.fromkeys(self.context.lanes.axes, 0)))

    def store(self, node: int, value: Value, point: Point, once: Validity, scope: Scope) -> list[str]:
        """The statements that store `value` by STORE number `node` at `point`, where `once` holds as well."""
        context = self.context
        pointer = f"p{self._slot(node)}"
        own = tuple(axis for axis in context.lanes.axes if axis in context.dependence.stored[node])
        if not own:
            first = {**point, **dict.fromkeys(context.lanes.axes, 0)}
            return self._guarded_store(node, opencl.lane_of(value, 0), first, pointer, once, scope)
        width = self._run(node) if len(own) == len(context.lanes.axes) else 1
        if width == context.lanes.width:
            whole = opencl.widen(value, width)
            return self._guarded_store(node, whole, {**point, **dict.fromkeys(own, 0)}, pointer, once, scope)
        lines: list[str] = []
        for lane, place in enumerate(context.lane_points(context.lanes.axes)):
            if all(place[axis] == 0 for axis in context.lanes.axes if axis not in own):
                one = opencl.lane_of(value, lane)
                lines += self._guarded_store(node, one, {**point, **place}, pointer, once, scope)
        return lines

    def store_together(self, node: int, values: list[Value], first: Point, once: Validity, scope: Scope) -> list[str]:
        """The statements that store the lanes of a vector in memory, which begins at `first`, where `once` holds."""
        validity = _both(self._validity_at(self.context.locations[node].validity, first), once)
        if not validity.possible:
            return []
        aligned = self.lanes_in_memory(node).aligned
        line = memory.store_together(f"p{self._slot(node)}", self._position(node, first, scope), values, aligned)
        condition = self.context.integers.condition(validity, scope)
        return [line] if condition is None else [f"if ({condition}) {line}"]

    def _slot(self, node: int) -> int:
        arg = self.context.nest.ast.nodes[self.context.nest.ast.nodes[node].src[0]].arg
        assert isinstance(arg, BufferArg)
        return arg.slot

    def _run(self, node: int, masked: bool = False) -> int:
        """How many lanes, from the first on, are consecutive elements, and valid together unless `masked`: 2^n."""
        context, strides = self.context, self._strides[node]
        apart = set() if masked else context.locations[node].validity.axes
        width = run = 1
        for axis in context.lanes.axes:
            if strides.get(axis, 0) != width or axis in apart:
                break
            width *= context.dependence.lanes[axis]
            if width & (width - 1) == 0:
                run = width
        return run

    def _guarded_load(self, node: int, point: Point, pointer: str, dtype: DType, width: int, scope: Scope) -> Value:
        validity = self._validity_at(self.context.locations[node].validity, point)
        zero = (
            opencl.widen(types.literal(0, dtype), width) if dtype is not BOOL or width > 1 else types.literal(0, dtype)
        )
        if not validity.possible:
            return zero
        index = self._position(node, point, scope)
        loaded = memory.load(pointer, index, dtype, width)
        condition = self.context.integers.condition(validity, scope)
        if condition is None:
            return loaded
        return opencl.select(Value(condition, BOOL), loaded, zero)

    def _guarded_store(
        self, node: int, value: Value, point: Point, pointer: str, once: Validity, scope: Scope
    ) -> list[str]:
        validity = _both(self._validity_at(self.context.locations[node].validity, point), once)
        if not validity.possible:
            return []
        line = memory.store(pointer, self._position(node, point, scope), value)
        condition = self.context.integers.condition(validity, scope)
        return [line] if condition is None else [f"if ({condition}) {line}"]

    def _truth(self, validity: Validity, point: Point, scope: Scope) -> Value:
        condition = self.context.integers.condition(self._validity_at(validity, point), scope)
        return Value("true" if condition is None else condition, BOOL, simple=True)

    def _validity_at(self, validity: Validity, point: Point) -> Validity:
        if not validity.conditions:
            return validity
        own = validity.axes
        moved = {axis: i for axis, i in point.items() if axis in own}
        return validity.substitute(self.context.at(moved)) if moved else validity

    def _position(self, node: int, point: Point, scope: Scope) -> str:
        """The text of the position at `point`: a base that all lanes share plus a number where the axes are linear."""
        context, strides = self.context, self._strides[node]
        offset = 0
        entangled: Point = {}
        for axis, i in point.items():
            stride = strides.get(axis, 0)
            if stride is None:
                entangled[axis] = i
            else:
                offset += stride * i
        if entangled:
            position = substitute(context.locations[node].position, context.at(point))
            return context.integers.text(position, scope)
        base = self._bases.get(node)
        if base is None:
            linear = {axis: 0 for axis, stride in strides.items() if stride is not None}
            base = self._bases[node] = substitute(context.locations[node].position, context.at(linear))
        known = scope.sums.get((node, "base"))
        if known is None:
            known = scope.sums[(node, "base")] = context.integers.text(base, scope)
        return f"{known}{offset:+d}" if offset else known


def _both(first: Validity, second: Validity) -> Validity:
    if not second.possible:  # it has no conditions that could say so
        return second
    result = first
    for condition in second.conditions:
        result = result.restrict(
            condition.expr, *_sides(condition.lo, condition.hi, condition.expr.lo, condition.expr.hi)
        )
    return result


def _sides(lo: int | None, hi: int | None, least: int, greatest: int) -> tuple[int, int]:
    return least if lo is None else lo, greatest if hi is None else hi


def _is_linear(value: Index, axes: tuple[int, ...]) -> bool:
    """Whether every term of `value` that depends on one of `axes` is that axis times a number."""
    if isinstance(value, int):
        return True
    for monomial, coefficient in value.terms:
        alone = len(monomial) == 1 and isinstance(monomial[0], Axis)
        if not alone and not axes_in(Expr(((monomial, coefficient),), 0)).isdisjoint(axes):
            return False
    return True


def first_only(axes: frozenset[int], context: Context) -> Validity:
    """The condition that the launched axes among `axes` are at 0."""
    result = VALID
    for axis in sorted(axes):
        position = context.launch.positions.get(axis)
        if position is not None:
            result = result.restrict(position, 0, 0)
    return result
