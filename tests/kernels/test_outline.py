"""An outline is as exact as a location, and what it leaves known and masked is what the oracle leaves."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from tinygrad.shape.shapetracker import ShapeTracker

from kernels.index import Index, single
from kernels.view_stack import Location, locate, outline, seen_strides
from tests.kernels.expressions import meaning
from tests.kernels.test_view_stack import axes_of, brute_force, every_point, views_of
from tests.made.random_views import stack_of

SEED = 23


def coordinates_of(tracker: ShapeTracker) -> tuple[Index, ...]:
    return tuple(0 if axis.size == 1 else single(axis) for axis in axes_of(views_of(tracker)))


def masked_stacks(count: int, views: int) -> list[ShapeTracker]:
    rng = random.Random(f"{SEED}/{views}")
    return [stack_of(rng, views, masked=True)[1] for _ in range(count)]


@pytest.mark.parametrize("views", [2, 3])
def test_outline_is_exact_on_every_element_of_random_masked_stacks(views: int) -> None:
    for tracker in masked_stacks(20, views):
        stack = views_of(tracker)
        points = every_point(stack, {})
        position, valid = brute_force(stack, points)
        outlined = outline(stack, coordinates_of(tracker))
        found: Any = np.full(position.shape, outlined.validity.possible)
        for condition in outlined.validity.conditions:
            value = meaning(condition.expr, points)
            found &= (condition.lo is None or value >= condition.lo) & (condition.hi is None or value <= condition.hi)
        assert np.array_equal(found, np.broadcast_to(valid, position.shape)), stack
        assert np.all((meaning(outlined.position, points) == position) | ~found), stack


def known_and_masked(tracker: ShapeTracker) -> tuple[tuple[Index | None, ...], tuple[bool, ...]]:
    stack, coordinates = views_of(tracker), coordinates_of(tracker)
    outlined = outline(stack, coordinates)
    numbers = tuple(range(len(coordinates)))
    strides = seen_strides(locate(stack, coordinates), outlined, False, numbers)
    return strides, tuple(number in outlined.validity.axes for number in numbers)


def test_known_strides_and_masked_axes_are_nearly_always_the_oracles_on_random_masked_stacks() -> None:
    """The other few hang on the order in which the oracle rewrites a sum."""
    stacks = [*masked_stacks(60, 2), *masked_stacks(40, 3)]
    differing = 0
    for tracker in stacks:
        masked = tuple(tracker.axis_is_masked(axis) for axis in range(len(tracker.shape)))
        differing += known_and_masked(tracker) != (tracker.real_strides(), masked)
    assert differing <= 0.03 * len(stacks)


def test_outline_does_not_use_one_condition_to_simplify_another() -> None:
    """Of 10 rows of 18 only 5 are valid, which would keep the position below 90."""
    tracker = masked_rows()
    stack, coordinates = views_of(tracker), coordinates_of(tracker)
    assert outline(stack, coordinates).validity.axes == {0, 1, 2}
    assert locate(stack, coordinates).validity.axes == {0, 1}
    assert known_and_masked(tracker) == (tracker.real_strides(), (True, True, True))


def masked_rows() -> ShapeTracker:
    flat = ShapeTracker.from_shape((73,)).shrink(((4, 73),)).pad(((0, 21),))
    return flat.reshape((5, 6, 3)).pad(((0, 5), (0, 0), (0, 0)))


def test_location_substitute_replaces_leaves_in_position_and_validity() -> None:
    tracker = ShapeTracker.from_shape((8,)).pad(((0, 4),))
    (axis,) = axes_of(views_of(tracker))
    location = locate(views_of(tracker), coordinates_of(tracker)).substitute({axis: 9})
    assert location == Location(9, location.validity) and not location.validity.possible
