"""What every Runner does: run against each implementation by a subclass with a fixture `runner`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels import Program
from runners.api import BuildInput, MeasureInput, MeasureResult, OutcomeCode, Runner, Timing
from tests.runners.programs import BRIEF, doubled, ending, program_of, to_measure

BUILDING = (OutcomeCode.BUILD_ERROR, OutcomeCode.OVER_DEVICE_LIMIT)
RUNNING = (OutcomeCode.RUN_TIMEOUT, OutcomeCode.OUT_OF_BOUNDS, OutcomeCode.WRONG_RESULT, OutcomeCode.DEVICE_LOST)


def assert_measured(result: MeasureResult) -> None:
    assert result.outcome.ok, str(result.outcome)
    assert result.measurement is not None
    assert result.measurement.method
    assert all(sample > 0.0 for sample in result.measurement.samples_s)
    assert result.measurement.time_s > 0.0
    assert result.verification is not None
    assert result.verification.elements > 0
    assert result.spent_s >= sum(result.measurement.samples_s)


class RunnerContract:
    """A subclass gives the fixture `runner`."""

    def good(self, runner: Runner, timing: Timing = BRIEF, *, heuristic: bool = False) -> MeasureInput:
        program = program_of(doubled(), runner.device.target, heuristic=heuristic)
        return to_measure(runner, doubled(), program, timing)

    # ---- building ----------------------------------------------------------------------------------------------------

    def test_build_gives_a_result_for_each_input_in_order(self, runner: Runner) -> None:
        target = runner.device.target
        programs = [program_of(doubled(), target), *(ending(code, target) for code in BUILDING), self.heuristic(runner)]
        results = list(runner.build([BuildInput(program) for program in programs]))
        assert [result.outcome.code for result in results] == [OutcomeCode.OK, *BUILDING, OutcomeCode.OK]
        for program, result in zip(programs, results, strict=True):
            assert (result.artifact is not None) == result.outcome.ok == (not result.outcome.reason)
            assert result.build_s >= 0.0
            if result.artifact is not None:
                assert result.artifact.program == program

    def heuristic(self, runner: Runner) -> Program:
        return program_of(doubled(), runner.device.target, heuristic=True)

    def test_build_names_an_artifact_by_what_was_compiled(self, runner: Runner) -> None:
        plain, again = self.good(runner).artifact, self.good(runner).artifact
        assert plain.key == again.key != self.good(runner, heuristic=True).artifact.key

    def test_build_keeps_its_deadline(self, runner: Runner) -> None:
        program = replace(self.heuristic(runner), source=f"{self.heuristic(runner).source}// not met before\n")
        (result,) = runner.build([BuildInput(program, deadline_s=0.001)])
        assert result.outcome.code is OutcomeCode.BUILD_TIMEOUT
        assert result.outcome.reason
        assert result.artifact is None

    # ---- measuring ---------------------------------------------------------------------------------------------------

    def test_measure_gives_times_and_what_was_verified(self, runner: Runner) -> None:
        for heuristic in (False, True):
            assert_measured(runner.measure(self.good(runner, heuristic=heuristic)))

    def test_measure_runs_as_often_as_timing_says(self, runner: Runner) -> None:
        for timing, count in (
            (Timing(budget_s=0.0, least=4, most=9), 4),
            (Timing(budget_s=100.0, least=1, most=6), 6),
            (Timing(budget_s=100.0, least=3, most=6, stop_above_s=0.0), 1),
            (Timing(budget_s=0.0, least=3, most=6, stop_above_s=100.0), 3),
        ):
            result = runner.measure(self.good(runner, timing))
            assert result.measurement is not None
            assert len(result.measurement.samples_s) == count

    @pytest.mark.parametrize("code", RUNNING)
    def test_measure_says_how_a_program_failed_and_goes_on(self, code: OutcomeCode, runner: Runner) -> None:
        failing = to_measure(runner, doubled(), ending(code, runner.device.target))
        failing = replace(failing, launch_deadline_s=2.0) if code is OutcomeCode.RUN_TIMEOUT else failing
        result = runner.measure(failing)
        assert result.outcome.code is code, str(result.outcome)
        assert result.outcome.reason
        assert result.measurement is None
        assert result.spent_s > 0.0
        assert_measured(runner.measure(self.good(runner)))

    # ---- in turn -----------------------------------------------------------------------------------------------------

    def test_measure_in_turn_gives_pairs(self, runner: Runner) -> None:
        items = [self.good(runner), self.good(runner, heuristic=True), self.good(runner)]
        results = runner.measure_in_turn([replace(item, timing=Timing(budget_s=100.0)) for item in items], rounds=7)
        for result in results:
            assert_measured(result)
            assert result.measurement is not None
            assert len(result.measurement.samples_s) == 7
        assert len({result.measurement.method for result in results if result.measurement is not None}) == 1

    def test_measure_in_turn_ends_early_where_the_budgets_are_used_but_after_three_rounds(self, runner: Runner) -> None:
        items = [replace(self.good(runner), timing=Timing(budget_s=0.0)) for _ in range(2)]
        results = runner.measure_in_turn(items, rounds=50)
        assert [len(r.measurement.samples_s) for r in results if r.measurement is not None] == [3, 3]

    def test_measure_in_turn_leaves_out_what_fails(self, runner: Runner) -> None:
        wrong = to_measure(runner, doubled(), ending(OutcomeCode.WRONG_RESULT, runner.device.target))
        results = runner.measure_in_turn([self.good(runner), wrong, self.good(runner, heuristic=True)], rounds=3)
        assert [result.outcome.code for result in results] == [OutcomeCode.OK, OutcomeCode.WRONG_RESULT, OutcomeCode.OK]
        assert results[1].measurement is None
        assert_measured(results[0])
        assert_measured(results[2])

    def test_measure_in_turn_of_failures_and_of_nothing(self, runner: Runner) -> None:
        wrong = to_measure(runner, doubled(), ending(OutcomeCode.WRONG_RESULT, runner.device.target))
        (result,) = runner.measure_in_turn([wrong], rounds=3)
        assert result.outcome.code is OutcomeCode.WRONG_RESULT
        assert runner.measure_in_turn([], rounds=3) == []

    def test_device_is_the_same_all_along(self, runner: Runner) -> None:
        assert runner.device == runner.device
        assert len(runner.device.device_key) == 64
