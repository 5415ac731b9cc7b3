"""Views stay inside the view below and inside their buffer, and say how far they reach."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import pytest
from tinygrad.shape.shapetracker import ShapeTracker

from kernels.index import Index, Var, evaluate_index, variables_in
from kernels.wire import parse_ast
from tests.kernels.documents import Document, buffer, document, loaded, node, refused, stack, view
from tests.made.build import view_to_wire
from tests.made.random_views import random_tracker


def reach(made: Document) -> Index:
    """What slot 1 must hold."""
    return parse_ast(made).reaches[1]


@pytest.mark.parametrize(
    ("seen", "elements"),
    [
        (view([4, 8]), 32),
        (view([4, 8], [0, 0]), 1),
        (view([4, 8], [100, 3], 7), 300 + 21 + 7 + 1),
        (view([4, 8], [-8, -1], 31), 32),
        (view([8], [1], -2, [[2, 6]]), 4),
        (view([8], [-3], 15, [[0, 6]]), 16),
        (view([8, 4], [4, 1], 500, [[0, 0], [0, 4]]), 0),
        (view([8, 4], [4, 1], -500, [[3, 3], [0, 4]]), 0),
        (view([]), 1),
        (view([], [], 41), 42),
    ],
)
def test_reach_is_one_more_than_the_greatest_valid_position(seen: dict[str, Any], elements: int) -> None:
    assert reach(loaded(seen, size=max(elements, 1))) == elements
    if elements > 1:
        error = refused(loaded(seen, size=elements - 1))
        assert (error.rule, error.node) == ("reach", 4)


@pytest.mark.parametrize(
    "seen", [view([4], [1], -1), view([4], [-1], 2), view([8], [1], -2, [[1, 6]]), view([3, 3], [-3, 1], 5)]
)
def test_reach_refuses_positions_below_0(seen: dict[str, Any]) -> None:
    error = refused(loaded(seen))
    assert (error.rule, error.node) == ("reach", 4)


@pytest.mark.parametrize("outer", [view([4, 4], [4, 1], 1), view([17]), view([2], [-1], 0), view([2, 2], [9, 9])])
def test_reach_refuses_an_outer_view_that_leaves_the_inner(outer: dict[str, Any]) -> None:
    error = refused(loaded(view([4, 4], [0, 0]), outer))
    assert (error.rule, error.node) == ("reach", 3)


def test_reach_takes_an_outer_view_whose_mask_keeps_it_inside() -> None:
    assert reach(loaded(view([4, 4], [10, 1]), view([20], [1], -2, [[2, 18]]))) == 34


def test_reach_of_a_stack_with_an_empty_mask_is_0() -> None:
    assert reach(loaded(view([4, 4]), view([20], [1], 90, [[7, 7]]))) == 0


@pytest.mark.parametrize("mask", [[[-1, 4]], [[0, 5]], [[3, 2]], [[5, 5]]])
def test_views_refuse_masks_that_are_not_within_the_size(mask: list[list[int]]) -> None:
    error = refused(loaded(view([4], [1], 10, mask)))
    assert (error.rule, error.node) == ("view", 3)


@pytest.mark.parametrize("seen", [view([4, 0]), view([-4]), view([4], [1, 1]), view([4], mask=[[0, 4], [0, 4]])])
def test_views_refuse_empty_axes_and_other_lengths(seen: dict[str, Any]) -> None:
    nodes = loaded(view([4]))["nodes"]
    nodes[3] = stack(seen)
    error = refused(document(nodes))
    assert (error.rule, error.node) == ("view", 3)


def test_views_refuse_an_empty_stack_and_more_than_the_limits() -> None:
    nodes = loaded(view([4]))["nodes"]
    for rule, seen in (
        ("view", stack()),
        ("limit", stack(*[view([4])] * 9)),
        ("limit", stack(view([1] * 17))),
        ("limit", stack(view([2**20, 2**21], [0, 0]))),
    ):
        assert refused(document([*nodes[:3], seen, *nodes[4:]])).rule == rule
    assert reach(loaded(*[view([4])] * 8)) == 4
    assert reach(loaded(view([1] * 15 + [4]))) == 4


def test_valid_has_no_buffer_to_reach_beyond() -> None:
    nodes: list[Any] = [stack(view([4], [1], -2, [[2, 4]])), node("VALID", [0], "bool"), stack(view([4]))]
    nodes += [node("DEFINE_GLOBAL", [], "bool", {"slot": 0, "size": 4}), node("STORE", [3, 2, 1], None)]
    assert parse_ast(document([*nodes, node("SINK", [4], None)])).reaches == (4,)


# ---- real stacks -----------------------------------------------------------------------------------------------------


def positions(views: list[dict[str, Any]], place: tuple[int, ...]) -> int | None:
    """The buffer position of an element, None where a mask leaves it out: straight from the definition."""
    flat = 0
    for depth, seen in enumerate(reversed(views)):
        if depth:
            coordinates = []
            for size in reversed(seen["shape"]):
                flat, rest = divmod(flat, size)
                coordinates.append(rest)
            place = tuple(reversed(coordinates))
        if seen["mask"] and not all(low <= at < high for at, (low, high) in zip(place, seen["mask"], strict=True)):
            return None
        flat = seen["offset"] + sum(at * stride for at, stride in zip(place, seen["strides"], strict=True))
    return flat


def random_stack(rng: random.Random) -> tuple[int, list[dict[str, Any]]]:
    """(elements of a buffer, views over it): what the oracle makes of movement operations."""
    shape = tuple(rng.choice((1, 2, 3, 4, 5, 6, 8, 12)) for _ in range(rng.randint(1, 4)))
    base, tracker = random_tracker(rng, shape)
    if rng.random() < 0.5:
        pads = tuple((rng.randint(0, 2), rng.randint(0, 2)) for _ in shape)
        tracker = tracker.pad(pads).reshape((math.prod(s + a + b for s, (a, b) in zip(shape, pads, strict=True)),))
    assert isinstance(tracker, ShapeTracker)
    return math.prod(base), [view_to_wire(seen) for seen in tracker.views]


def test_reach_takes_every_stack_that_movement_operations_make() -> None:
    rng = random.Random(7)
    lengths: set[int] = set()
    for _ in range(1500):
        size, views = random_stack(rng)
        lengths.add(len(views))
        needed = reach(loaded(*views, size=size))
        assert isinstance(needed, int)
        assert needed <= size
        shape = views[-1]["shape"]
        if math.prod(shape) <= 500:
            places = itertools.product(*(range(s) for s in shape))
            found = [at for at in (positions(views, place) for place in places) if at is not None]
            assert all(0 <= at < needed for at in found)
            if len(views) == 1:
                assert needed == max(found, default=-1) + 1
    assert lengths >= {1, 2, 3}


# ---- with variables --------------------------------------------------------------------------------------------------


def at_values(value: Index, **values: int) -> int:
    return evaluate_index(value, {v: values[str(v)] for v in variables_in(value)})


def test_reach_is_an_expression_of_the_variables() -> None:
    ast = parse_ast(loaded(view(["i", 16], [16, 1], ["*", "n", 16]), size=2048, i=(1, 4), n=(0, 128)))
    assert at_values(ast.reaches[1], i=1, n=0) == 16
    assert at_values(ast.reaches[1], i=3, n=10) == 208
    assert ast.size_unproven


@pytest.mark.parametrize(("size", "unproven"), [(2047, True), (2048, False), (1, True)])
def test_a_reach_beyond_the_declared_size_is_flagged_not_refused(size: int, unproven: bool) -> None:
    ast = parse_ast(loaded(view(["i", 16]), size=size, i=(1, 128)))
    assert ast.size_unproven is unproven
    assert [at_values(needed, i=128) for needed in ast.reaches] == [2048, 2048]


def test_positions_that_may_be_below_0_are_refused_whatever_the_size() -> None:
    good = loaded(view(["i"], [-1], ["-", "i", 1]), i=(1, 64))
    assert at_values(reach(good), i=64) == 64
    for bad in (view(["i"], [-1], 62), view([4], [1], ["-", "i", 2]), view([8], [1], -2, [["i", 8]])):
        error = refused(loaded(bad, i=(1, 64)))
        assert (error.rule, error.node) == ("reach", 4)


def test_a_mask_with_variables_keeps_positions_inside() -> None:
    padded = view([20, 8], [8, 1], ["*", "p", -8], [["p", ["+", "p", 4]], [0, 8]])
    assert reach(loaded(padded, p=(0, 16))) == 32


def test_masks_that_are_wrong_for_every_value_are_refused() -> None:
    for mask in ([["-", 0, "i"], 4], [0, ["+", 4, "i"]], [["+", "i", 2], 2]):
        error = refused(loaded(view([4], [1], 60, [mask]), i=(1, 2)))
        assert (error.rule, error.node) == ("view", 3)


@pytest.mark.parametrize(
    ("outer", "accepted"),
    [
        (view([["*", "i", "j"]], [1]), True),
        (view(["j", "i"], [1, "j"]), True),
        (view([["*", "i", "j"]], [1], 1), False),
        (view([["+", ["*", "i", "j"], 1]], [1]), False),
        (view([["*", ["//", "i", 2], "j"]], [2]), True),
        (view([["*", ["//", ["+", "i", 1], 2], "j"]], [2]), False),
        (view([["//", "i", 2]], [["*", 2, "j"]]), True),
        (view([["//", ["+", "i", 1], 2]], ["j"]), True),
    ],
)
def test_a_dynamic_stack_must_stay_inside_for_every_value(outer: dict[str, Any], accepted: bool) -> None:
    made = loaded(view(["i", "j"]), outer, i=(2, 12), j=(3, 12))
    if accepted:
        assert parse_ast(made).reaches[1] == parse_ast(loaded(view(["i", "j"]), i=(2, 12), j=(3, 12))).reaches[1]
    else:
        assert (refused(made).rule, refused(made).node) == ("reach", 3)


@pytest.mark.parametrize("size", ["n", ["-", "i", 1], ["-", "i", "j"], ["//", "i", 3]])
def test_sizes_that_may_be_0_are_refused(size: Any) -> None:
    bad = loaded(view([size, "n", "i", "j"], [0, 0, 0, 0]), i=(1, 4), j=(1, 3), n=(0, 3))
    assert (refused(bad).rule, refused(bad).node) == ("view", 1)


def test_a_start_position_beyond_the_rows_is_flagged() -> None:
    # Case C6: start_pos in 0..128 into 128 rows, and into 132.
    rows = view([4, 16], [16, 1], ["*", "start_pos", 16])
    assert parse_ast(loaded(rows, size=128 * 16, start_pos=(0, 128))).size_unproven
    enough = parse_ast(loaded(rows, size=132 * 16, start_pos=(0, 128)))
    assert not enough.size_unproven
    assert [at_values(enough.reaches[1], start_pos=s) for s in (0, 7, 128)] == [64, 176, 2112]
    assert variables_in(enough.reaches[1]) == {Var("start_pos", 0, 128)}


def test_many_reaches_that_nothing_orders_end_in_a_limit() -> None:
    nodes: list[Any] = [buffer(1, 64), buffer(0, 8), stack(view([2, 2, 2]))]
    total = None
    for n in range(400):
        strides = [["*", n % 7, "i"], ["*", n % 11, "j"], ["*", n % 13, "k"]]
        nodes += [stack(view([2, 2, 2], strides, n)), node("LOAD", [0, len(nodes)])]
        if total is not None:
            nodes.append(node("ADD", [total, len(nodes) - 1]))
        total = len(nodes) - 1
    nodes += [node("STORE", [1, 2, len(nodes) - 1], None), node("SINK", [len(nodes)], None)]
    assert refused(document(nodes, i=(1, 50), j=(1, 50), k=(1, 50))).rule == "limit"
