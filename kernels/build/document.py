"""The wire document of terms: each node once, however often it was written."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kernels.build.errors import BuildError
from kernels.build.terms import Buffer, Term, post_order
from kernels.graph_rules import symbolic_sizes
from kernels.index import variables_in
from kernels.ir import BufferArg, Node, NodeArg, VariableArg, Views
from kernels.ops import Ops
from kernels.wire import FORMAT
from kernels.wire_args import arg_to_wire


def document_of(stores: Sequence[tuple[Term, Term]], slots: Sequence[Buffer]) -> dict[str, object]:
    """The document that stores each value at its place (a LOAD's buffer and view). `slots`: all buffers in order."""
    document = _Document(slots)
    for term in post_order([value for _, value in stores]):
        document.add_term(term)
    ends = []
    for place, value in stores:
        buffer, view = document.buffer(place), document.view(place.views)
        ends.append(document.add(Ops.STORE, (buffer, view, document.numbers[id(value)])))
    document.add(Ops.SINK, tuple(ends))
    whole: dict[str, object] = {"format": FORMAT, "nodes": document.nodes}
    if document.variables:
        whole["vars"] = {v.name: {"min": v.min, "max": v.max} for v in document.variables.values()}
    return whole


class _Document:
    """The nodes so far. numbers: of each term's node, by the term's id. variables: those in use, by name."""

    def __init__(self, slots: Sequence[Buffer]) -> None:
        self.nodes: list[dict[str, object]] = []
        self.numbers: dict[int, int] = {}
        self.variables: dict[str, VariableArg] = {}
        self._slots = {id(buffer): slot for slot, buffer in enumerate(slots)}
        self._known: dict[str, int] = {}

    def add_term(self, term: Term) -> None:
        """Add the node of a term whose sources are there."""
        sources = tuple(self.numbers[id(source)] for source in term.sources)
        arg = term.arg
        if term.views:
            sources = (self.view(term.views),)
        if isinstance(arg, Buffer):
            sources = (self.buffer(term), *sources)
            arg = None
        if isinstance(arg, VariableArg):
            self._use(arg)
        self.numbers[id(term)] = self.add(term.op, sources, term.dtype.name, arg)

    def buffer(self, term: Term) -> int:
        """The node of a load's buffer."""
        assert isinstance(term.arg, Buffer)
        buffer = BufferArg(self._slots[id(term.arg)], term.arg.elements)
        return self.add(Ops.DEFINE_GLOBAL, (), term.dtype.name, buffer)

    def view(self, views: Views) -> int:
        """The node of a view stack."""
        for size in (size for view in views for size in symbolic_sizes(view)):
            for variable in sorted(variables_in(size)):
                self._use(VariableArg(variable.name, variable.lo, variable.hi))
        return self.add(Ops.VIEW, (), None, views)

    def add(self, op: Ops, sources: tuple[int, ...], dtype: str | None = None, arg: NodeArg = None) -> int:
        """The number of this node, which is new only if there is no equal one."""
        node: dict[str, object] = {"op": op.value, "src": list(sources)}
        if dtype is not None:
            node["dtype"] = dtype
        if arg is not None:
            node["arg"] = arg_to_wire(Node(op, None, sources, arg))
        number = self._known.setdefault(json.dumps(node), len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(node)
        return number

    def _use(self, variable: VariableArg) -> None:
        if self.variables.setdefault(variable.name, variable) != variable:
            raise BuildError(f"there are two variables {variable.name}, with different least or greatest values")
