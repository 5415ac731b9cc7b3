"""Trials: what becomes of each kind of candidate, what it costs, and when no more are made."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from kernels import Kernel, Opt, OptOps, opencl_target
from runners.api import Measurement, MeasureResult, Numerics, Outcome, OutcomeCode, Timing, Workload
from search import SearchSettings
from search.attempts import Attempts, Look
from search.candidate import Candidate, Origin
from tests.search.fake_device import BUILD_S, FakeDevice, device_info
from tests.search.running import MATMUL, SMALL, StoredTrials

LOOK = Look(Timing(), None, {})
OPTS = [Opt(OptOps.UPCAST, 0, 4), Opt(OptOps.UPCAST, 1, 16), Opt(OptOps.LOCAL, 0, 16), Opt(OptOps.UNROLL, 0, 4),
        Opt(OptOps.SWAP, 0, 1)]  # fmt: skip


def candidates(target=None) -> list[Candidate]:
    found = []
    for opt in OPTS:
        kernel = Kernel(MATMUL, target or device_info().target)
        kernel.apply_opt(opt)
        found.append(Candidate(kernel, Origin.UNOPTIMISED))
    return found


def attempts(device: FakeDevice, trials: StoredTrials | None = None, settings: SearchSettings = SMALL) -> Attempts:
    return Attempts(Workload(MATMUL), device, device, trials or StoredTrials(), settings)


def test_run_builds_and_measures_in_order():
    device = FakeDevice(time_of=lambda program: 0.01)
    made = attempts(device)
    trials = [event.trial for event in made.run(3, candidates(), LOOK)]
    assert [trial.opts for trial in trials] == [(opt,) for opt in OPTS]
    assert [trial.candidate_key for trial in trials] == [one.key for one in candidates()]
    for trial in trials:
        assert (trial.generation, trial.outcome.ok, trial.time_s) == (3, True, 0.01)
        assert trial.numerics is Numerics.REORDERED and trial.samples == 30
        assert (trial.build_s, trial.spent_s) == (BUILD_S, pytest.approx(BUILD_S + 0.32))
    assert made.spent_s == pytest.approx(sum(trial.spent_s for trial in trials)) and made.built == len(OPTS)


def test_run_builds_all_with_one_call_so_that_a_builder_can_do_several_at_once():
    device = FakeDevice()
    calls = []
    build = device.build
    device.build = lambda inputs: calls.append(len(inputs)) or build(inputs)
    list(attempts(device).run(1, candidates(), LOOK))
    assert calls == [len(OPTS)]


def test_run_takes_a_known_trial_as_it_is():
    stored = StoredTrials()
    for event in attempts(FakeDevice()).run(1, candidates()[:3], LOOK):
        stored.add(replace(event.trial, spent_s=100.0))
    device = FakeDevice()
    made = attempts(device, stored)
    events = list(made.run(1, candidates(), LOOK))
    assert [event.trial.opts for event in events] == [(opt,) for opt in OPTS[3:]]
    assert len(device.build_items) == len(device.measure_items) == 2
    assert made.spent_s > 300 and made.built == 5 and len(made.tried) == 5


def test_run_leaves_out_what_is_skipped_and_measures_the_others():
    """Case F6: the first of five is skipped."""
    device = FakeDevice()
    made = attempts(device)
    first = candidates()[0]
    trials = [e.trial for e in made.run(1, candidates(), Look(Timing(), None, {first.key: "too much work"}))]
    assert trials[0].outcome == Outcome(OutcomeCode.SKIPPED, "too much work")
    assert trials[0].time_s is None and trials[0].spent_s == 0
    assert all(trial.outcome.ok for trial in trials[1:]) and len(device.build_items) == 4 and made.built == 4


def test_run_of_a_candidate_without_a_program_builds_nothing():
    device = FakeDevice()
    trials = [e.trial for e in attempts(device).run(1, candidates(opencl_target(work_group_max=8)), LOOK)]
    refused = [trial for trial in trials if not trial.outcome.ok]
    assert [trial.outcome.code for trial in refused] == [OutcomeCode.OVER_DEVICE_LIMIT]
    assert "16 work-items" in refused[0].outcome.reason and refused[0].opts == (OPTS[2],)
    assert len(device.build_items) == 4


@pytest.mark.parametrize(
    "code",
    [OutcomeCode.BUILD_ERROR, OutcomeCode.BUILD_TIMEOUT, OutcomeCode.WRONG_RESULT, OutcomeCode.OUT_OF_BOUNDS,
     OutcomeCode.RUN_TIMEOUT, OutcomeCode.DEVICE_LOST, OutcomeCode.OVER_DEVICE_LIMIT],
)  # fmt: skip
def test_run_keeps_how_a_candidate_failed_and_goes_on(code):
    bad = candidates()[1].lowered.source
    device = FakeDevice(fault_of=lambda program: Outcome(code, "as planned") if program.source == bad else None)
    trials = [e.trial for e in attempts(device).run(1, candidates(), LOOK)]
    assert [trial.outcome.ok for trial in trials] == [True, False, True, True, True]
    assert trials[1].outcome == Outcome(code, "as planned") and trials[1].time_s is None
    assert trials[1].spent_s >= trials[1].build_s == BUILD_S


@pytest.mark.parametrize("samples", [(), (0.0,), (0.1, 0.0, 0.1), (-1.0,), (math.nan,), (math.inf, 1.0), None])
def test_run_does_not_believe_an_impossible_time(samples):
    """Case F5: never the best, and no division by it."""

    def lie(result: MeasureResult) -> MeasureResult:
        return replace(result, measurement=None if samples is None else Measurement("fake-1", samples))

    trials = [e.trial for e in attempts(FakeDevice(result_of=lie)).run(1, candidates()[:1], LOOK)]
    assert trials[0].outcome.code is OutcomeCode.INVALID_TIME and trials[0].time_s is None


def test_run_does_not_believe_a_time_without_a_verification():
    device = FakeDevice(result_of=lambda result: replace(result, verification=None))
    trials = [e.trial for e in attempts(device).run(1, candidates()[:1], LOOK)]
    assert trials[0].outcome.code is OutcomeCode.WRONG_RESULT and trials[0].time_s is None


def test_run_ends_when_the_budget_is_used_up():
    settings = replace(SMALL, budget_s=2.5 * BUILD_S)
    made = attempts(FakeDevice(), settings=settings)
    assert len(list(made.run(1, candidates(), Look(Timing(0.0, 1, 1), None, {})))) == 3
    assert made.exhausted is not None and "budget" in made.exhausted
    assert not list(made.run(2, candidates(), LOOK))


def test_run_ends_when_the_trials_are_made():
    made = attempts(FakeDevice(), settings=replace(SMALL, max_trials=2))
    assert len(list(made.run(1, candidates(), LOOK))) == 2
    assert made.exhausted == "the 2 trials allowed are made"


def test_run_of_what_is_required_does_not_look_at_the_budget():
    made = attempts(FakeDevice(), settings=replace(SMALL, budget_s=0.0, max_trials=0))
    assert len(list(made.run(0, candidates()[:1], LOOK, required=True))) == 1


def test_run_bounds_builds_and_runs_by_what_is_left_and_by_the_best():
    device = FakeDevice()
    list(attempts(device, settings=replace(SMALL, budget_s=8.0)).run(1, candidates(), Look(Timing(), 0.05, {})))
    assert {item.deadline_s for item in device.build_items} == {8.0}
    assert {(item.run_deadline_s, item.launch_deadline_s) for item in device.measure_items} == {(5.0, 13.0)}
