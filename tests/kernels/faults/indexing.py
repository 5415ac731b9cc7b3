"""C: index arithmetic, limits and shapes."""

from __future__ import annotations

import numpy as np

from tests.kernels.faults.case import Array, FaultCase, Run, count, floats, ints, sequences
from tests.made.build import Build, Document, Value
from tests.made.dynamic import reduce_length
from tests.made.elementwise import long_chain, shared_subexpressions
from tests.made.reduces import arange, gather, reduced
from tests.made.views import five_axes_padded


def max_of_a_stack() -> Document:
    """The maximum of two inputs of one element, stacked by padding."""
    b = Build()
    first, second = b.buffer("float32", (1,)), b.buffer("float32", (1,))
    parts = b.load(first, first.tracker.pad(((0, 1),))), b.load(second, second.tracker.pad(((1, 0),)))
    b.store(b.reduce(b.op("ADD", *parts), "MAX", 0))
    return b.document()


def plus_one(shape: tuple[int, ...], apart: bool) -> Document:
    """x + 1; where the axes are to stay apart, x lies in memory the other way round."""
    b = Build()
    source = b.buffer("float32", shape[::-1] if apart else shape)
    tracker = source.tracker.permute(tuple(range(len(shape)))[::-1]) if apart else source.tracker
    value = b.load(source, tracker)
    b.store(b.op("ADD", value, b.like(1.0, value)))
    return b.document()


def cache_write(rows: int) -> Document:
    """Four rows of 16, which lie by columns, written from start_pos on into a cache of `rows` rows."""
    b = Build()
    start = b.variable("start_pos", 0, 128)
    cache, source = b.buffer("float32", (rows, 16)), b.buffer("float32", (16, 4))
    value = b.load(source, source.tracker.permute((1, 0)))
    b.store(value, cache, cache.tracker.shrink(((start, start + 4), (0, 16))))
    return b.document()


def padded_then_expanded() -> Document:
    """[1, 3] padded to [1, 5], expanded to [i, 5]. The view is written out: tinygrad 0.10.2 masks all rows but one."""
    b = Build()
    i = b.variable("i", 1, 4)
    source, out = b.buffer("float32", (1, 3)), b.buffer("float32", (i, 5))
    view = {"shape": ["i", 5], "strides": [0, 1], "offset": -1, "mask": [[0, "i"], [1, 4]]}
    loaded = b.node("LOAD", (source.node, b.node("VIEW", (), arg={"views": [view]})), "float32")
    b.store(Value(loaded, "float32", out.tracker.shape), out)
    return b.document()


def written(start: int) -> Run:
    cache, source = -count(132, 16, start=1), count(16, 4)
    after = cache.copy()
    after[start : start + 4] = source.T
    return Run({0: cache, 1: source}, {0: after}, {"start_pos": start})


def rows_of(length: int) -> Run:
    values = count(40, length)
    return Run({0: values}, {1: values.sum(1)}, {"i": length})


def expanded(rows: int) -> Run:
    return Run({0: floats([5, 6, 7])}, {1: floats([[0, 5, 6, 7, 0]] * rows)}, {"i": rows})


def stays_below_one() -> tuple[Array, Array]:
    """x, and max(y, y * y) taken 24 times from it."""
    return floats([-1, -0.5, 0, 0.125, 0.25, 0.5, 0.75, 0.875, 0.9375, 1]), floats(
        [1, 0.25, 0, 0.125, 0.25, 0.5, 0.75, 0.875, 0.9375, 1]
    )


def large_cases() -> list[FaultCase]:
    """C4 and C5, C9 to C11: many axes, many elements, many nodes."""
    image, below = count(3, 4, 5, 6, 7), stays_below_one()
    flat, apart = count(70000, 3, 5), count(5, 3, 70000)
    return [
        FaultCase(
            "C4",
            "five axes padded",
            five_axes_padded(),
            sequences(("LOCAL", 4, 3), [("UPCAST", 4, 3), ("LOCAL", 0, 5)]),
            runs=(Run({0: image}, {1: np.pad(image, 1) + 1}),),
        ),
        FaultCase(
            "C5",
            "more rows than a launch dimension",
            plus_one((70000, 3, 5), apart=False),
            sequences([], ("PADTO", 0, 32)),
            runs=(Run({0: flat}, {1: flat + 1}),),
            target="sm_80",
        ),
        FaultCase(
            "C5",
            "three axes that stay apart",
            plus_one((70000, 3, 5), apart=True),
            sequences([], ("PADTO", 0, 32), ("PADTO", 2, 8)),
            runs=(Run({0: apart}, {1: apart.T + 1}),),
            target="sm_80",
        ),
        FaultCase(
            "C9",
            "chain of 3000 additions",
            long_chain(3000),
            sequences([], ("UPCAST", 0, 4)),
            runs=(Run({0: count(32)}, {1: count(32) + 3000}),),
        ),
        FaultCase(
            "C10",
            "graph of 2^24 paths",
            shared_subexpressions(),
            sequences(("PADTO", 0, 16)),
            runs=(Run({0: below[0]}, {1: below[1]}),),
        ),
        FaultCase(
            "C11",
            "two unrolls of 32",
            reduced((2, 1024), (1,)),
            sequences([("UNROLL", 0, 32), ("UNROLL", 0, 32)]),
            runs=(Run({0: count(2, 1024)}, {1: count(2, 1024).sum(1)}),),
        ),
    ]


def cases() -> list[FaultCase]:
    table = count(256, 256, start=1)
    outside = ints([-19238, -257, 256, 495, 10982377])
    return [
        FaultCase(
            "C1",
            "arange of 2560",
            arange(2560),
            sequences(
                ("UPCAST", 0, 4),
                ("UNROLL", 0, 2),
                ("UNROLL", 0, 8),
                [("UNROLL", 0, 2), ("UNROLL", 0, 8)],
                [("UPCAST", 0, 4), ("UNROLL", 0, 8)],
                ("GROUP", 0, 8),
                [("LOCAL", 0, 16), ("PADTO", 1, 32)],
            ),
            runs=(Run({}, {0: ints(range(2560))}),),
        ),
        FaultCase(
            "C2",
            "gather of indices outside the table",
            gather(256, 256, 5),
            sequences([], ("UNROLL", 0, 4), ("UPCAST", 1, 4), ("GROUPTOP", 0, 16)),
            runs=(
                Run({0: table, 1: outside, 2: ints(range(256))}, {3: np.zeros((5, 256), np.float32)}),
                Run({0: table, 1: ints([3, 0, 255, 7, 3]), 2: ints(range(256))}, {3: table[[3, 0, 255, 7, 3]]}),
            ),
        ),
        FaultCase(
            "C3",
            "maximum of a stack",
            max_of_a_stack(),
            sequences([], ("UNROLL", 0, 0)),
            runs=(Run({0: floats([1]), 1: floats([2])}, {2: floats([2])}),),
        ),
        FaultCase("C6", "offset that can leave the buffer", cache_write(128), sequences([])),
        FaultCase(
            "C6",
            "offset that stays inside",
            cache_write(132),
            sequences([("UPCAST", 1, 4), ("LOCAL", 0, 2)]),
            runs=tuple(map(written, (0, 7, 128))),
        ),
        FaultCase(
            "C7",
            "reduce of a dynamic length",
            reduce_length("ADD"),
            sequences(("LOCAL", 0, 8), ("UPCAST", 0, 4), ("UNROLL", 0, 4), ("GROUP", 0, 8)),
            refused=sequences(("UNROLL", 0, 4), ("GROUP", 0, 8)),
            runs=tuple(map(rows_of, (1, 5, 32))),
        ),
        FaultCase(
            "C8",
            "padded, then expanded by a variable",
            padded_then_expanded(),
            sequences([], ("UPCAST", 1, 0), ("LOCAL", 1, 5)),
            runs=tuple(map(expanded, (1, 2, 3, 4))),
        ),
        *large_cases(),
    ]
