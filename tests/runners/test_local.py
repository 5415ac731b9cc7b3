"""LocalRunner on PoCL: what verification sees, what is refused, and how it goes on after a child is lost."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kernels import Kernel, Opt, OptOps, Program, Target, build, make_inputs, parse_ast
from kernels.build import Graph
from runners.api import (
    BuildInput,
    DeviceInfo,
    MeasureInput,
    MeasureResult,
    Numerics,
    OutcomeCode,
    Timing,
    Workload,
)
from runners.devices import FoundDevice
from runners.environment import child_environment
from runners.errors import NoDeviceError, WorkloadError
from runners.local import LocalRunner
from runners.process import Child
from tests.kernels.documents import corpus
from tests.runners.contract import assert_measured
from tests.runners.programs import (
    BRIEF,
    SIZE,
    built,
    doubled,
    ending,
    program_of,
    to_measure,
    with_statement,
)


@pytest.fixture
def own_runner(found: FoundDevice) -> Iterator[LocalRunner]:
    """One that no other test has seen."""
    opened = LocalRunner(found.address, found.info)
    yield opened
    opened.close()


def ended(pid: int) -> bool:
    """Whether there is no such process any more, within a few seconds; one that is only not reaped yet counts."""
    status = Path(f"/proc/{pid}/stat")
    for _ in range(500):
        try:
            if status.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.01)
    return False


def in_a_thread(runner: LocalRunner, item: MeasureInput) -> tuple[threading.Thread, list[MeasureResult]]:
    results: list[MeasureResult] = []
    thread = threading.Thread(target=lambda: results.append(runner.measure(item)))
    thread.start()
    return thread, results


# ---- what verification sees ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        f"p0[{SIZE}] = 0.0f;",
        "p0[-1] = 0.0f;",
        f"p0[{SIZE} + 16000] = p1[{SIZE} + 16000];",
        "((__global float*)p1)[3] = 7.0f;",
        f"((__global float*)p1)[{SIZE}] = 7.0f;",
    ],
)
def test_measure_sees_what_is_written_beside_the_outputs(statement: str, runner: LocalRunner) -> None:
    program = with_statement(program_of(doubled(), runner.device.target), statement)
    result = runner.measure(to_measure(runner, doubled(), program))
    assert result.outcome.code is OutcomeCode.OUT_OF_BOUNDS, str(result.outcome)


@pytest.mark.parametrize("statement", [f"p0[3] += p1[{SIZE} + 3];", "p0[3] = NAN;", "p0[4095] = p0[4095] * 1.001f;"])
def test_measure_sees_wrong_values(statement: str, runner: LocalRunner) -> None:
    program = with_statement(program_of(doubled(), runner.device.target), statement)
    result = runner.measure(to_measure(runner, doubled(), program))
    assert result.outcome.code is OutcomeCode.WRONG_RESULT, str(result.outcome)
    assert "slot 0" in result.outcome.reason


def test_measure_sees_an_output_that_is_not_written(runner: LocalRunner) -> None:
    """Also a bool, where any poison is one of two values."""
    for ast in (doubled(), build.elementwise((64,), lambda x: x < 100.0)):
        program = program_of(ast, runner.device.target)
        idle = replace(program, source=program.source.replace("p0[", "if (0) p0["))
        assert idle.source != program.source
        assert runner.measure(to_measure(runner, ast, idle)).outcome.code is OutcomeCode.WRONG_RESULT


def test_measure_sees_wrong_values_by_a_yardstick_program(runner: LocalRunner) -> None:
    """Where the reference is too slow for everything, and the place is not in its sample."""
    ast = build.matmul(512, 64, 512)
    program = program_of(ast, runner.device.target, heuristic=True)
    good = runner.measure(to_measure(runner, ast, program))
    assert_measured(good)
    assert good.verification is not None
    assert good.verification.yardstick == "unoptimised"
    assert good.verification.elements == 512 * 512
    assert 4096 <= good.verification.sampled < 20000
    for place in (300 * 512 + 211, 511 * 512 + 511):
        wrong = with_statement(program, f"p0[{place}] = 3.0f;")
        result = runner.measure(to_measure(runner, ast, wrong))
        assert result.outcome.code is OutcomeCode.WRONG_RESULT
        assert f"element {place}" in result.outcome.reason


def test_fault_f1_kernel_that_updates_in_place_is_seen_to_do_it_once(runner: LocalRunner) -> None:
    g = Graph()
    x = g.load("float32", (SIZE,))
    g.store(x + 1, at=x)
    ast = g.build()
    many = Timing(budget_s=0.0, least=20, most=20)
    for heuristic in (False, True):
        item = to_measure(runner, ast, program_of(ast, runner.device.target, heuristic=heuristic), many)
        for _ in range(2):
            assert_measured(runner.measure(item))
        for result in runner.measure_in_turn([item, item], 4):
            assert_measured(result)
    program = program_of(ast, runner.device.target)
    body = program.source[program.source.index("{") : program.source.rindex("}") + 1]
    twice = with_statement(program, body)
    result = runner.measure(to_measure(runner, ast, twice))
    assert result.outcome.code is OutcomeCode.WRONG_RESULT


def test_measure_tells_programs_that_add_in_another_order(runner: LocalRunner) -> None:
    """A program with other bits only in the order of its sums; a copy is exact in any shape."""
    ast = build.reduce_rows("sum", 16, 1024)
    kernel = Kernel(ast, runner.device.target)
    plain = runner.measure(to_measure(runner, ast, kernel.to_program()))
    kernel.apply_opt(Opt(OptOps.GROUP, 0, 8))
    grouped = runner.measure(to_measure(runner, ast, kernel.to_program()))
    copy = build.elementwise((SIZE,), lambda x: x * 2)
    vectors = runner.measure(to_measure(runner, copy, program_of(copy, runner.device.target, heuristic=True)))
    found = [result.verification.numerics for result in (plain, grouped, vectors) if result.verification is not None]
    assert found == [Numerics.BIT_EXACT, Numerics.REORDERED, Numerics.BIT_EXACT]


@pytest.mark.parametrize("name", ["symbolic/01", "symbolic/04"])
def test_measure_runs_dynamic_shapes_at_a_workloads_values(name: str, runner: LocalRunner) -> None:
    ast = parse_ast(corpus()[name])
    for heuristic in (False, True):
        item = to_measure(runner, ast, program_of(ast, runner.device.target, heuristic=heuristic))
        for pick in (min, max):
            values = tuple((v.name, pick(v.min, v.max)) for v in ast.variables)
            assert_measured(runner.measure(replace(item, workload=Workload(ast, values))))


def test_measure_refuses_a_workload_whose_variables_have_no_value(runner: LocalRunner) -> None:
    ast = parse_ast(corpus()["symbolic/01"])
    item = to_measure(runner, ast, program_of(ast, runner.device.target))
    (variable,) = ast.variables
    for values in ((), ((variable.name, variable.max + 1),), ((variable.name, variable.max), ("other", 1))):
        with pytest.raises(WorkloadError, match=variable.name):
            runner.measure(replace(item, workload=Workload(ast, values)))


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_measure_refuses_what_does_not_fit_before_anything_is_allocated(runner: LocalRunner) -> None:
    ast = build.elementwise((1 << 17, 1 << 16), lambda x: x + 1)
    item = to_measure(runner, ast, program_of(ast, runner.device.target))
    assert_measured(runner.measure(to_measure(runner, doubled(), program_of(doubled(), runner.device.target))))
    pid = runner.child_pid
    before = resident_mb(pid)
    result = runner.measure(item)
    assert result.outcome.code is OutcomeCode.OUT_OF_MEMORY
    assert "34,359.9 MB" in result.outcome.reason
    assert runner.child_pid == pid
    assert resident_mb(pid) < before + 50.0
    assert result.spent_s < 2.0


def resident_mb(pid: int | None) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def test_fault_h7_work_group_above_what_was_compiled_fails_alone(runner: LocalRunner) -> None:
    target = runner.device.target
    too_large = ending(OutcomeCode.OVER_DEVICE_LIMIT, target)
    results = list(runner.build([BuildInput(too_large), BuildInput(program_of(doubled(), target))]))
    assert results[0].outcome.code is OutcomeCode.OVER_DEVICE_LIMIT
    assert "1048576" in results[0].outcome.reason
    assert results[1].outcome.ok


def test_build_error_has_the_compilers_words(runner: LocalRunner) -> None:
    (result,) = runner.build([BuildInput(ending(OutcomeCode.BUILD_ERROR, runner.device.target))])
    assert "undeclared identifier 'this'" in result.outcome.reason
    assert len(result.outcome.reason) < 2000


# ---- lost children ---------------------------------------------------------------------------------------------------


def test_fault_f11_endless_kernel_is_killed_and_leaves_no_process(own_runner: LocalRunner) -> None:
    target = own_runner.device.target
    endless = to_measure(own_runner, doubled(), ending(OutcomeCode.RUN_TIMEOUT, target))
    pid = own_runner.child_pid
    assert pid is not None
    started = time.monotonic()
    result = own_runner.measure(replace(endless, launch_deadline_s=1.0))
    assert result.outcome.code is OutcomeCode.RUN_TIMEOUT
    assert "launch took more than 1 s" in result.outcome.reason
    assert time.monotonic() - started < 20.0
    assert not Path(f"/proc/{pid}").exists()
    assert own_runner.child_pid is None
    assert_measured(own_runner.measure(to_measure(own_runner, doubled(), program_of(doubled(), target))))


def test_fault_f11_kernel_that_hangs_later_is_killed_after_its_run_deadline(own_runner: LocalRunner) -> None:
    """The first run ends: only on the second set of inputs does it go on for ever."""
    target = own_runner.device.target
    statement = "volatile int spin = p1[0] < 3.0f && p1[0] > -3.0f && p1[1] < 8.0f; while (spin) {}"
    later = to_measure(own_runner, doubled(), with_statement(program_of(doubled(), target), statement))
    workload = Workload(doubled(), (), seed=first_is_extreme())
    result = own_runner.measure(replace(later, workload=workload, run_deadline_s=1.0))
    assert result.outcome.code is OutcomeCode.RUN_TIMEOUT
    assert "run took more than 1 s" in result.outcome.reason


def first_is_extreme() -> int:
    """A seed whose extreme inputs begin with a value of which the statement above does nothing."""
    for seed in range(1000):
        first = make_inputs(doubled(), seed, {}, "extremes")[1][:2]
        if not (-3.0 < first[0] < 3.0 and first[1] < 8.0):
            return seed
    raise AssertionError("no seed")


def test_fault_h1_waiting_for_the_device_is_not_running(own_runner: LocalRunner) -> None:
    """Two runs of a second each, at the same time, with a deadline of less than both take."""
    target = own_runner.device.target
    slow = with_statement(program_of(doubled(), target), "for (volatile int i = 0; i < 40000; i++) {}")
    one = to_measure(own_runner, doubled(), slow, Timing(budget_s=0.0, least=1, most=1))
    alone = own_runner.measure(one)
    assert_measured(alone)
    assert alone.measurement is not None
    limit_s = 1.5 * alone.measurement.time_s + 0.5
    other = replace(one, workload=replace(one.workload, seed=1))
    items = [replace(item, run_deadline_s=limit_s, launch_deadline_s=limit_s + 5.0) for item in (one, other)]
    started = [in_a_thread(own_runner, item) for item in items]
    for thread, _ in started:
        thread.join(60.0)
    for _, results in started:
        (result,) = results
        assert_measured(result)


def test_measure_survives_a_child_that_is_killed_in_the_middle(own_runner: LocalRunner) -> None:
    target = own_runner.device.target
    good = to_measure(own_runner, doubled(), program_of(doubled(), target))
    assert_measured(own_runner.measure(good))
    endless = to_measure(own_runner, doubled(), ending(OutcomeCode.RUN_TIMEOUT, target))
    pid = own_runner.child_pid
    assert pid is not None
    thread, results = in_a_thread(own_runner, replace(endless, launch_deadline_s=60.0))
    time.sleep(1.0)
    os.kill(pid, signal.SIGKILL)
    thread.join(30.0)
    (result,) = results
    assert result.outcome.code is OutcomeCode.DEVICE_LOST
    assert "Killed" in result.outcome.reason
    assert ended(pid)
    assert_measured(own_runner.measure(good))


def test_measure_does_not_blame_a_program_for_a_child_that_died_while_idle(own_runner: LocalRunner) -> None:
    good = to_measure(own_runner, doubled(), program_of(doubled(), own_runner.device.target))
    for call in (own_runner.measure, lambda item: own_runner.measure_in_turn([item], 3)[0]):
        pid = own_runner.child_pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        assert ended(pid)
        assert_measured(call(good))
        assert own_runner.child_pid != pid
    os.kill(own_runner.child_pid or 0, signal.SIGKILL)
    assert built(own_runner, good.artifact.program) == good.artifact


def test_fault_f8_child_is_replaced_after_what_went_wrong_and_kept_otherwise(
    own_runner: LocalRunner,
) -> None:
    target = own_runner.device.target
    good = to_measure(own_runner, doubled(), program_of(doubled(), target))
    own_runner.measure(good)
    pid = own_runner.child_pid
    own_runner.measure(good)
    assert own_runner.child_pid == pid is not None
    result = own_runner.measure(to_measure(own_runner, doubled(), ending(OutcomeCode.OUT_OF_BOUNDS, target)))
    assert result.outcome.code is OutcomeCode.OUT_OF_BOUNDS
    assert own_runner.child_pid is None
    assert_measured(own_runner.measure(good))


def test_measure_does_not_compile_again_what_was_built(own_runner: LocalRunner) -> None:
    program = program_of(doubled(), own_runner.device.target)
    first, second = own_runner.build([BuildInput(program), BuildInput(program)])
    assert first.build_s > 0.0
    assert second.build_s == 0.0


def hanging_later(target: Target, runs: int) -> Program:
    """A program of `doubled` that hangs once it has run so often on one content of its buffers, counted in p0[7]."""
    program = program_of(doubled(), target)
    first, last = "int gx = get_group_id(0);", "p0[gx] = v2;"
    assert first in program.source
    assert last in program.source
    counting = f"""
  if (gx == 7) {{
    volatile int spin = was - v2 > {runs - 2}.5f && was - v2 < {runs}.0f;
    while (spin) {{}}
    if (was - v2 > -0.5f && was - v2 < {runs}.0f) p0[gx] = was + 1.0f;
  }}"""
    source = program.source.replace(first, f"{first}\n  float was = p0[gx];").replace(last, f"{last}{counting}")
    return replace(program, source=source)


@pytest.mark.parametrize(("runs", "samples"), [(9, 4), (1, 10)])
def test_measure_in_turn_ends_with_the_round_in_which_one_fails(
    runs: int, samples: int, own_runner: LocalRunner
) -> None:
    """Rounds before it count, for the others too; where there is none, the others go on without it."""
    target = own_runner.device.target
    timing = Timing(budget_s=100.0)
    good = to_measure(own_runner, doubled(), program_of(doubled(), target), timing)
    hanging = to_measure(own_runner, doubled(), hanging_later(target, runs), timing)
    apart = replace(hanging, workload=replace(hanging.workload, seed=1), run_deadline_s=1.0)
    first, second = own_runner.measure_in_turn([good, apart], 10)
    assert second.outcome.code is OutcomeCode.RUN_TIMEOUT
    assert second.measurement is None
    assert_measured(first)
    assert first.measurement is not None
    assert len(first.measurement.samples_s) == samples


@pytest.mark.parametrize(("name", "left"), [("program.bc", 0.5), ("E_4096.so", 0.5), ("E_4096.so", 0.0)])
def test_fault_g8_broken_file_in_a_drivers_cache_is_made_again(
    name: str, left: float, found: FoundDevice, tmp_path: Path
) -> None:
    environment = child_environment(found.address.library, {"POCL_CACHE_DIR": str(tmp_path)})
    for broken in (False, True):
        if broken:
            files = [path for path in tmp_path.rglob(name) if list(path.parent.rglob("E_4096.so"))]
            assert len(files) == 1
            data = files[0].read_bytes()
            files[0].write_bytes(data[: int(left * len(data))])
        runner = LocalRunner(found.address, found.info, environment)
        try:
            assert_measured(runner.measure(to_measure(runner, doubled(), program_of(doubled(), runner.device.target))))
        finally:
            runner.close()


def test_device_that_is_another_one_now_is_not_used(found: FoundDevice) -> None:
    other: DeviceInfo = replace(found.info, identity=replace(found.info.identity, compute_units=999))
    runner = LocalRunner(found.address, other)
    with pytest.raises(NoDeviceError, match="another device"):
        built(runner, program_of(doubled(), found.info.target))
    assert runner.child_pid is None
    nowhere = LocalRunner(replace(found.address, device_index=7), found.info)
    with pytest.raises(NoDeviceError, match="no such device"):
        built(nowhere, program_of(doubled(), found.info.target))
    assert nowhere.child_pid is None


def test_close_leaves_no_process(found: FoundDevice) -> None:
    runner = LocalRunner(found.address, found.info)
    item = to_measure(runner, doubled(), program_of(doubled(), runner.device.target), BRIEF)
    pid = runner.child_pid
    assert pid is not None
    runner.close()
    assert not Path(f"/proc/{pid}").exists()
    assert_measured(runner.measure(item))
    runner.close()
    assert Child(child_environment(found.address.library)).pid is None
