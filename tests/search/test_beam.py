"""The whole search on a fake device: order, ends, resuming, and what it leaves behind."""

from __future__ import annotations

import itertools
from dataclasses import replace
from math import prod

import pytest

from kernels import Kernel, Opt, OptOps, Program, build
from kernels.build import variable
from runners.api import DeviceKind, Outcome, OutcomeCode, Workload
from runners.errors import RunnerError
from search import GenerationEnded, SearchEnded, SearchSettings, TrialEnded, UnknownActionSetError, action_set, search
from search.candidate import Candidate, Origin
from search.frontier import Frontier
from search.ranking import ranked
from tests.search.fake_device import BUILD_S, FakeDevice, device_info, luck, vectors_and_groups
from tests.search.running import MATMUL, SMALL, Said, StoredTrials, corpus_ast, run, start

CORPUS_KERNELS = ("softmax_norm/02", "conv/03", "reduce/05")


def heuristic_opts(ast=MATMUL) -> tuple[Opt, ...]:
    return Kernel(ast, device_info().target).default_opts().applied_opts


def test_search_gives_events_in_order():
    said = run(FakeDevice())
    kinds = [type(event) for event in said.events]
    assert kinds[-1] is SearchEnded and kinds.count(SearchEnded) == 1
    assert kinds[:3] == [TrialEnded, TrialEnded, GenerationEnded]
    assert [generation.number for generation in said.generations] == list(range(len(said.generations)))
    number = 0
    for event in said.events:
        if isinstance(event, TrialEnded):
            assert event.trial.generation == number
        number += isinstance(event, GenerationEnded)
    for generation in said.generations:
        times = [time_s for _, time_s in generation.beam]
        assert times == sorted(times) and len(times) <= SMALL.beam_width
        assert generation.tried == sum(trial.generation == generation.number for trial in said.trials)
        assert generation.candidates >= generation.tried


def test_search_begins_with_the_heuristic_and_the_unoptimised_kernel():
    first, second, *rest = run(FakeDevice()).trials
    assert (first.opts, second.opts) == (heuristic_opts(), ())
    assert all(trial.opts for trial in rest)


def test_search_tries_one_kernel_where_the_heuristic_does_nothing():
    ast = build.elementwise((3,), lambda x: x + 1)
    settings = replace(SMALL, action_set="tinygrad-0.10.2")
    said = run(FakeDevice(time_of=lambda program: 0.01 if program.opts else 0.02), ast, settings)
    assert len({trial.candidate_key for trial in said.trials}) == len(said.trials)
    assert said.end.answer is not None


@pytest.mark.parametrize("name", CORPUS_KERNELS)
def test_search_finds_a_faster_kernel_where_there_is_one(name):
    said = run(FakeDevice(vectors_and_groups), corpus_ast(name), SearchSettings(1e6, max_trials=50))
    best = min(trial.time_s for trial in said.trials if trial.time_s is not None)
    answer = said.end.answer
    assert answer is not None and answer.time_s == best and answer.ratio < 0.9
    assert vectors_and_groups(answer.program) == best


def test_search_catches_up_from_the_unoptimised_kernel():
    """What comes of the heuristic is better at first; what is best takes two Opts, the first of which hardly helps."""
    ast = build.matmul(512, 512, 512)
    begun = heuristic_opts(ast)

    def time_of(program: Program) -> float:
        if program.opts[: len(begun)] == begun:
            return 0.010 + 1e-4 * (len(program.opts) - len(begun))
        lanes = prod(opt.arg for opt in program.opts if opt.op is OptOps.UPCAST and isinstance(opt.arg, int))
        return 0.002 if lanes >= 64 else 0.05 - 1e-4 * lanes

    said = run(FakeDevice(time_of), ast, replace(SMALL, beam_width=2, max_depth=12))
    answer = said.end.answer
    assert answer is not None and answer.ratio == pytest.approx(0.2)
    assert len({opts[: len(begun)] == begun for opts, _ in said.generations[1].beam}) == 2


@pytest.mark.parametrize("name", ["gemm", *CORPUS_KERNELS])
def test_search_tries_no_candidate_twice(name):
    said = run(FakeDevice(), MATMUL if name == "gemm" else corpus_ast(name))
    keys = [trial.candidate_key for trial in said.trials]
    assert len(set(keys)) == len(keys) > 10


def test_search_is_deterministic_without_noise():
    assert run(FakeDevice()).events == run(FakeDevice()).events
    assert run(FakeDevice(noise=0.3, seed=4)).events == run(FakeDevice(noise=0.3, seed=4)).events


def test_search_leaves_nothing_behind_for_the_next():
    """Case F3: B after A is as B alone."""
    alone = run(FakeDevice(), corpus_ast("reduce/05"))
    run(FakeDevice())
    assert run(FakeDevice(), corpus_ast("reduce/05")).events == alone.events


def test_search_leaves_the_kernel_as_it_was():
    device = FakeDevice()
    kernel = Kernel(MATMUL, device.device.target)
    list(search(kernel, Workload(MATMUL), device, device, StoredTrials(), SMALL, lambda: 0.0))
    assert kernel.applied_opts == ()


@pytest.mark.parametrize(("name", "stops"), [("gemm", (1, 2, 5, 9, 13)), ("conv/03", (5, 13))])
def test_search_resumes_after_any_trial(name, stops):
    """Stopped after every k-th trial and begun again with the stored ones: the same answer, nothing tried twice."""
    ast = MATMUL if name == "gemm" else corpus_ast(name)
    settings = replace(SMALL, max_trials=24)
    whole = run(FakeDevice(), ast, settings)
    for k in stops:
        stored, measured = StoredTrials(), 0
        ended = False
        while not ended:
            device = FakeDevice()
            said = until(device, ast, settings, stored, k)
            measured += len(device.measure_items)
            ended = isinstance(said.events[-1], SearchEnded)
        assert list(stored.trials.values()) == whole.trials and measured == len(whole.trials)
        assert said.end == whole.end and said.generations == whole.generations


def test_search_resumes_in_the_final_comparison():
    stored = StoredTrials()
    whole = until(FakeDevice(), MATMUL, SMALL, stored, 1000)
    device = FakeDevice()
    again = run(device, MATMUL, SMALL, stored)
    assert again.trials == [] and not device.measure_items and len(device.compared) == 1
    assert again.end == whole.end


def until(device: FakeDevice, ast, settings: SearchSettings, stored: StoredTrials, k: int) -> Said:
    """Run until `k` new trials are stored, or the end."""
    events, new = [], 0
    for event in start(device, ast, settings, stored):
        events.append(event)
        if isinstance(event, TrialEnded):
            stored.add(event.trial)
            new += 1
            if new == k:
                break
    return Said(tuple(events))


def test_search_counts_what_known_trials_cost():
    settings = replace(SMALL, budget_s=12 * BUILD_S)
    stored = StoredTrials()
    first = until(FakeDevice(), MATMUL, settings, stored, 1000)
    again = run(FakeDevice(), MATMUL, settings, stored)
    assert again.trials == [] and again.end == first.end
    assert again.end.answer is not None and not again.end.answer.complete


def test_search_goes_on_with_a_larger_budget():
    stored = StoredTrials()
    until(FakeDevice(vectors_and_groups), MATMUL, replace(SMALL, max_trials=10), stored, 1000)
    before = len(stored.trials)
    more = run(FakeDevice(vectors_and_groups), MATMUL, replace(SMALL, max_trials=30), stored)
    assert before == 10 and len(more.trials) == 20


def test_search_ends_where_the_candidates_do():
    """Case I8: asked for 100, and there are thirteen."""
    ast = build.elementwise((4,), lambda x: x + 1)
    kernel = Kernel(ast, device_info().target)
    beginnings = [Candidate(kernel.copy().default_opts(), Origin.HEURISTIC), Candidate(kernel, Origin.UNOPTIMISED)]
    frontier = Frontier(action_set("axes-1"), ranked, SMALL.max_depth)
    new = [candidate for candidate in beginnings if frontier.claim(candidate)]
    every = list(new)
    while new:
        new = frontier.draw(new, 1000)
        every += new

    said = run(FakeDevice(lambda program: 0.01 / (1 + len(program.opts))), ast, replace(SMALL, max_trials=100))
    assert len(every) == 13 and {trial.candidate_key for trial in said.trials} == {one.key for one in every}
    assert len(said.trials) == 13 and said.end.reason == "no candidates are left"
    assert said.end.answer is not None and said.end.answer.complete


def test_search_ends_after_two_full_generations_without_progress():
    said = run(FakeDevice(lambda program: 0.01 if program.opts == heuristic_opts() else 0.02))
    assert [generation.number for generation in said.generations] == [0, 1, 2]
    assert said.end.reason == "nothing better in 16 trials"
    assert said.end.answer is not None and said.end.answer.is_heuristic and said.end.answer.complete


def test_search_ends_at_the_depth():
    said = run(FakeDevice(), settings=replace(SMALL, max_depth=2, max_trials=1000))
    depths = {len(trial.opts) for trial in said.trials if trial.opts != heuristic_opts()}
    assert depths == {0, 1, 2}


@pytest.mark.parametrize("budget_s", [0.0, 0.5, 1.5, 3.0])
def test_search_keeps_to_its_budget_but_for_the_last_candidate(budget_s):
    said = run(FakeDevice(), settings=replace(SMALL, budget_s=budget_s, max_trials=1000))
    spent = list(itertools.accumulate(trial.spent_s for trial in said.trials))
    assert all(before < budget_s for before in spent[:-1])
    answer = said.end.answer
    assert answer is not None and not answer.complete and "budget" in said.end.reason
    assert said.end.spent_s >= spent[-1]


def test_search_of_a_small_budget_goes_deep_instead_of_wide():
    said = run(FakeDevice(vectors_and_groups), settings=replace(SMALL, budget_s=20 * BUILD_S, generation_trials=24))
    assert len(said.generations) >= 5 and max(len(trial.opts) for trial in said.trials[2:]) >= 4
    assert max(generation.tried for generation in said.generations) <= 5


@pytest.mark.parametrize("max_trials", [1, 2, 7, 30])
def test_search_builds_no_more_than_its_trials(max_trials):
    said = run(FakeDevice(vectors_and_groups), settings=replace(SMALL, max_trials=max_trials))
    assert len(said.trials) == max_trials
    assert said.end.answer is not None and not said.end.answer.complete


def test_search_builds_no_more_than_a_generations_trials():
    said = run(FakeDevice())
    assert max(generation.tried for generation in said.generations) == SMALL.generation_trials


def test_search_skips_what_is_orders_of_magnitude_more_work():
    """Case F4: one work-item on a GPU, where the best kernel fills a fourth of it."""
    device = FakeDevice(info=device_info(DeviceKind.GPU, float_width=1, compute_units=132))
    ast = build.reduce_rows("sum", 32, 65536)
    best = Kernel(ast, device.device.target).default_opts().applied_opts
    wide = (Opt(OptOps.UPCAST, 0, 16),)
    device = FakeDevice(
        lambda program: 0.001 if program.opts == best else 0.01 if program.opts == wide else 0.1, info=device.device
    )
    said = run(device, ast, replace(SMALL, max_trials=200, generation_trials=60))
    skipped = {trial.opts: trial for trial in said.trials if trial.outcome.code is OutcomeCode.SKIPPED}
    alone = skipped[(*wide, Opt(OptOps.UPCAST, 0, 2))]
    assert alone.outcome.reason == "predicted to be 1024 times the best one's work"
    assert alone.time_s is None and alone.spent_s == 0
    assert not set(skipped) & {item.program.opts for item in device.build_items}
    assert len(said.trials) > len(skipped) + 60


def test_search_measures_the_others_where_the_first_fails():
    device = FakeDevice(fault_of=lambda p: Outcome(OutcomeCode.RUN_ERROR, "no") if len(p.opts) == 1 else None)
    said = run(device, settings=replace(SMALL, max_trials=40))
    assert {trial.outcome.ok for trial in said.trials} == {True, False}
    assert said.end.answer is not None and len(said.end.answer.opts) != 1


def test_search_where_everything_fails_ends_with_a_reason_for_each():
    """Case F9."""
    device = FakeDevice(fault_of=lambda p: Outcome(OutcomeCode.BUILD_ERROR, f"no compiler for {p.name}"))
    said = run(device)
    assert [trial.opts for trial in said.trials] == [heuristic_opts(), ()]
    assert all("no compiler for" in trial.outcome.reason for trial in said.trials)
    assert said.end.answer is None
    assert said.end.reason.count("no compiler for") == 2 and said.end.spent_s == pytest.approx(2 * BUILD_S)


def test_search_goes_on_from_the_unoptimised_kernel_where_the_heuristic_fails():
    bad = Outcome(OutcomeCode.WRONG_RESULT, "row 3")
    device = FakeDevice(fault_of=lambda p: bad if p.opts == heuristic_opts() else None)
    answer = run(device).end.answer
    assert answer is not None and answer.baseline_opts == () and answer.opts and not answer.is_heuristic
    assert "wrong_result: row 3" in answer.reason


def test_search_does_not_run_an_unoptimised_kernel_that_would_take_ages_but_goes_on_from_it():
    ast = build.matmul(4096, 4096, 4096)
    device = FakeDevice(lambda program: 0.01 / (1 + len(program.opts)))
    said = run(device, ast, replace(SMALL, max_trials=12))
    unoptimised = said.trials[1]
    assert unoptimised.opts == () and unoptimised.outcome.code is OutcomeCode.SKIPPED
    assert "predicted to take about" in unoptimised.outcome.reason
    assert any(len(trial.opts) == 1 and trial.outcome.ok for trial in said.trials)


def test_search_runs_a_slow_unoptimised_kernel_where_the_heuristic_fails():
    ast = build.matmul(4096, 4096, 4096)
    failing = Kernel(ast, device_info().target).default_opts().applied_opts
    device = FakeDevice(fault_of=lambda p: Outcome(OutcomeCode.RUN_ERROR, "no") if p.opts == failing else None)
    said = run(device, ast, replace(SMALL, max_trials=6))
    assert said.trials[1].opts == () and said.trials[1].outcome.ok


def test_search_stops_looking_at_what_is_clearly_slower():
    slow: list[str] = []

    def time_of(program: Program) -> float:
        if len(program.opts) == 1:
            slow.append(program.source)
            return 1.0
        return 0.001

    said = run(FakeDevice(time_of))
    looked = [trial for trial in said.trials if trial.time_s == 1.0]
    assert looked and all(trial.samples == 1 for trial in looked)
    assert all(trial.samples > 1 for trial in said.trials if trial.time_s == 0.001)


def test_search_takes_dynamic_kernels():
    ast = build.matmul(variable("rows", 1, 64), 32, 48)
    device = FakeDevice()
    workload = Workload(ast, (("rows", 33),))
    kernel = Kernel(ast, device.device.target)
    events = list(search(kernel, workload, device, device, StoredTrials(), SMALL, lambda: 0.0))
    assert isinstance(events[-1], SearchEnded) and events[-1].answer is not None
    assert {item.workload for item in device.measure_items} == {workload}


def test_search_with_the_actions_of_tinygrad():
    said = run(FakeDevice(vectors_and_groups), settings=replace(SMALL, action_set="tinygrad-0.10.2"))
    assert len(said.trials) > 20 and said.end.answer is not None


def test_search_refuses_an_unknown_action_set_at_once():
    with pytest.raises(UnknownActionSetError):
        start(FakeDevice(), settings=replace(SMALL, action_set="all"))


def test_search_passes_on_that_the_device_is_gone():
    class Gone(FakeDevice):
        def measure(self, item):
            if len(self.measure_items) == 5:
                raise RunnerError("unplugged")
            return super().measure(item)

    trials = []
    with pytest.raises(RunnerError, match="unplugged"):
        for event in start(Gone()):
            trials.append(event)
    assert sum(isinstance(event, TrialEnded) for event in trials) == 5


def test_search_says_how_long_the_choosing_took_by_the_clock_it_is_given():
    ticks = itertools.count()
    said = run(FakeDevice(), clock=lambda: float(next(ticks)))
    assert said.end.choosing_s == len(said.generations) * 2  # a tick within each section: one to draw, one to sum up
    assert run(FakeDevice()).end.answer == said.end.answer


@pytest.mark.parametrize("name", ["gemm", "softmax_norm/02"])
def test_search_is_never_worse_than_the_heuristic_under_noise(name):
    """The answer's true time against the heuristic's, in 60 searches with 20 % noise each."""
    ast = MATMUL if name == "gemm" else corpus_ast(name)
    settings = replace(SMALL, max_trials=14, generation_trials=6)
    worse = better = 0
    for seed in range(60):

        def time_of(program: Program, seed: int = seed) -> float:
            return 0.01 * luck(program, seed) ** 0.5

        answer = run(FakeDevice(time_of, noise=0.2, seed=seed), ast, settings).end.answer
        assert answer is not None
        truth = time_of(answer.program) / time_of(Kernel(ast, device_info().target).default_opts().to_program())
        worse += truth > 1.02
        better += truth < 0.98
    assert worse == 0 and better >= 30
