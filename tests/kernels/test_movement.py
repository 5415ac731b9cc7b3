"""Movement operations against numpy and the oracle's ShapeTracker: every element and its validity."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tinygrad.dtype import dtypes
from tinygrad.ops import UOp
from tinygrad.shape.shapetracker import ShapeTracker

from kernels import movement
from kernels.errors import ViewError
from kernels.index import Atom, Axis, Index, Var, evaluate_index, single
from kernels.ir import Node, View, Views
from kernels.ops import Ops
from kernels.view_stack import locate
from kernels.wire import parse_ast
from kernels.wire_args import arg_to_wire

MOST_ELEMENTS = 96
NOT_VALID = -1


@dataclass
class Moved:
    """The same buffer in three forms: our stack, numpy's array of positions (-1 is not valid), the oracle's tracker."""

    views: Views
    array: np.ndarray[Any, Any]
    tracker: ShapeTracker | None

    def then(self, name: str, *args: Any) -> Moved:
        array = NUMPY[name](self.array, *args)
        views = getattr(movement, name)(self.views, *args)
        followed = TRACKER.get(name) if self.tracker is not None else None
        return Moved(views, array, None if followed is None else followed(self.tracker, *args))


def whole(*shape: int) -> Moved:
    array = np.arange(math.prod(shape)).reshape(shape)
    return Moved(movement.contiguous(shape), array, ShapeTracker.from_shape(shape))


def np_windows(array: Any, axis: int, size: int, every: int = 1, dilation: int = 1) -> Any:
    view = np.lib.stride_tricks.sliding_window_view(array, dilation * (size - 1) + 1, axis)
    return np.moveaxis(np.moveaxis(view, axis, 0)[::every], 0, axis)[..., ::dilation]


NUMPY: dict[str, Callable[..., Any]] = {
    "reshape": lambda a, shape: a.reshape(shape),
    "permute": lambda a, order: a.transpose(order),
    "expand": np.broadcast_to,
    "pad": lambda a, amounts: np.pad(a, amounts, constant_values=NOT_VALID),
    "shrink": lambda a, bounds: a[tuple(slice(*bound) for bound in bounds)],
    "flip": np.flip,
    "step": lambda a, steps: a[tuple(slice(None, None, step) for step in steps)],
    "windows": np_windows,
}
# `step` and `windows` are no single operation there.
TRACKER: dict[str, Callable[..., ShapeTracker]] = {
    "reshape": lambda t, shape: t.reshape(shape),
    "permute": lambda t, order: t.permute(order),
    "expand": lambda t, shape: t.expand(shape),
    "pad": lambda t, amounts: t.pad(amounts),
    "shrink": lambda t, bounds: t.shrink(bounds),
    "flip": lambda t, axes: t.flip(tuple(axis in axes for axis in range(len(t.shape)))),
}


# ---- what a stack says, element by element ---------------------------------------------------------------------------


def points(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return product(*(range(size) for size in shape))


def walked(views: Views, point: tuple[int, ...]) -> int:
    """The buffer position of one element, by the definition of a stack; -1 where it is not valid. Numbers only."""
    position: Any = 0
    for depth, view in enumerate(reversed(views)):
        if depth:
            point = tuple(int(i) for i in np.unravel_index(position, [int(size) for size in view.shape]))  # type: ignore[arg-type]
        if view.mask is not None and not all(a <= i < b for i, (a, b) in zip(point, view.mask, strict=True)):  # type: ignore[operator]
            return NOT_VALID
        position = view.offset + sum(i * s for i, s in zip(point, view.strides, strict=True))
    return int(position)


def located(views: Views, values: dict[Atom, int] | None = None) -> Callable[[tuple[int, ...]], int]:
    """As `walked`, through the index expression of the whole stack."""
    axes = [Axis(number, size) for number, size in enumerate(views[-1].shape)]
    location = locate(views, tuple(single(axis) for axis in axes))

    def at(point: tuple[int, ...]) -> int:
        where = {**dict(zip(axes, point, strict=True)), **(values or {})}
        for condition in location.validity.conditions:
            value = evaluate_index(condition.expr, where)
            if not (condition.lo is None or condition.lo <= value) or not (
                condition.hi is None or value <= condition.hi
            ):
                return NOT_VALID
        return evaluate_index(location.position, where) if location.validity.possible else NOT_VALID

    return at


def tracked(tracker: ShapeTracker) -> Callable[[tuple[int, ...]], int]:
    """As `walked`, of the oracle."""

    def at(point: tuple[int, ...]) -> int:
        index, valid = tracker.to_indexed_uops([UOp.const(dtypes.int, i) for i in point])
        return int(index.simplify().arg) if valid.simplify().arg else NOT_VALID

    return at


def verify(views: Views) -> None:
    """An AST that loads through `views` is accepted: nothing reaches outside the buffer, or outside a view below."""
    size = math.prod(size for size in views[-1].shape if isinstance(size, int))
    nodes = [
        {"op": "DEFINE_GLOBAL", "src": [], "dtype": "int32", "arg": {"slot": 0, "size": size}},
        {"op": "VIEW", "src": [], "arg": arg_to_wire(Node(Ops.VIEW, None, (), movement.contiguous(views[-1].shape)))},
        {"op": "DEFINE_GLOBAL", "src": [], "dtype": "int32", "arg": {"slot": 1, "size": MOST_ELEMENTS}},
        {"op": "VIEW", "src": [], "arg": arg_to_wire(Node(Ops.VIEW, None, (), views))},
        {"op": "LOAD", "src": [2, 3], "dtype": "int32"},
        {"op": "STORE", "src": [0, 1, 4]},
        {"op": "SINK", "src": [5]},
    ]
    parse_ast({"format": "kernel-ast/1", "nodes": nodes})


def check(moved: Moved) -> None:
    shape = moved.array.shape
    assert moved.views[-1].shape == shape
    verify(moved.views)
    answers = [located(moved.views)]
    if moved.tracker is not None:
        answers.append(tracked(moved.tracker))
    for point in points(shape):
        expected = int(moved.array[point])
        assert walked(moved.views, point) == expected, (moved.views, point)
        assert [answer(point) for answer in answers] == [expected] * len(answers), (moved.views, point)


# ---- random chains ---------------------------------------------------------------------------------------------------

Draw = Callable[[st.SearchStrategy[Any]], Any]


def random_shape(draw: Draw, elements: int) -> tuple[int, ...]:
    """A shape of that many elements."""
    shape = []
    while elements > 1 and len(shape) < 4:
        size = draw(st.sampled_from([n for n in range(1, elements + 1) if elements % n == 0]))
        shape.append(size)
        elements //= size
    return (*shape, elements) if elements > 1 or not shape else tuple(shape)


def random_args(draw: Draw, name: str, shape: tuple[int, ...]) -> tuple[Any, ...] | None:
    """Arguments that fit `shape`; None where there are none, or where the result would be large."""
    per_axis = [draw(st.integers(0, 2)) for _ in shape]
    match name:
        case "reshape":
            return (random_shape(draw, math.prod(shape)),)
        case "permute":
            return (tuple(draw(st.permutations(range(len(shape))))),)
        case "expand":
            return (tuple(1 + extra if size == 1 else size for size, extra in zip(shape, per_axis, strict=True)),)
        case "pad":
            return (tuple((extra, draw(st.integers(0, 2))) for extra in per_axis),)
        case "shrink":
            starts = [draw(st.integers(0, size - 1)) for size in shape]
            return (tuple((a, draw(st.integers(a + 1, size))) for a, size in zip(starts, shape, strict=True)),)
        case "flip":
            return (tuple(axis for axis, extra in enumerate(per_axis) if extra),)
        case "step":
            return (tuple(1 + extra for extra in per_axis),)
    axis = draw(st.integers(0, len(shape) - 1)) if shape else 0
    size, dilation = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    fits = len(shape) in range(1, 5) and shape[axis] > dilation * (size - 1)
    return (axis, size, draw(st.integers(1, 3)), dilation) if fits else None


@st.composite
def chains(draw: Draw, names: tuple[str, ...]) -> Moved:
    moved = whole(*draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    for name in draw(st.lists(st.sampled_from(names), min_size=2, max_size=8)):
        args = random_args(draw, name, moved.array.shape)
        if args is not None and NUMPY[name](moved.array, *args).size <= MOST_ELEMENTS:
            moved = moved.then(name, *args)
    return moved


@settings(max_examples=300, deadline=None)
@given(chains(tuple(NUMPY)))
def test_movement_chains_reach_what_numpy_does(moved: Moved) -> None:
    check(moved)


@settings(max_examples=100, deadline=None)
@given(chains(tuple(TRACKER)))
def test_movement_chains_reach_what_the_oracles_tracker_does(moved: Moved) -> None:
    assert moved.tracker is not None
    check(moved)


# ---- how short stacks stay -------------------------------------------------------------------------------------------


def test_reshape_of_what_is_contiguous_stays_one_view() -> None:
    moved = whole(4, 6).then("reshape", (24,)).then("reshape", (3, 8)).then("reshape", (2, 2, 2, 3))
    assert moved.views == movement.contiguous((2, 2, 2, 3))


def test_reshape_splits_and_merges_axes_of_a_permuted_view() -> None:
    views = movement.permute(movement.contiguous((4, 6)), (1, 0))
    assert movement.reshape(views, (2, 3, 2, 2)) == (View((2, 3, 2, 2), (3, 1, 12, 6)),)


def test_reshape_merges_a_mask_of_the_outer_axis() -> None:
    moved = whole(3, 4).then("pad", ((1, 1), (0, 0))).then("reshape", (20,))
    assert moved.views == (View((20,), (1,), -4, ((4, 16),)),)
    check(moved)


def test_reshape_puts_a_view_on_top_where_strides_cannot_say_it() -> None:
    moved = whole(4, 6).then("permute", (1, 0)).then("reshape", (24,))
    assert moved.views == (View((6, 4), (1, 6)), View((24,), (1,)))
    check(moved)


def test_views_merge_again_when_a_later_movement_allows_it() -> None:
    moved = whole(4, 6).then("permute", (1, 0)).then("reshape", (24,)).then("reshape", (6, 4)).then("permute", (1, 0))
    assert moved.views == movement.contiguous((4, 6))


def test_many_movements_that_undo_each_other_keep_one_view() -> None:
    views = movement.contiguous((4, 6))
    for _ in range(20):
        views = movement.reshape(movement.permute(movement.reshape(views, (2, 2, 6)), (1, 0, 2)), (12, 2))
        views = movement.reshape(movement.permute(movement.reshape(views, (2, 2, 6)), (1, 0, 2)), (4, 6))
    assert views == movement.contiguous((4, 6))


def test_windows_over_a_padded_axis_take_two_views() -> None:
    moved = whole(1, 5, 5).then("pad", ((0, 0), (1, 1), (1, 1))).then("windows", 1, 3).then("windows", 2, 3, 2)
    padded, windowed = moved.views
    assert padded == View((1, 7, 7), (0, 5, 1), -6, ((0, 1), (1, 6), (1, 6)))
    assert windowed == View((1, 5, 3, 3, 3), (0, 7, 2, 7, 1))
    check(moved)


def test_a_view_that_nothing_reaches_is_masked_whole() -> None:
    moved = whole(3).then("pad", ((2, 0),)).then("shrink", ((0, 2),))
    assert moved.views[-1].mask == ((0, 0),)
    for name, args in (("expand", ((2,),)), ("reshape", ((1, 2),)), ("flip", ((0,),)), ("step", ((2,),))):
        check(moved.then(name, *args))
    check(moved.then("shrink", ((0, 1),)).then("reshape", ()).then("reshape", (1, 1)).then("expand", (2, 3)))


# ---- dynamic sizes ---------------------------------------------------------------------------------------------------


def check_dynamic(views: Views, n: Var, expected: Callable[[int], np.ndarray[Any, Any]]) -> None:
    for value in range(n.lo, n.hi + 1):
        array = expected(value)
        shape: tuple[Index, ...] = tuple(evaluate_index(size, {n: value}) for size in views[-1].shape)
        assert shape == array.shape
        at = located(views, {n: value})
        for point in points(array.shape):
            assert at(point) == int(array[point]), (views, value, point)


def test_reshape_of_dynamic_sizes_splits_and_merges() -> None:
    n = Var("n", 1, 4)
    size = single(n)
    merged = movement.reshape(movement.contiguous((3, size, 2)), (3, size * 2))
    assert merged == (View((3, size * 2), (size * 2, 1)),)
    assert movement.reshape(merged, (3, size, 2)) == movement.contiguous((3, size, 2))
    check_dynamic(merged, n, lambda value: np.arange(6 * value).reshape(3, 2 * value))
    check_dynamic(movement.permute(merged, (1, 0)), n, lambda value: np.arange(6 * value).reshape(3, 2 * value).T)


def test_pad_to_a_dynamic_size_and_expand() -> None:
    n = Var("n", 1, 4)
    padded = movement.pad(movement.contiguous((1, 3)), ((0, 0), (1, single(n))))
    views = movement.expand(padded, (single(n), 4 + single(n)))
    assert len(views) == 1

    def expected(value: int) -> np.ndarray[Any, Any]:
        row = np.pad(np.arange(3), (1, value), constant_values=NOT_VALID)
        return np.broadcast_to(row, (value, value + 4))

    check_dynamic(views, n, expected)


def test_shrink_by_dynamic_bounds_moves_the_offset_and_clamps_the_mask() -> None:
    n = Var("n", 0, 5)
    padded = movement.pad(movement.contiguous((4,)), ((2, 2),))
    views = movement.shrink(padded, ((single(n), single(n) + 3),))
    rows = np.pad(np.arange(4), 2, constant_values=NOT_VALID)
    check_dynamic(views, n, lambda value: rows[value : value + 3])


def test_shrink_lets_an_end_through_that_only_some_values_exceed() -> None:
    n = single(Var("n", 0, 128))
    assert movement.shrink(movement.contiguous((128,)), ((n, n + 1),)) == (View((1,), (0,), n),)


def test_step_and_windows_of_a_dynamic_axis() -> None:
    n = Var("n", 5, 9)
    views = movement.contiguous((single(n), 2))
    check_dynamic(movement.step(views, (2, 1)), n, lambda value: np.arange(2 * value).reshape(value, 2)[::2])
    check_dynamic(
        movement.windows(views, 0, 3, 2, 2),
        n,
        lambda value: np_windows(np.arange(2 * value).reshape(value, 2), 0, 3, 2, 2),
    )


# ---- what is refused -------------------------------------------------------------------------------------------------

FOUR_BY_SIX = movement.contiguous((4, 6))
SYMBOL = single(Var("n", 1, 8))


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("reshape", ((5, 5),), "24 elements of shape (4, 6) do not fit the shape (5, 5)"),
        ("reshape", ((SYMBOL, 6),), "24 elements of shape (4, 6) do not fit the shape (n, 6)"),
        ("reshape", ((24, 0),), "axis 1 cannot have size 0: a size is 1 or more"),
        ("permute", ((0, 0),), "(0, 0) is no order of the 2 axes (4, 6)"),
        ("permute", ((0,),), "(0,) is no order of the 2 axes (4, 6)"),
        ("expand", ((4, 12),), "axis 1 has size 6: only an axis of size 1 expands to 12"),
        ("expand", ((4, 6, 1),), "3 sizes for the 2 axes (4, 6)"),
        ("pad", (((0, 0), (-1, 0)),), "axis 1 cannot be padded by -1 and 0: amounts are 0 or more"),
        ("pad", (((0, 0),),), "1 pairs for the 2 axes (4, 6)"),
        ("shrink", (((0, 4), (2, 7)),), "[2, 7) is no part of axis 1, which has 6 elements"),
        ("shrink", (((0, 4), (3, 3)),), "[3, 3) is no part of axis 1, which has 6 elements"),
        ("shrink", (((-1, 4), (0, 6)),), "[-1, 4) is no part of axis 0, which has 4 elements"),
        ("flip", ((2,),), "there is no axis 2 in (4, 6)"),
        ("flip", ((1, 1),), "an axis occurs twice in (1, 1)"),
        ("step", ((1, 0),), "axis 1 cannot go in steps of 0: a step is 1 or more"),
        ("windows", (0, 5), "a window of 5, elements 1 apart, does not fit axis 0: 4"),
        ("windows", (0, 3, 1, 2), "a window of 3, elements 2 apart, does not fit axis 0: 4"),
        ("windows", (0, 0), "windows of 0, every 1, elements 1 apart: each is 1 or more"),
        ("windows", (2, 1), "there is no axis 2 in (4, 6)"),
    ],
)
def test_movement_that_does_not_fit_is_refused(name: str, args: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ViewError) as error:
        getattr(movement, name)(FOUR_BY_SIX, *args)
    assert (error.value.code, str(error.value)) == ("invalid_movement", message)
