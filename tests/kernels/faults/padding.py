"""A: padding and masks."""

from __future__ import annotations

import numpy as np
from tinygrad.shape.shapetracker import ShapeTracker

from tests.kernels.faults.case import Array, FaultCase, Run, count, floats, ints, sequences
from tests.made.build import Build, Document
from tests.made.matmuls import Product, product
from tests.made.reduces import arange, difference_from_row_sum, max_pool, reduce_after, reduced, three_tap_sum
from tests.made.views import copied, empty_mask

NEGATIVES = -count(5, 13, start=1)


def row_sums_times_vector() -> Document:
    """(sum over j of x[30, 16]) * b[30]."""
    b = Build()
    total = b.reduce(b.new("float32", (30, 16)), "ADD", 1)
    b.store(b.op("MUL", total, b.new("float32", (30, 1))))
    return b.document()


def part_of_a_padded_row() -> Document:
    """[1..5] padded by (2, 1) with 9, elements 5 to 7, plus one."""
    b = Build()
    source = b.buffer("float32", (5,))
    tracker = source.tracker.pad(((2, 1),)).shrink(((5, 8),))
    loaded = b.load(source, tracker)
    value = b.op("WHERE", b.valid(tracker), loaded, b.like(9.0, loaded))
    b.store(b.op("ADD", value, b.like(1.0, value)))
    return b.document()


def rows_seen_as_columns() -> Document:
    tracker = ShapeTracker.from_shape((5, 4)).pad(((0, 1), (0, 0))).reshape((3, 8))
    return copied((5, 4), tracker, dense=False)


def backwards_by_three() -> Document:
    """Length 8, stride -3, offset 15, the first six valid."""
    flipped = ShapeTracker.from_shape((16,)).flip((True,)).pad(((0, 2),)).reshape((6, 3))
    return copied((16,), flipped.shrink(((0, 6), (0, 1))).reshape((6,)).pad(((0, 2),)), dense=False)


def pooled(image: Array) -> Array:
    """The greatest of each element and its neighbours inside the image."""
    size = len(image)
    return np.array(
        [
            [image[max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2].max() for j in range(size)]
            for i in range(size)
        ],
        dtype=image.dtype,
    )  # fmt: skip


def max_pools() -> list[FaultCase]:
    cases = []
    for dtype, least in (("float32", float("-inf")), ("int32", -(2**31))):
        image = -np.arange(1, 26).reshape(5, 5).astype(dtype)
        opts = sequences([("UNROLL", 0, 0), ("UNROLL", 0, 0)], ("PADTO", 1, 8))
        run = Run({0: image}, {1: pooled(image)})
        cases.append(FaultCase("A10", f"max pool of {dtype}", max_pool(dtype, least), opts, runs=(run,)))
    return cases


def cases() -> list[FaultCase]:
    return [
        FaultCase(
            "A1",
            "max of negative rows",
            reduced((5, 13), (1,), "MAX"),
            sequences(("PADTO", 1, 16), ("PADTO", 0, 8), ("UNROLL", 0, 0)),
            runs=(Run({0: NEGATIVES}, {1: floats([-1, -14, -27, -40, -53])}),),
        ),
        FaultCase(
            "A2",
            "sum of reciprocals",
            reduce_after("RECIP"),
            sequences(("PADTO", 1, 16)),
            runs=(Run({0: NEGATIVES}, {1: (1 / NEGATIVES.astype(np.float64)).sum(1)}, tolerance=1e-6),),
        ),
        FaultCase(
            "A3",
            "sum of differences to a row's sum",
            difference_from_row_sum(),
            sequences(("PADTO", 1, 32), [("PADTO", 1, 32), ("PADTO", 2, 32)], ("GROUP", 0, 17)),
            runs=(Run({0: np.zeros((17, 17), np.float32)}, {1: floats([-27200.0] * 17)}),),
        ),
        FaultCase(
            "A4",
            "load after a grouped reduce",
            row_sums_times_vector(),
            sequences([("PADTO", 0, 32), ("GROUP", 0, 4)]),
            runs=(Run({0: count(30, 16), 1: count(30)}, {2: count(30, 16).sum(1) * count(30)}),),
        ),
        FaultCase(
            "A5",
            "padding an unrolled axis",
            product(Product(4, 4, 4, dtype="float32")),
            sequences([("UNROLL", 0, 0), ("PADTO", 2, 8)]),
            refused=sequences([("UNROLL", 0, 0), ("PADTO", 2, 8)]),
        ),
        FaultCase(
            "A6",
            "arange of a prime's multiple",
            arange(50257),
            sequences([("GROUPTOP", 0, 29), ("PADTO", 0, 32)]),
            runs=(Run({}, {0: ints(range(50257))}),),
        ),
        FaultCase(
            "A7",
            "part of a row padded with 9",
            part_of_a_padded_row(),
            sequences(("UPCAST", 0, 3)),
            runs=(Run({0: floats([1, 2, 3, 4, 5])}, {1: floats([5, 6, 10])}),),
        ),
        FaultCase(
            "A8",
            "masked rows seen as columns",
            rows_seen_as_columns(),
            sequences(("UPCAST", 1, 4), ("UPCAST", 1, 8), ("UPCAST", 0, 3)),
            runs=(Run({0: count(20, start=1)}, {1: floats([*range(1, 21), 0, 0, 0, 0])}),),
        ),
        FaultCase(
            "A9",
            "sum of nothing valid",
            empty_mask(),
            sequences(("UNROLL", 0, 4), ("GROUP", 0, 4)),
            runs=(Run({0: floats([np.nan] * 20)}, {1: floats([0])}),),
        ),
        *max_pools(),
        FaultCase(
            "A11",
            "three-tap sum",
            three_tap_sum(56),
            sequences(
                [("UPCAST", 0, 4), ("UNROLL", 0, 3)],
                [("PADTO", 0, 64), ("LOCAL", 0, 16), ("UPCAST", 0, 4)],
            ),
            runs=(Run({0: floats([1] * 56)}, {1: floats([2, *[3] * 54, 2])}),),
        ),
        FaultCase(
            "A12",
            "negative stride under a mask",
            backwards_by_three(),
            sequences(("UPCAST", 0, 4), ("UPCAST", 0, 8)),
            runs=(Run({0: count(16, start=1)}, {1: floats([16, 13, 10, 7, 4, 1, 0, 0])}),),
        ),
    ]
