"""Intervals of a median that hold whatever the noise is distributed like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb


@dataclass(frozen=True, slots=True)
class Interval:
    """A range that the median is in with probability `confidence` at least."""

    low: float
    high: float
    confidence: float


def median_interval(samples: Sequence[float], confidence: float) -> Interval:
    """The narrowest pair of order statistics with at least the confidence asked for.

    With too few samples for that it is the least and the greatest, with the confidence that they give. Samples must be
    independent; nothing else is assumed: each is above the median with probability one half, so that how many are is
    binomial.
    """
    ordered = sorted(samples)
    n = len(ordered)
    if n == 0:
        raise ValueError("no samples")
    cut, outside = 0, 2 / 2**n
    while cut + 1 < n - 1 - (cut + 1):
        wider = outside + 2 * comb(n, cut + 1) / 2**n
        if wider > 1 - confidence:
            break
        cut, outside = cut + 1, wider
    return Interval(ordered[cut], ordered[n - 1 - cut], max(1 - outside, 0.0))
