"""The end of a search: finalists against the heuristic, measured again in turn at full size, and the answer.

A finalist wins only where the whole interval of its ratio to the heuristic, over rounds that were measured side by
side, is below 1. The times by which finalists were found have no part in that. Choosing the best of several is biased:
the more there are, the likelier it is that one looks fast by luck. Each one's interval is therefore taken at a
corrected level (Bonferroni): in all at most one search in a hundred has any interval that misses its finalist's true
ratio, and at most one in two hundred calls a finalist faster that is not. That is stricter than 95 %, since the answer
must not be worse than what everybody has anyway. Among those that are faster, the one with the least median ratio is
the answer; that median is a little too good for the same reason.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from kernels import Program
from runners.api import Builder, BuildInput, MeasureInput, Measurer, MeasureResult, Outcome, Timing, Workload
from search.attempts import Tried, checked_outcome
from search.candidate import Origin
from search.events import Answer
from search.intervals import Interval, median_interval
from search.portable import is_portable
from search.settings import SearchSettings

#: Of a search that calls something faster or slower, how often that may be wrong in all, on both sides together.
_ERROR = 0.01
_TIME_CONFIDENCE = 0.95
#: Rounds below which no corrected interval of one finalist can be had.
_LEAST_ROUNDS = 8
#: The final comparison may take a search's budget again; for slow kernels up to this many times, for the least rounds.
_MOST_BUDGETS = 4.0
_LEAST_BUDGET_S = 1.0
#: A finalist's time may be this much above the heuristic's: noise may have hidden what it is worth.
_REACH = 1.1


@dataclass(frozen=True, slots=True)
class Final:
    """The answer, None where no baseline could be measured; why; and the seconds that the device was busy for it."""

    answer: Answer | None
    reason: str
    spent_s: float


@dataclass(frozen=True, slots=True)
class _Compared:
    """Who was measured in turn, the baseline first, and with what result. All of them are ok."""

    tried: tuple[Tried, ...]
    results: tuple[MeasureResult, ...]

    def samples_s(self, place: int) -> tuple[float, ...]:
        measurement = self.results[place].measurement
        assert measurement is not None
        return measurement.samples_s

    def ratios(self, place: int) -> tuple[float, ...]:
        pairs = zip(self.samples_s(place), self.samples_s(0), strict=True)
        return tuple(time_s / baseline_s for time_s, baseline_s in pairs)


class Selection:
    """Measures the finalists of one search and chooses. spent_s: what it cost so far."""

    def __init__(self, workload: Workload, builder: Builder, measurer: Measurer, settings: SearchSettings) -> None:
        self._workload = workload
        self._builder = builder
        self._measurer = measurer
        self._settings = settings
        self.spent_s = 0.0

    def choose(self, tried: Sequence[Tried], complete: bool) -> Final:
        """The answer out of everything that was tried. The heuristic is the baseline, else the unoptimised kernel."""
        failures: list[str] = []
        for origin in Origin:
            baseline = _baseline(tried, origin)
            if baseline is None:
                continue
            failed = baseline.trial.outcome
            if failed.ok:
                compared = self._compare(baseline, _finalists(tried, baseline, self._settings))
                if isinstance(compared, _Compared):
                    return Final(self._answer(compared, failures, complete), "", self.spent_s)
                failed = compared
            failures.append(f"the {origin} kernel could not be measured ({failed})")
        return Final(None, "; ".join(failures) or "nothing was tried", self.spent_s)

    def _compare(self, baseline: Tried, finalists: list[Tried]) -> _Compared | Outcome:
        """Measure all in turn, again without those that fail, until nobody does; else how the baseline failed."""
        finalists = finalists[: self._affordable(baseline, finalists)]
        baseline_failed = False
        while True:
            entries = [baseline, *finalists]
            results = self._measure(entries)
            ok = [isinstance(result, MeasureResult) for result in results]
            if all(ok):
                return _Compared(tuple(entries), tuple(r for r in results if isinstance(r, MeasureResult)))
            finalists = [entry for entry, fine in zip(finalists, ok[1:], strict=True) if fine]
            failed = results[0]
            if isinstance(failed, Outcome):
                if baseline_failed:
                    return failed
                baseline_failed = True  # once may have been another's fault: the device went down for all

    def _measure(self, entries: list[Tried]) -> list[MeasureResult | Outcome]:
        """For each entry its result, or how it failed."""
        programs = [entry.candidate.lowered for entry in entries]
        builds = list(
            self._builder.build([BuildInput(program) for program in programs if isinstance(program, Program)])
        )
        self.spent_s += sum(build.build_s for build in builds)
        timing = Timing(self._seconds(entries) / len(entries))
        artifacts = [build.artifact for build in builds]
        items = [MeasureInput(self._workload, artifact, timing) for artifact in artifacts if artifact is not None]
        measured = iter(self._measurer.measure_in_turn(items, self._settings.final_rounds) if items else ())
        found: list[MeasureResult | Outcome] = []
        for build in builds:
            if build.artifact is None:
                found.append(build.outcome)
                continue
            result = next(measured)
            self.spent_s += result.spent_s
            outcome = checked_outcome(result)
            found.append(result if outcome.ok else outcome)
        return found

    def _affordable(self, baseline: Tried, finalists: list[Tried]) -> int:
        """How many finalists can meet the baseline in all rounds; one at least."""
        count = len(finalists)
        while count > 1 and self._settings.final_rounds * _round_s([baseline, *finalists[:count]]) > self._allowance_s:
            count -= 1
        return count

    def _seconds(self, entries: list[Tried]) -> float:
        """Seconds after which the rounds end early."""
        least_s = min(_LEAST_ROUNDS * _round_s(entries) * 1.2, _MOST_BUDGETS * self._allowance_s)
        return max(self._allowance_s, least_s)

    @property
    def _allowance_s(self) -> float:
        return max(self._settings.budget_s, _LEAST_BUDGET_S)

    def _answer(self, compared: _Compared, failures: list[str], complete: bool) -> Answer:
        place, reason = _winner(compared)
        tried, baseline = compared.tried[place], compared.tried[0]
        ratios = compared.ratios(place)
        interval = _ratio_interval(compared, place)
        samples_s = compared.samples_s(place)
        time_interval = median_interval(samples_s, _TIME_CONFIDENCE)
        measurement, verification = compared.results[place].measurement, compared.results[place].verification
        program = tried.candidate.lowered
        assert measurement is not None and verification is not None and isinstance(program, Program)
        return Answer(
            opts=tried.candidate.opts,
            is_heuristic=tried is baseline and baseline.candidate.origin is Origin.HEURISTIC,
            program=program,
            time_s=measurement.time_s,
            interval_s=(time_interval.low, time_interval.high),
            samples_s=samples_s,
            baseline_opts=baseline.candidate.opts,
            baseline_s=statistics.median(compared.samples_s(0)),
            baseline_samples_s=compared.samples_s(0),
            ratio=statistics.median(ratios),
            ratio_interval=(interval.low, interval.high),
            verification=verification,
            method=measurement.method,
            portable=is_portable(self._workload.ast, tried.candidate.opts, program.target),
            complete=complete,
            reason="; ".join([*failures, reason]),
        )


def _baseline(tried: Sequence[Tried], origin: Origin) -> Tried | None:
    """The trial of the kernel that `origin` names: the first that came of it."""
    return next((entry for entry in tried if entry.candidate.origin is origin), None)


def _finalists(tried: Sequence[Tried], baseline: Tried, settings: SearchSettings) -> list[Tried]:
    """The fastest of all others that may be faster than the baseline, the best first."""
    assert baseline.trial.time_s is not None
    reach_s = _REACH * baseline.trial.time_s
    others = [entry for entry in tried if entry is not baseline and entry.trial.outcome.ok]
    return [entry for entry in by_time(others) if _time_s(entry) <= reach_s][: settings.finalists]


def by_time(tried: Sequence[Tried]) -> list[Tried]:
    """Those that ended well, the fastest first."""
    return sorted((entry for entry in tried if entry.trial.outcome.ok and entry.trial.time_s is not None), key=_time_s)


def _time_s(entry: Tried) -> float:
    assert entry.trial.time_s is not None
    return entry.trial.time_s


def _round_s(entries: Sequence[Tried]) -> float:
    return sum(_time_s(entry) for entry in entries)


def _is_verified(result: MeasureResult) -> bool:
    """Whether anything was compared; which elements can be is the workload's, and the same for every program."""
    return result.verification is not None and result.verification.elements > 0


def _ratio_interval(compared: _Compared, place: int) -> Interval:
    finalists = max(len(compared.tried) - 1, 1)
    return median_interval(compared.ratios(place), 1 - _ERROR / finalists)


def _winner(compared: _Compared) -> tuple[int, str]:
    """The place of the answer, 0 for the baseline, and the reason for people."""
    name = f"the {compared.tried[0].candidate.origin} kernel"
    places = range(1, len(compared.tried))
    if not places:
        return 0, f"nothing was found that may be faster than {name}"
    if not _is_verified(compared.results[0]):
        return 0, f"an output has no element that can be compared, so nothing is better than {name}"
    wanted = 1 - _ERROR / len(places)
    intervals = {place: _ratio_interval(compared, place) for place in places}
    medians = {place: statistics.median(compared.ratios(place)) for place in places}
    rounds = len(compared.samples_s(0))
    faster = [place for place in places if intervals[place].high < 1 and intervals[place].confidence >= wanted]
    place = min(faster or places, key=medians.__getitem__)
    shown = f"{medians[place]:.2f} [{intervals[place].low:.2f}, {intervals[place].high:.2f}]"
    if faster:
        return place, f"{shown} of the time of {name}, over {rounds} rounds"
    if intervals[place].confidence < wanted:
        return 0, f"{rounds} rounds are too few to tell from {name}: {shown}"
    if medians[place] >= 1:
        return 0, f"nothing was faster than {name}: {shown}"
    return 0, f"within the noise of {name}: {shown}"
