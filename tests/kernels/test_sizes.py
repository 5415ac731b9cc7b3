"""Sizes are brought to a canonical form, written back, and never grow."""

from __future__ import annotations

import itertools
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.errors import AstError
from kernels.index import Index, Var, evaluate_index, variables_in
from kernels.limits import DEFAULT_LIMITS, Limits
from kernels.proof import Prover
from kernels.sizes import DocumentSizes, size_extent, size_to_wire

RANGES = {"a": (1, 5), "b": (2, 7), "c": (0, 3), "d": (-2, 3)}


def sizes(limits: Limits = DEFAULT_LIMITS, **ranges: tuple[int, int]) -> DocumentSizes:
    variables = {name: Var(name, *bounds) for name, bounds in (ranges or RANGES).items()}
    return DocumentSizes(variables, limits, Prover(limits.proof_steps))


def read(value: Any, limits: Limits = DEFAULT_LIMITS) -> Index:
    return sizes(limits).read(value, 5)


def size_trees() -> st.SearchStrategy[Any]:
    leaves = st.sampled_from([*RANGES, "a", "b", 1, 2, 3, 4, 8, 12, 64, -1, -3])
    ops = st.sampled_from(["+", "+", "-", "*", "*", "//", "%", "max"])
    return st.recursive(leaves, lambda size: st.tuples(ops, size, size).map(list), max_leaves=12)


def plain_value(size: Any, values: dict[str, int]) -> int:
    """What a size means, with Python's own integers."""
    if isinstance(size, str):
        return values[size]
    if isinstance(size, int):
        return size
    a, b = plain_value(size[1], values), plain_value(size[2], values)
    match size[0]:
        case "//":
            return a // b
        case "%":
            return a % b
        case "max":
            return max(a, b)
    return {"+": a + b, "-": a - b, "*": a * b}[size[0]]


def operands_of_divisions(size: Any) -> list[tuple[Any, Any]]:
    if not isinstance(size, list):
        return []
    found = operands_of_divisions(size[1]) + operands_of_divisions(size[2])
    return [*found, (size[1], size[2])] if size[0] in ("//", "%") else found


def all_values() -> list[dict[str, int]]:
    points = [sorted({low, low + 1, high}) for low, high in RANGES.values()]
    return [dict(zip(RANGES, row, strict=True)) for row in itertools.product(*points)]


@given(size_trees())
@settings(max_examples=400, deadline=None)
def test_sizes_are_read_written_and_read_again_the_same(tree: Any) -> None:
    try:
        value = read(tree)
    except AstError as error:
        assert error.rule in ("size", "limit")
        assert error.node == 5
        return
    written = size_to_wire(value)
    assert read(written) == value
    assert size_to_wire(read(written)) == written
    for values in all_values():
        assert plain_value(tree, values) == plain_value(written, values)
        assert evaluate_index(value, {v: values[str(v)] for v in variables_in(value)}) == plain_value(tree, values)
        for numerator, denominator in operands_of_divisions(written):
            assert plain_value(numerator, values) >= 0
            assert plain_value(denominator, values) > 0


@pytest.mark.parametrize(
    ("written", "again"),
    [
        (["*", ["*", 64, "a"], 1], ["*", 64, "a"]),
        (["+", "b", ["+", "a", "b"]], ["+", "a", ["*", 2, "b"]]),
        (["*", ["+", "a", 1], ["-", "a", 1]], ["+", ["*", "a", "a"], -1]),
        (["-", "a", "a"], 0),
        (["//", ["*", 6, "a"], 3], ["*", 2, "a"]),
        (["max", "b", "a"], ["max", "a", "b"]),
        (["max", "a", 0], "a"),
        (["//", ["+", ["*", 16, "b"], ["-", 3, "a"]], 16], ["+", "b", ["-", ["//", ["+", ["*", -1, "a"], 19], 16], 1]]),
    ],
)
def test_sizes_have_one_form(written: Any, again: Any) -> None:
    assert size_to_wire(read(written)) == again


def test_sizes_remember_the_variables_that_were_met() -> None:
    reader = sizes()
    reader.read(["-", "a", "a"], 0)
    assert reader.used == {"a"}


@pytest.mark.parametrize(
    "bad",
    [
        ["//", "a", 0],
        ["//", "a", "c"],
        ["%", "a", -2],
        ["//", "d", 2],
        ["%", ["-", "a", "b"], 4],
        ["//", ["-", "a", 2], 2],
    ],
)
def test_sizes_refuse_divisions_that_leave_the_natural_numbers(bad: Any) -> None:
    with pytest.raises(AstError) as caught:
        read(bad)
    assert caught.value.rule == "size"


def test_sizes_take_divisions_whose_operands_only_look_negative() -> None:
    size = ["//", ["-", ["*", "b", "b"], ["*", 2, "b"]], 4]
    value = read(size)
    for values in all_values():
        assert evaluate_index(value, {v: values[str(v)] for v in variables_in(value)}) == plain_value(size, values)


def doubled(times: int) -> Any:
    """A product of sums that doubles with each step; its parts are shared, as no JSON text could."""
    size: Any = ["+", "a", "b"]
    for _ in range(times):
        size = ["*", size, size]
    return size


def nested(op: str, times: int) -> Any:
    size: Any = "a"
    for n in range(times):
        size = [op, size, n + 2]
    return size


@pytest.mark.parametrize(
    "bad", [doubled(5), doubled(60), nested("+", 33), nested("//", 10_000), ["*", 2**62, "b"], 2**63]
)
def test_sizes_refuse_what_is_too_large(bad: Any) -> None:
    started = time.perf_counter()
    with pytest.raises(AstError) as caught:
        read(bad)
    assert caught.value.rule == "limit"
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    ("limits", "size"),
    [
        (Limits(size_nodes=6), ["+", ["*", 2, "a"], ["+", "b", 1]]),
        (Limits(size_nodes=7), ["*", ["+", "a", 1], ["+", "b", 2]]),
        (Limits(size_depth=2), ["+", 1, ["+", 1, ["+", 1, "a"]]]),
        (Limits(size_divisions=1), ["+", ["//", "a", 2], ["%", "b", 3]]),
        (Limits(size_work=20), ["+", ["*", "a", "b"], ["+", ["*", "a", 3], ["*", "b", 5]]]),
    ],
)
def test_sizes_keep_the_limits_they_are_given(limits: Limits, size: Any) -> None:
    read(size)
    with pytest.raises(AstError) as caught:
        read(size, limits)
    assert caught.value.rule == "limit"


def test_sizes_share_one_budget_of_work() -> None:
    reader = sizes(Limits(size_work=300))
    with pytest.raises(AstError) as caught:
        for n in range(1, 200):
            reader.read(["+", "a", n], n)
    assert caught.value.rule == "limit"
    assert caught.value.node == 101  # three nodes each


def test_sizes_do_not_pay_twice_for_the_same_expression() -> None:
    reader = sizes(Limits(size_work=300))
    for n in range(1000):
        reader.read(["+", ["*", "a", 7], "b"], n)


@pytest.mark.parametrize(
    ("size", "extent"),
    [
        (7, (1, 0, 0)),
        ("a", (1, 0, 0)),
        (["+", ["*", 2, "a"], 1], (5, 2, 0)),
        (["max", ["//", "a", 2], ["%", "b", 3]], (7, 2, 3)),
    ],
)
def test_size_extent_counts_nodes_depth_and_divisions(size: Any, extent: tuple[int, int, int]) -> None:
    assert size_extent(read(size)) == extent
