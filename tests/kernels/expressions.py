"""Random index expressions, and what an expression means, worked out apart from the product's simplification.

A tree is an integer, the name of a leaf, or (operator, left, right). `built` makes the product's Index of one,
`computed` its value with Python's own integers, and `meaning` reads a finished Index back, atom by atom.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from kernels.index import Atom, Axis, Coordinate, FloorDiv, Index, Max, Mod, Var, single
from kernels.index_rules import floordiv, maximum, mod

Tree = Any
Point = dict[str, int]

N, M, T = Var("n", 1, 9), Var("m", 2, 5), Var("t", -3, 3)
#: The axes `p` and `q` are as long as variables say.
LEAVES: dict[str, Atom] = {
    "i": Axis(0, 4),
    "j": Axis(1, 7),
    "k": Axis(2, 24),
    "b": Axis(3, 2),
    "n": N,
    "m": M,
    "t": T,
    "p": Axis(4, single(N)),
    "q": Axis(5, single(M) * 2),
}
FIXED_AXES = ("i", "j", "k", "b")
ROUND_NUMBERS = (1, 2, 3, 4, 6, 8, 12, 24)

OPERATORS: dict[str, Callable[[Index, Index], Index]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": floordiv,
    "%": mod,
    "max": maximum,
}
PYTHON: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "max": max,
}


def exactly(examples: int) -> settings:
    """Settings of a property test: the same examples in every run, so that a failure is a change's own."""
    return settings(max_examples=examples, deadline=None, derandomize=True)


def trees(leaves: tuple[str, ...] = tuple(LEAVES), largest: int = 8) -> st.SearchStrategy[Tree]:
    """Trees over `leaves` whose denominators are always positive; coefficients often share factors with those."""
    numbers = st.one_of(st.sampled_from(ROUND_NUMBERS), st.integers(-30, 30))
    positive: list[Tree] = [*ROUND_NUMBERS, 5, 7]
    if "n" in leaves:
        positive += ["n", "m", ("*", "n", 2), ("+", "m", 1), ("*", "n", "m"), ("max", "n", "m")]
    denominators = st.sampled_from(positive)

    def larger(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        return st.one_of(
            st.tuples(st.sampled_from("++-"), inner, inner),
            st.tuples(st.just("*"), inner, numbers),
            st.tuples(st.just("*"), inner, inner),
            st.tuples(st.sampled_from(("//", "%")), inner, denominators),
            st.tuples(st.just("max"), inner, inner),
        )

    return st.recursive(
        st.one_of(st.sampled_from(leaves), st.sampled_from(leaves), numbers), larger, max_leaves=largest
    )


@st.composite
def points(draw: st.DrawFn) -> Point:
    """A value for every leaf, each axis inside its size."""
    n, m = draw(st.integers(1, 9)), draw(st.integers(2, 5))
    sizes = {"i": 4, "j": 7, "k": 24, "b": 2, "p": n, "q": 2 * m}
    axes = {name: draw(st.integers(0, size - 1)) for name, size in sizes.items()}
    return {**axes, "n": n, "m": m, "t": draw(st.integers(-3, 3))}


def built(tree: Tree) -> Index:
    """The product's expression of `tree`."""
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return single(LEAVES[tree])
    return OPERATORS[tree[0]](built(tree[1]), built(tree[2]))


def computed(tree: Tree, point: Mapping[str, int]) -> int:
    """The value of `tree` at `point`."""
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return point[tree]
    return PYTHON[tree[0]](computed(tree[1], point), computed(tree[2], point))


def at(point: Mapping[str, int]) -> dict[Atom, int]:
    """The point by atoms."""
    return {LEAVES[name]: value for name, value in point.items()}


def meaning(value: Index, values: Mapping[Atom, Any]) -> Any:
    """What `value` is where its leaves are as in `values`: integers, or numpy arrays for many points at once."""
    if isinstance(value, int):
        return value
    products = (c * math.prod(_meaning_of_atom(atom, values) for atom in monomial) for monomial, c in value.terms)
    return sum(products, start=value.constant)


def _meaning_of_atom(atom: Atom, values: Mapping[Atom, Any]) -> Any:
    if isinstance(atom, FloorDiv):
        return meaning(atom.numerator, values) // meaning(atom.denominator, values)
    if isinstance(atom, Mod):
        return meaning(atom.numerator, values) % meaning(atom.denominator, values)
    if isinstance(atom, Max):
        return np.maximum(meaning(atom.first, values), meaning(atom.second, values))
    if isinstance(atom, Coordinate):
        return meaning(atom.value, values)
    return values[atom]


def is_canonical(value: Index) -> bool:
    """True if the terms of `value` and of all within it are sorted, different, and none of them 0."""
    if isinstance(value, int):
        return True
    keys = [tuple(atom.key for atom in monomial) for monomial, _ in value.terms]
    inner: list[Index] = []
    for monomial, _ in value.terms:
        for atom in monomial:
            if isinstance(atom, FloorDiv | Mod):
                inner += [atom.numerator, atom.denominator]
            elif isinstance(atom, Max):
                inner += [atom.first, atom.second]
    return (
        len(keys) > 0
        and keys == sorted(set(keys))
        and all(list(key) == sorted(key) for key in keys)
        and all(coefficient != 0 for _, coefficient in value.terms)
        # A constant numerator under a symbolic denominator is the one sum without terms.
        and all(is_canonical(part) for part in inner if isinstance(part, int) or part.terms)
    )
