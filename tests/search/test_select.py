"""The end: the heuristic's opts unless something is faster beyond the noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from kernels import Ast, Kernel, Opt, OptOps, Program, build, cuda_target, opencl_target
from runners.api import OK, MeasureInput, MeasureResult, Outcome, OutcomeCode, Timing, Workload
from search import Trial
from search.attempts import Tried
from search.candidate import Candidate, Origin
from search.portable import is_portable
from search.select import Final, Selection
from tests.search.fake_device import FakeDevice, device_info
from tests.search.running import MATMUL, SMALL

HEURISTIC = Kernel(MATMUL, device_info().target).default_opts().applied_opts
OTHERS = [(Opt(OptOps.UPCAST, 1, 16),), (Opt(OptOps.UPCAST, 0, 4),), (Opt(OptOps.UNROLL, 0, 4),)]


def tried(opts, time_s: float | None, origin=Origin.UNOPTIMISED, outcome: Outcome = OK, ast: Ast = MATMUL) -> Tried:
    kernel = Kernel(ast, device_info().target)
    for opt in opts:
        kernel.apply_opt(opt)
    candidate = Candidate(kernel, origin)
    ended = outcome if time_s is not None or not outcome.ok else Outcome(OutcomeCode.BUILD_ERROR, "broken")
    return Tried(candidate, Trial(0, candidate.opts, candidate.key, ended, time_s, 3, None, 0.1, 0.2))


def heuristic(time_s: float | None = 0.010) -> Tried:
    return tried(HEURISTIC, time_s, Origin.HEURISTIC)


def choose(device: FakeDevice, *entries: Tried, complete: bool = True, **settings) -> Final:
    selection = Selection(Workload(MATMUL), device, device, replace(SMALL, **settings))
    return selection.choose(entries, complete)


def times(by_opts: dict[tuple[Opt, ...], float]) -> Callable[[Program], float]:
    return lambda program: by_opts[program.opts]


def test_choose_takes_what_is_faster_in_turn_whatever_was_measured_before():
    """The first times say otherwise; only the rounds count."""
    device = FakeDevice(times({HEURISTIC: 0.010, OTHERS[0]: 0.008, OTHERS[1]: 0.005}), noise=0.05)
    final = choose(device, heuristic(), tried((), 0.1), tried(OTHERS[0], 0.002), tried(OTHERS[1], 0.0099))
    answer = final.answer
    assert answer is not None and answer.opts == OTHERS[1] and not answer.is_heuristic
    assert len(answer.samples_s) == len(answer.baseline_samples_s) == SMALL.final_rounds
    assert 0.45 < answer.ratio < 0.55 and answer.ratio_interval[0] <= answer.ratio <= answer.ratio_interval[1] < 1
    assert answer.interval_s[0] <= answer.time_s <= answer.interval_s[1]
    assert answer.baseline_opts == HEURISTIC and answer.baseline_s == pytest.approx(0.010, rel=0.1)
    assert answer.reason.startswith("0.5") and "heuristic" in answer.reason
    assert answer.program.opts == answer.opts and answer.method == "fake-1" and answer.complete and answer.portable
    assert final.spent_s > sum(answer.samples_s)


class Unverified(FakeDevice):
    """Whatever runs in turn on it, none of its outputs has an element that can be compared."""

    def measure_in_turn(self, items: Sequence[MeasureInput], rounds: int) -> list[MeasureResult]:
        results = super().measure_in_turn(items, rounds)
        none = [replace(result.verification, elements=0) for result in results if result.verification is not None]
        return [replace(result, verification=each) for result, each in zip(results, none, strict=True)]


def test_choose_keeps_the_heuristic_where_nothing_could_be_compared():
    device = Unverified(times({HEURISTIC: 0.010, OTHERS[0]: 0.001}))
    answer = choose(device, heuristic(), tried(OTHERS[0], 0.001)).answer
    assert answer is not None and answer.is_heuristic
    assert "no element that can be compared" in answer.reason


def test_choose_keeps_the_heuristic_within_the_noise_and_says_so():
    device = FakeDevice(times({HEURISTIC: 0.010, OTHERS[0]: 0.0099}), noise=0.2)
    answer = choose(device, heuristic(), tried(OTHERS[0], 0.004)).answer
    assert answer is not None and answer.is_heuristic and answer.opts == HEURISTIC
    assert (answer.ratio, answer.ratio_interval) == (1.0, (1.0, 1.0))
    assert answer.samples_s == answer.baseline_samples_s
    assert "[" in answer.reason and ("within the noise" in answer.reason or "nothing was faster" in answer.reason)


def test_choose_measures_the_heuristic_again_even_alone():
    device = FakeDevice(times({HEURISTIC: 0.010}))
    answer = choose(device, heuristic(), tried((), 0.1)).answer
    assert answer is not None and answer.is_heuristic and len(answer.samples_s) == SMALL.final_rounds
    assert answer.reason == "nothing was found that may be faster than the heuristic kernel"


def test_choose_between_equals_is_rarely_anything_but_the_heuristic():
    """Case F7, A/A: equal kernels under 20 % noise, one and three finalists; the first sample never decides."""
    for finalists in (1, 3):
        by_opts = dict.fromkeys((HEURISTIC, *OTHERS), 0.01)
        entries = [heuristic(), *(tried(opts, 0.004) for opts in OTHERS[:finalists])]
        device = FakeDevice(times(by_opts), noise=0.2, seed=11)
        answers = [choose(device, *entries).answer for _ in range(500)]
        # at most 2.5 are to be expected
        assert sum(answer is None or not answer.is_heuristic for answer in answers) <= 6


def test_choose_finds_a_clear_gain_under_noise():
    by_opts = {HEURISTIC: 0.010, OTHERS[0]: 0.005}
    device = FakeDevice(times(by_opts), noise=0.2, seed=5)
    answers = [choose(device, heuristic(), tried(OTHERS[0], 0.005)).answer for _ in range(100)]
    assert sum(answer is not None and answer.opts == OTHERS[0] for answer in answers) >= 97


def test_choose_among_several_that_are_faster_takes_the_least_median():
    device = FakeDevice(times({HEURISTIC: 0.010, OTHERS[0]: 0.006, OTHERS[1]: 0.003, OTHERS[2]: 0.004}), noise=0.05)
    answer = choose(device, heuristic(), *(tried(opts, 0.005) for opts in OTHERS)).answer
    assert answer is not None and answer.opts == OTHERS[1]


def test_choose_compares_no_more_than_the_finalists():
    device = FakeDevice(times(dict.fromkeys((HEURISTIC, *OTHERS), 0.01)))
    choose(device, heuristic(), *(tried(opts, 0.009) for opts in OTHERS), finalists=2)
    assert [len(sources) for sources in device.compared] == [3]


def test_choose_falls_back_on_the_unoptimised_kernel_and_says_why():
    device = FakeDevice(times({(): 0.010, OTHERS[0]: 0.004}))
    final = choose(device, heuristic(None), tried((), 0.010), tried(OTHERS[0], 0.004))
    answer = final.answer
    assert answer is not None and answer.opts == OTHERS[0] and answer.baseline_opts == () and not answer.is_heuristic
    assert answer.reason.startswith("the heuristic kernel could not be measured (build_error: broken); 0.40")


def test_choose_has_no_answer_where_neither_could_be_measured():
    final = choose(FakeDevice(), heuristic(None), tried((), None))
    assert final.answer is None and final.spent_s == 0
    assert final.reason == (
        "the heuristic kernel could not be measured (build_error: broken); "
        "the unoptimised kernel could not be measured (build_error: broken)"
    )


def test_choose_drops_a_finalist_that_fails_now_and_compares_the_others_again():
    def fault_of(program: Program) -> Outcome | None:
        return Outcome(OutcomeCode.WRONG_RESULT, "off by one") if program.opts == OTHERS[0] else None

    by_opts = {HEURISTIC: 0.010, OTHERS[0]: 0.001, OTHERS[1]: 0.005}
    device = FakeDevice(times(by_opts), final_fault_of=fault_of)
    answer = choose(device, heuristic(), tried(OTHERS[0], 0.001), tried(OTHERS[1], 0.005)).answer
    assert answer is not None and answer.opts == OTHERS[1] and len(answer.samples_s) == SMALL.final_rounds
    assert [len(sources) for sources in device.compared] == [3, 2]


def test_choose_drops_a_finalist_that_no_longer_builds():
    def fault_of(program: Program) -> Outcome | None:
        return Outcome(OutcomeCode.BUILD_TIMEOUT) if program.opts == OTHERS[0] else None

    device = FakeDevice(times({HEURISTIC: 0.010, OTHERS[1]: 0.005}), fault_of=fault_of)
    answer = choose(device, heuristic(), tried(OTHERS[0], 0.001), tried(OTHERS[1], 0.005)).answer
    assert answer is not None and answer.opts == OTHERS[1]


def test_choose_gives_a_baseline_that_fails_one_more_chance():
    faults = [Outcome(OutcomeCode.DEVICE_LOST, "unplugged")]
    device = FakeDevice(
        times({HEURISTIC: 0.010, (): 0.02, OTHERS[0]: 0.005}),
        final_fault_of=lambda program: faults.pop() if program.opts == HEURISTIC and faults else None,
    )
    answer = choose(device, heuristic(), tried((), 0.02), tried(OTHERS[0], 0.005)).answer
    assert answer is not None and answer.baseline_opts == HEURISTIC and answer.opts == OTHERS[0]


def test_choose_takes_the_next_baseline_where_the_first_keeps_failing():
    device = FakeDevice(
        times({HEURISTIC: 0.010, (): 0.02, OTHERS[0]: 0.005}),
        final_fault_of=lambda program: Outcome(OutcomeCode.RUN_ERROR, "no") if program.opts == HEURISTIC else None,
    )
    answer = choose(device, heuristic(), tried((), 0.02), tried(OTHERS[0], 0.005)).answer
    assert answer is not None and answer.baseline_opts == () and answer.opts == OTHERS[0]
    assert "(run_error: no)" in answer.reason


def test_choose_does_not_decide_on_too_few_rounds():
    device = FakeDevice(times({HEURISTIC: 8.0, OTHERS[0]: 4.0}))
    answer = choose(device, heuristic(8.0), tried(OTHERS[0], 4.0), budget_s=1.0).answer
    assert answer is not None and answer.is_heuristic and "too few" in answer.reason


def test_choose_spends_no_more_on_the_comparison_than_on_the_search_unless_kernels_are_slow():
    device = FakeDevice(times(dict.fromkeys((HEURISTIC, *OTHERS), 0.05)))
    final = choose(device, heuristic(0.05), *(tried(opts, 0.05) for opts in OTHERS), budget_s=1.6)
    assert [len(sources) for sources in device.compared] == [2]  # 15 rounds of more would take longer
    assert final.answer is not None and len(final.answer.samples_s) == 15


def test_choose_does_not_divide_by_an_impossible_time():
    class Liar(FakeDevice):
        def measure_in_turn(self, items: list[MeasureInput], rounds: int) -> list[MeasureResult]:
            results = super().measure_in_turn(items, rounds)
            measurement = results[0].measurement
            assert measurement is not None
            return [replace(results[0], measurement=replace(measurement, samples_s=(0.0,) * rounds)), *results[1:]]

    final = choose(Liar(times({HEURISTIC: 0.010})), heuristic())
    assert final.answer is None and "invalid_time" in final.reason


def test_choose_marks_what_was_cut_short():
    answer = choose(FakeDevice(), heuristic(), complete=False).answer
    assert answer is not None and not answer.complete


@pytest.mark.parametrize(
    ("opts", "target", "portable"),
    [
        ([Opt(OptOps.UPCAST, 0, 4)], opencl_target(), True),
        ([Opt(OptOps.GROUP, 0, 256), Opt(OptOps.UPCAST, 0, 16), Opt(OptOps.UPCAST, 0, 4)], opencl_target(), False),
        ([Opt(OptOps.GROUP, 0, 256), Opt(OptOps.UPCAST, 0, 16)], opencl_target(shared_max=1 << 20), True),
        ([Opt(OptOps.GROUP, 0, 256), Opt(OptOps.UPCAST, 0, 16), Opt(OptOps.UPCAST, 0, 2)], cuda_target("sm_80"), True),
        ([Opt(OptOps.GROUP, 0, 256), Opt(OptOps.UPCAST, 0, 16), Opt(OptOps.UPCAST, 0, 4)], cuda_target("sm_80"), False),
    ],
)
def test_is_portable_replays_under_the_other_generators_limits(opts, target, portable):
    assert is_portable(build.reduce_rows("sum", 2048, 2048), opts, target) is portable


def test_final_items_carry_a_budget_that_ends_the_rounds():
    seen: list[Timing] = []

    class Watching(FakeDevice):
        def measure_in_turn(self, items: list[MeasureInput], rounds: int) -> list[MeasureResult]:
            seen.extend(item.timing for item in items)
            return super().measure_in_turn(items, rounds)

    choose(Watching(times({HEURISTIC: 0.01, OTHERS[0]: 0.005})), heuristic(), tried(OTHERS[0], 0.005), budget_s=10.0)
    assert sum(timing.budget_s for timing in seen) == pytest.approx(10.0)
