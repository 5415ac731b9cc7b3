"""`Attempts`: makes the trials of a search, one candidate after the other, and keeps account of what they cost.

A candidate that the trial source knows is taken as it ended then: nothing is built or run, no event is given, and what
it cost counts as if it were tried now. So a search that was cut off makes the same decisions again and goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from kernels import Program, ProgramError
from runners.api import (
    OK,
    Builder,
    BuildInput,
    BuildResult,
    MeasureInput,
    Measurer,
    MeasureResult,
    Outcome,
    OutcomeCode,
    Timing,
    Workload,
)
from search.candidate import Candidate
from search.events import TrialEnded
from search.settings import SearchSettings
from search.trial import Trial, TrialSource

#: Builds and launches may take what is left of the budget, but not less or more than this. Killing a child that was
#: nearly done costs more than waiting for it.
_DEADLINE_S = (3.0, 20.0)
#: A run may take this many times the best one's before it is stopped, within the bounds.
_RUN_RATIO = 100.0
_RUN_DEADLINE_S = (3.0, 10.0)


@dataclass(frozen=True, slots=True)
class Tried:
    """A candidate and the trial that it became."""

    candidate: Candidate
    trial: Trial


@dataclass(frozen=True, slots=True)
class Look:
    """How a generation's candidates are timed. best_s: of all until now, None where there is none.

    skipped: by candidate key, why a candidate is not run at all.
    """

    timing: Timing
    best_s: float | None
    skipped: Mapping[str, str]


class Attempts:
    """tried: every candidate so far, in order. spent_s: what they cost. built: how many were handed to the builder.

    exhausted: what of the settings' bounds is used up, None as long as there is some of each.
    """

    def __init__(
        self, workload: Workload, builder: Builder, measurer: Measurer, trials: TrialSource, settings: SearchSettings
    ) -> None:
        self._workload = workload
        self._builder = builder
        self._measurer = measurer
        self._trials = trials
        self._settings = settings
        self.tried: list[Tried] = []
        self.spent_s = 0.0
        self.built = 0

    @property
    def exhausted(self) -> str | None:
        """What is used up, in words."""
        if self.spent_s >= self._settings.budget_s:
            return f"the budget of {self._settings.budget_s:g} device-seconds is used up"
        if self.built >= self._settings.max_trials:
            return f"the {self._settings.max_trials} trials allowed are made"
        return None

    def run(
        self, generation: int, candidates: Sequence[Candidate], look: Look, required: bool = False
    ) -> Iterator[TrialEnded]:
        """Try the candidates in order, until something is exhausted. An event for each that was not known before."""
        known = {candidate.key: self._trials.find(candidate.key) for candidate in candidates}
        left_s = self._settings.budget_s if required else self._settings.budget_s - self.spent_s
        deadline_s = _within(left_s, _DEADLINE_S)
        programs = [
            candidate.lowered for candidate in candidates
            if isinstance(candidate.lowered, Program) and known[candidate.key] is None
            and candidate.key not in look.skipped
        ]  # fmt: skip
        inputs = [BuildInput(program, deadline_s) for program in programs]
        builds = iter(self._builder.build(inputs)) if inputs else iter(())
        for candidate in candidates:
            if self.exhausted is not None and not required:
                return
            trial = known[candidate.key]
            if trial is not None:
                self._account(candidate, trial)
                continue
            trial = self._try(generation, candidate, look, builds, deadline_s)
            self._account(candidate, trial)
            yield TrialEnded(trial)

    def _account(self, candidate: Candidate, trial: Trial) -> None:
        self.tried.append(Tried(candidate, trial))
        self.spent_s += trial.spent_s
        self.built += isinstance(candidate.lowered, Program) and trial.outcome.code is not OutcomeCode.SKIPPED

    def _try(
        self, generation: int, candidate: Candidate, look: Look, builds: Iterator[BuildResult], deadline_s: float
    ) -> Trial:
        if isinstance(candidate.lowered, ProgramError):
            return _failed(generation, candidate, Outcome(OutcomeCode.OVER_DEVICE_LIMIT, str(candidate.lowered)))
        if candidate.key in look.skipped:
            return _failed(generation, candidate, Outcome(OutcomeCode.SKIPPED, look.skipped[candidate.key]))
        build = next(builds)
        if build.artifact is None:
            return _failed(generation, candidate, build.outcome, build.build_s)
        run_s = _RUN_DEADLINE_S[1] if look.best_s is None else _within(_RUN_RATIO * look.best_s, _RUN_DEADLINE_S)
        item = MeasureInput(self._workload, build.artifact, look.timing, deadline_s + run_s, run_s)
        result = self._measurer.measure(item)
        outcome = checked_outcome(result)
        samples = result.measurement.samples_s if result.measurement is not None else ()
        return Trial(
            generation=generation,
            opts=candidate.opts,
            candidate_key=candidate.key,
            outcome=outcome,
            time_s=result.measurement.time_s if outcome.ok and result.measurement is not None else None,
            samples=len(samples),
            numerics=result.verification.numerics if result.verification is not None else None,
            build_s=build.build_s,
            spent_s=build.build_s + result.spent_s,
        )


def checked_outcome(result: MeasureResult) -> Outcome:
    """A result's outcome; one that claims to be ok without a possible time and a verification is not believed."""
    if not result.outcome.ok:
        return result.outcome
    samples = result.measurement.samples_s if result.measurement is not None else ()
    if not samples:
        return Outcome(OutcomeCode.INVALID_TIME, "no time was taken")
    wrong = next((sample for sample in samples if not (isfinite(sample) and sample > 0)), None)
    if wrong is not None:
        return Outcome(OutcomeCode.INVALID_TIME, f"a run of {wrong} seconds")
    if result.verification is None:
        return Outcome(OutcomeCode.WRONG_RESULT, "it was timed without being verified")
    return OK


def _failed(generation: int, candidate: Candidate, outcome: Outcome, build_s: float = 0.0) -> Trial:
    return Trial(generation, candidate.opts, candidate.key, outcome, None, 0, None, build_s, build_s)


def _within(value: float, bounds: tuple[float, float]) -> float:
    return min(max(value, bounds[0]), bounds[1])
