"""Each rule by which quotients, remainders and maxima are simplified, with the smallest examples of it."""

from __future__ import annotations

import pytest
from hypothesis import given

from kernels.index import Axis, Expr, FloorDiv, Index, Max, Mod, Var, single
from kernels.index_rules import floordiv, maximum, mod, split_by_factor
from tests.kernels.expressions import Point, Tree, at, built, computed, exactly, meaning, points, trees

# Axes of 4, 7, 24 and 2, variables in 1..9 and 2..5, and an axis of n.
I4, J7, K24, B2 = (single(Axis(number, size)) for number, size in enumerate((4, 7, 24, 2)))
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
    ("one", K24, 1, K24, 0),
    ("multiples", 8 * I4 + J7, 8, I4, J7),
    ("multiples", 8 * I4 - 16 * J7, 8, I4 - 2 * J7, 0),
    ("multiples", 11 * I4 + J7, 8, I4 + over(3 * I4 + J7, 8), rest(3 * I4 + J7, 8)),
    ("multiples", 5 * K24, 3, K24 + over(2 * K24, 3), rest(2 * K24, 3)),
    ("congruence", 5 * I4 + 3, 6, I4, 3 - I4),
    ("congruence", 7 * J7 + 6, 8, J7, 6 - J7),
    ("ranges", I4, 4, 0, I4),
    ("ranges", I4 + 9, 8, 1, I4 + 1),
    ("ranges", I4 - 4, 8, -1, I4 + 4),
    ("ranges", J7 - I4, 24, over(J7 - I4, 24), rest(J7 - I4, 24)),
    ("common factor", 4 * I4 + 1, 8, over(I4, 2), 4 * rest(I4, 2) + 1),
    ("common factor", 6 * J7 + 2, 9, over(2 * J7, 3), 3 * rest(2 * J7, 3) + 2),
    ("two values", 5 * B2 + 1, 2, 3 * B2, 1 - B2),
    ("two values", 7 * B2, 5, B2, 2 * B2),
    ("two values", -3 * B2, 2, -2 * B2, B2),
    ("nesting", over(K24, 3), 4, over(K24, 12), rest(over(K24, 3), 4)),
    ("nesting", rest(K24, 12), 4, rest(over(K24, 4), 3), rest(K24, 4)),
    ("nesting", 2 * rest(K24, 6) + B2, 4, rest(over(K24, 2), 3), rest(2 * K24 + B2, 4)),
    ("symbolic multiples", N * I4 + P, N, I4, P),
    ("symbolic multiples", N * M * I4 + M * P, N * M, I4, M * P),
    ("symbolic multiples", 2 * N * K24 + N, 2 * N, K24, N),
    ("symbolic multiples", 3 * N, N, 3, 0),
    ("symbolic ranges", P, N + 1, 0, P),
    ("symbolic ranges", 1, M, 0, 1),
    ("symbolic ranges", K24, M + 22, 0, K24),
    ("the whole denominator", N + M, N + M, 1, 0),
    ("nothing known", K24, M + 1, over(K24, M + 1), rest(K24, M + 1)),
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
        (4 * over(K24, 4) + rest(K24, 4), K24),
        (rest(K24, 4) + 4 * over(K24, 4), K24),
        (3 * rest(K24, 4) + 12 * over(K24, 4), 3 * K24),
        (N * rest(K24, 4) + 4 * N * over(K24, 4), N * K24),
        (4 * over(K24, 4) + rest(K24, 4) + I4 + 5, K24 + I4 + 5),
        (M * over(K24, M) + rest(K24, M), K24),
        (4 * rest(over(K24, 4), 3) + rest(K24, 4), rest(K24, 12)),
        (8 * rest(over(K24, 4), 3) + 2 * rest(K24, 4), 2 * rest(K24, 12)),
    ],
)
def test_sum_recombines_a_quotient_and_its_remainder(total: Index, whole: Index) -> None:
    assert total == whole


@pytest.mark.parametrize(
    "parts",
    [
        (4 * over(K24, 4), rest(K24, 3)),
        (5 * over(K24, 4), rest(K24, 4)),
        (4 * over(K24, 4), -1 * rest(K24, 4)),
        (4 * over(K24, 4), rest(K24 + I4, 4)),
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
        (I4, 3, 3),
        (I4, 0, I4),
        (N, N + 2, N + 2),
        (2 * N, N, 2 * N),
        (N - 9, 0, 0),
        (I4, J7, single(Max(I4, J7))),
        (N, 3, single(Max(3, N))),
    ],
)
def test_maximum_is_simplified_where_one_is_never_less(a: Index, b: Index, greater: Index) -> None:
    assert maximum(a, b) == maximum(b, a) == greater


def test_split_by_factor_takes_every_multiple() -> None:
    assert split_by_factor(as_sum(8 * I4 + 3 * J7 + 4 * K24 + 9), 4) == (2 * I4 + K24 + 2, 3 * J7 + 1)
    assert split_by_factor(as_sum(2 * I4 - 1), 2) == (I4 - 1, 1)


@pytest.mark.parametrize("denominator", ["n", ("*", "n", 2), ("+", "m", 1), ("*", "n", "m"), ("max", "n", "m")])
@given(tree=trees(("i", "j", "k", "n", "m", "p", "q"), largest=6), point=points())
@exactly(60)
def test_division_by_variables_is_what_python_computes(denominator: Tree, tree: Tree, point: Point) -> None:
    for op in ("//", "%"):
        divided = (op, tree, denominator)
        assert meaning(built(divided), at(point)) == computed(divided, point)
