"""E: values, dtypes and tensor cores."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.kernels.faults.case import Array, FaultCase, Run, floats, ints, sequences
from tests.made.build import Build, Document, spread
from tests.made.elementwise import bitcast_constant
from tests.made.matmuls import Product, product
from tests.made.reduces import reduced

NAN, INF = float("nan"), float("inf")
INT_MIN = -(2**31)


def mean_of_halves(size: int) -> Document:
    """The mean in float32 of `size` halves, rounded to half once."""
    b = Build()
    total = b.reduce(b.cast(b.new("float16", (size,)), "float32"), "ADD", 0)
    b.store(b.cast(b.op("MUL", total, b.like(1.0 / size, total)), "float16"))
    return b.document()


def summed_as(dtype: str, accumulator: str, size: int) -> Document:
    b = Build()
    b.store(b.reduce(b.cast(b.new(dtype, (size,)), accumulator), "ADD", 0))
    return b.document()


def compared_with_itself() -> Document:
    b = Build()
    value = b.new("float32", (4,))
    b.store(b.op("CMPNE", value, value))
    return b.document()


def times_zero_plus_float() -> Document:
    b = Build()
    first, second = b.new("float32", (4,)), b.new("float32", (4,))
    b.store(b.op("ADD", b.op("MUL", first, b.like(0.0, first)), second))
    return b.document()


def between_one_and_two() -> Document:
    """(1 < x) & (x < 2)."""
    b = Build()
    x = b.new("float32", (4,))
    b.store(b.op("AND", b.op("CMPLT", b.like(1.0, x), x), b.op("CMPLT", x, b.like(2.0, x))))
    return b.document()


def reciprocal() -> Document:
    b = Build()
    b.store(b.op("RECIP", b.new("float32", (4,))))
    return b.document()


def stored_constants() -> Document:
    """inf, -inf and nan, each in a buffer of its own."""
    b = Build()
    for value in (INF, -INF, NAN):
        b.store(b.const(value, "float32", (4,)))
    return b.document()


def argmax(size: int) -> Document:
    """The first index of the greatest: size - max over i of (x[i] == max x) * (size - i); slot 1 holds size - i."""
    b = Build()
    x, left = b.buffer("float32", (size,)), b.buffer("int32", (size,))
    greatest = b.reduce(b.load(x, spread(x.tracker, (size, size), (1,))), "MAX", 1)
    own = b.load(x, x.tracker.reshape((size, 1)))
    weight = b.load(left, left.tracker.reshape((size, 1)))
    best = b.reduce(b.op("WHERE", b.op("CMPNE", own, greatest), b.like(0, weight), weight), "MAX", 0)
    b.store(b.op("SUB", b.like(size, best), best))
    return b.document()


def cast_to_byte() -> Document:
    b = Build()
    b.store(b.cast(b.new("float32", (8,)), "uint8"))
    return b.document()


def first_index(values: list[float], index: int) -> Run:
    return Run({0: floats(values), 1: ints([3, 2, 1])}, {2: ints([index])})


def ones(*shape: int, dtype: Any = np.float16) -> Array:
    return np.ones(shape, dtype)


def tensor_core_cases() -> list[FaultCase]:
    """Of the masked product, the first and last column of each output and two of 32 products are masked."""
    masked = np.zeros((3, 32, 80), np.float32)
    masked[:, :, 1:-1] = 30
    core = ("TC", 0, (0, 0))
    return [
        FaultCase(
            "E1",
            "padded after a tensor core",
            product(Product(32, 80, 32, batch=(3,), masked=True)),
            sequences([core, ("PADTO", 2, 32)], [("TC", 0, (0, 2)), ("PADTO", 2, 32)]),
            runs=(Run({1: ones(3, 32, 30), 2: ones(3, 32, 78)}, {0: masked}),),
            target="sm_80",
        ),
        FaultCase(
            "E2",
            "half product of 4096 terms",
            product(Product(16, 16, 4096)),
            sequences([], core),
            runs=(Run({1: ones(16, 4096), 2: ones(4096, 16)}, {0: floats([[4096] * 16] * 16)}),),
            target="sm_80",
        ),
        FaultCase(
            "E3",
            "tensor core in use",
            product(Product(64, 64, 64)),
            sequences(("TC", 0, (-1, 0)), core, ("TC", 0, (3, 0))),
            runs=(Run({1: ones(64, 64), 2: ones(64, 64)}, {0: floats([[64] * 64] * 64)}),),
            target="sm_80",
        ),
    ]


def reduce_cases() -> list[FaultCase]:
    """E5 to E8."""
    one_half, hundreds = ones(4096), np.full(100000, 100, np.float16)
    bytes_run = Run({0: np.full(1000, 255, np.uint8)}, {1: np.array([255000], np.uint32)})
    true_run = Run({0: np.full(300, True)}, {1: ints([300])})
    padded = sequences(("PADTO", 0, 4))
    return [
        FaultCase(
            "E5",
            "sum of halves",
            reduced((4096,), (0,), "ADD", "float16"),
            sequences([], ("GROUP", 0, 256), ("UNROLL", 0, 32)),
            runs=(Run({0: one_half}, {1: np.array([4096], np.float16)}),),
        ),
        FaultCase(
            "E5",
            "mean of halves",
            mean_of_halves(100000),
            sequences([], ("GROUPTOP", 0, 16)),
            runs=(Run({0: hundreds}, {1: np.array([100], np.float16)}, tolerance=1e-3),),
        ),
        FaultCase("E6", "sum of bytes", summed_as("uint8", "uint32", 1000), BY_8_OR_4, runs=(bytes_run,)),
        FaultCase("E6", "count of True", summed_as("bool", "int32", 300), BY_8_OR_4, runs=(true_run,)),
        FaultCase(
            "E7",
            "max of negative integers",
            reduced((3,), (0,), "MAX", "int32"),
            sequences([], ("UNROLL", 0, 3), ("GROUP", 0, 3)),
            runs=(
                Run({0: ints([-5, -7, -3])}, {1: ints([-3])}),
                Run({0: ints([INT_MIN] * 3)}, {1: ints([INT_MIN])}),
            ),
        ),
        FaultCase(
            "E8",
            "product",
            reduced((3,), (0,), "MUL"),
            (*sequences(("UNROLL", 0, 3), ("GROUP", 0, 3)), *padded),
            refused=padded,
            runs=(Run({0: floats([1, 2, 3])}, {1: floats([6])}),),
        ),
    ]


BY_8_OR_4 = sequences(("GROUP", 0, 8), ("UNROLL", 0, 4))
BY_4 = sequences([], ("UPCAST", 0, 4))


def cases() -> list[FaultCase]:
    """E4 is about the runner and has no kernel of its own. Of E16 the values are documented, not compared."""
    nan_lane = Run({0: floats([0, 1, 2, NAN]), 1: floats([5, 6, 7, 8])}, {2: floats([5, 6, 7, NAN])})
    constants = Run({}, {i: floats([value] * 4) for i, value in enumerate((INF, -INF, NAN))})
    inverses = Run({0: floats([-0.0, 0.0, 2.0, INF])}, {1: floats([-INF, INF, 0.5, 0.0])})
    itself = Run({0: floats([NAN, 1, INF, -INF])}, {1: np.array([True, False, False, False])})
    between = Run({0: floats([1.2, 1.2, 1.2, 3.2])}, {1: np.array([True, True, True, False])})
    return [
        *tensor_core_cases(),
        *reduce_cases(),
        FaultCase("E9", "NaN is not itself", compared_with_itself(), BY_4, runs=(itself,)),
        FaultCase("E10", "NaN times zero", times_zero_plus_float(), BY_4, runs=(nan_lane,)),
        FaultCase(
            "E11",
            "max of a number and NaN",
            reduced((2,), (0,), "MAX"),
            sequences([], ("UNROLL", 0, 0), ("GROUP", 0, 2)),
            runs=(Run({0: floats([1, NAN])}, {1: floats([1])}), Run({0: floats([NAN, 1])}, {1: floats([1])})),
        ),
        FaultCase("E12", "both comparisons", between_one_and_two(), BY_4, runs=(between,)),
        FaultCase("E13", "reciprocal of zeros", reciprocal(), BY_4, runs=(inverses,)),
        FaultCase("E13", "constants that are no numbers", stored_constants(), BY_4, runs=(constants,)),
        FaultCase(
            "E14",
            "bits of a constant",
            bitcast_constant(),
            BY_4,
            runs=(Run({}, {0: np.full(8, 0x3F800000, np.uint32)}),),
        ),
        FaultCase(
            "E15",
            "first of equals",
            argmax(3),
            sequences([], ("UNROLL", 0, 3), [("UNROLL", 0, 3), ("UNROLL", 0, 3)], ("GROUP", 0, 3), ("GROUP", 1, 3)),
            runs=(first_index([1, 3, 3], 1), first_index([2, 2, 2], 0)),
        ),
        FaultCase("E16", "negative float to byte", cast_to_byte(), BY_4),
    ]
