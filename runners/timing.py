"""When enough runs are timed, and which of their times count."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from runners.api import Measurement, Timing
from runners.backends.base import RunTime

#: Seconds by the device's own clock, of runs after the first, at full size.
EVENTS = "opencl-events-warm-1"
#: The same by the host's clock, with the launch in it: only where the device's own tells nothing of use.
WALL = "opencl-wall-warm-1"
#: The two clocks may differ by so much, in proportion and in seconds, before the device's is not believed.
_CLOCK_SHARE, _CLOCK_S = 0.05, 20e-6


class StoppingRule:
    """Tells when the runs that `timing` asks for are made."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._count = 0
        self._used_s = 0.0

    def take(self, run: RunTime) -> bool:
        """Count a run; True where it was the last one."""
        timing = self._timing
        self._count += 1
        self._used_s += run.wall_s
        if timing.stop_above_s is not None and self._count == 1 and seconds_of(run) > timing.stop_above_s:
            return True
        return self._count >= timing.most or (self._count >= timing.least and self._used_s >= timing.budget_s)


def longest_s(timing: Timing, run_s: float) -> float:
    """Seconds that all runs take together at most where each takes `run_s`, the last one left out."""
    return timing.budget_s + max(timing.least - 1, 0) * run_s


def seconds_of(run: RunTime) -> float:
    """By the device's clock where that can be believed."""
    return run.device_s if run.device_s is not None and _believed(run) else run.wall_s


def measurements_of(programs: Sequence[Sequence[RunTime]]) -> tuple[Measurement, ...] | None:
    """The runs of programs that are compared with each other, all by one clock.

    None where neither clock gave only times above zero.
    """
    runs = [run for of_program in programs for run in of_program]
    if all(_believed(run) for run in runs):
        return tuple(Measurement(EVENTS, tuple(run.device_s or 0.0 for run in each)) for each in programs)
    if all(isfinite(run.wall_s) and run.wall_s > 0.0 for run in runs):
        return tuple(Measurement(WALL, tuple(run.wall_s for run in each)) for each in programs)
    return None


def _believed(run: RunTime) -> bool:
    """A run takes some time, and no longer than whoever waited for it did."""
    longest = run.wall_s * (1.0 + _CLOCK_SHARE) + _CLOCK_S
    return run.device_s is not None and isfinite(run.device_s) and 0.0 < run.device_s <= longest
