"""`search`: a beam search over the Opts of a kernel. It holds nothing outside its arguments.

    generation 0    the heuristic's opts, then the unoptimised kernel: built, verified, timed at full size
    generation n    children (one Opt more) of the beam's kernels, in turn, as many as the settings and budget allow
    beam            the best of all that were tried and that have children left
    the end         finalists against the heuristic, in turn (search.select)

The beam is not only of the last generation's kernels: only some children of a kernel are tried at a time, and one that
is still among the best is gone on with. What comes from the heuristic's opts and what comes from the unoptimised kernel
both keep a place in it: the first is fast at once but stuck with its choices, the second takes some Opts to catch up.

Everything is decided by the settings and by the trials' outcomes, times and costs alone, so that a search that is given
the trials of one that was cut off repeats its decisions at once and goes on where that ended. The clock only says how
long the choosing itself took.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from itertools import islice

from kernels import Kernel, Program
from runners.api import Builder, Measurer, OutcomeCode, Timing, Workload
from search.actions import action_set
from search.attempts import Attempts, Look, Tried
from search.candidate import Candidate, Origin
from search.events import Event, GenerationEnded, SearchEnded
from search.frontier import Frontier
from search.prediction import HOPELESS_WORK, predicted_plain_s, predicted_work
from search.ranking import Ranking, ranked
from search.select import Selection, by_time
from search.settings import SearchSettings
from search.stopwatch import Stopwatch
from search.trial import TrialSource

#: A first look at a candidate: enough to tell what is worth going on with.
_LOOK = Timing(budget_s=0.1, least=3, most=20)
#: After one run that took this many times the slowest time of the beam, or that many times the best, it is enough.
_STOP_ABOVE_WORST = 3.0
_STOP_ABOVE_BEST = 10.0
#: A generation that betters neither origin's best by this much brought nothing; as many trials in vain as there may be
#: in so many generations are the end.
_PROGRESS = 0.005
_PATIENCE = 2
#: A generation takes this share of the trials that the rest of the budget is good for: a small budget still goes deep.
_GENERATION_SHARE = 0.25
#: The unoptimised kernel is left out where it is predicted to take longer than this, or than this share of the budget.
_PLAIN_S = 10.0
_PLAIN_SHARE = 0.5


def search(
    kernel: Kernel,
    workload: Workload,
    builder: Builder,
    measurer: Measurer,
    trials: TrialSource,
    settings: SearchSettings,
    clock: Callable[[], float],
    ranking: Ranking = ranked,
) -> Iterator[Event]:
    """Search the fastest opts for `kernel`, which has none yet. The last event is a SearchEnded.

    A TrialEnded for each candidate that `trials` does not know, in the order in which they were tried, and a
    GenerationEnded after each generation, those of an earlier, cut-off search again included. Raises
    UnknownActionSetError at once; RunnerError, while going on, where the device is gone for good.
    """
    frontier = Frontier(action_set(settings.action_set), ranking, settings.max_depth)
    attempts = Attempts(workload, builder, measurer, trials, settings)
    selection = Selection(workload, builder, measurer, settings)
    return _Search(kernel, settings, frontier, attempts, selection, measurer, Stopwatch(clock)).run()


class _Search:
    """One search, while it goes on."""

    def __init__(
        self,
        kernel: Kernel,
        settings: SearchSettings,
        frontier: Frontier,
        attempts: Attempts,
        selection: Selection,
        measurer: Measurer,
        choosing: Stopwatch,
    ) -> None:
        self._kernel = kernel
        self._settings = settings
        self._frontier = frontier
        self._attempts = attempts
        self._selection = selection
        self._measurer = measurer
        self._choosing = choosing
        #: The unoptimised kernel, where it was left out for being slow: its children may still be fast.
        self._left_out: Candidate | None = None

    def run(self) -> Iterator[Event]:
        """All events."""
        yield from self._first_generation()
        complete, reason = True, ""
        if by_time(self._attempts.tried):
            complete, reason = yield from self._generations()
        final = self._selection.choose(self._attempts.tried, complete)
        reason = reason if final.answer is not None else f"no answer: {final.reason}"
        spent_s = self._attempts.spent_s + final.spent_s
        yield SearchEnded(final.answer, reason, spent_s, self._choosing.total_s)

    def _first_generation(self) -> Iterator[Event]:
        """The heuristic, and the unoptimised kernel if it is another program."""
        with self._choosing:
            heuristic = Candidate(self._kernel.copy().default_opts(), Origin.HEURISTIC)
            unoptimised = Candidate(self._kernel.copy(), Origin.UNOPTIMISED)
            candidates = [candidate for candidate in (heuristic, unoptimised) if self._frontier.claim(candidate)]
        yield from self._attempts.run(0, [heuristic], Look(_LOOK, None, {}), required=True)
        if unoptimised in candidates:
            measured = bool(by_time(self._attempts.tried))
            skipped = self._slow_without_opts(unoptimised) if measured else {}
            yield from self._attempts.run(0, [unoptimised], self._look(skipped), required=not measured)
            if self._attempts.tried[-1].trial.outcome.code is OutcomeCode.SKIPPED:
                self._left_out = unoptimised
        yield self._generation_ended(0, len(candidates), len(self._attempts.tried))

    def _slow_without_opts(self, unoptimised: Candidate) -> Mapping[str, str]:
        """By key, why the unoptimised kernel is not run; empty where it is."""
        program = unoptimised.lowered
        if not isinstance(program, Program):
            return {}
        time_s = predicted_plain_s(program, self._measurer.device)
        if time_s <= min(_PLAIN_S, _PLAIN_SHARE * self._settings.budget_s):
            return {}
        return {unoptimised.key: f"predicted to take about {time_s:.2g} s a run without any Opts"}

    def _generations(self) -> Generator[Event, None, tuple[bool, str]]:
        """The generations from 1 on; (whether nothing was left to try, why it ended)."""
        number, in_vain, patience = 0, 0, _PATIENCE * self._settings.generation_trials
        while in_vain < patience:
            number += 1
            with self._choosing:
                parents = self._parents()
                distinct = self._frontier.count(parents)
                candidates = self._frontier.draw(parents, self._builds(len(parents)))
                skipped = self._hopeless(candidates)
            exhausted = self._attempts.exhausted
            if not distinct:
                return True, "no candidates are left"
            if exhausted is not None:
                return False, exhausted
            best, before = self._best_by_origin(), len(self._attempts.tried)
            yield from self._attempts.run(number, candidates, self._look(skipped))
            tried = len(self._attempts.tried) - before
            yield self._generation_ended(number, distinct, tried)
            if tried < len(candidates):
                return False, self._attempts.exhausted or ""
            in_vain = 0 if self._bettered(best) else in_vain + tried
        return True, f"nothing better in {in_vain} trials"

    def _builds(self, parents: int) -> int:
        """How many candidates of the next generation may be built; one of each parent at least."""
        settings, attempts = self._settings, self._attempts
        costs_s = [entry.trial.spent_s for entry in attempts.tried if entry.trial.outcome.ok]
        left_s = settings.budget_s - attempts.spent_s
        cost_s = statistics.median(costs_s)
        affordable = left_s / cost_s if cost_s > 0 else math.inf
        builds = max(int(min(_GENERATION_SHARE * affordable, settings.generation_trials)), parents)
        return min(builds, settings.generation_trials, settings.max_trials - attempts.built)

    def _generation_ended(self, number: int, candidates: int, tried: int) -> GenerationEnded:
        with self._choosing:
            beam = self._beam()
        kept = tuple((entry.candidate.opts, entry.trial.time_s) for entry in beam if entry.trial.time_s is not None)
        return GenerationEnded(number, kept, candidates, tried)

    def _beam(self) -> list[Tried]:
        """The best of all that have children left, an entry of each origin among them."""
        width = self._settings.beam_width
        entries = iter(by_time(self._attempts.tried))
        beam = list(islice((entry for entry in entries if self._frontier.is_open(entry.candidate)), width))
        origins = {entry.candidate.origin for entry in beam}
        if len(beam) == width > 1 and len(origins) == 1:
            others = (entry for entry in entries if entry.candidate.origin not in origins)
            beam[-1] = next((entry for entry in others if self._frontier.is_open(entry.candidate)), beam[-1])
        return beam

    def _parents(self) -> list[Candidate]:
        """What the next generation comes from."""
        parents = [entry.candidate for entry in self._beam()]
        if self._left_out is not None and all(parent.origin is not Origin.UNOPTIMISED for parent in parents):
            parents.append(self._left_out)
        return parents

    def _look(self, skipped: Mapping[str, str]) -> Look:
        """How the next candidates are timed, by what is known now."""
        kept = by_time(self._attempts.tried)[: self._settings.beam_width]
        times_s = [entry.trial.time_s for entry in kept if entry.trial.time_s is not None]
        if not times_s:
            return Look(_LOOK, None, skipped)
        stop_s = min(_STOP_ABOVE_WORST * times_s[-1], _STOP_ABOVE_BEST * times_s[0])
        return Look(Timing(_LOOK.budget_s, _LOOK.least, _LOOK.most, stop_s), times_s[0], skipped)

    def _hopeless(self, candidates: Sequence[Candidate]) -> Mapping[str, str]:
        """By key, why a candidate is not run: its work is orders of magnitude above the best one's."""
        device = self._measurer.device
        best = by_time(self._attempts.tried)[0].candidate.lowered
        assert isinstance(best, Program)  # it was run
        limit = HOPELESS_WORK * predicted_work(best, device)
        reasons: dict[str, str] = {}
        for candidate in candidates:
            program = candidate.lowered
            work = predicted_work(program, device) if isinstance(program, Program) else 0.0
            if work >= limit:
                reasons[candidate.key] = f"predicted to be {HOPELESS_WORK * work / limit:.0f} times the best one's work"
        return reasons

    def _best_by_origin(self) -> dict[Origin, float]:
        best: dict[Origin, float] = {}
        for entry in by_time(self._attempts.tried):
            if entry.trial.time_s is not None:
                best.setdefault(entry.candidate.origin, entry.trial.time_s)
        return best

    def _bettered(self, before: Mapping[Origin, float]) -> bool:
        """Whether an origin's best is clearly below what it was, or an origin has its first."""
        now = self._best_by_origin()
        return any(origin not in before or time_s < (1 - _PROGRESS) * before[origin] for origin, time_s in now.items())
