"""A stack of views is one position and one validity, as brute force has them; its strides are the oracle's."""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest
from tinygrad.shape.shapetracker import ShapeTracker

from kernels.index import Atom, Axis, Expr, FloorDiv, Index, Mod, Var, single
from kernels.ir import View, Views
from kernels.view_stack import Location, known_strides, locate, merged_view, unravel
from tests.kernels.expressions import meaning
from tests.made.random_views import random_tracker, stack_of
from tests.made.reduces import skewed
from tests.made.views import negative_stride
from tests.oracle import document_to_uop
from tests.parity.subjects import stored

SEED = 7


def views_of(tracker: Any) -> Views:
    """The stack of a tracker whose sizes are all integers."""
    return tuple(View(view.shape, view.strides, view.offset, view.mask) for view in tracker.views)


def axes_of(views: Views) -> tuple[Axis, ...]:
    return tuple(Axis(number, size) for number, size in enumerate(views[-1].shape))


def located(views: Views) -> Location:
    """The location over the last view's axes, those of size 1 being at 0."""
    return locate(views, tuple(0 if axis.size == 1 else single(axis) for axis in axes_of(views)))


def every_point(views: Views, variables: Mapping[Atom, int]) -> dict[Atom, Any]:
    """Every element of the last view: a flat array for each axis, besides the variables' values."""
    sizes = tuple(meaning(size, variables) for size in views[-1].shape)
    grid = np.indices(sizes, dtype=np.int64).reshape(len(sizes), -1)
    return {**variables, **{axis: grid[i] for i, axis in enumerate(axes_of(views))}}


def brute_force(views: Views, points: Mapping[Atom, Any]) -> tuple[Any, Any]:
    """(position, valid) of every point: one view after the other, unravelled element by element."""
    position: Any = 0
    valid: Any = True
    coordinates = [points[axis] for axis in axes_of(views)]
    for depth, view in enumerate(reversed(views)):
        if depth > 0:
            coordinates = unravelled(position, [meaning(size, points) for size in view.shape])
        terms = [c * meaning(stride, points) for c, stride in zip(coordinates, view.strides, strict=True)]
        position = np.atleast_1d(sum(terms, start=meaning(view.offset, points)))
        for coordinate, (low, high) in zip(coordinates, view.mask or (), strict=False):
            valid = valid & (meaning(low, points) <= coordinate) & (coordinate < meaning(high, points))
    return position, valid


def unravelled(position: Any, sizes: list[int]) -> list[Any]:
    """The coordinates of a flat position in a row-major shape."""
    coordinates: list[Any] = []
    for size in reversed(sizes):
        coordinates.insert(0, position % size)
        position = position // size
    return coordinates


def assert_exact(views: Views, variables: Mapping[Atom, int]) -> None:
    """The location is valid where brute force is, and at the same position there."""
    points = every_point(views, variables)
    position, valid = brute_force(views, points)
    location = located(views)
    found_valid: Any = location.validity.possible
    for condition in location.validity.conditions:
        value = meaning(condition.expr, points)
        found_valid = found_valid & (condition.lo is None or value >= condition.lo)
        found_valid = found_valid & (condition.hi is None or value <= condition.hi)
    assert np.array_equal(np.broadcast_to(found_valid, position.shape), np.broadcast_to(valid, position.shape)), views
    same = meaning(location.position, points) == position
    assert np.all(same | ~np.broadcast_to(valid, position.shape)), views


# ---- against brute force ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("masked", [False, True])
def test_locate_is_exact_on_every_element_of_random_stacks(count: int, masked: bool) -> None:
    rng = random.Random(f"{SEED}/{count}/{masked}")
    for _ in range(12):
        _, tracker = stack_of(rng, count, masked)
        assert_exact(views_of(tracker), {})


def test_locate_is_exact_on_random_views_of_small_shapes() -> None:
    trackers = small_trackers(220)
    single_masked = [t for t in trackers if len(t.views) == 1 and t.views[0].mask is not None]
    assert len(single_masked) > 15 and sum(len(t.views) > 1 for t in trackers) > 15
    for tracker in trackers:
        assert_exact(views_of(tracker), {})


def small_trackers(count: int) -> list[ShapeTracker]:
    """Random views of up to four small axes: mostly one view, masked, flipped, strided or broadcast."""
    rng = random.Random(SEED)
    shapes = [tuple(rng.choice((1, 2, 3, 4, 5, 6, 8, 12)) for _ in range(rng.randint(1, 4))) for _ in range(count)]
    return [random_tracker(rng, shape)[1] for shape in shapes]


def dynamic_stacks() -> list[tuple[str, Views, tuple[Var, ...]]]:
    n, m = Var("n", 1, 6), Var("m", 0, 5)
    size, start = single(n), single(m)
    plain = View((size, 4), (4, 1))
    return [
        ("rows", (plain,), (n,)),
        ("offset", (View((3, 4), (4, 1), start * 4),), (m,)),
        ("masked to n", (View((6, 4), (4, 1), 0, ((0, size), (0, 4))),), (n,)),
        ("masked from m", (View((6, 4), (4, 1), start * -4, ((start, 6), (0, 4))),), (m,)),
        ("flat", (plain, View((4 * size,), (1,))), (n,)),
        ("transposed, then flat", (View((4, size), (1, 4)), View((4 * size,), (1,))), (n,)),
        ("flat in rows of n", (View((4, size), (1, 4)), View((2, 2 * size), (2 * size, 1))), (n,)),
        ("masked, then flat", (View((6, 4), (4, 1), 0, ((0, size), (0, 4))), View((3, 8), (8, 1))), (n,)),
        ("masked rows of n", (View((5, size), (size, 1), 0, ((1, 4), (0, size))), View((5 * size,), (1,))), (n,)),
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "views", "variables"), dynamic_stacks())
def test_locate_is_exact_at_every_value_of_the_variables(name: str, views: Views, variables: tuple[Var, ...]) -> None:
    for value in range(variables[0].lo, variables[0].hi + 1):
        assert_exact(views, {variables[0]: value})


def test_locate_is_exact_on_every_small_view_of_the_stored_kernels() -> None:
    small = [tracker for tracker in stored_stacks("corpus", "made") if math.prod(tracker.shape) <= 10_000]
    assert sum(len(tracker.views) > 1 for tracker in small) > 50
    for tracker in small:
        assert_exact(views_of(tracker), {})


def stored_stacks(*kinds: str) -> set[ShapeTracker]:
    """The different stacks of all stored kernels without variables."""
    documents = [document for kind in kinds for document in stored(kind).values() if "vars" not in document]
    return {tracker for document in documents for tracker in stacks_in(document)}


def stacks_in(document: Any) -> list[ShapeTracker]:
    return [uop.arg for uop in document_to_uop(document).toposort if uop.op.name == "VIEW"]


# ---- right values, written down --------------------------------------------------------------------------------------


def i(number: int, size: int) -> Expr:
    return single(Axis(number, size))


def shown(views: Views) -> tuple[str, list[str]]:
    location = located(views)
    return str(location.position), [str(condition) for condition in location.validity.conditions]


@pytest.mark.parametrize(
    ("views", "position", "conditions"),
    [
        ((View((4, 6), (6, 1)),), "i0*6+i1", []),
        ((View((4, 6), (-6, 1), 18),), "i0*-6+i1+18", []),
        ((View((4, 1), (1, 9)),), "i0", []),
        ((View((), (), 5),), "5", []),
        ((View((4, 6), (6, 1), -1, ((0, 4), (1, 5))),), "i0*6+i1-1", ["1 <= i1 <= 4"]),
        # A mask that masks nothing says nothing.
        ((View((4, 6), (6, 1), 0, ((0, 4), (0, 6))),), "i0*6+i1", []),
        # A transposed matrix seen flat cannot be said without division, seen as it was it can.
        ((View((4, 6), (1, 4)), View((24,), (1,))), "(i0)//6+(i0)%6*4", []),
        ((View((4, 6), (1, 4)), View((2, 2, 6), (12, 6, 1))), "i0*2+i1+i2*4", []),
        # Below a mask its range is known: the window never leaves the first 4 rows, so there is no remainder.
        ((View((4,), (1,)), View((8,), (1,), 0, ((0, 4),))), "i0", ["i0 <= 3"]),
    ],
)  # fmt: skip
def test_locate_gives_a_plain_position_and_condition(views: Views, position: str, conditions: list[str]) -> None:
    assert shown(views) == (position, conditions)


def test_locate_follows_a_negative_stride_under_a_mask() -> None:
    # Fault case A12: 16, 13, 10, 7, 4, 1, 0, 0 from x = 1..16.
    document = negative_stride()
    tracker = next(t for t in stacks_in(document) if any(v.mask is not None for v in t.views))
    location = located(views_of(tracker))
    assert str(location.position) == "i0*-3+15"
    assert [str(condition) for condition in location.validity.conditions] == ["i0 <= 5"]


def test_locate_knows_that_an_empty_mask_is_never_valid() -> None:
    assert not located((View((4,), (1,), 0, ((2, 2),)),)).validity.possible
    # The masks of two views exclude each other.
    below, above = View((8,), (1,), 0, ((0, 4),)), View((4,), (1,), 4)
    assert not located((below, above)).validity.possible


def test_locate_is_exact_on_a_skewed_triangle() -> None:
    for size in (2, 3, 8, 17):
        assert_exact(views_of(skewed(ShapeTracker.from_shape((size,)))), {})


def tangled(depth: int) -> Views:
    """Views of one number of elements in other shapes and orders, some axes flipped: nothing of them simplifies."""
    rng = random.Random(depth)
    factors = [2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 5, 5, 7]
    views = []
    for _ in range(depth):
        shape = [1] * rng.randint(5, 13)
        for factor in factors:
            shape[rng.randrange(len(shape))] *= factor
        strides, offset, inner = [0] * len(shape), 0, 1
        for axis in rng.sample(range(len(shape)), len(shape)):
            flipped = rng.random() < 0.3
            offset += (shape[axis] - 1) * inner if flipped else 0
            strides[axis] = -inner if flipped else inner
            inner *= shape[axis]
        views.append(View(tuple(shape), tuple(strides), offset))
    return tuple(views)


@pytest.mark.parametrize("depth", [3, 5])
def test_locate_of_views_that_do_not_simplify_ends_soon(depth: int) -> None:
    started = time.perf_counter()
    located(tangled(depth))
    assert time.perf_counter() - started < 1.0


@pytest.mark.parametrize(
    ("position", "shape", "coordinates"),
    [
        (23, (2, 3, 4), (1, 2, 3)),
        (0, (5,), (0,)),
        (i(0, 24), (24,), (i(0, 24),)),
        (i(0, 24), (4, 6), (single(FloorDiv(i(0, 24), 6)), single(Mod(i(0, 24), 6)))),
        (i(0, 4) * 6 + i(1, 6), (4, 6), (i(0, 4), i(1, 6))),
        (i(0, 4) * 6 + i(1, 6), (2, 12), (single(FloorDiv(i(0, 4), 2)), single(Mod(i(0, 4) * 6 + i(1, 6), 12)))),
        (0, (), ()),
    ],
)
def test_unravel_gives_row_major_coordinates(
    position: Index, shape: tuple[int, ...], coordinates: tuple[Index, ...]
) -> None:
    assert unravel(position, shape) == coordinates


@pytest.mark.parametrize(
    ("view", "merged"),
    [
        (View((4, 6), (6, 1)), View((24,), (1,))),
        (View((4, 6, 2), (12, 2, 1)), View((48,), (1,))),
        (View((4, 6), (1, 4)), View((4, 6), (1, 4))),
        (View((4, 6), (0, 0)), View((24,), (0,))),
        (View((4, 1, 6), (6, 99, 1)), View((24,), (1,))),
        # A mask on the outer axis alone is one of the whole, in steps of the inner axis.
        (View((4, 6), (6, 1), 3, ((1, 4), (0, 6))), View((24,), (1,), 3, ((6, 24),))),
        (View((2, 4, 6), (24, 6, 1), 0, ((1, 2), (0, 4), (0, 6))), View((48,), (1,), 0, ((24, 48),))),
        (View((4, 6), (6, 1), 3, ((0, 4), (1, 6))), View((4, 6), (6, 1), 3, ((0, 4), (1, 6)))),
        (View((1, 6), (0, 1), 0, ((0, 0), (0, 6))), View((1, 6), (0, 1), 0, ((0, 0), (0, 6)))),
    ],
)
def test_merged_view_joins_neighbours_that_are_adjacent(view: View, merged: View) -> None:
    assert merged_view(view) == merged


@pytest.mark.parametrize(
    ("views", "strides"),
    [
        ((View((4, 6), (6, 1)),), (6, 1)),
        ((View((4, 6), (0, -1), 5),), (0, -1)),
        ((View((4, 1, 6), (6, 3, 1)),), (6, 0, 1)),
        # Masked: no stride. The other axis keeps its own.
        ((View((4, 6), (6, 1), 0, ((0, 4), (1, 5))),), (6, None)),
        # Entangled in a division or a remainder: none.
        ((View((4, 6), (1, 4)), View((24,), (1,))), (None,)),
        ((View((4, 6), (1, 4)), View((3, 24), (0, 1))), (0, None)),
        ((View((4, 6), (1, 4)), View((2, 2, 6), (12, 6, 1))), (2, 1, 4)),
        # Rows seen as columns under a mask: both axes decide what is valid.
        ((View((6, 4), (4, 1), 0, ((0, 5), (0, 4))), View((3, 8), (8, 1))), (None, None)),
    ],
)
def test_known_strides_are_those_of_the_simplified_position(views: Views, strides: tuple[int | None, ...]) -> None:
    assert known_strides(located(views), tuple(range(len(strides)))) == strides


def test_known_stride_can_be_a_variable() -> None:
    n = single(Var("n", 1, 9))
    views = (View((4, n, 6), (n * 6, 6, 1)),)
    assert known_strides(located(views), (0, 1, 2)) == (6 * n, 6, 1)


# ---- strides against the oracle --------------------------------------------------------------------------------------


def kind_of_difference(ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> str:
    """`same`, on which sides alone a stride is known, or `another stride` where both know one and they differ."""
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b]
    if any(a is not None and b is not None for a, b in pairs):
        return "another stride"
    return " and ".join(sorted({"known there" if a is None else "known here" for a, b in pairs})) or "same"


def compared(trackers: Iterable[ShapeTracker]) -> Counter[str]:
    """How many stacks differ from the oracle's `real_strides`, by kind."""
    kinds: Counter[str] = Counter()
    for tracker in trackers:
        ours = known_strides(located(views_of(tracker)), tuple(range(len(tracker.shape))))
        kinds[kind_of_difference(ours, tracker.real_strides())] += 1
    return kinds


def test_known_strides_are_the_oracles_on_single_views() -> None:
    singles = [tracker for tracker in small_trackers(400) if len(tracker.views) == 1]
    assert len(singles) > 200
    assert compared(singles) == {"same": len(singles)}


def test_known_strides_are_the_oracles_on_the_corpus() -> None:
    # The one is the gradient of a strided convolution: its outermost axis moves by 1296 whatever the masks below say.
    assert compared(stored_stacks("corpus")) == {"same": 287, "known here": 1}


def test_known_strides_are_nearly_always_the_oracles_on_random_stacks() -> None:
    rng = random.Random(SEED)
    kinds_of_stack = [(2, False), (2, True), (3, False), (3, True), (4, True)]
    stacks = [stack_of(rng, count, masked)[1] for count, masked in kinds_of_stack for _ in range(25)]
    kinds = compared(stacks)
    assert kinds["another stride"] == 0, kinds
    assert len(stacks) - kinds["same"] <= 0.03 * len(stacks), kinds
