"""D: upcast, unroll and vector access."""

from __future__ import annotations

import numpy as np

from tests.kernels.faults.case import FaultCase, Run, count, ints, sequences
from tests.made.build import Build, Document
from tests.made.elementwise import two_stores_same_shape
from tests.made.views import shifted_by_one, transposed_copy, vector_expanded


def half_copy(cast: str | None) -> Document:
    """Four halves copied, or cast on the way."""
    b = Build()
    value = b.new("float16", (4,))
    b.store(value if cast is None else b.cast(value, cast))
    return b.document()


def times_zero_plus() -> Document:
    """Slot 0 = slot 1 * 0 + slot 2, of int32."""
    b = Build()
    out = b.buffer("int32", (8,))
    first, second = b.new("int32", (8,)), b.new("int32", (8,))
    b.store(b.op("ADD", b.op("MUL", first, b.like(0, first)), second), out)
    return b.document()


def cases() -> list[FaultCase]:
    matrix, vector, halves = count(8, 32), count(4, start=1), np.array([1, -2, 0.5, 65504], np.float16)
    left, right = count(10, start=1), count(10, start=3)
    return [
        FaultCase(
            "D1",
            "transposing copy",
            transposed_copy(8, 32),
            sequences(
                [("LOCAL", 1, 4), ("UPCAST", 0, 4)],
                [("UPCAST", 1, 4), ("UPCAST", 0, 4)],
                [("UPCAST", 1, 2), ("LOCAL", 0, 8), ("UPCAST", 1, 0)],
            ),
            runs=(Run({0: matrix}, {1: matrix.T}),),
        ),
        FaultCase(
            "D2",
            "vector expanded to a square",
            vector_expanded(),
            sequences([("UPCAST", 0, 4), ("UPCAST", 0, 4)], [("UPCAST", 1, 0), ("UPCAST", 0, 0)]),
            runs=(Run({0: vector}, {1: np.stack([vector] * 4)}),),
        ),
        FaultCase(
            "D3",
            "load that is not aligned",
            shifted_by_one(),
            sequences(("UPCAST", 0, 4), ("UPCAST", 0, 8)),
            runs=(Run({0: count(9)}, {1: count(8, start=2)}),),
        ),
        FaultCase(
            "D4",
            "copy of halves",
            half_copy(None),
            sequences(("UPCAST", 0, 4)),
            runs=(Run({0: halves}, {1: halves}),),
        ),
        FaultCase(
            "D4",
            "cast of halves",
            half_copy("float32"),
            sequences(("UPCAST", 0, 4)),
            runs=(Run({0: halves}, {1: halves.astype(np.float32)}),),
        ),
        FaultCase(
            "D5",
            "buffer that folds away",
            times_zero_plus(),
            sequences(("UPCAST", 0, 4), ("LOCAL", 0, 2)),
            runs=(Run({1: ints(range(8)), 2: ints(range(100, 108))}, {0: ints(range(100, 108))}),),
        ),
        FaultCase(
            "D6",
            "two stores",
            two_stores_same_shape(10),
            sequences(("UPCAST", 0, 4), ("PADTO", 0, 12), [("PADTO", 0, 12), ("UPCAST", 0, 4)]),
            runs=(Run({0: left, 1: right}, {2: left + right, 3: left * right}),),
        ),
    ]
