"""Where an access is valid: conditions are kept only where they say something, and say exactly what was asked."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.index import Atom, Coordinate, Expr, FloorDiv, Index, Mod, single
from kernels.index_rules import floordiv, mod
from kernels.validity import NEVER, VALID, Validity, assuming, narrowed, without_coordinates
from tests.kernels.expressions import LEAVES, Tree, built, exactly, meaning, trees

I4, J7, K24, N = (single(LEAVES[name]) for name in "ijkn")
SMALL = ("i", "j", "b")

Restriction = tuple[Tree, int, int]


def everywhere(*names: str) -> dict[Atom, Any]:
    """Every point of the axes at once: one flat array for each."""
    ranges = [range(LEAVES[name].lo, LEAVES[name].hi + 1) for name in names]
    grid = np.array(list(itertools.product(*ranges)), dtype=np.int64)
    return {LEAVES[name]: grid[:, column] for column, name in enumerate(names)}


def holds(validity: Validity, values: dict[Atom, Any]) -> Any:
    """Per point, whether `validity` says that it is valid."""
    points = len(next(iter(values.values())))
    result = np.full(points, validity.possible)
    for condition in validity.conditions:
        value = meaning(condition.expr, values)
        result &= True if condition.lo is None else value >= condition.lo
        result &= True if condition.hi is None else value <= condition.hi
    return result


def asked(restrictions: list[Restriction], values: dict[Atom, Any]) -> Any:
    """Per point, whether every restriction holds."""
    points = len(next(iter(values.values())))
    result = np.full(points, True)
    for tree, lo, hi in restrictions:
        value = meaning(built(tree), values)
        result &= (lo <= value) & (value <= hi)
    return result


def restricted(restrictions: list[Restriction]) -> Validity:
    validity = VALID
    for tree, lo, hi in restrictions:
        validity = validity.restrict(built(tree), lo, hi)
    return validity


@st.composite
def restriction_lists(draw: st.DrawFn) -> list[Restriction]:
    trees_of_axes = st.lists(trees(SMALL, largest=4), min_size=1, max_size=4)
    edges = st.tuples(st.integers(-4, 8), st.integers(0, 9))
    return [(tree, lo, lo + length) for tree in draw(trees_of_axes) for lo, length in [draw(edges)]]


@given(restriction_lists())
@exactly(80)
def test_validity_holds_exactly_where_every_restriction_does(restrictions: list[Restriction]) -> None:
    values = everywhere(*SMALL)
    assert (holds(restricted(restrictions), values) == asked(restrictions, values)).all()


@given(restriction_lists())
@exactly(80)
def test_simplified_validity_holds_at_the_same_points(restrictions: list[Restriction]) -> None:
    values = everywhere(*SMALL)
    validity = restricted(restrictions)
    assert (holds(validity.simplified(), values) == asked(restrictions, values)).all()


@given(restriction_lists(), trees(SMALL, largest=6))
@exactly(80)
def test_assuming_keeps_the_value_wherever_the_conditions_hold(restrictions: list[Restriction], tree: Tree) -> None:
    values = everywhere(*SMALL)
    simpler = assuming(built(tree), restricted(restrictions).conditions)
    same = meaning(simpler, values) == meaning(built(tree), values)
    assert np.all(same | ~asked(restrictions, values))


@given(restriction_lists(), trees(("i", "b"), largest=3))
@exactly(60)
def test_validity_substitute_holds_where_the_restrictions_do_on_what_is_put_in(
    restrictions: list[Restriction], replacement: Tree
) -> None:
    values = everywhere("i", "b")
    inside = mod(built(replacement), 7)
    validity = restricted(restrictions).substitute({LEAVES["j"]: inside})
    seen = {**values, LEAVES["j"]: np.broadcast_to(meaning(inside, values), len(values[LEAVES["i"]]))}
    assert (holds(validity, values) == asked(restrictions, seen)).all()


@pytest.mark.parametrize(
    ("value", "lo", "hi", "conditions"),
    [
        # Nothing is said that always holds.
        (I4, 0, 3, []),
        (I4 + J7, -5, 9, []),
        (5, 5, 5, []),
        (J7, 2, 6, ["i1 >= 2"]),
        (J7, 0, 4, ["i1 <= 4"]),
        (J7, 2, 4, ["2 <= i1 <= 4"]),
        # Constants, signs and common divisors are brought to one form.
        (J7 + 3, 5, 7, ["2 <= i1 <= 4"]),
        (-1 * J7, -4, -2, ["2 <= i1 <= 4"]),
        (3 * J7, 5, 13, ["2 <= i1 <= 4"]),
        (3 * J7 - I4, -1, 99, ["i0+i1*-3 <= 1"]),
        # A quotient is within bounds where its numerator is.
        (floordiv(K24, 5), 1, 2, ["5 <= i2 <= 14"]),
        # What counts below the factor does not matter at a multiple of it.
        (4 * J7 + I4, 8, 19, ["2 <= i1 <= 4"]),
        (4 * J7 + I4, 9, 99, ["i0+i1*4 >= 9"]),
    ],
)
def test_restrict_keeps_one_plain_condition(value: Index, lo: int, hi: int, conditions: list[str]) -> None:
    assert [str(condition) for condition in VALID.restrict(value, lo, hi).conditions] == conditions


@pytest.mark.parametrize(
    ("value", "lo", "hi"),
    [(J7, 7, 9), (J7, -3, -1), (J7, 3, 2), (4, 5, 6), (3 * J7, 4, 5), (mod(K24, 5), 5, 9)],
)
def test_restrict_to_what_never_holds_is_never(value: Index, lo: int, hi: int) -> None:
    assert VALID.restrict(value, lo, hi) == NEVER


def test_never_stays_never() -> None:
    assert NEVER.restrict(J7, 0, 3) == NEVER
    assert NEVER.substitute({LEAVES["j"]: 1}) == NEVER
    assert not NEVER.possible


def test_restrictions_of_one_expression_meet() -> None:
    assert VALID.restrict(J7, 1, 5).restrict(J7, 2, 6) == VALID.restrict(J7, 2, 5)
    assert VALID.restrict(J7, 0, 2).restrict(J7 + 1, 4, 9) == NEVER


def test_order_of_restrictions_does_not_matter() -> None:
    parts = [(J7, 1, 5), (I4 + J7, 2, 7), (mod(K24, 5), 0, 2)]
    validities = set()
    for order in itertools.permutations(parts):
        validity = VALID
        for part in order:
            validity = validity.restrict(*part)
        validities.add(validity)
    assert len(validities) == 1


def test_axes_are_those_that_are_really_masked() -> None:
    validity = VALID.restrict(I4, 0, 3).restrict(J7, 1, 6).restrict(floordiv(K24, 3) + N, 2, 9)
    assert validity.axes == {1, 2}
    assert VALID.axes == set()
    # i + 4*j >= 8 does not depend on i: it is j >= 2.
    assert VALID.restrict(4 * J7 + I4, 8, 99).axes == {1}


def test_restrict_takes_bounds_with_variables() -> None:
    validity = VALID.restrict(J7, 1, N - 1)
    values = everywhere("j", "n")
    j, n = values[LEAVES["j"]], values[LEAVES["n"]]
    assert (holds(validity, values) == ((j >= 1) & (j <= n - 1))).all()
    # n is at least 1, so n + 5 is never below the axis' last position.
    assert VALID.restrict(J7, 0, N + 5) == VALID


def test_simplified_uses_one_condition_in_another() -> None:
    # Where i2 is at most 3, its quotient by 4 is 0.
    validity = VALID.restrict(K24, 0, 3).restrict(5 * floordiv(K24, 4) + J7, 2, 6)
    assert validity.simplified() == VALID.restrict(K24, 0, 3).restrict(J7, 2, 6)


@pytest.mark.parametrize(
    ("value", "lo", "hi", "result"),
    [
        (K24, 0, 23, K24),
        (K24, -5, 99, K24),
        (K24, 7, 7, 7),
        (K24, 20, 30, single(Coordinate(K24, 20, 23))),
        (9, 0, 3, 9),
    ],
)
def test_narrowed_stands_for_a_value_in_a_smaller_range(value: Index, lo: int, hi: int, result: Index) -> None:
    assert narrowed(value, lo, hi) == result


def test_coordinate_lets_a_remainder_go_and_gives_its_value_back() -> None:
    inside = narrowed(J7 + K24, 0, 7)
    assert mod(inside, 8) == inside
    assert floordiv(inside, 8) == 0
    assert without_coordinates(3 * inside + I4) == 3 * (J7 + K24) + I4
    nested = narrowed(narrowed(J7 + K24, 0, 20) + I4, 0, 9)
    assert without_coordinates(nested) == I4 + J7 + K24


@pytest.mark.parametrize(
    ("value", "condition", "simpler"),
    [
        (single(Mod(5 * J7 + K24, 8)), (5 * J7 + K24, 8, 15), 5 * J7 + K24 - 8),  # type: ignore[arg-type]
        (single(FloorDiv(5 * J7 + K24, 8)), (5 * J7 + K24, 8, 15), 1),  # type: ignore[arg-type]
        (single(FloorDiv(5 * J7 + K24 + 1, 8)), (5 * J7 + K24, 8, 14), 1),  # type: ignore[arg-type]
        (floordiv(K24, 4) * 7 + I4, (K24, 0, 3), I4),
        (K24 + I4, (K24, 5, 5), I4 + 5),
        (K24 + I4, (J7, 1, 2), K24 + I4),
    ],
)
def test_assuming_simplifies_by_a_known_range(value: Index, condition: tuple[Expr, int, int], simpler: Index) -> None:
    assert assuming(value, VALID.restrict(*condition).conditions) == simpler


def test_condition_reads_as_what_it_is() -> None:
    (both,) = VALID.restrict(J7, 2, 4).conditions
    (least,) = VALID.restrict(J7, 2, 9).conditions
    (most,) = VALID.restrict(J7, -1, 4).conditions
    assert [str(both), str(least), str(most)] == ["2 <= i1 <= 4", "i1 >= 2", "i1 <= 4"]
