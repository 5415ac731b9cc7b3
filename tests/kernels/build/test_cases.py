"""Kernels that systems of this kind got wrong, written with the builder: a few lines each, with the right answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kernels.build import Graph, Value, constant, max_pool2d, up_to, valid
from tests.kernels.build.values import stored

CASES: dict[str, tuple[Callable[[Graph], Value], tuple[Any, ...], Any]] = {}
Case = Callable[[Graph], Value]


def case(loaded: tuple[Any, ...], expected: Any) -> Callable[[Case], Case]:
    def add(function: Case) -> Case:
        CASES[function.__name__] = (function, loaded, expected)
        return function

    return add


MINUS = -np.arange(1.0, 66).reshape(5, 13)
ROW = np.arange(1.0, 17)


@case((MINUS,), MINUS.max(1))
def a1_max_of_negative_rows(g: Graph) -> Value:
    return g.load("float32", (5, 13)).max(1)


@case((MINUS,), (1 / MINUS).sum(1))
def a2_sum_of_reciprocals(g: Graph) -> Value:
    return (1 / g.load("float32", (5, 13))).sum(1)


@case((np.zeros((17, 17)),), np.full(17, -27200.0))
def a3_sum_of_differences_to_a_nested_sum(g: Graph) -> Value:
    y = g.load("float32", (17, 17)) + 100
    return (y.reshape(17, 17, 1) - y.reshape(17, 1, 17).expand(17, 17, 17).sum(2)).sum(1)


@case((np.ones((30, 16)), np.arange(30.0)), 16 * np.arange(30.0))
def a4_load_after_a_reduction(g: Graph) -> Value:
    return g.load("float32", (30, 16)).sum(1) * g.load("float32", (30, 1))


@case((), np.arange(50))
def a6_arange_as_a_masked_sum(g: Graph) -> Value:
    return up_to(50).where(constant(1, "int32", (50, 50)), 0).sum(1) - 1


@case((np.arange(1.0, 6),), [5, 6, 10])
def a7_part_of_a_padded_row(g: Graph) -> Value:
    return g.load("float32", (5,)).pad((2, 1), fill=9).shrink((5, 8)) + 1


@case((np.arange(1.0, 21),), [*range(1, 21), 0, 0, 0, 0])
def a8_rows_masked_and_seen_in_another_shape(g: Graph) -> Value:
    return g.load("float32", (5, 4)).pad((0, 1), (0, 0)).reshape(3, 8)


@case((np.full(20, np.nan),), [0])
def a9_sum_of_what_is_masked_away(g: Graph) -> Value:
    return g.load("float32", (20,)).pad((20, 0)).shrink((0, 20)).sum()


@case((np.ones(56),), [2, *[3] * 54, 2])
def a11_three_taps(g: Graph) -> Value:
    return g.load("float32", (56,)).pad((1, 1)).windows(0, 3).sum(1)


@case((ROW,), [16, 13, 10, 7, 4, 1, 0, 0])
def a12_every_third_backwards_and_padded(g: Graph) -> Value:
    return g.load("float32", (16,)).flip(0).step(3).pad((0, 2))


@case((np.ones((2, 8, 3, 12)),), np.full(6, 96.0))
def b1_sum_over_two_axes(g: Graph) -> Value:
    return g.load("float32", (2, 8, 3, 12)).sum(1, 3)


@case((np.array([1]), np.array([2])), [2])
def c3_max_of_a_stack(g: Graph) -> Value:
    first, second = g.load("int32", (1,)), g.load("int32", (1,))
    return (first.pad((0, 1)) + second.pad((1, 0))).max()


@case((np.zeros((2, 1, 1)),), np.pad(np.zeros((2, 1, 1)), 1) + 1)
def c4_padded_on_every_side(g: Graph) -> Value:
    return g.load("float32", (2, 1, 1)).pad((1, 1), (1, 1), (1, 1)) + 1


@case((np.arange(4.0),), np.tile(np.arange(4.0), 4))
def d2_row_repeated(g: Graph) -> Value:
    return g.load("float32", (4,)).reshape(1, 4).expand(4, 4) * 1.0


@case((np.arange(9.0),), np.arange(1.0, 9) + 1)
def d3_load_that_is_off_by_one(g: Graph) -> Value:
    return g.load("float32", (9,)).shrink((1, 9)) + 1


@case((np.array([3, 4]), np.array([5, 6])), [5, 6])
def d5_buffer_that_does_not_matter(g: Graph) -> Value:
    return g.load("int32", (2,)) * 0 + g.load("int32", (2,))


@case((np.ones(8),), [8])
def e5_half_ones_in_a_float_sum(g: Graph) -> Value:
    return g.load("float16", (8,)).cast("float32").sum().cast("float16")


@case((np.array([True] * 300),), [300])
def e6_sum_of_bools(g: Graph) -> Value:
    return g.load("bool", (300,)).cast("int32").sum()


@case((np.full(3, -(2**31)),), [-(2**31)])
def e7_max_of_least_integers(g: Graph) -> Value:
    return g.load("int32", (3,)).max()


@case((np.array([1, 2, 3]),), [6])
def e8_product(g: Graph) -> Value:
    return g.load("int32", (3,)).prod()


@case((np.array([math.nan, 1, math.inf, -math.inf]),), [1, 0, 0, 0])
def e9_nan_differs_from_itself(g: Graph) -> Value:
    x = g.load("float32", (4,))
    return x.ne(x).cast("int32")


@case((np.array([1.2, 1.2, 1.2, 3.2]),), [1, 1, 1, 0])
def e12_between(g: Graph) -> Value:
    x = g.load("float32", (4,))
    return ((x > 1) & (x < 2)).cast("int32")


@case((), [0x3F800000] * 8)
def e14_bits_of_one(g: Graph) -> Value:
    return constant(1.0, "float32", (8,)).bitcast("uint32")


@case((np.array([[1, 3, 3], [2, 2, 2]]),), [1, 0])
def e15_first_greatest(g: Graph) -> Value:
    x = g.load("int32", (2, 3))
    greatest = x.reshape(2, 1, 3).expand(2, 3, 3).max(2)
    from_the_end = up_to(3).flip(0).cast("int32").reshape(1, 3, 3).expand(2, 3, 3).sum(2)  # 3, 2, 1
    return 3 - (x.reshape(2, 3, 1).eq(greatest).cast("int32") * from_the_end).max(1)


@pytest.mark.parametrize("name", CASES)
def test_case_is_expressed_and_computes_the_right_answer(name: str) -> None:
    function, loaded, expected = CASES[name]
    g = Graph()
    g.store(function(g))
    np.testing.assert_allclose(stored(g.build(), *loaded), np.ravel(expected), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_pooled_corner_is_its_greatest_whatever_the_padding(dtype: str) -> None:
    assert stored(max_pool2d(1, 1, 5, 5, 3, 1, 1, dtype=dtype), -np.arange(1, 26))[0] == -1


def test_valid_is_false_in_what_is_padded() -> None:
    g = Graph()
    g.store(valid((2,)).pad((1, 2)))
    assert stored(g.build()).tolist() == [False, True, True, False, False]
