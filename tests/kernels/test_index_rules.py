"""Each rule by which quotients, remainders and maxima are simplified, with the smallest examples of it."""

from __future__ import annotations

import pytest
from hypothesis import given

from kernels.index import Axis, Expr, FloorDiv, Index, Max, Mod, Var, single
from kernels.index_rules import floordiv, maximum, mod, split_by_factor, split_remainders
from tests.kernels.expressions import Point, Tree, at, built, computed, exactly, meaning, points, trees

# Axes of 4, 7, 24 and 2, variables in 1..9 and 2..5, and an axis of n.
I, J, K, B = (single(Axis(number, size)) for number, size in enumerate((4, 7, 24, 2)))
N, M = single(Var("n", 1, 9)), single(Var("m", 2, 5))
P = single(Axis(4, N))


def over(numerator: Index, denominator: Index) -> Expr:
    """The quotient as it stands, with no rule applied."""
    return single(FloorDiv(as_sum(numerator), denominator))


def rest(numerator: Index, denominator: Index) -> Expr:
    """The remainder as it stands, with no rule applied."""
    return single(Mod(as_sum(numerator), denominator))


def as_sum(value: Index) -> Expr:
    return value if isinstance(value, Expr) else Expr((), value)


#: rule, numerator, denominator, its quotient, its remainder
DIVISIONS: tuple[tuple[str, Index, Index, Index, Index], ...] = (
    ("one", K, 1, K, 0),
    ("multiples", 8 * I + J, 8, I, J),
    ("multiples", 8 * I - 16 * J, 8, I - 2 * J, 0),
    ("multiples", 11 * I + J, 8, I + over(3 * I + J, 8), rest(3 * I + J, 8)),
    ("multiples", 5 * K, 3, K + over(2 * K, 3), rest(2 * K, 3)),
    ("congruence", 5 * I + 3, 6, I, 3 - I),
    ("congruence", 7 * J + 6, 8, J, 6 - J),
    ("ranges", I, 4, 0, I),
    ("ranges", I + 9, 8, 1, I + 1),
    ("ranges", I - 4, 8, -1, I + 4),
    ("ranges", J - I, 24, over(J - I, 24), rest(J - I, 24)),
    ("common factor", 4 * I + 1, 8, over(I, 2), 4 * rest(I, 2) + 1),
    ("common factor", 6 * J + 2, 9, over(2 * J, 3), 3 * rest(2 * J, 3) + 2),
    ("two values", 5 * B + 1, 2, 3 * B, 1 - B),
    ("two values", 7 * B, 5, B, 2 * B),
    ("two values", -3 * B, 2, -2 * B, B),
    ("nesting", over(K, 3), 4, over(K, 12), rest(over(K, 3), 4)),
    ("nesting", rest(K, 12), 4, rest(over(K, 4), 3), rest(K, 4)),
    ("nesting", 2 * rest(K, 6) + B, 4, rest(over(K, 2), 3), rest(2 * K + B, 4)),
    ("symbolic multiples", N * I + P, N, I, P),
    ("symbolic multiples", N * M * I + M * P, N * M, I, M * P),
    ("symbolic multiples", 2 * N * K + N, 2 * N, K, N),
    ("symbolic multiples", 3 * N, N, 3, 0),
    ("symbolic ranges", P, N + 1, 0, P),
    ("symbolic ranges", 1, M, 0, 1),
    ("symbolic ranges", K, M + 22, 0, K),
    ("the whole denominator", N + M, N + M, 1, 0),
    ("nothing known", K, M + 1, over(K, M + 1), rest(K, M + 1)),
    ("nothing known", -3, M, over(-3, M), rest(-3, M)),
)  # fmt: skip


@pytest.mark.parametrize(
    ("numerator", "denominator", "quotient", "remainder"),
    [row[1:] for row in DIVISIONS],
    ids=[row[0].replace(" ", "_") for row in DIVISIONS],
)
def test_division_is_simplified_by_its_rule(
    numerator: Index, denominator: Index, quotient: Index, remainder: Index
) -> None:
    assert floordiv(numerator, denominator) == quotient
    assert mod(numerator, denominator) == remainder


@pytest.mark.parametrize(
    ("total", "whole"),
    [
        (4 * over(K, 4) + rest(K, 4), K),
        (rest(K, 4) + 4 * over(K, 4), K),
        (3 * rest(K, 4) + 12 * over(K, 4), 3 * K),
        (N * rest(K, 4) + 4 * N * over(K, 4), N * K),
        (4 * over(K, 4) + rest(K, 4) + I + 5, K + I + 5),
        (M * over(K, M) + rest(K, M), K),
        (4 * rest(over(K, 4), 3) + rest(K, 4), rest(K, 12)),
        (8 * rest(over(K, 4), 3) + 2 * rest(K, 4), 2 * rest(K, 12)),
    ],
)
def test_sum_recombines_a_quotient_and_its_remainder(total: Index, whole: Index) -> None:
    assert total == whole


@pytest.mark.parametrize(
    "parts",
    [
        (4 * over(K, 4), rest(K, 3)),
        (5 * over(K, 4), rest(K, 4)),
        (4 * over(K, 4), -1 * rest(K, 4)),
        (4 * over(K, 4), rest(K + I, 4)),
    ],
)
def test_sum_of_what_does_not_belong_together_stays(parts: tuple[Expr, Expr]) -> None:
    total = parts[0] + parts[1]
    assert isinstance(total, Expr)
    assert set(total.terms) == {*parts[0].terms, *parts[1].terms}


@pytest.mark.parametrize(
    ("a", "b", "greater"),
    [
        (2, 5, 5),
        (I, 3, 3),
        (I, 0, I),
        (N, N + 2, N + 2),
        (2 * N, N, 2 * N),
        (N - 9, 0, 0),
        (I, J, single(Max(I, J))),
        (N, 3, single(Max(3, N))),
    ],
)
def test_maximum_is_simplified_where_one_is_never_less(a: Index, b: Index, greater: Index) -> None:
    assert maximum(a, b) == maximum(b, a) == greater


def test_split_by_factor_takes_every_multiple() -> None:
    assert split_by_factor(as_sum(8 * I + 3 * J + 4 * K + 9), 4) == (2 * I + K + 2, 3 * J + 1)
    assert split_by_factor(as_sum(2 * I - 1), 2) == (I - 1, 1)


@pytest.mark.parametrize(
    ("value", "split"),
    [
        # What counts below the factor leaves the remainder, where it can be seen to be linear.
        (rest(4 * K + I, 16), 4 * rest(K, 4) + I),
        (over(rest(4 * K + I, 16) + 5 * J, 7), over(4 * rest(K, 4) + I + 5 * J, 7)),
        (single(Max(N, rest(4 * K + I, 16))), single(Max(N, 4 * rest(K, 4) + I))),
        (N * rest(4 * K + I, 16), 4 * N * rest(K, 4) + N * I),
        # j reaches the factor, and a symbolic denominator has none.
        (rest(4 * K + J, 16), rest(4 * K + J, 16)),
        (rest(4 * K + I, N), rest(4 * K + I, N)),
        (7, 7),
    ],
)
def test_split_remainders_shows_what_is_linear(value: Index, split: Index) -> None:
    assert split_remainders(value) == split


@given(trees(), points())
@exactly(200)
def test_split_remainders_keeps_the_value(tree: Tree, point: Point) -> None:
    assert meaning(split_remainders(built(tree)), at(point)) == computed(tree, point)


@pytest.mark.parametrize("denominator", ["n", ("*", "n", 2), ("+", "m", 1), ("*", "n", "m"), ("max", "n", "m")])
@given(tree=trees(("i", "j", "k", "n", "m", "p", "q"), largest=6), point=points())
@exactly(60)
def test_division_by_variables_is_what_python_computes(denominator: Tree, tree: Tree, point: Point) -> None:
    for op in ("//", "%"):
        divided = (op, tree, denominator)
        assert meaning(built(divided), at(point)) == computed(divided, point)
