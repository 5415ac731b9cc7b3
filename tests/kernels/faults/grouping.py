"""B: grouped reduces and shared memory."""

from __future__ import annotations

import numpy as np

from tests.kernels.faults.case import FaultCase, Run, count, sequences
from tests.made.reduces import reduced, variance_rows

NOLOCALS = ("NOLOCALS", None, None)


def cases() -> list[FaultCase]:
    """B6 is a device's self-test and has no kernel of its own."""
    four_axes, rows, spread = count(2, 8, 3, 12), count(30, 16), count(4, 1024) % 97
    too_much = [("GROUP", 0, 256), ("UPCAST", 0, 16), ("UPCAST", 0, 4)]
    return [
        FaultCase(
            "B1",
            "two grouped axes",
            reduced((2, 8, 3, 12), (1, 3)),
            sequences([("GROUP", 0, 4), ("GROUP", 1, 4)]),
            runs=(Run({0: four_axes}, {1: four_axes.sum((1, 3))}),),
        ),
        FaultCase(
            "B2",
            "variance of rows",
            variance_rows(4, 1024),
            sequences([("GROUP", 0, 256), ("GROUP", 1, 256)], [("GROUP", 0, 256), ("GROUP", 0, 256)]),
            runs=(Run({0: spread}, {1: spread.astype(np.float64).var(1)}, tolerance=1e-5),),
        ),
        FaultCase(
            "B3",
            "more shared memory than there is",
            reduced((64, 2048), (1,)),
            sequences(too_much, [("GROUP", 0, 256), ("UNROLL", 0, 8)]),
            refused=sequences(too_much),
            runs=(Run({0: count(64, 2048) % 50}, {1: (count(64, 2048) % 50).sum(1)}),),
        ),
        FaultCase(
            "B4",
            "unrolled groups",
            reduced((30, 16), (1,)),
            sequences([("GROUP", 0, 4), ("UNROLL", 0, 0)], [("GROUP", 0, 4), ("UNROLL", 1, 0)]),
            runs=(Run({0: rows}, {1: rows.sum(1)}),),
        ),
        FaultCase(
            "B5",
            "locals after NOLOCALS",
            reduced((30, 16), (1,)),
            sequences([NOLOCALS], [NOLOCALS, ("LOCAL", 0, 2)], [NOLOCALS, ("GROUP", 0, 4)]),
            refused=sequences([NOLOCALS, ("LOCAL", 0, 2)], [NOLOCALS, ("GROUP", 0, 4)]),
            runs=(Run({0: rows}, {1: rows.sum(1)}),),
        ),
    ]
