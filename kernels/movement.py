"""Movement operations: the same buffer seen through other axes. Pure functions from a view stack to a view stack.

Sizes may be expressions of variables. Stacks stay short: after each operation the last view is merged with the one
below wherever one view can say the same, which is found by locating an element through both and looking whether its
position is linear in the axes and its validity a box.

Everything that does not fit raises ViewError. With variables, a size or an end that is too large for some of their
values only is let through: whether that is right is decided when the AST is verified.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from kernels.errors import ViewError
from kernels.index import Axis, Expr, Index, axes_in, lower, single, upper
from kernels.index import product as product_of
from kernels.index_rules import floordiv, maximum, split_by_factor
from kernels.ir import View, Views
from kernels.quote import quote_shape
from kernels.raw_view import contiguous_strides
from kernels.reach import plain_view
from kernels.validity import Condition, Validity
from kernels.view_stack import locate

#: Half-open bounds [from, to), or amounts (before, after), one pair per axis.
Pairs: TypeAlias = Sequence[tuple[Index, Index]]
Mask: TypeAlias = tuple[tuple[Index, Index], ...]


def contiguous(shape: Sequence[Index]) -> Views:
    """A whole buffer in row-major order."""
    _check_sizes(shape)
    return (_row_major(shape),)


def broadcast(shape: Sequence[Index]) -> Views:
    """One element everywhere: all strides are 0."""
    _check_sizes(shape)
    return (View(tuple(shape), (0,) * len(shape)),)


def reshape(views: Views, shape: Sequence[Index]) -> Views:
    """The same elements in row-major order, in axes of sizes `shape`."""
    _check_sizes(shape)
    old, new = product_of(views[-1].shape), product_of(tuple(shape))
    if old != new:
        raise ViewError(
            f"{old} elements of shape {quote_shape(views[-1].shape)} do not fit the shape {quote_shape(shape)}"
        )
    if tuple(shape) == views[-1].shape:
        return views
    return _merged((*views, _row_major(shape)))


def permute(views: Views, order: Sequence[int]) -> Views:
    """The axes in another order: axis i of the result is axis order[i]."""
    last = views[-1]
    if sorted(order) != list(range(len(last.shape))):
        raise ViewError(f"{tuple(order)} is no order of the {len(last.shape)} axes {quote_shape(last.shape)}")
    mask = None if last.mask is None else tuple(last.mask[i] for i in order)
    shape, strides = (tuple(values[i] for i in order) for values in (last.shape, last.strides))
    return _with_last(views, View(shape, strides, last.offset, mask))


def expand(views: Views, shape: Sequence[Index]) -> Views:
    """Axes of size 1 repeated to the sizes of `shape`; the others stay."""
    _check_sizes(shape)
    last = views[-1]
    _check_count(last, shape, "sizes")
    for axis, (old, new) in enumerate(zip(last.shape, shape, strict=True)):
        if old not in (1, new):
            raise ViewError(f"axis {axis} has size {old}: only an axis of size 1 expands to {new}")
    mask: Mask | None = None
    if last.mask is not None:
        repeated = zip(last.mask, last.shape, shape, strict=True)
        mask = tuple(bound if old == new else (bound[0] * new, bound[1] * new) for bound, old, new in repeated)
    strides = tuple(0 if old == 1 else s for old, s in zip(last.shape, last.strides, strict=True))
    return _with_last(views, View(tuple(shape), strides, last.offset, mask))


def pad(views: Views, amounts: Pairs) -> Views:
    """Each axis longer by (before, after) elements, which are not valid."""
    last = views[-1]
    _check_count(last, amounts, "pairs")
    shape: list[Index] = []
    offset = last.offset
    mask: list[tuple[Index, Index]] = []
    for axis, (before, after) in enumerate(amounts):
        if lower(before) < 0 or lower(after) < 0:
            raise ViewError(f"axis {axis} cannot be padded by {before} and {after}: amounts are 0 or more")
        start, end = _bound(last, axis)
        shape.append(before + last.shape[axis] + after)
        offset = offset - before * last.strides[axis]
        mask.append((start + before, end + before))
    return _with_last(views, View(tuple(shape), last.strides, offset, tuple(mask)))


def shrink(views: Views, bounds: Pairs) -> Views:
    """Of each axis the elements [from, to), at least one."""
    last = views[-1]
    _check_count(last, bounds, "pairs")
    shape: list[Index] = []
    offset = last.offset
    mask: list[tuple[Index, Index]] = []
    for axis, (first, end) in enumerate(bounds):
        size = last.shape[axis]
        if lower(first) < 0 or lower(end - size) > 0 or lower(end - first) < 1:
            raise ViewError(f"[{first}, {end}) is no part of axis {axis}, which has {size} elements")
        new = end - first
        shape.append(new)
        offset = offset + first * last.strides[axis]
        mask.append((_clamped(_bound(last, axis)[0] - first, new), _clamped(_bound(last, axis)[1] - first, new)))
    return _with_last(views, View(tuple(shape), last.strides, offset, tuple(mask) if last.mask else None))


def flip(views: Views, axes: Sequence[int]) -> Views:
    """The axes `axes` backwards."""
    last = views[-1]
    strides, offset, mask = list(last.strides), last.offset, [_bound(last, axis) for axis in range(len(last.shape))]
    for axis in axes:
        _check_axis(last, axis)
        size, (start, end) = last.shape[axis], _bound(last, axis)
        offset = offset + strides[axis] * (size - 1)
        strides[axis] = -strides[axis]
        mask[axis] = (size - end, size - start)
    if len(set(axes)) != len(axes):
        raise ViewError(f"an axis occurs twice in {tuple(axes)}")
    return _with_last(views, View(last.shape, tuple(strides), offset, tuple(mask)))


def step(views: Views, steps: Sequence[int]) -> Views:
    """Of each axis every steps[axis]-th element, from the first."""
    last = views[-1]
    _check_count(last, steps, "steps")
    for axis, every in enumerate(steps):
        if every < 1:
            raise ViewError(f"axis {axis} cannot go in steps of {every}: a step is 1 or more")
    strides = tuple(stride * every for stride, every in zip(last.strides, steps, strict=True))
    shape = tuple(_steps_in(size, every) for size, every in zip(last.shape, steps, strict=True))
    bounds = [_bound(last, axis) for axis in range(len(steps))]
    mask = tuple((_steps_in(a, n), _steps_in(b, n)) for (a, b), n in zip(bounds, steps, strict=True))
    return _with_last(views, View(shape, strides, last.offset, mask))


def windows(views: Views, axis: int, size: int, every: int = 1, dilation: int = 1) -> Views:
    """Sliding windows over `axis`: it becomes the places of windows, and a new last axis goes over a window's elements.

    A window takes `size` elements, `dilation` apart; the next one begins `every` elements further on. Places that a
    window would stick out of are left out.
    """
    last = views[-1]
    _check_axis(last, axis)
    if min(size, every, dilation) < 1:
        raise ViewError(f"windows of {size}, every {every}, elements {dilation} apart: each is 1 or more")
    spare = last.shape[axis] - dilation * (size - 1) - 1
    if lower(spare) < 0:
        raise ViewError(f"a window of {size}, elements {dilation} apart, does not fit axis {axis}: {last.shape[axis]}")
    if _bound(last, axis) != (0, last.shape[axis]):
        # Places and elements together run over the mask, so it has to stay one of the axis as it is.
        last = _row_major(last.shape)
        views = (*views, last)
    places, stride = floordiv(spare, every) + 1, last.strides[axis]
    shape = (*last.shape[:axis], places, *last.shape[axis + 1 :], size)
    strides = (*last.strides[:axis], stride * every, *last.strides[axis + 1 :], stride * dilation)
    mask: Mask | None = None
    if last.mask is not None:
        mask = (*last.mask[:axis], (0, places), *last.mask[axis + 1 :], (0, size))
    return _with_last(views, View(shape, strides, last.offset, mask))


# ---- merging views ---------------------------------------------------------------------------------------------------


def _row_major(shape: Sequence[Index]) -> View:
    return View(tuple(shape), contiguous_strides(shape))


def _with_last(views: Views, last: View) -> Views:
    return _merged((*views[:-1], last))


def _merged(views: Views) -> Views:
    """The same stack with the last view merged downwards as far as one view can say the same."""
    last = _plain(views[-1])
    below = views[:-1]
    while below:
        whole = _one_view(below[-1], last)
        if whole is None:
            break
        last, below = _plain(whole), below[:-1]
    return (*below, last)


def _plain(view: View) -> View:
    """`view` in the one form that says the same."""
    if any(upper(end - start) <= 0 for start, end in view.mask or ()):
        return _nowhere(view.shape)
    return plain_view(view)


def _nowhere(shape: tuple[Index, ...]) -> View:
    """A view of `shape`, of one axis or more, that is valid nowhere."""
    return View(shape, (0,) * len(shape), 0, ((0, 0),) * len(shape))


def _one_view(below: View, top: View) -> View | None:
    """The view that is `top` over `below`, if there is one."""
    axes = tuple(Axis(number, size) for number, size in enumerate(top.shape))
    coordinates = tuple(0 if axis.size == 1 else single(axis) for axis in axes)
    location = locate((below, top), coordinates)
    if not location.validity.possible:
        return _nowhere(top.shape) if axes else None  # without an axis there is none to put a mask on
    linear, mask = _linear(location.position, axes), _box(location.validity, axes)
    return None if linear is None or mask is None else View(top.shape, *linear, mask)


def _linear(position: Index, axes: tuple[Axis, ...]) -> tuple[tuple[Index, ...], Index] | None:
    """(strides, offset) with position = offset + sum of stride * axis, or None. Strides may hold variables."""
    strides: list[Index] = [0] * len(axes)
    offset: Index = position
    if isinstance(position, Expr):
        for monomial, coefficient in position.terms:
            term = Expr(((monomial, coefficient),), 0)
            if not axes_in(term):
                continue
            others = tuple(atom for atom in monomial if not isinstance(atom, Axis))
            if len(others) != len(monomial) - 1 or any(axes_in(single(atom)) for atom in others):
                return None
            axis = next(atom for atom in monomial if isinstance(atom, Axis))
            strides[axis.number] += Expr(((others, coefficient),), 0) if others else coefficient
            offset = offset - term
    return tuple(strides), offset


def _box(validity: Validity, axes: tuple[Axis, ...]) -> Mask | None:
    """One pair [from, to) per axis that says the same, or None where a condition concerns several axes."""
    mask: list[tuple[Index, Index]] = [(0, axis.size) for axis in axes]
    for condition in (part for whole in validity.conditions for part in _digits(whole)):
        numbers = axes_in(condition.expr)
        found = _axis_bounds(condition, axes[min(numbers)]) if len(numbers) == 1 else None
        if found is None:
            return None
        start, end = mask[min(numbers)]
        mask[min(numbers)] = (maximum(start, found[0]), minimum(end, found[1]))
    return tuple(mask)


def _digits(condition: Condition) -> list[Condition]:
    """The condition in parts that say the same together, where it picks one value of its higher digits.

    3 <= 4a + 2b + c <= 3 is a = 0, b = 1 and c = 1, if b and c are less than 2.
    """
    expr = condition.expr
    lo = expr.lo if condition.lo is None else condition.lo
    hi = expr.hi if condition.hi is None else condition.hi
    for factor in sorted({c for _, c in expr.terms if c > 1}, reverse=True):
        high, low = split_by_factor(expr, factor)
        if lower(low) >= 0 and upper(low) < factor and lo // factor == hi // factor:
            first, rest = lo // factor, (lo % factor, hi % factor)
            picked = [Condition(high, first, first)] if isinstance(high, Expr) else []
            return picked + (_digits(Condition(low, *rest)) if isinstance(low, Expr) else [])
    return [condition]


def _axis_bounds(condition: Condition, axis: Axis) -> tuple[Index, Index] | None:
    """The condition as bounds [from, to) of `axis`, the only one in it; None where it is multiplied by something."""
    expr, lo, hi = condition.expr, condition.lo, condition.hi
    for sign in (1, -1):
        rest = expr - sign * single(axis)
        if not axes_in(rest):
            if sign == 1:
                return 0 if lo is None else lo - rest, axis.size if hi is None else hi + 1 - rest
            return 0 if hi is None else rest - hi, axis.size if lo is None else rest - lo + 1
    return None


# ---- bounds and checks -----------------------------------------------------------------------------------------------


def minimum(a: Index, b: Index) -> Index:
    """The smaller of both."""
    return -maximum(-a, -b)


def _bound(view: View, axis: int) -> tuple[Index, Index]:
    return (0, view.shape[axis]) if view.mask is None else view.mask[axis]


def _clamped(value: Index, size: Index) -> Index:
    """`value` brought into [0, size]."""
    return minimum(maximum(value, 0), size)


def _steps_in(length: Index, every: int) -> Index:
    """How many of the positions 0, every, 2 * every, ... are below `length`."""
    return floordiv(length + every - 1, every)


def _check_sizes(shape: Sequence[Index]) -> None:
    for axis, size in enumerate(shape):
        if upper(size) < 1:
            raise ViewError(f"axis {axis} cannot have size {size}: a size is 1 or more")


def _check_count(view: View, values: Sequence[object], what: str) -> None:
    if len(values) != len(view.shape):
        raise ViewError(f"{len(values)} {what} for the {len(view.shape)} axes {quote_shape(view.shape)}")


def _check_axis(view: View, axis: int) -> None:
    if not 0 <= axis < len(view.shape):
        raise ViewError(f"there is no axis {axis} in {quote_shape(view.shape)}")
