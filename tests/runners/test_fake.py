"""The fake's times: a function of program and seed, with noise where it is asked for."""

from __future__ import annotations

import statistics

import pytest

from kernels import Kernel, Opt, OptOps, build
from runners.api import MeasureInput, OutcomeCode, Timing, Workload
from runners.fake import FAKE_DEVICE, FakeRunner, modelled_s
from tests.runners.programs import built, doubled, program_of

MANY = Timing(budget_s=1e9, least=1, most=400)


def item(runner: FakeRunner, timing: Timing) -> MeasureInput:
    return MeasureInput(Workload(doubled()), built(runner, program_of(doubled(), FAKE_DEVICE.target)), timing)


def test_fake_times_are_the_same_for_the_same_program_and_seed() -> None:
    program = program_of(doubled(), FAKE_DEVICE.target)
    assert FakeRunner(seed=3).time_of(program) == FakeRunner(seed=3).time_of(program)
    assert FakeRunner(seed=3).time_of(program) != FakeRunner(seed=4).time_of(program)


def test_fake_times_do_not_know_which_opts_led_to_a_program() -> None:
    kernels = []
    for opts in ((Opt(OptOps.UPCAST, 0, 4),), (Opt(OptOps.UPCAST, 0, 0),)):
        kernel = Kernel(build.reduce_columns("sum", 3, 4), FAKE_DEVICE.target)
        for opt in opts:
            kernel.apply_opt(opt)
        kernels.append(kernel.to_program())
    first, second = kernels
    assert first.opts != second.opts
    assert modelled_s(first, 0) == modelled_s(second, 0)


def test_fake_noise_is_repeated_by_the_same_calls_and_lies_around_the_true_time() -> None:
    runs = []
    for _ in range(2):
        runner = FakeRunner(seed=1, noise=0.2)
        result = runner.measure(item(runner, MANY))
        assert result.measurement is not None
        runs.append(result.measurement.samples_s)
    assert runs[0] == runs[1]
    true_s = FakeRunner(seed=1).time_of(program_of(doubled(), FAKE_DEVICE.target))
    assert statistics.stdev(runs[0]) == pytest.approx(0.2 * true_s, rel=0.2)
    assert statistics.median(runs[0]) == pytest.approx(true_s, rel=0.05)


def test_fake_without_noise_gives_the_true_time() -> None:
    runner = FakeRunner(latency=lambda program: 0.25)
    result = runner.measure(item(runner, Timing()))
    assert result.measurement is not None
    assert set(result.measurement.samples_s) == {0.25}
    assert runner.measured == runner.built != []


@pytest.mark.parametrize("latency_s", [0.0, -1.0, float("nan")])
def test_fake_never_gives_a_time_of_nothing(latency_s: float) -> None:
    runner = FakeRunner(latency=lambda program: latency_s)
    result = runner.measure(item(runner, Timing()))
    assert result.outcome.code is OutcomeCode.INVALID_TIME
    assert result.measurement is None


def test_fake_times_out_what_takes_longer_than_its_deadline() -> None:
    runner = FakeRunner(latency=lambda program: 60.0)
    assert runner.measure(item(runner, Timing())).outcome.code is OutcomeCode.RUN_TIMEOUT
