"""Comparing what a program wrote with what it should have written.

What it should have written is an `Expected`: of the reference (`reference.expect`, with a bound for each element), or
of another program's output (`tolerance.expected_of`, with one tolerance for a slot).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kernels.dtypes import DType
from kernels.reference.evaluate import Expected
from kernels.reference.formats import GREATEST, Array, to_held

_PIECE = 1 << 20  # elements compared at once


@dataclass(frozen=True, slots=True)
class Difference:
    """One element that is off: its place in the buffer, both values, and how far they may be apart."""

    position: int
    expected: bool | int | float
    actual: bool | int | float
    allowed: float

    def __str__(self) -> str:
        within = f" within {self.allowed:.3g}" if self.allowed else ""
        return f"element {self.position} is {self.actual}, not {self.expected}{within}"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A slot is wrong: `wrong` of the `compared` elements are off; the first of them, and the one that is most off."""

    slot: int
    wrong: int
    compared: int
    first: Difference
    worst: Difference

    def __str__(self) -> str:
        worst = "" if self.worst == self.first else f"; the worst: {self.worst}"
        return f"slot {self.slot}, {self.wrong} of {self.compared} elements wrong: {self.first}{worst}"


def compare(expected: Expected, actual: Array, before: Array | None = None) -> Mismatch | None:
    """None if `actual` (the whole buffer, in storage form) is right, else what is wrong.

    NaN equals NaN, and 0.0 equals -0.0. A finite value whose bound reaches beyond its dtype's greatest may be infinite.
    Elements that are not written count only if `before` is given, what the buffer held before the program ran: they
    must still hold that. (For chosen elements `before` has no effect: another element may go to the same place.)
    """
    compared = wrong = 0
    first: Difference | None = None
    worst: Difference | None = None
    most = -1.0
    for part in _parts(expected.values.size):
        judged = _judge(expected, actual, before, part)
        compared += int(np.count_nonzero(judged.allowed < np.inf))
        count = int(np.count_nonzero(judged.off))
        if not count:
            continue
        wrong += count
        first = first or judged.difference(int(np.argmax(judged.off)))
        place = int(np.argmax(judged.excess))
        if judged.excess[place] > most:
            worst, most = judged.difference(place), float(judged.excess[place])
    if first is None or worst is None:
        return None
    return Mismatch(expected.slot, wrong, compared, first, worst)


def count_compared(expected: Expected) -> int:
    """How many elements `compare` can judge: those that are written and whose value is not left open."""
    return int(np.count_nonzero(expected.written & np.isfinite(expected.errors)))


@dataclass(frozen=True, slots=True)
class _Judged:
    """A run of elements in held form. `allowed` is inf where nothing is asked; `excess` is -1 where nothing is off."""

    positions: Array
    wanted: Array
    found: Array
    allowed: Array
    off: Array
    excess: Array

    def difference(self, place: int) -> Difference:
        return Difference(
            int(self.positions[place]),
            self.wanted[place].item(),
            self.found[place].item(),
            float(self.allowed[place]),
        )


def _parts(count: int) -> Iterator[slice]:
    return (slice(start, min(start + _PIECE, count)) for start in range(0, count, _PIECE))


def _judge(expected: Expected, actual: Array, before: Array | None, part: slice) -> _Judged:
    whole = expected.positions is None
    positions = np.arange(part.start, part.stop) if expected.positions is None else expected.positions[part]
    written, wanted = expected.written[part], expected.values[part]
    allowed = np.where(written, expected.errors[part].astype(np.float64), np.inf)
    if whole and before is not None:
        wanted = np.where(written, wanted, before[part])
        allowed = np.where(written, allowed, 0.0)
    asked = allowed < np.inf
    found = np.zeros_like(wanted)
    found[asked] = actual[positions[asked]]
    wanted, found = to_held(wanted, expected.dtype), to_held(found, expected.dtype)
    apart, same = _distance(wanted, found, allowed, expected.dtype)
    off = asked & ~same & ~(apart <= allowed)
    excess = np.where(off, np.where(np.isnan(apart), np.inf, apart - allowed), -1.0)
    return _Judged(positions, wanted, found, allowed, off, excess)


def _distance(wanted: Array, found: Array, allowed: Array, dtype: DType) -> tuple[Array, Array]:
    """(how far apart, NaN where that is no number; where they count as the same)."""
    if dtype.is_bool:
        return (wanted != found).astype(np.float64), wanted == found
    if dtype.is_int:
        apart = (found - wanted).view(f"int{dtype.bits}").astype(np.float64)
        return np.abs(apart), wanted == found
    with np.errstate(invalid="ignore", over="ignore"):
        wide, other = wanted.astype(np.float64), found.astype(np.float64)
        apart = np.abs(other - wide)
        reaches = np.isfinite(wide) & (np.abs(wide) + allowed > GREATEST[dtype])
        overflowed = reaches & np.isinf(other) & (np.signbit(other) == np.signbit(wide))
    apart = np.where(np.isinf(wide) | np.isinf(other), np.nan, apart)
    return apart, (wide == other) | (np.isnan(wide) & np.isnan(other)) | overflowed
