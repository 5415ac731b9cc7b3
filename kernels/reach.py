"""How far views reach: the rules that keep every position inside the view below, and the buffer's least length.

Each view is judged alone, over the box that its own mask leaves: in a stack, what it reaches must lie inside the view
below, whether or not the masks further out let all of it through. That is simple and errs on the safe side.

With variables, everything but the buffer's length must hold for all their values: positions that cannot be shown to be
0 or more, or to be inside the view below, are refused. Only a reach beyond the declared size is left to whoever
launches, as that size is just what one run used.
"""

from __future__ import annotations

from typing import TypeAlias

from kernels.errors import AstError
from kernels.index import Index, lower, upper
from kernels.ir import View, Views
from kernels.quote import quote, quote_size
from kernels.sizes import DocumentSizes

#: The least and the greatest position of a view; None where its mask leaves nothing.
Range: TypeAlias = tuple[Index, Index] | None


def plain_view(view: View) -> View:
    """`view` without what has no effect: a mask that masks nothing, strides of axes of size 1."""
    mask = view.mask
    if mask is not None and all(
        start == 0 and end == size for (start, end), size in zip(mask, view.shape, strict=True)
    ):
        mask = None
    strides = view.strides
    if any(size == 1 and stride != 0 for size, stride in zip(view.shape, strides, strict=True)):
        strides = tuple(0 if size == 1 else stride for size, stride in zip(view.shape, strides, strict=True))
    return view if mask is view.mask and strides is view.strides else View(view.shape, strides, view.offset, mask)


def check_views(views: Views, sizes: DocumentSizes, node: int) -> Range:
    """The positions that `views` reach under the innermost of them. Raises AstError where one is no valid view."""
    for view in views:
        _check_shape(view.shape, sizes, node)
        if view.mask is not None:
            _check_mask(view, node)
    reached: Range = None
    for depth in range(len(views) - 1, -1, -1):
        reached = positions(views[depth], sizes, node)
        if reached is None:
            return None
        if depth:
            _check_inside(reached, views[depth - 1], depth, sizes, node)
    return reached


def _check_shape(shape: tuple[Index, ...], sizes: DocumentSizes, node: int) -> None:
    elements = 1
    for axis, size in enumerate(shape):
        if not sizes.prover.at_least_zero(size - 1):
            raise AstError("view", f"axis {axis} has size {quote_size(size)}, and a size is 1 or more", node)
        elements *= upper(size)
    limit = sizes.limits.elements
    if elements > limit:
        raise AstError("limit", f"a view has {quote(elements)} elements, more than {limit}", node)


def _check_mask(view: View, node: int) -> None:
    """Refuse bounds that are wrong whatever the variables are; others only ever leave less to reach."""
    for axis, ((start, end), size) in enumerate(zip(view.mask or (), view.shape, strict=True)):
        if upper(start) < 0 or upper(end - start) < 0 or lower(end - size) > 0:
            bounds = f"[{quote_size(start)}, {quote_size(end)})"
            raise AstError("view", f"the mask {bounds} of axis {axis} is not within its size {quote_size(size)}", node)


def positions(view: View, sizes: DocumentSizes, node: int) -> Range:
    """The least and the greatest position inside the view's mask."""
    least = greatest = view.offset
    mask = view.mask
    for axis, stride in enumerate(view.strides):
        first: Index = 0
        last: Index = view.shape[axis] - 1
        if mask is not None:
            first, end = mask[axis]
            if upper(end - first) <= 0:
                return None
            last = end - 1
        if stride == 0:
            continue
        ends = _times(stride, first, sizes, node), _times(stride, last, sizes, node)
        if lower(stride) < 0:
            ends = ends[1], ends[0]
            if upper(stride) > 0:
                low = sizes.apply("max", -ends[0], -ends[1], node)
                ends = -low, sizes.apply("max", *ends, node)
        least, greatest = _plus(least, ends[0], sizes, node), _plus(greatest, ends[1], sizes, node)
    return least, greatest


def _times(a: Index, b: Index, sizes: DocumentSizes, node: int) -> Index:
    return a * b if isinstance(a, int) and isinstance(b, int) else sizes.apply("*", a, b, node)


def _plus(a: Index, b: Index, sizes: DocumentSizes, node: int) -> Index:
    return a + b if isinstance(a, int) and isinstance(b, int) else sizes.apply("+", a, b, node)


def _check_inside(reached: tuple[Index, Index], below: View, depth: int, sizes: DocumentSizes, node: int) -> None:
    least, greatest = reached
    size: Index = 1
    for length in below.shape:
        size = _times(size, length, sizes, node)
    if not sizes.prover.at_least_zero(least):
        raise AstError("reach", f"view {depth} may reach position {quote_size(least)} of the view below", node)
    if not sizes.prover.at_least_zero(size - 1 - greatest):
        message = (
            f"view {depth} may reach position {quote_size(greatest)} of the view below, of {quote_size(size)} elements"
        )
        raise AstError("reach", message, node)


def needed_elements(reached: Range, sizes: DocumentSizes, node: int) -> Index:
    """How many elements a buffer must hold for an access with these positions. Raises AstError below position 0."""
    if reached is None:
        return 0
    least, greatest = reached
    if not sizes.prover.at_least_zero(least):
        raise AstError("reach", f"may reach position {quote_size(least)} of its buffer", node)
    return greatest + 1 if lower(greatest) >= 0 else sizes.apply("max", greatest + 1, 0, node)
