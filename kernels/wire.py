"""The wire form `kernel-ast/1`: documents to ASTs and back.

    document --nodes one by one--> graph --reachable from the SINK, in post-order--> Ast --> document

Reading is strict. What a node holds is in wire_args and sizes, what it must keep is in verify and reach, what the whole
must keep in graph_rules. Everything that is wrong with a document ends as an AstError.
"""

from __future__ import annotations

import json

from kernels.dtypes import DTYPES, DType
from kernels.errors import AstError
from kernels.graph import Graph, post_order, renumbered
from kernels.graph_rules import check_axes, check_buffers, check_stores, needed_by_slot, used_variables
from kernels.index import Index, Var, upper
from kernels.ir import Ast, Node, VariableArg
from kernels.limits import DEFAULT_LIMITS, Limits
from kernels.ops import Ops
from kernels.proof import Prover
from kernels.quote import quote
from kernels.reach import Range, check_views, needed_elements
from kernels.sizes import DocumentSizes
from kernels.verify import check_node
from kernels.wire_args import ArgReader, arg_to_wire, fields_of, list_of, variables_from_wire

FORMAT = "kernel-ast/1"

NO_DTYPE = frozenset({Ops.VIEW, Ops.STORE, Ops.SINK})
WITH_ARG = frozenset({Ops.DEFINE_GLOBAL, Ops.DEFINE_VAR, Ops.VIEW, Ops.CONST, Ops.REDUCE_AXIS})

_OPS = {op.value: op for op in Ops}
_FIELDS = {
    op: {"op", "src"} | (set() if op in NO_DTYPE else {"dtype"}) | ({"arg"} if op in WITH_ARG else set()) for op in Ops
}


def parse_ast_json(text: bytes | str, limits: Limits = DEFAULT_LIMITS) -> Ast:
    """The verified AST of a document's JSON text, in UTF-8. Raises AstError for all that is wrong with it."""
    size_bytes = len(text) if isinstance(text, bytes) else len(text.encode("utf-8", "surrogatepass"))
    if size_bytes > limits.json_bytes:
        raise AstError("limit", f"{size_bytes} bytes of JSON, more than {limits.json_bytes}")
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        document = json.loads(decoded, object_pairs_hook=_object_of, parse_constant=_refuse_constant)
    except RecursionError:
        raise AstError("json", "the JSON nests too deep") from None
    except ValueError as error:
        raise AstError("json", f"no JSON: {quote(str(error))}") from error
    return parse_ast(document, limits)


def _object_of(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise AstError("json", "an object has the same field twice")
    return fields


def _refuse_constant(name: str) -> object:
    raise AstError("number", f"{name} is no JSON number")


def parse_ast(document: object, limits: Limits = DEFAULT_LIMITS) -> Ast:
    """The verified, normalised AST of a document as it comes out of a JSON reader. Raises AstError.

    Equal nodes are merged, nodes that the SINK does not reach are checked and dropped, and the rest is numbered in
    post-order. Masks that mask nothing are dropped, strides of axes of size 1 are 0, sizes are in canonical form.
    """
    expected = {"format", "nodes"}
    if type(document) is dict and "vars" in document:
        expected.add("vars")
    fields = fields_of(document, expected, "the document", None)
    if type(fields["format"]) is not str or fields["format"] != FORMAT:
        raise AstError("format", f"the format is {quote(fields['format'])}, not {FORMAT}")
    declared = variables_from_wire(fields.get("vars", {}), limits)
    nodes = list_of(fields["nodes"], "nodes", None)
    if len(nodes) > limits.nodes:
        raise AstError("limit", f"{len(nodes)} nodes, more than {limits.nodes}")
    return _DocumentReader(declared, limits).read(nodes)


class _DocumentReader:
    """Reads the nodes of one document into a graph, and makes the Ast of it."""

    def __init__(self, declared: dict[str, VariableArg], limits: Limits) -> None:
        self.declared = declared
        self.limits = limits
        variables = {v.name: Var(v.name, v.min, v.max) for v in declared.values()}
        self.sizes = DocumentSizes(variables, limits, Prover(limits.proof_steps))
        self.args = ArgReader(self.sizes, declared, limits)
        self.graph = Graph()
        self.places: list[int] = []  # of each node of the document in the graph

    def read(self, nodes: list[object]) -> Ast:
        for number, value in enumerate(nodes):
            self.places.append(self._read_node(number, value, number == len(nodes) - 1))
        if not nodes or self.graph.nodes[self.places[-1]].op is not Ops.SINK:
            raise AstError("sink", "the last node must be the SINK")
        unused = sorted(self.declared.keys() - self.sizes.used)
        if unused:
            raise AstError("variables", f"nothing uses the variable {unused[0]}")
        return self._finish()

    def _read_node(self, number: int, value: object, last: bool) -> int:
        op_name = value.get("op") if type(value) is dict else None
        op = _OPS.get(op_name) if type(op_name) is str else None
        if op is None:
            if op_name is None:
                raise AstError("field", f"a node is an object with an op, not {quote(value)}", number)
            raise AstError("unknown-op", f"{quote(op_name)} is no op", number)
        fields = fields_of(value, _FIELDS[op], op, number)
        if op is Ops.SINK and not last:
            raise AstError("sink", "only the last node is a SINK", number)
        dtype = None if op in NO_DTYPE else _dtype_from_wire(fields["dtype"], number)
        sources = self._sources_from_wire(fields["src"], number)
        arg = self.args.read(op, fields["arg"], dtype, number) if op in WITH_ARG else None
        return self._add(Node(op, dtype, sources, arg), number)

    def _sources_from_wire(self, value: object, number: int) -> tuple[int, ...]:
        sources = list_of(value, "src", number)
        if len(sources) > self.limits.buffers:
            raise AstError("source-count", f"{len(sources)} sources", number)
        found: list[int] = []
        for source in sources:
            if type(source) is not int:
                raise AstError("field", f"a source is the number of a node, not {quote(source)}", number)
            if not 0 <= source < number:
                raise AstError("source-order", f"source {quote(source)} is no earlier node", number)
            found.append(self.places[source])
        return tuple(found)

    def _add(self, node: Node, number: int) -> int:
        graph = self.graph
        known = graph.find(node)
        if known is not None:
            return known
        shape = check_node(node, graph, number)
        reached: Range = None
        needed: Index = 0
        if node.op is Ops.VIEW:
            assert isinstance(node.arg, tuple)
            reached = check_views(node.arg, self.sizes, number)
        elif node.op is Ops.LOAD or node.op is Ops.STORE:
            needed = needed_elements(graph.reached[node.src[1]], self.sizes, number)
        return graph.add(node, shape, number, reached, needed)

    def _finish(self) -> Ast:
        graph = self.graph
        order = post_order(graph.nodes, self.places[-1])
        buffers = check_buffers(graph, order, self.limits)
        check_stores(graph, order)
        check_axes(graph, order, self.limits)
        nodes = renumbered(graph.nodes, order)
        variables = used_variables(nodes, self.declared) if self.declared else ()
        needed = needed_by_slot(graph, order, buffers, bool(variables), self.sizes)
        unproven = any(upper(elements) > buffer.size for elements, buffer in zip(needed, buffers, strict=True))
        shapes = tuple([graph.shapes[number] for number in order])
        return Ast(nodes, shapes, variables, tuple(needed), unproven)


def _dtype_from_wire(value: object, number: int) -> DType:
    dtype = DTYPES.get(value) if type(value) is str else None
    if dtype is None:
        raise AstError("unknown-dtype", f"{quote(value)} is no dtype", number)
    return dtype


def dump_ast(ast: Ast) -> dict[str, object]:
    """The document of `ast`, which parses to an equal AST again. Its parts are new lists and dicts."""
    nodes = []
    for node in ast.nodes:
        wire: dict[str, object] = {"op": node.op.value, "src": list(node.src)}
        if node.dtype is not None:
            wire["dtype"] = node.dtype.name
        if node.op in WITH_ARG:
            wire["arg"] = arg_to_wire(node)
        nodes.append(wire)
    document: dict[str, object] = {"format": FORMAT, "nodes": nodes}
    if ast.variables:
        document["vars"] = {v.name: {"min": v.min, "max": v.max} for v in ast.variables}
    return document
