"""Values: each node is computed once for every combination of upcast axes that it depends on, as early as it can be."""

from __future__ import annotations

from kernels.constants import constant_in
from kernels.dtypes import FLOAT32, FLOAT64, DType
from kernels.ir import VariableArg
from kernels.lowering.accesses import Accesses
from kernels.lowering.context import Context, Point
from kernels.lowering.lanes import WIDEST
from kernels.lowering.reductions import Reductions
from kernels.lowering.scope import Scope
from kernels.ops import Ops
from kernels.render import opencl, types
from kernels.render.value import Value


class Values:
    """Writes the values of one kernel's nodes."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.accesses = Accesses(context)
        self.reductions = Reductions(context, self)
        self._fused = self._products_in_sums()
        self._below: dict[tuple[tuple[int, ...], bool], list[int]] = {}

    def prepare(self, roots: tuple[int, ...], scope: Scope, at: Point | None = None) -> None:
        """Write all that `roots` need in `scope`, sources first: afterwards `value` of them is known.

        With `at` only for that position on the upcast axes in it: a value is best written just before it is used.
        Goes through the nodes in their order rather than by recursion: a chain of thousands must not be too deep.
        """
        self.prepare_reductions(roots, scope)
        for node in self._reachable(roots, False):
            self._write(node, scope, at or {})

    def prepare_reductions(self, roots: tuple[int, ...], scope: Scope) -> None:
        """Write the reductions that `roots` need and that belong into `scope` or around it."""
        for node in self._reachable(roots, True):
            if node in self.context.dependence.reductions and self.context.loop_axes[node] <= scope.axes:
                self.reductions.write(node, scope)

    def value(self, node: int, point: Point, scope: Scope) -> Value:
        """The value of a node that was prepared, at `point` (axes that it does not depend on are not looked at)."""
        context = self.context
        constant = self._constant(node)
        if constant is not None:
            return constant
        home = scope.home(context.loop_axes[node])
        return home.values[(node, *(point[axis] for axis in context.outer[node]))]

    def converted(self, node: int, dtype: DType, point: Point, scope: Scope) -> Value:
        """The value of a prepared node as another dtype; converted once, where the value itself belongs."""
        context = self.context
        value = self.value(node, point, scope)
        if value.dtype is dtype:
            return value
        home = scope.home(context.loop_axes[node])
        key = ("cast", dtype.name, node, *(point[axis] for axis in context.outer[node]))
        if key not in home.values:
            home.values[key] = context.declare(opencl.cast(value, dtype), home)
        return home.values[key]

    def _constant(self, node: int) -> Value | None:
        """The value of a CONST or DEFINE_VAR, which needs no statement."""
        found = self.context.nest.ast.nodes[node]
        if found.op is Ops.CONST:
            assert found.dtype is not None and isinstance(found.arg, int | float)
            return types.literal(constant_in(found.arg, found.dtype), found.dtype)
        if found.op is Ops.DEFINE_VAR:
            assert found.dtype is not None and isinstance(found.arg, VariableArg)
            return Value(found.arg.name, found.dtype, simple=True)
        return None

    def _reachable(self, roots: tuple[int, ...], through_reductions: bool) -> list[int]:
        """The nodes with a value that `roots` need, in post-order; reductions end the walk, or are walked through."""
        key = (roots, through_reductions)
        found = self._below.get(key)
        if found is None:
            found = self._below[key] = self._walk(roots, through_reductions)
        return found

    def _walk(self, roots: tuple[int, ...], through_reductions: bool) -> list[int]:
        nodes = self.context.nest.ast.nodes
        seen: set[int] = set()
        waiting = list(roots)
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            found = nodes[node]
            if found.op in (Ops.LOAD, Ops.VALID, Ops.CONST, Ops.DEFINE_VAR):
                continue
            if found.op is Ops.REDUCE_AXIS and not through_reductions:
                continue
            waiting.extend(found.src)
        return sorted(seen)

    def _write(self, node: int, scope: Scope, at: Point) -> None:
        context = self.context
        found = context.nest.ast.nodes[node]
        if found.op in (Ops.CONST, Ops.DEFINE_VAR, Ops.REDUCE_AXIS):
            return
        home = scope.home(context.loop_axes[node])
        for point in context.points(context.outer[node], at):
            key = (node, *point.values())
            if key in home.values:
                continue
            value = self._computed(node, point, home)
            if found.op is Ops.LOAD:
                home.values[key] = self._shared(value, home)
            else:
                home.values[key] = value if node in self._fused else context.declare(value, home)

    def _shared(self, load: Value, home: Scope) -> Value:
        """The variable of a load that reads the same elements, or a new one: windows of a convolution overlap."""
        key = ("load", load.text)
        if key not in home.values:
            home.values[key] = self.context.declare(load, home)
        return home.values[key]

    def _computed(self, node: int, point: Point, scope: Scope) -> Value:
        context = self.context
        found = context.nest.ast.nodes[node]
        if found.op is Ops.LOAD:
            return self.accesses.load(node, point, scope)
        if found.op is Ops.VALID:
            return self.accesses.valid(node, point, scope)
        assert found.dtype is not None
        sources = [self.value(source, point, scope) for source in found.src]
        if found.op is Ops.CAST:
            return opencl.cast(sources[0], found.dtype)
        if found.op is Ops.BITCAST:
            return opencl.bitcast(sources[0], found.dtype)
        if found.op in opencl.CALLS:
            most = context.native_widths.get(found.dtype.name, WIDEST)
            return opencl.called_in_parts(found.op, found.dtype, sources, most)
        return opencl.operation(found.op, found.dtype, sources)

    def _products_in_sums(self) -> frozenset[int]:
        """Products of floats that one sum alone uses, at the same positions: written inside it, they are fused."""
        context, nodes = self.context, self.context.nest.ast.nodes
        users: dict[int, list[int]] = {}
        for number, node in enumerate(nodes):
            for source in node.src:
                users.setdefault(source, []).append(number)
        found = set()
        for number, node in enumerate(nodes):
            own = users.get(number, [])
            if node.op is not Ops.MUL or node.dtype not in (FLOAT32, FLOAT64) or len(own) != 1:
                continue
            user = own[0]
            same = context.outer[number] == context.outer[user] and context.loop_axes[number] == context.loop_axes[user]
            if nodes[user].op in (Ops.ADD, Ops.SUB) and same:
                found.add(number)
        return frozenset(found)
