"""The parts of a kernel's graph that are worked out together, and how large a block of each may be.

A *region* is everything that a STORE's or a reduce's value needs at the same positions: it ends at the reduces below,
which need more positions and are regions of their own. A reduce whose source does not differ along the reduced axes
needs no more positions; it belongs to the region.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod

from kernels.ops import Ops
from kernels.reference.concrete import ConcreteAst
from kernels.reference.formats import EXACT_CASTS

#: Positions in a block: small enough for the processor's caches, large enough to outweigh a NumPy call.
BLOCK = 1 << 17
#: Positions in one block of a contraction's factors and of its result.
CONTRACTION_BLOCK = 1 << 20
#: Positions of a block times values alive at once: with 8 bytes a value, 8 an error, this bounds memory.
_ALIVE = 1 << 21
_SMALLEST_BLOCK = 1 << 10


@dataclass(frozen=True, slots=True)
class Region:
    """The nodes to work out, sources first, the root last; `uses` counts how often each is a source among them."""

    order: tuple[int, ...]
    uses: Counter[int]
    block: int


def is_boundary(kernel: ConcreteAst, number: int) -> bool:
    """True for a reduce that is a region of its own."""
    return kernel.nodes[number].op is Ops.REDUCE_AXIS and bool(kernel.live_axes(number))


def summed_product(kernel: ConcreteAst, reduce: int) -> int | None:
    """The MUL of which `reduce` is a float sum, directly or through an exact CAST; None of any other reduce."""
    node = kernel.nodes[reduce]
    if node.dtype is None or not node.dtype.is_float or kernel.reduction(reduce).op is not Ops.ADD:
        return None
    source = node.src[0]
    if kernel.nodes[source].op is Ops.CAST:
        source = kernel.nodes[source].src[0]
    product = kernel.nodes[source]
    exact = product.dtype is node.dtype or (product.dtype, node.dtype) in EXACT_CASTS
    return source if product.op is Ops.MUL and exact else None


def region_of(kernel: ConcreteAst, root: int) -> Region:
    """The region that ends in the value `root`. Of a root that is a boundary it has that node alone."""
    uses: Counter[int] = Counter({root: 1})
    waiting = [root]
    seen = {root}
    while waiting:
        number = waiting.pop()
        if is_boundary(kernel, number):
            continue
        for source in _sources(kernel, number):
            uses[source] += 1
            if source not in seen:
                seen.add(source)
                waiting.append(source)
    order = tuple(sorted(seen))
    return Region(order, uses, _block(kernel, order, uses))


def _sources(kernel: ConcreteAst, number: int) -> list[int]:
    return [source for source in kernel.nodes[number].src if kernel.nodes[source].op is not Ops.DEFINE_GLOBAL]


def _block(kernel: ConcreteAst, order: tuple[int, ...], uses: Counter[int]) -> int:
    """The positions of one block, fewer where many values are alive at once."""
    left = Counter(uses)
    alive = most = 0
    known = set(order)
    for number in order:
        alive += 1
        most = max(most, alive)
        if is_boundary(kernel, number):
            continue
        for source in _sources(kernel, number):
            left[source] -= 1
            alive -= source in known and left[source] == 0
    return max(_SMALLEST_BLOCK, min(BLOCK, _ALIVE // most))


def store_block(kernel: ConcreteAst, region: Region, points: bool) -> int:
    """How many output elements to work out at once, so that the reduces among them need not be cut.

    A contraction of a box is a matrix product, which does not need the space of its addends; of `points` it does.
    """
    longest = 1
    contracts = False
    for number in region.order:
        if is_boundary(kernel, number):
            if not points and summed_product(kernel, number) is not None:
                contracts = True
                continue
            longest = max(longest, prod(kernel.sizes[axis] for axis in kernel.live_axes(number)))
    if contracts and longest == 1:
        return CONTRACTION_BLOCK if region.block == BLOCK else region.block
    return max(region.block // longest, 64)
