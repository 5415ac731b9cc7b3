"""Intervals of a median: which order statistics they are, and that they cover it."""

from __future__ import annotations

import random

import pytest

from search.intervals import median_interval


@pytest.mark.parametrize(
    ("count", "confidence", "low", "high"),
    [
        (6, 0.95, 0, 5),
        (9, 0.95, 1, 7),
        (15, 0.95, 3, 11),
        (15, 0.99, 2, 12),
        (15, 1 - 0.01 / 3, 1, 13),
        (25, 0.95, 7, 17),
    ],
)
def test_median_interval_takes_the_places_of_the_binomial_table(count, confidence, low, high):
    interval = median_interval([float(i) for i in range(count)], confidence)
    assert (interval.low, interval.high) == (low, high) and interval.confidence >= confidence


@pytest.mark.parametrize(("count", "reached"), [(1, 0.0), (2, 0.5), (3, 0.75), (5, 0.9375)])
def test_median_interval_of_too_few_samples_says_what_it_reaches(count, reached):
    interval = median_interval([float(i) for i in range(count)], 0.95)
    assert (interval.low, interval.high, interval.confidence) == (0.0, count - 1.0, reached)


def test_median_interval_does_not_depend_on_order():
    samples = [3.0, 1.0, 2.0, 9.0, 5.0, 4.0, 7.0]
    assert median_interval(samples, 0.9) == median_interval(sorted(samples), 0.9)


def test_median_interval_of_nothing_is_refused():
    with pytest.raises(ValueError, match="no samples"):
        median_interval([], 0.95)


@pytest.mark.parametrize("draw", ["lognormal", "spikes"])
def test_median_interval_misses_the_median_no_more_often_than_it_says(draw):
    rng = random.Random(7)
    missed = 0
    for _ in range(4000):
        samples = [rng.lognormvariate(0, 0.3) if draw == "lognormal" else spike(rng) for _ in range(15)]
        interval = median_interval(samples, 0.95)
        missed += not interval.low <= 1.0 <= interval.high
    assert missed <= 200  # of 4,000; 141 are to be expected, with a standard deviation of 12


def spike(rng: random.Random) -> float:
    """Around 1 with the median 1, and now and then very large."""
    return rng.uniform(0.5, 1.0) if rng.random() < 0.5 else rng.choice((1.1, 50.0))
