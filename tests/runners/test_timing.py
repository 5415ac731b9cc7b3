"""When runs are enough, and which times are believed."""

from __future__ import annotations

import math

import pytest

from runners.api import Timing
from runners.backends.base import RunTime
from runners.timing import EVENTS, WALL, StoppingRule, longest_s, measurements_of


def count(timing: Timing, run_s: float) -> int:
    rule = StoppingRule(timing)
    taken = 1
    while not rule.take(RunTime(run_s, run_s)):
        taken += 1
    return taken


@pytest.mark.parametrize(
    ("timing", "run_s", "expected"),
    [
        (Timing(budget_s=0.3, least=3, most=50), 0.0001, 50),
        (Timing(budget_s=0.3, least=3, most=50), 0.029, 11),
        (Timing(budget_s=0.3, least=3, most=50), 2.0, 3),
        (Timing(budget_s=0.3, least=1, most=50), 2.0, 1),
        (Timing(budget_s=0.3, least=3, most=50, stop_above_s=1.0), 2.0, 1),
        (Timing(budget_s=0.3, least=3, most=50, stop_above_s=1.0), 1.0, 3),
        (Timing(budget_s=0.0, least=5, most=2), 1.0, 2),
    ],
)
def test_stopping_rule_counts(timing: Timing, run_s: float, expected: int) -> None:
    assert count(timing, run_s) == expected


def test_longest_covers_what_the_rule_allows() -> None:
    for timing in (Timing(), Timing(budget_s=0.0, least=1), Timing(budget_s=2.0, least=7)):
        for run_s in (0.001, 0.5, 3.0):
            assert (count(timing, run_s) - 1) * run_s <= longest_s(timing, run_s) + 1e-9


def test_measurement_takes_the_devices_times() -> None:
    found = measurements_of([(RunTime(1e-3, 2e-3), RunTime(2e-3, 3e-3), RunTime(9e-3, 9e-3))])
    assert found is not None
    (measurement,) = found
    assert measurement.method == EVENTS
    assert measurement.samples_s == (1e-3, 2e-3, 9e-3)
    assert measurement.time_s == 2e-3


@pytest.mark.parametrize("device_s", [0.0, -1e-3, 5e-3, math.nan, math.inf, None])
def test_measurement_takes_the_hosts_times_for_all_where_one_of_the_devices_is_not_to_be_believed(
    device_s: float | None,
) -> None:
    """Also of the programs that it is compared with."""
    found = measurements_of([(RunTime(1e-3, 2e-3), RunTime(device_s, 3e-3)), (RunTime(1e-3, 4e-3),)])
    assert found is not None
    assert [each.method for each in found] == [WALL, WALL]
    assert [each.samples_s for each in found] == [(2e-3, 3e-3), (4e-3,)]


def test_measurement_of_two_clocks_that_stand_still_is_none() -> None:
    assert measurements_of([(RunTime(0.0, 0.0),)]) is None
    assert measurements_of([(RunTime(0.0, -1.0), RunTime(1.0, 1.0))]) is None
