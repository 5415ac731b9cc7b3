"""A kernel at one set of variables' values: every size a plain integer.

Size expressions are worked out here term by term, so that a slip in the product's own simplification of them shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from kernels.dtypes import DType
from kernels.index import Atom, FloorDiv, Index, Max, Mod, Var
from kernels.ir import Ast, BufferArg, Node, ReduceArg, View
from kernels.ops import ACCESSES, Ops
from kernels.reference.errors import EvaluationError


@dataclass(frozen=True, slots=True)
class ConcreteView:
    """A View of plain integers; `mask` is None or one [from, to) pair per axis."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    mask: tuple[tuple[int, int], ...] | None


Stack = tuple[ConcreteView, ...]


@dataclass(frozen=True, slots=True)
class Slot:
    """A buffer of the kernel: `reach` is the least number of elements, `declared` what the AST says."""

    dtype: DType
    declared: int
    reach: int


@dataclass(frozen=True, slots=True)
class ConcreteAst:
    """An Ast without variables. `shapes`, `stacks` (empty but for VIEW) and `depends` have one entry per node.

    `depends` has the axes along which a node's value can differ; along the others one position stands for all.
    `sizes` are the full sizes of the axes, `slots` the buffers by slot, `stores` the slots that are stored, with the
    numbers of their STOREs.
    """

    nodes: tuple[Node, ...]
    shapes: tuple[tuple[int, ...], ...]
    stacks: tuple[Stack, ...]
    depends: tuple[frozenset[int], ...]
    sizes: tuple[int, ...]
    slots: tuple[Slot, ...]
    stores: Mapping[int, int]
    variables: Mapping[str, int]

    def slot(self, number: int) -> int:
        """The slot of the LOAD or STORE `number`."""
        arg = self.nodes[self.nodes[number].src[0]].arg
        assert isinstance(arg, BufferArg)
        return arg.slot

    def reduction(self, number: int) -> ReduceArg:
        """What the REDUCE_AXIS `number` does."""
        arg = self.nodes[number].arg
        assert isinstance(arg, ReduceArg)
        return arg

    def live_axes(self, reduce: int) -> tuple[int, ...]:
        """The axes of the REDUCE_AXIS `reduce` along which its source really differs."""
        live = self.depends[self.nodes[reduce].src[0]]
        return tuple(axis for axis in self.reduction(reduce).axes if axis in live)

    def repeats(self, reduce: int) -> int:
        """How often each of the source's values occurs along the other axes of `reduce`."""
        source = self.nodes[reduce].src[0]
        shape, live = self.shapes[source], self.depends[source]
        return prod(shape[axis] for axis in self.reduction(reduce).axes if axis not in live)


def number_of(value: Index, variables: Mapping[str, int]) -> int:
    """The integer that a size expression is at these values of its variables."""
    if isinstance(value, int):
        return value
    total = value.constant
    for monomial, coefficient in value.terms:
        term = coefficient
        for atom in monomial:
            term *= _atom_number(atom, variables)
        total += term
    return total


def _atom_number(atom: Atom, variables: Mapping[str, int]) -> int:
    match atom:
        case Var():
            return variables[atom.name]
        case FloorDiv():
            return number_of(atom.numerator, variables) // number_of(atom.denominator, variables)
        case Mod():
            return number_of(atom.numerator, variables) % number_of(atom.denominator, variables)
        case Max():
            return max(number_of(atom.first, variables), number_of(atom.second, variables))
    raise TypeError(f"{atom} is no part of a size")


def concrete_ast(ast: Ast, variables: Mapping[str, int]) -> ConcreteAst:
    """`ast` at these values of all its variables. Raises EvaluationError where one is missing or out of its bounds."""
    values = _checked_variables(ast, variables)
    stacks: list[Stack] = []
    depends: list[frozenset[int]] = []
    for node in ast.nodes:
        stack: Stack = ()
        if node.op is Ops.VIEW:
            assert isinstance(node.arg, tuple)
            stack = tuple(_concrete_view(view, values) for view in node.arg)
        stacks.append(stack)
        depends.append(_depends_on(node, stack, depends))
    shapes = [tuple(number_of(size, values) for size in shape or ()) for shape in ast.shapes]
    axes = max(map(len, shapes))
    sizes = tuple(max(shape[axis] for shape in shapes if len(shape) == axes) for axis in range(axes))
    stores = {}
    for number in ast.nodes[-1].src:
        buffer = ast.nodes[ast.nodes[number].src[0]].arg
        assert isinstance(buffer, BufferArg)
        stores[buffer.slot] = number
    slots = _slots(ast, values)
    return ConcreteAst(ast.nodes, tuple(shapes), tuple(stacks), tuple(depends), sizes, slots, stores, values)


def _checked_variables(ast: Ast, given: Mapping[str, int]) -> dict[str, int]:
    values = {}
    for variable in ast.variables:
        if variable.name not in given:
            raise EvaluationError(f"no value for the variable {variable.name}")
        values[variable.name] = value = int(given[variable.name])
        if not variable.min <= value <= variable.max:
            raise EvaluationError(f"{variable.name} = {value} is not within {variable.min}..{variable.max}")
    return values


def _concrete_view(view: View, values: Mapping[str, int]) -> ConcreteView:
    mask = view.mask
    return ConcreteView(
        tuple(number_of(size, values) for size in view.shape),
        tuple(number_of(stride, values) for stride in view.strides),
        number_of(view.offset, values),
        None if mask is None else tuple((number_of(low, values), number_of(high, values)) for low, high in mask),
    )


def _depends_on(node: Node, stack: Stack, depends: list[frozenset[int]]) -> frozenset[int]:
    if stack:
        return frozenset(_axes_used(stack[-1]))
    if node.op in ACCESSES:
        return depends[node.src[1] if node.op in (Ops.LOAD, Ops.STORE) else node.src[0]]
    found = frozenset[int]().union(*(depends[source] for source in node.src))
    return found.difference(node.arg.axes) if isinstance(node.arg, ReduceArg) else found


def _axes_used(view: ConcreteView) -> list[int]:
    """The axes on which a position or its validity depends."""
    used = []
    for axis, (size, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
        masked = view.mask is not None and (view.mask[axis][0] > 0 or view.mask[axis][1] < size)
        if size > 1 and (stride != 0 or masked):
            used.append(axis)
    return used


def _slots(ast: Ast, values: Mapping[str, int]) -> tuple[Slot, ...]:
    found: dict[int, Slot] = {}
    for node in ast.nodes:
        if isinstance(node.arg, BufferArg):
            assert node.dtype is not None
            reach = number_of(ast.reaches[node.arg.slot], values)
            found[node.arg.slot] = Slot(node.dtype, node.arg.size, reach)
    return tuple(found[slot] for slot in sorted(found))
