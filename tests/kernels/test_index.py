"""Index expressions are exact, bounded, and in one canonical form."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.index import (
    Axis,
    Expr,
    Index,
    Var,
    axes_in,
    bounds,
    evaluate_index,
    key_of,
    leaves,
    lower,
    product,
    single,
    substitute,
    upper,
    variables_in,
)
from kernels.index_rules import floordiv, maximum, mod
from tests.kernels.expressions import (
    FIXED_AXES,
    LEAVES,
    Point,
    Tree,
    at,
    built,
    computed,
    exactly,
    is_canonical,
    meaning,
    points,
    trees,
)

I4, J7, K24, N, M = (single(LEAVES[name]) for name in "ijknm")


@given(trees(), points())
@exactly(300)
def test_expression_is_what_python_computes(tree: Tree, point: Point) -> None:
    assert meaning(built(tree), at(point)) == computed(tree, point)


@given(trees(FIXED_AXES, largest=14), points())
@exactly(200)
def test_expression_of_fixed_axes_is_what_python_computes(tree: Tree, point: Point) -> None:
    assert meaning(built(tree), at(point)) == computed(tree, point)


@given(trees(), points())
@exactly(200)
def test_bounds_hold(tree: Tree, point: Point) -> None:
    lo, hi = bounds(built(tree))
    assert lo <= computed(tree, point) <= hi


@given(trees(), points())
@exactly(150)
def test_evaluate_index_is_what_python_computes(tree: Tree, point: Point) -> None:
    assert evaluate_index(built(tree), at(point)) == computed(tree, point)


@given(trees(), trees(("i", "n", "k"), largest=3), points())
@exactly(150)
def test_substitute_replaces_a_leaf_by_its_value_everywhere(tree: Tree, replacement: Tree, point: Point) -> None:
    # The place of j is taken by something in 0..6, as j itself is: 0 to 6 by a remainder.
    taken = ("%", replacement, 7)
    result = substitute(built(tree), {LEAVES["j"]: built(taken)})
    assert meaning(result, at(point)) == computed(tree, {**point, "j": computed(taken, point)})


@given(trees())
@exactly(150)
def test_expression_is_in_canonical_form(tree: Tree) -> None:
    assert is_canonical(built(tree))


# Products of leaves and of one quotient and one remainder of different numerators, so that nothing recombines.
TERMS: tuple[Tree, ...] = ("i", "j", "k", "n", "m", ("*", "i", "n"), ("//", ("*", "j", 5), 3), ("%", "k", 5), 1)


@given(st.lists(st.tuples(st.sampled_from(TERMS), st.integers(-6, 6)), max_size=10), st.randoms(use_true_random=False))
@exactly(120)
def test_two_ways_of_writing_one_sum_are_equal(terms: list[tuple[Tree, int]], rng: random.Random) -> None:
    def total(parts: list[tuple[Tree, int]]) -> Index:
        return sum((built(term) * factor for term, factor in parts), start=0)  # type: ignore[return-value]

    shuffled = rng.sample(terms, len(terms))
    cut = rng.randint(0, len(terms))
    one, other = total(terms), total(shuffled[:cut]) + total(shuffled[cut:])
    assert one == other
    assert hash(one) == hash(other)
    assert key_of(one) == key_of(other)
    assert str(one) == str(other)
    assert one - other == 0


@given(trees(("i", "j", "n"), 3), trees(("k", "m", "i"), 3), trees(("j", "m", "n"), 3), points())
@exactly(100)
def test_product_distributes_over_a_sum(a: Tree, b: Tree, c: Tree, point: Point) -> None:
    product_of_sum = (built(a) + built(b)) * built(c)
    value = (computed(a, point) + computed(b, point)) * computed(c, point)
    assert meaning(product_of_sum, at(point)) == value
    assert meaning(built(a) * built(c) + built(b) * built(c), at(point)) == value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (I4 + J7, J7 + I4),
        (2 * I4 + 3 * I4, 5 * I4),
        ((I4 + 1) * (J7 - 1), I4 * J7 - I4 + J7 - 1),
        (N * (M + 2), N * M + 2 * N),
        (3 - (I4 - J7), J7 + 3 - I4),
        (0 - (0 - I4), I4),
        (floordiv(I4 + 9 * J7, 5) + K24, K24 + floordiv(J7 * 9 + I4, 5)),
        (maximum(N, M), maximum(M, N)),
        (mod(5 * J7 + N, M), mod(N + J7 + 4 * J7, M)),
    ],
)
def test_equal_expressions_are_one_value(one: Index, other: Index) -> None:
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (I4, J7),
        (I4, I4 + 1),
        (I4, 2 * I4),
        (single(Axis(0, 4)), single(Var("i", 0, 3))),
        (floordiv(5 * J7, 3), mod(5 * J7, 3)),
        (floordiv(5 * J7, 3), floordiv(5 * J7, 4)),
    ],
)
def test_different_expressions_are_different_values(one: Index, other: Index) -> None:
    assert one != other


@pytest.mark.parametrize(
    "value",
    [I4 - I4, 0 * I4, (I4 + 3) - I4, I4 * J7 - J7 * I4, N * 0 + 7, floordiv(I4, 4), mod(4 * N, 4)],
)
def test_expression_without_terms_is_a_plain_integer(value: Index) -> None:
    assert type(value) is int


@pytest.mark.parametrize(
    ("value", "lo", "hi"),
    [
        (I4, 0, 3),
        (I4 - J7, -6, 3),
        (-2 * I4 + 5, -1, 5),
        (N, 1, 9),
        (single(LEAVES["t"]) * I4, -9, 9),
        (single(LEAVES["t"]) * single(LEAVES["t"]), -9, 9),
        (single(LEAVES["p"]), 0, 8),
        (floordiv(5 * J7, 3), 0, 10),
        (floordiv(5 * J7 - 7, 3), -3, 7),
        (mod(5 * J7, 3), 0, 2),
        (floordiv(K24, N), 0, 23),
        (mod(K24, M), 0, 4),
        (maximum(N, M), 2, 9),
        (single(Axis(9, 0)), 0, 0),
        (-4, -4, -4),
    ],
)
def test_bounds_of_small_expressions(value: Index, lo: int, hi: int) -> None:
    assert (lower(value), upper(value)) == bounds(value) == (lo, hi)


def test_product_of_no_values_is_one() -> None:
    assert product(()) == 1
    assert product((2, N, 3, M)) == 6 * N * M


@pytest.mark.parametrize("divide", [floordiv, mod])
@pytest.mark.parametrize("denominator", [0, -3, -1 * N, -3 * N * M])
def test_division_by_what_is_never_positive_is_refused(divide: object, denominator: Index) -> None:
    with pytest.raises(ZeroDivisionError):
        divide(K24 + 1, denominator)  # type: ignore[operator]


def test_leaves_are_found_at_every_depth() -> None:
    value = floordiv(3 * J7 + mod(5 * K24 + N, M), 7) * I4 + maximum(N, single(Var("z", 0, 99)))
    assert {str(atom) for atom in leaves(value)} == {"i0", "i1", "i2", "n", "m", "z"}
    assert axes_in(value) == {0, 1, 2}
    assert variables_in(value) == {LEAVES["n"], LEAVES["m"], Var("z", 0, 99)}
    assert axes_in(5) == set()


def test_evaluate_index_names_what_has_no_value() -> None:
    with pytest.raises(KeyError, match="no value for i1, n"):
        evaluate_index(I4 + J7 + N, {LEAVES["i"]: 2})


def test_substitute_simplifies_anew() -> None:
    # i and j together count 0..27, and make k // 4 and k % 4 of one axis.
    position = I4 * 7 + J7
    halves = {LEAVES["i"]: floordiv(K24, 7), LEAVES["j"]: mod(K24, 7)}
    assert substitute(position, halves) == K24
    assert substitute(maximum(N, 4), {LEAVES["n"]: 3}) == 4


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (I4 * 8 + J7 + 3, "i0*8+i1+3"),
        (J7 - 2 * I4 - 1, "i0*-2+i1-1"),
        (N * I4, "n*i0"),
        (floordiv(2 * J7 + 1, 3), "(i1*2+1)//3"),
        (mod(5 * J7, N + 1), "(i1*5)%(n+1)"),
        (mod(5 * J7, N), "(i1*5)%n"),
        (maximum(M, N), "max(m, n)"),
    ],
)
def test_expression_reads_as_what_it_is(value: Expr, shown: str) -> None:
    assert str(value) == shown
