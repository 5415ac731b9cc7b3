"""Which upcast lanes of one access are one vector access to memory, where arithmetic is scalar.

Consecutive lanes of a load or a store that are valid together are one access of a vector type, of up to 16 bytes. A
graphics processor wants such an access aligned as the vector is: it must begin at a multiple of its lanes, and asks for
more of the buffer's alignment than an element does. A processor takes it anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from kernels.dtypes import DType
from kernels.index import Expr
from kernels.lowering.context import Context, Point
from kernels.lowering.lanes import lane_strides

#: The most bytes of one access.
_BYTES = 16


@dataclass(frozen=True, slots=True)
class MemoryLanes:
    """`width` consecutive elements, within those that the upcast `axes` go through, the fastest first.

    axes: (id, how many lanes). aligned: the access is aligned as its vector, not as an element.
    """

    axes: tuple[tuple[int, int], ...]
    width: int
    aligned: bool

    def place(self, point: Point) -> tuple[Point, int]:
        """(where the vector that has `point` begins, which of its lanes that is)."""
        offset, size = 0, 1
        for axis, lanes in self.axes:
            offset += size * point[axis]
            size *= lanes
        lane = offset % self.width
        first, rest = dict(point), offset - lane
        for axis, lanes in self.axes:
            first[axis] = rest % lanes
            rest //= lanes
        return first, lane


ALONE = MemoryLanes((), 1, False)


def memory_lanes(context: Context, node: int, dtype: DType) -> MemoryLanes:
    """The lanes of access number `node`; ALONE where arithmetic has lanes of its own, or there are none."""
    location = context.locations[node]
    if context.lanes.width > 1 or not isinstance(location.position, Expr):
        return ALONE
    aligned = not context.target.vector_widths
    strides = lane_strides(location.position, context.dependence)
    axes: list[tuple[int, int]] = []
    size = 1
    while True:
        following = next((axis for axis, stride in strides.items() if stride == size), None)
        if following is None or following in location.validity.axes or following in dict(axes):
            break
        lanes = context.dependence.lanes[following]
        axes.append((following, lanes))
        size *= lanes
    width = _BYTES // dtype.itemsize
    while width > 1 and not _fits(location.position, strides, axes, width, aligned):
        width //= 2
    return MemoryLanes(tuple(axes), width, aligned) if width > 1 else ALONE


def _fits(
    position: Expr, strides: dict[int, int | None], axes: list[tuple[int, int]], width: int, aligned: bool
) -> bool:
    whole = prod(lanes for _, lanes in axes) % width == 0
    return whole and (not aligned or _begins_at_multiples(position, strides, axes, width))


def _begins_at_multiples(
    position: Expr, strides: dict[int, int | None], axes: list[tuple[int, int]], width: int
) -> bool:
    """Whether everything in `position` but the lanes themselves is a multiple of `width`."""
    own = {axis for axis, _ in axes}
    rest = [stride for axis, stride in strides.items() if axis not in own]
    if position.constant % width or any(stride is None or stride % width for stride in rest):
        return False
    lanes = set(strides)
    for monomial, coefficient in position.terms:
        numbers = {getattr(atom, "number", None) for atom in monomial}
        if numbers.isdisjoint(lanes) and coefficient % width:
            return False
    return True
