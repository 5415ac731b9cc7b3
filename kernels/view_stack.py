"""What a stack of views means: the buffer position of an element, and whether it is valid.

The axes are the last view's. Its flat position is unravelled on the shape of the view below, and so on down to the
buffer. An element is valid if every view on the way has it inside its mask; below a mask, the coordinate that it
restricts is known to be inside, and the views further down are simplified with that.

`locate` says that as simply as it can. `outline` says it as tinygrad 0.10.2 would, which sees less: what merging and
the heuristic know of an access (known strides, masked axes) has to follow that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernels.index import Atom, Axis, Expr, Index, axes_in, single, substitute, upper
from kernels.index_rules import floordiv, mod
from kernels.ir import View, Views
from kernels.validity import (
    NEVER,
    VALID,
    Condition,
    Validity,
    assuming,
    assuming_in_steps,
    contains,
    merged_conditions,
    narrowed,
    without_coordinates,
)

#: Per axis its stride, None where none is known.
Strides = tuple[Index | None, ...]


@dataclass(frozen=True, slots=True)
class Location:
    """Where an access goes: the element `position` in its buffer, meaningful where `validity` holds."""

    position: Index
    validity: Validity

    def substitute(self, values: Mapping[Atom, Index]) -> Location:
        """The same with leaves replaced, simplified anew."""
        return Location(substitute(self.position, values), self.validity.substitute(values))


def locate(views: Views, coordinates: tuple[Index, ...]) -> Location:
    """The location of the element at `coordinates` (one Index per axis of the last view)."""
    location = _locate(views, coordinates, True)
    # Where no element is valid, what the masks say contradicts itself: the position is then taken without them.
    return location if location.validity.possible else Location(_locate(views, coordinates, False).position, NEVER)


def _locate(views: Views, coordinates: tuple[Index, ...], masks_known: bool) -> Location:
    validity = VALID
    position: Index = 0
    for depth in range(len(views) - 1, -1, -1):
        view = views[depth]
        if depth < len(views) - 1:
            view = merged_view(view)
            coordinates = unravel(position, view.shape)
        inside, validity = _apply_mask(view, coordinates, validity)
        coordinates = inside if masks_known else coordinates
        position = view.offset
        for coordinate, stride in zip(coordinates, view.strides, strict=True):
            position = position + coordinate * stride
    position = without_coordinates(position)
    if len(views) > 1 and validity.conditions and masks_known:
        validity = validity.simplified()
        position = assuming(position, validity.conditions)
    return Location(position, validity)


def outline(views: Views, coordinates: tuple[Index, ...]) -> Location:
    """As `locate`, but from the whole index: the masks are used once it stands, wherever their sums stand in it.

    Each mask is used once, first those whose sum stands in most of the others. The conditions of the validity are not
    simplified by each other.
    """
    validity = VALID
    position: Index = 0
    clauses: dict[Expr, Condition] = {}
    for depth in range(len(views) - 1, -1, -1):
        view = views[depth]
        if depth < len(views) - 1:
            view = merged_view(view)
            coordinates = unravel(position, view.shape)
            if view.shape and isinstance(view.shape[0], int):
                # what the masks above keep out may lie beyond the view below
                coordinates = (mod(coordinates[0], view.shape[0]), *coordinates[1:])
        for clause in _clauses(view, coordinates):
            clauses[clause.expr] = merged_conditions(clauses.get(clause.expr), clause)
        _, validity = _apply_mask(view, coordinates, validity)
        position = view.offset
        for coordinate, stride in zip(coordinates, view.strides, strict=True):
            position = position + coordinate * stride
    known = sorted(clauses.values(), key=lambda clause: -sum(contains(c, clause.expr) for c in clauses))
    return Location(assuming_in_steps(position, tuple(known)), validity)


def _clauses(view: View, coordinates: tuple[Index, ...]) -> list[Condition]:
    """What the view's mask says of each coordinate, in the axes' order."""
    if view.mask is None:
        return []
    bounds = zip(coordinates, view.mask, strict=True)
    return [clause for value, (start, end) in bounds for clause in VALID.restrict(value, start, end - 1).conditions]


def _apply_mask(view: View, coordinates: tuple[Index, ...], validity: Validity) -> tuple[tuple[Index, ...], Validity]:
    if view.mask is None:
        return coordinates, validity
    inside = []
    for coordinate, size, (start, end) in zip(coordinates, view.shape, view.mask, strict=True):
        if start == 0 and end == size:
            inside.append(coordinate)
            continue
        validity = validity.restrict(without_coordinates(coordinate), start, end - 1)
        inside.append(narrowed(coordinate, start if isinstance(start, int) else start.lo, upper(end) - 1))
    return tuple(inside), validity


def unravel(position: Index, shape: tuple[Index, ...]) -> tuple[Index, ...]:
    """The coordinates of a flat row-major `position` inside `shape`. The position must be in [0, product of shape)."""
    coordinates: list[Index] = []
    inner: Index = 1
    for axis in range(len(shape) - 1, -1, -1):
        quotient = floordiv(position, inner)
        coordinates.append(quotient if axis == 0 else mod(quotient, shape[axis]))
        inner = inner * shape[axis]
    return tuple(reversed(coordinates))


def merged_view(view: View) -> View:
    """The same view with neighbouring axes merged where strides allow it and no mask cuts the inner one."""
    mask = view.mask or tuple((0, size) for size in view.shape)
    shape: list[Index] = []
    strides: list[Index] = []
    masks: list[tuple[Index, Index]] = []
    for size, stride, bound in zip(view.shape, view.strides, mask, strict=True):
        if size == 1 and bound == (0, 1):
            continue
        if shape and bound == (0, size) and strides[-1] == size * stride:
            start, end = masks[-1]
            shape[-1], strides[-1], masks[-1] = shape[-1] * size, stride, (start * size, end * size)
        else:
            shape.append(size)
            strides.append(stride)
            masks.append(bound)
    unmasked = all(bound == (0, size) for bound, size in zip(masks, shape, strict=True))
    return View(tuple(shape), tuple(strides), view.offset, None if unmasked else tuple(masks))


def known_strides(location: Location, numbers: tuple[int, ...]) -> Strides:
    """Per axis number, its stride in the simplified position: None where it is not linear, or where it is masked."""
    linear: dict[int, Index] = {}
    entangled = set(location.validity.axes)
    if isinstance(location.position, Expr):
        for monomial, coefficient in location.position.terms:
            own = [atom for atom in monomial if isinstance(atom, Axis)]
            others = tuple(atom for atom in monomial if not isinstance(atom, Axis))
            hidden = {n for atom in others for n in axes_in(single(atom))}
            entangled |= hidden
            if len(own) == 1 and not hidden:
                number = own[0].number
                if number in linear:
                    entangled.add(number)
                linear[number] = Expr(((others, coefficient),), 0) if others else coefficient
            else:
                entangled |= {axis.number for axis in own}
    return tuple(None if number in entangled else linear.get(number, 0) for number in numbers)


def seen_strides(location: Location, outlined: Location, tangled: bool, numbers: tuple[int, ...]) -> Strides:
    """The strides that merging and the heuristic know: linear in the outline and not masked; 0 alone if tangled."""
    strides = known_strides(Location(outlined.position, location.validity), numbers)
    return tuple(stride if stride == 0 else None for stride in strides) if tangled else strides
