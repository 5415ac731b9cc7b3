"""How much work a kernel is: arithmetic operations, and the bytes that must be read and written at the least."""

from __future__ import annotations

from kernels.index import upper
from kernels.ir import BufferArg
from kernels.nest import Nest
from kernels.ops import ELEMENTWISE, Ops
from kernels.state import KernelState, Pad, carried, rules_oldest_first


def estimate(nest: Nest, state: KernelState) -> tuple[int, int]:
    """(operations, bytes) at the variables' maxima, padding included in the operations.

    An elementwise node is one operation (MULACC two) for each element that it has, a reduction one for each that it
    reduces. Bytes count each buffer's reach once as read and once as written.
    """
    return _operations(nest, _padded_sizes(nest, state)), _bytes(nest)


def _padded_sizes(nest: Nest, state: KernelState) -> list[int]:
    sizes = [upper(size) for size in nest.sizes]
    roots = carried(state, tuple(range(len(sizes))))
    for rule in rules_oldest_first(state):
        if isinstance(rule, Pad):
            root = roots[rule.parent]
            sizes[root] = -(-sizes[root] * rule.new_size // rule.old_size)
    return sizes


def _operations(nest: Nest, sizes: list[int]) -> int:
    total = 0
    for number, node in enumerate(nest.ast.nodes):
        counted = nest.spans[node.src[0]] if node.op is Ops.REDUCE_AXIS else nest.spans[number]
        if counted is None or not (node.op in ELEMENTWISE or node.op is Ops.REDUCE_AXIS):
            continue
        elements = 1
        for size, spans in zip(sizes, counted, strict=True):
            elements *= size if spans else 1
        total += elements * (2 if node.op is Ops.MULACC else 1)
    return total


def _bytes(nest: Nest) -> int:
    nodes = nest.ast.nodes
    touched = {(node.op, nodes[node.src[0]].arg) for node in nodes if node.op in (Ops.LOAD, Ops.STORE)}
    itemsizes = {node.arg: node.dtype.itemsize for node in nodes if isinstance(node.arg, BufferArg) and node.dtype}
    return sum(upper(nest.ast.reaches[arg.slot]) * itemsizes[arg] for _, arg in touched if isinstance(arg, BufferArg))
