"""The rules that concern a kernel as a whole: its buffers, its axes and its variables. Only reachable nodes count."""

from __future__ import annotations

from collections.abc import Sequence

from kernels.errors import AstError
from kernels.graph import Graph
from kernels.index import Index, upper, variables_in
from kernels.ir import BufferArg, Node, VariableArg, View
from kernels.limits import Limits
from kernels.ops import Ops
from kernels.quote import quote, quote_shape
from kernels.sizes import DocumentSizes


def check_buffers(graph: Graph, order: Sequence[int], limits: Limits) -> list[BufferArg]:
    """The buffers by slot. Raises AstError where slots have gaps, or one slot is declared in two ways."""
    declared: dict[int, int] = {}
    for number in order:
        arg = graph.nodes[number].arg
        if isinstance(arg, BufferArg) and declared.setdefault(arg.slot, number) != number:
            first = graph.numbers[declared[arg.slot]]
            message = f"slot {arg.slot} has another size or dtype than in node {first}"
            raise AstError("slots", message, graph.numbers[number])
    if len(declared) > limits.buffers:
        raise AstError("limit", f"{len(declared)} buffers, more than {limits.buffers}")
    missing = next((slot for slot in range(len(declared)) if slot not in declared), None)
    if missing is not None:
        raise AstError("slots", f"slot {missing} is missing: slots are numbered from 0 without gaps")
    buffers = []
    for slot in range(len(declared)):
        arg = graph.nodes[declared[slot]].arg
        assert isinstance(arg, BufferArg)
        buffers.append(arg)
    return buffers


def check_stores(graph: Graph, order: Sequence[int]) -> None:
    """Refuse what would depend on an order: a slot stored twice, or loaded through another view than it is stored."""
    stores: dict[int, int] = {}
    for source in graph.nodes[order[-1]].src:
        buffer = graph.nodes[source].src[0]
        if stores.setdefault(buffer, source) != source or graph.nodes[order[-1]].src.count(source) > 1:
            raise AstError("store-order", f"slot {_slot(graph, buffer)} is stored twice", graph.numbers[source])
    for number in order:
        node = graph.nodes[number]
        if node.op is Ops.LOAD and node.src[0] in stores and node.src[1] != graph.nodes[stores[node.src[0]]].src[1]:
            message = f"slot {_slot(graph, node.src[0])} is stored too, through another view than it is loaded"
            raise AstError("store-order", message, graph.numbers[number])


def _slot(graph: Graph, buffer: int) -> int:
    arg = graph.nodes[buffer].arg
    assert isinstance(arg, BufferArg)
    return arg.slot


def check_axes(graph: Graph, order: Sequence[int], limits: Limits) -> None:
    """Refuse shapes of different ranks, and sizes that are neither the full one of their axis nor 1."""
    full: list[Index] = []
    seen: set[tuple[Index, ...]] = set()
    for number in order:
        shape = graph.shapes[number]
        if shape is None or shape in seen:
            continue
        if not seen:
            full = list(shape)
        seen.add(shape)
        if len(shape) != len(full):
            message = f"shape {quote_shape(shape)} where other nodes have {len(full)} axes"
            raise AstError("rank", message, graph.numbers[number])
        for axis, size in enumerate(shape):
            if size != full[axis] and size != 1:
                if full[axis] != 1:
                    sizes = quote_shape((size, full[axis]))
                    message = f"axis {axis} has two sizes other than 1, {sizes}"
                    raise AstError("axis-size", message, graph.numbers[number])
                full[axis] = size
    elements = 1
    for size in full:
        elements *= upper(size)
    if elements > limits.elements:
        raise AstError("limit", f"the kernel has {quote(elements)} elements, more than {limits.elements}")


def used_variables(nodes: Sequence[Node], declared: dict[str, VariableArg]) -> tuple[VariableArg, ...]:
    """The variables that sizes or DEFINE_VAR nodes use, by name."""
    names = {node.arg.name for node in nodes if isinstance(node.arg, VariableArg)}
    for node in nodes:
        if node.op is Ops.VIEW and isinstance(node.arg, tuple):
            for view in node.arg:
                names.update(str(v) for size in symbolic_sizes(view) for v in variables_in(size))
    return tuple(declared[name] for name in sorted(names))


def symbolic_sizes(view: View) -> list[Index]:
    """Every size, stride, offset and mask bound of `view` that is no plain integer."""
    sizes = [*view.shape, *view.strides, view.offset]
    for bounds in view.mask or ():
        sizes += bounds
    return [size for size in sizes if not isinstance(size, int)]


def needed_by_slot(
    graph: Graph, order: Sequence[int], buffers: Sequence[BufferArg], dynamic: bool, sizes: DocumentSizes
) -> list[Index]:
    """How many elements each slot's buffer must hold.

    Without variables, a reach beyond the declared size is refused.
    """
    needed: list[Index] = [0] * len(buffers)
    for number in order:
        node = graph.nodes[number]
        if node.op is Ops.LOAD or node.op is Ops.STORE:
            slot, elements = _slot(graph, node.src[0]), graph.needed[number]
            if not dynamic and upper(elements) > buffers[slot].size:
                size = buffers[slot].size
                message = f"reaches position {upper(elements) - 1} of slot {slot}, which has {size} elements"
                raise AstError("reach", message, graph.numbers[number])
            needed[slot] = sizes.apply("max", needed[slot], elements, graph.numbers[number])
    return needed
