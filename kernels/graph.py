"""The graph of a document while it is read: equal nodes are one, and what is reached from the SINK is numbered anew.

Nothing here recurses over nodes: chains of thousands and graphs that share exponentially many paths take linear time.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeAlias

from kernels.index import Index
from kernels.ir import Node
from kernels.reach import Range

Shape: TypeAlias = tuple[Index, ...]


class Graph:
    """Verified nodes, sources first. All lists have one entry per node.

    `shapes` are None for buffers and the SINK, `numbers` the first place of each node in the document, `reached` the
    positions under a VIEW's innermost view, `needed` how many elements a LOAD's or STORE's buffer must hold, else 0.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.shapes: list[Shape | None] = []
        self.numbers: list[int] = []
        self.reached: list[Range] = []
        self.needed: list[Index] = []
        self._known: dict[Hashable, int] = {}

    def find(self, node: Node) -> int | None:
        """The number of the node that is structurally equal, if there is one."""
        return self._known.get(_identity(node))

    def add(self, node: Node, shape: Shape | None, number: int, reached: Range = None, needed: Index = 0) -> int:
        """Append a node that is new, and give its number."""
        self._known[_identity(node)] = len(self.nodes)
        self.nodes.append(node)
        self.shapes.append(shape)
        self.numbers.append(number)
        self.reached.append(reached)
        self.needed.append(needed)
        return len(self.nodes) - 1


def _identity(node: Node) -> Hashable:
    """What makes two nodes the same. 0.0 and -0.0 compare equal and differ all the same; NaN is one constant."""
    arg = node.arg.hex() if isinstance(node.arg, float) else node.arg
    return node.op.value, node.dtype and node.dtype.name, node.src, arg


def post_order(nodes: Sequence[Node], sink: int) -> list[int]:
    """The numbers of all nodes that `sink` reaches, depth first, sources left to right, each after its sources."""
    order: list[int] = []
    seen: set[int] = set()
    waiting = [sink]  # ~n stands for: all sources of n are done
    while waiting:
        number = waiting.pop()
        if number < 0:
            order.append(~number)
        elif number not in seen:
            seen.add(number)
            waiting.append(~number)
            waiting.extend(reversed(nodes[number].src))
    return order


def renumbered(nodes: Sequence[Node], order: Sequence[int]) -> tuple[Node, ...]:
    """The nodes of `order`, which names each after its sources, with sources numbered by their place in it."""
    if all(place == number for place, number in enumerate(order)):
        return tuple(nodes[: len(order)])
    places = {number: place for place, number in enumerate(order)}
    return tuple(
        Node(node.op, node.dtype, tuple(places[source] for source in node.src), node.arg)
        for node in (nodes[number] for number in order)
    )
