"""The rules that one node must keep, given its sources: their roles, dtypes and shapes.

`check_node` judges a node whose sources are already in the graph. What concerns the graph as a whole is in graph_rules.
"""

from __future__ import annotations

from enum import StrEnum

from kernels.dtypes import BOOL, DTYPES, INT32, UINT32, UINT64, DType
from kernels.errors import AstError
from kernels.graph import Graph, Shape
from kernels.ir import Node, ReduceArg, Views
from kernels.ops import BINARY, COMPARISONS, TERNARY, UNARY, Ops
from kernels.quote import quote, quote_shape


class Role(StrEnum):
    """What a node is to the nodes that have it as a source."""

    BUFFER = "a DEFINE_GLOBAL"
    VIEW = "a VIEW"
    VALUE = "a value"
    STORE = "a STORE"
    SINK = "a SINK"


ROLES: dict[str, Role] = {op.value: Role.VALUE for op in Ops} | {
    "DEFINE_GLOBAL": Role.BUFFER,
    "VIEW": Role.VIEW,
    "STORE": Role.STORE,
    "SINK": Role.SINK,
}

#: The roles of an op's sources, in order. A SINK is not here: it has one STORE or more.
SOURCES: dict[str, tuple[Role, ...]] = {
    "DEFINE_GLOBAL": (),
    "VIEW": (),
    "DEFINE_VAR": (Role.VIEW,),
    "CONST": (Role.VIEW,),
    "VALID": (Role.VIEW,),
    "LOAD": (Role.BUFFER, Role.VIEW),
    "STORE": (Role.BUFFER, Role.VIEW, Role.VALUE),
    "REDUCE_AXIS": (Role.VALUE,),
    "CAST": (Role.VALUE,),
    "BITCAST": (Role.VALUE,),
    **{op.value: (Role.VALUE,) for op in UNARY},
    **{op.value: (Role.VALUE,) * 2 for op in BINARY},
    **{op.value: (Role.VALUE,) * 3 for op in TERNARY},
}

_INTS = frozenset(dtype for dtype in DTYPES.values() if dtype.is_int)
_FLOATS = frozenset(dtype for dtype in DTYPES.values() if dtype.is_float)

#: What an op computes with, and its name in a message; ops that are not here take any dtype.
COMPUTES_WITH: dict[Ops, tuple[frozenset[DType], str]] = {
    **dict.fromkeys((Ops.EXP2, Ops.LOG2, Ops.SIN, Ops.SQRT, Ops.RECIP, Ops.FDIV, Ops.POW), (_FLOATS, "floats")),
    **dict.fromkeys((Ops.IDIV, Ops.MOD, Ops.SHL, Ops.SHR), (_INTS, "integers")),
    **dict.fromkeys((Ops.XOR, Ops.OR, Ops.AND), (_INTS | {BOOL}, "integers and bool")),
    **dict.fromkeys((Ops.NEG, Ops.SUB), (_INTS | _FLOATS, "integers and floats")),
    Ops.THREEFRY: (frozenset({UINT64}), "uint64"),
}
_FIXED_DTYPES = {Ops.VALID: BOOL, Ops.DEFINE_VAR: INT32}
_SHIFTS = frozenset({Ops.SHL, Ops.SHR})


def check_node(node: Node, graph: Graph, number: int) -> Shape | None:
    """The shape of `node`, None for a buffer and a SINK. Raises AstError, naming the document's node `number`."""
    _check_sources(node, graph, number)
    match node.op:
        case Ops.DEFINE_GLOBAL | Ops.SINK:
            return None
        case Ops.VIEW:
            return _stack(node)[-1].shape
        case Ops.LOAD:
            _check_dtype(node, node.dtype, graph.nodes[node.src[0]].dtype, number)
            return graph.shapes[node.src[1]]
        case Ops.STORE:
            return _store_shape(node, graph, number)
        case Ops.CONST | Ops.VALID | Ops.DEFINE_VAR:
            return _made_shape(node, graph, number)
        case Ops.REDUCE_AXIS:
            return _reduced_shape(node, graph, number)
    return _elementwise_shape(node, graph, number)


def _check_sources(node: Node, graph: Graph, number: int) -> None:
    roles = SOURCES.get(node.op)
    if roles is None:
        if not node.src:
            raise AstError("source-count", "a SINK needs at least one STORE", number)
        roles = (Role.STORE,) * len(node.src)
    if len(node.src) != len(roles):
        raise AstError("source-count", f"{node.op} has {len(roles)} sources, not {len(node.src)}", number)
    for place, (source, role) in enumerate(zip(node.src, roles, strict=True)):
        op = graph.nodes[source].op
        if ROLES[op] is not role:
            raise AstError("source-kind", f"source {place} of {node.op} must be {role}, not {op}", number)


def _check_dtype(node: Node, dtype: DType | None, expected: DType | None, number: int) -> None:
    if dtype is not expected:
        raise AstError("dtype", f"{node.op} needs {expected} here, not {dtype}", number)


def _stack(view: Node) -> Views:
    assert view.op is Ops.VIEW and isinstance(view.arg, tuple)
    return view.arg


def _shape_of(graph: Graph, number: int) -> Shape:
    shape = graph.shapes[number]
    assert shape is not None
    return shape


def _store_shape(node: Node, graph: Graph, number: int) -> Shape:
    buffer, view, value = node.src
    _check_dtype(node, graph.nodes[value].dtype, graph.nodes[buffer].dtype, number)
    shape = _shape_of(graph, view)
    if graph.shapes[value] != shape:
        stored = quote_shape(_shape_of(graph, value))
        raise AstError("shape", f"a value of shape {stored} is stored through a view of {quote_shape(shape)}", number)
    return shape


def _made_shape(node: Node, graph: Graph, number: int) -> Shape:
    """The shape of a value that no buffer is behind."""
    expected = _FIXED_DTYPES.get(node.op)
    if expected is not None:
        _check_dtype(node, node.dtype, expected, number)
    if node.op is not Ops.VALID:
        for view in _stack(graph.nodes[node.src[0]]):
            if view.mask is not None or view.offset != 0 or any(stride != 0 for stride in view.strides):
                raise AstError("view", f"{node.op} needs views with no mask, strides of 0 and offset 0", number)
    return _shape_of(graph, node.src[0])


def _reduced_shape(node: Node, graph: Graph, number: int) -> Shape:
    assert isinstance(node.arg, ReduceArg)
    shape, axes = _shape_of(graph, node.src[0]), node.arg.axes
    _check_dtype(node, node.dtype, graph.nodes[node.src[0]].dtype, number)
    if axes[-1] >= len(shape):
        raise AstError("axis", f"axis {quote(axes[-1])} is reduced, and the source has {len(shape)} axes", number)
    return tuple(1 if axis in axes else size for axis, size in enumerate(shape))


def _elementwise_shape(node: Node, graph: Graph, number: int) -> Shape:
    first = _shape_of(graph, node.src[0])
    for source in node.src[1:]:
        if graph.shapes[source] != first:
            other = quote_shape(_shape_of(graph, source))
            raise AstError("shape", f"{node.op} has sources of shapes {quote_shape(first)} and {other}", number)
    _check_elementwise_dtypes(node, [graph.nodes[source].dtype for source in node.src], number)
    return first


def _check_elementwise_dtypes(node: Node, sources: list[DType | None], number: int) -> None:
    op, dtype = node.op, node.dtype
    assert dtype is not None
    if op is Ops.CAST:
        return
    if op is Ops.BITCAST:
        source = sources[0]
        assert source is not None
        if source.itemsize != dtype.itemsize:
            raise AstError("dtype", f"BITCAST keeps the width, and {source} is not as wide as {dtype}", number)
        return
    computed = dtype
    if op in COMPARISONS:
        _check_dtype(node, dtype, BOOL, number)
        assert sources[0] is not None
        computed = sources[0]
    elif op is Ops.WHERE:
        _check_dtype(node, sources.pop(0), BOOL, number)
    elif op in _SHIFTS and sources[1] is UINT32:
        sources.pop()
    for source in sources:
        _check_dtype(node, source, computed, number)
    allowed = COMPUTES_WITH.get(op)
    if allowed is not None and computed not in allowed[0]:
        raise AstError("dtype", f"{op} computes with {allowed[1]}, not {computed}", number)
