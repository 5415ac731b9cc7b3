"""Terms: the nodes of an expression while it is written, each with its dtype and shape.

A term is immutable and shares its sources. Rules for dtypes and shapes are those of kernels.verify, asked for one node
at a time, so that what is wrong is refused where it is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kernels import movement
from kernels.build.errors import BuildError
from kernels.dtypes import BOOL, DTYPES, INT32, DType
from kernels.errors import AstError
from kernels.graph import Graph as NodeGraph
from kernels.graph import Shape
from kernels.index import Expr, Index, Var, single
from kernels.ir import Node, ReduceArg, VariableArg, Views
from kernels.ops import COMPARISONS, ELEMENTWISE, Ops
from kernels.quote import quote, quote_shape
from kernels.verify import check_node

Scalar: TypeAlias = int | float | bool


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """A buffer of `elements` elements (at the variables' greatest values). It is the same as no other object."""

    dtype: DType
    elements: int


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """One node. `views` of an access (LOAD, CONST, VALID, DEFINE_VAR) are never empty, those of the others always."""

    op: Ops
    dtype: DType
    shape: Shape
    sources: tuple[Term, ...] = ()
    views: Views = ()
    arg: Buffer | VariableArg | ReduceArg | Scalar | None = None


def dtype_of(name: str) -> DType:
    """The dtype called `name`. Raises BuildError."""
    dtype = DTYPES.get(name)
    if dtype is None:
        raise BuildError(f"{quote(name)} is no dtype: there are {' '.join(DTYPES)}")
    return dtype


def variable(name: str, least: int, greatest: int) -> Expr:
    """A size that is given at launch, in [least, greatest]: to use in shapes and bounds, with +, - and *."""
    if least > greatest:
        raise BuildError(f"the variable {name} has a least value {least} above its greatest, {greatest}")
    return single(Var(name, least, greatest))


# ---- accesses --------------------------------------------------------------------------------------------------------


def load(buffer: Buffer, views: Views) -> Term:
    """The buffer's elements that `views` say, 0 where those are not valid."""
    return Term(Ops.LOAD, buffer.dtype, views[-1].shape, views=views, arg=buffer)


def constant(value: Scalar, dtype: DType, shape: Shape) -> Term:
    """`value` everywhere. Raises BuildError where it is none of the dtype's values."""
    if dtype.is_float and not isinstance(value, bool):
        value = float(value)
    elif isinstance(value, float) or isinstance(value, bool) is not dtype.is_bool:
        raise BuildError(f"{value!r} is no {dtype} constant")
    elif not dtype.min <= value <= dtype.max:
        raise BuildError(f"{value} is not in the range of {dtype}")
    return Term(Ops.CONST, dtype, shape, views=movement.broadcast(shape), arg=value)


def valid(views: Views) -> Term:
    """The mask of `views` as bool."""
    return Term(Ops.VALID, BOOL, views[-1].shape, views=views)


def variable_value(size: Index, shape: Shape) -> Term:
    """The value of a variable as int32, everywhere."""
    atom = size.atom if isinstance(size, Expr) else None
    if not isinstance(atom, Var):
        raise BuildError(f"{size} is no variable: compute with variables' values, one at a time")
    arg = VariableArg(atom.name, atom.lo, atom.hi)
    return Term(Ops.DEFINE_VAR, INT32, shape, views=movement.broadcast(shape), arg=arg)


# ---- computed values -------------------------------------------------------------------------------------------------


def apply(op: Ops, *sources: Term) -> Term:
    """An elementwise operation, of sources of one shape. Its dtype follows from theirs. Raises BuildError."""
    if op not in ELEMENTWISE or op in (Ops.CAST, Ops.BITCAST):
        raise BuildError(f"{op} is no operation on values alone")
    dtype = BOOL if op in COMPARISONS else sources[0 if op in (Ops.SHL, Ops.SHR) else -1].dtype if sources else BOOL
    return _checked(Node(op, dtype, tuple(range(len(sources))), None), sources)


def converted(op: Ops, source: Term, dtype: DType) -> Term:
    """CAST (to the nearest value) or BITCAST (the same bits) to `dtype`. Raises BuildError."""
    return source if source.dtype is dtype else _checked(Node(op, dtype, (0,), None), (source,))


def reduced(op: Ops, source: Term, axes: Iterable[int]) -> Term:
    """`op` over `axes`, which keep size 1; negative ones count from the last. Axes of size 1 need no reduction."""
    rank = len(source.shape)
    numbers = {axis + rank if axis < 0 else axis for axis in axes}
    if not numbers <= set(range(rank)):
        raise BuildError(f"there is no axis {max(numbers, key=abs)} to reduce in {quote_shape(source.shape)}")
    kept = tuple(sorted(axis for axis in numbers if source.shape[axis] != 1))
    if not kept:
        return source
    return _checked(Node(Ops.REDUCE_AXIS, source.dtype, (0,), ReduceArg(op, kept)), (source,))


def _checked(node: Node, sources: tuple[Term, ...]) -> Term:
    """The term of `node`, whose sources are numbered by their places in `sources`."""
    graph = NodeGraph()
    for source in sources:
        graph.add(Node(source.op, source.dtype, (), None), source.shape, 0)
    try:
        shape = check_node(node, graph, 0)
    except AstError as error:
        raise BuildError(error.message) from None
    assert shape is not None and node.dtype is not None
    arg = node.arg if isinstance(node.arg, ReduceArg) else None
    return Term(node.op, node.dtype, shape, sources, (), arg)


def post_order(roots: Sequence[Term]) -> list[Term]:
    """Every term that `roots` are made of, each once and after its sources. Chains may be thousands long."""
    order: list[Term] = []
    seen: set[int] = set()
    waiting = [(root, False) for root in reversed(roots)]
    while waiting:
        term, done = waiting.pop()
        if done:
            order.append(term)
        elif id(term) not in seen:
            seen.add(id(term))
            waiting.append((term, True))
            waiting.extend((source, False) for source in reversed(term.sources))
    return order
