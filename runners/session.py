"""What a device's child does when it is asked: holds the device, what was built for it, and the workloads at hand."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from kernels import Ast, KernelsError, parse_ast
from kernels.reference.concrete import concrete_ast
from kernels.reference.formats import Array
from runners.api import OK, Outcome, OutcomeCode, Timing, Verification
from runners.backends.base import Backend, Executable, OpenDevice, RunTime
from runners.backends.errors import BackendError, DeviceLimitError, LaunchError
from runners.errors import RunnerError
from runners.launch import Launch, launch_of
from runners.messages import (
    Answer,
    Build,
    Built,
    JoinTurn,
    ListDevices,
    Measure,
    Measured,
    Opened,
    Prepare,
    Prepared,
    RanInTurn,
    Request,
    RunInTurn,
    StageName,
)
from runners.messages import OpenDevice as OpenRequest
from runners.self_check import check_device
from runners.timing import StoppingRule, longest_s, seconds_of
from runners.verify import Judge, Standard, are_exact
from runners.workload import Buffers, InputSet, Kind, Slot, input_sets, memory_refusal, slots_of
from runners.yardsticks import Yardstick, yardstick_program

#: Programs that stay built.
KEPT_PROGRAMS = 64
#: A run in turn that takes less is preceded by another one, so that it finds the caches as after itself.
SHORT_RUN_S = 0.005


@dataclass(slots=True)
class Workbench:
    """A workload on the device, ready for programs to be verified and timed on."""

    yardstick: Yardstick
    buffers: Buffers
    judge: Judge
    standards: dict[Kind, Standard]


@dataclass(slots=True)
class Turn:
    """A program that runs in turn with others. last_s: seconds of its last run."""

    bench: Workbench
    launch: Launch
    last_s: float


class Session:
    """Answers requests. `enter(stage, extra_s)` is called before each stage of the work on one."""

    def __init__(self, backend: Backend, enter: Callable[[StageName, float], None]) -> None:
        self._backend = backend
        self._enter = enter
        self._device: OpenDevice | None = None
        self._built: OrderedDict[str, Executable] = OrderedDict()
        self._benches: dict[int, Workbench] = {}
        self._turn: dict[int, Turn] = {}

    def answer(self, request: Request) -> Answer:
        """Do what is asked. What goes wrong with a program is in the answer; anything else is raised."""
        match request:
            case ListDevices():
                return self._backend.list_devices()
            case OpenRequest():
                return self._open(request)
            case Build():
                return self._build(request.launch)
            case Prepare():
                return Prepared(_outcome_of(lambda: self._prepare(request)))
            case Measure():
                return self._measure(request)
            case JoinTurn():
                return self._join_turn(request)
            case RunInTurn():
                return self._run_in_turn(request.place)

    @property
    def device(self) -> OpenDevice:
        """The device that was opened."""
        if self._device is None:
            raise RunnerError("no device was opened")
        return self._device

    def _open(self, request: OpenRequest) -> Opened:
        try:
            self._device = self._backend.open(request.platform_index, request.device_index)
            check_device(self._device)
        except RunnerError as error:
            return Opened(None, f"{error.code}: {error}")
        return Opened(self._device.info)

    # ---- building ----------------------------------------------------------------------------------------------------

    def _build(self, launch: Launch) -> Built:
        known = launch.key in self._built
        started = time.perf_counter()
        outcome = _outcome_of(lambda: self._check_limits(launch, self._executable(launch)))
        return Built(outcome, 0.0 if known else time.perf_counter() - started)

    def _executable(self, launch: Launch) -> Executable:
        """The program, built now or kept from before. Raises BackendError."""
        found = self._built.get(launch.key)
        if found is None:
            self._enter("build", 0.0)
            found = self._built[launch.key] = self.device.build(launch.source, launch.name)
            if len(self._built) > KEPT_PROGRAMS:
                self._built.popitem(last=False)
        self._built.move_to_end(launch.key)
        return found

    def _check_limits(self, launch: Launch, executable: Executable) -> Outcome:
        """Raises DeviceLimitError; some drivers would run such a program all the same, and wrongly."""
        limits = self.device.info.limits
        if launch.work_group > executable.work_group_max:
            raise DeviceLimitError(
                f"as compiled, a work-group has at most {executable.work_group_max} work-items, not {launch.work_group}"
            )
        if any(size > most for size, most in zip(launch.local_size or (), limits.local_max, strict=False)):
            raise DeviceLimitError(f"a work-group has at most {limits.local_max} work-items, not {launch.local_size}")
        shared = max(executable.shared_bytes, launch.shared_bytes)
        if shared > limits.shared_max:
            raise DeviceLimitError(f"a work-group has {limits.shared_max} bytes of local memory, not {shared}")
        return OK

    # ---- preparing ---------------------------------------------------------------------------------------------------

    def _prepare(self, request: Prepare) -> Outcome:
        """Also raises BackendError and KernelsError, of a yardstick program."""
        self._enter("reference", 0.0)
        self._turn.clear()
        self._benches = {number: bench for number, bench in self._benches.items() if number in request.keep}
        ast = parse_ast(request.document)
        kernel = concrete_ast(ast, dict(request.variables))
        slots = slots_of(kernel)
        refusal = memory_refusal(slots, self.device.info)
        if refusal is not None:
            return refusal
        sets = input_sets(ast, request.seed, kernel.variables)
        bench = Workbench(request.yardstick, Buffers(self.device, slots), Judge(ast, kernel), {})
        outcome = OK
        if request.yardstick.name != "reference":
            outcome = self._add_program(bench, sets, self._yardstick_launch(ast, request))
        else:
            bench.standards = {kind: bench.judge.by_reference(inputs) for kind, inputs in sets.items()}
            if request.yardstick.beside_unoptimised:
                outcome = self._add_exact(bench, self._yardstick_launch(ast, request))
        if outcome.ok:
            self._benches[request.number] = bench
        return outcome

    def _yardstick_launch(self, ast: Ast, request: Prepare) -> Launch:
        program = yardstick_program(ast, self.device.info, heuristic=request.yardstick.name == "heuristic")
        return launch_of(program, dict(request.variables))

    def _add_exact(self, bench: Workbench, launch: Launch) -> Outcome:
        """Keep the unoptimised program's outputs beside the reference's, where they are right."""
        for kind, standard in bench.standards.items():
            outputs = self._outputs_of(bench, launch, standard.inputs)
            if isinstance(outputs, Outcome):
                return outputs
            if bench.judge.complaint(standard, outputs.items()) is None:
                exact = {slot.number: output for slot, output in outputs.items()}
                bench.standards[kind] = replace(standard, exact=exact)
        return OK

    def _add_program(self, bench: Workbench, sets: dict[Kind, InputSet], launch: Launch) -> Outcome:
        """Take a program's outputs for standards, where the reference agrees."""
        unoptimised = bench.yardstick.name == "unoptimised"
        for kind, inputs in sets.items():
            outputs = self._outputs_of(bench, launch, inputs)
            if isinstance(outputs, Outcome):
                return outputs
            standard = bench.judge.by_program(inputs, outputs.items(), unoptimised)
            wrong = bench.judge.complaint(standard, outputs.items())
            if wrong is not None:
                return Outcome(OutcomeCode.WRONG_RESULT, wrong)
            bench.standards[kind] = standard
        return OK

    def _outputs_of(self, bench: Workbench, launch: Launch, inputs: InputSet) -> dict[Slot, Array] | Outcome:
        """What a yardstick program writes; out_of_bounds where it writes elsewhere."""
        self._run_on(bench, launch, inputs, "launch")
        self._enter("verify", 0.0)
        wrong = bench.buffers.wrongly_written()
        return dict(bench.buffers.outputs()) if wrong is None else Outcome(OutcomeCode.OUT_OF_BOUNDS, wrong)

    # ---- measuring ---------------------------------------------------------------------------------------------------

    def _measure(self, request: Measure) -> Measured:
        self._turn.clear()
        bench = self._benches[request.number]
        try:
            checked = self._verify(bench, request.launch)
            if isinstance(checked, Outcome):
                return Measured(checked)
            verification, run = checked
            runs: tuple[RunTime, ...] = ()
            if request.timing is not None and run.wall_s <= request.run_deadline_s:
                runs = self._time(bench, request.launch, request.timing, run)
        except BackendError as error:
            return Measured(error.outcome)
        except MemoryError as error:
            return Measured(Outcome(OutcomeCode.OUT_OF_MEMORY, f"beside the device: {error}"))
        longest = max(each.wall_s for each in (run, *runs))
        if longest > request.run_deadline_s:
            reason = f"a run took {longest:.3g} s, more than {request.run_deadline_s:g} s"
            return Measured(Outcome(OutcomeCode.RUN_TIMEOUT, reason), verification)
        return Measured(OK, verification, runs)

    def _verify(self, bench: Workbench, launch: Launch) -> tuple[Verification, RunTime] | Outcome:
        """What was compared, and the last run; or how it ended. The buffers hold the normal inputs afterwards."""
        exact = True
        kinds: tuple[Kind, ...] = ("extremes", "normal")
        for kind in kinds:
            standard = bench.standards[kind]
            run = self._run_on(bench, launch, standard.inputs, "launch" if kind == "extremes" else "run")
            self._enter("verify", 0.0)
            wrong = bench.buffers.wrongly_written()
            if wrong is not None:
                return Outcome(OutcomeCode.OUT_OF_BOUNDS, wrong)
            outputs = dict(bench.buffers.outputs())
            wrong = bench.judge.complaint(standard, outputs.items())
            if wrong is not None:
                return Outcome(OutcomeCode.WRONG_RESULT, wrong)
            exact = exact and are_exact(standard, outputs.items())
        return bench.judge.verification(bench.yardstick.name, bench.standards["normal"], exact), run

    def _run_on(self, bench: Workbench, launch: Launch, inputs: InputSet, stage: StageName) -> RunTime:
        executable = self._executable(launch)
        self._check_limits(launch, executable)
        self._enter(stage, 0.0)
        bench.buffers.load(inputs)
        return self._run(bench, launch, executable)

    def _run(self, bench: Workbench, launch: Launch, executable: Executable) -> RunTime:
        lengths = {slot.number: slot.elements for slot in bench.buffers.slots}
        for number, elements in launch.slots:
            if elements > lengths[number]:
                raise LaunchError(f"slot {number} has {lengths[number]} elements, and the program needs {elements}")
        memories = bench.buffers.memories([number for number, _ in launch.slots])
        return self.device.run(executable, launch.items, launch.local_size, memories, launch.values)

    def _time(self, bench: Workbench, launch: Launch, timing: Timing, warm: RunTime) -> tuple[RunTime, ...]:
        executable = self._executable(launch)
        self._enter("time", longest_s(timing, warm.wall_s))
        rule = StoppingRule(timing)
        runs = []
        while True:
            bench.buffers.restore()
            runs.append(self._run(bench, launch, executable))
            if rule.take(runs[-1]):
                return tuple(runs)

    # ---- in turn -----------------------------------------------------------------------------------------------------

    def _join_turn(self, request: JoinTurn) -> RanInTurn:
        def first_run() -> RunTime:
            bench = self._benches[request.number]
            run = self._run_on(bench, request.launch, bench.standards["normal"].inputs, "launch")
            self._turn[request.place] = Turn(bench, request.launch, seconds_of(run))
            return run

        return _ran(first_run)

    def _run_in_turn(self, place: int) -> RanInTurn:
        turn = self._turn[place]

        def run() -> RunTime:
            executable = self._executable(turn.launch)
            self._enter("time", 0.0)
            if turn.last_s < SHORT_RUN_S:
                turn.bench.buffers.restore()
                self._run(turn.bench, turn.launch, executable)
            turn.bench.buffers.restore()
            found = self._run(turn.bench, turn.launch, executable)
            turn.last_s = seconds_of(found)
            return found

        return _ran(run)


def _ran(work: Callable[[], RunTime]) -> RanInTurn:
    try:
        return RanInTurn(OK, work())
    except BackendError as error:
        return RanInTurn(error.outcome)


def _outcome_of(work: Callable[[], Outcome]) -> Outcome:
    """How `work` ended, where it may be refused by a driver, a target's limits, or for want of memory."""
    try:
        return work()
    except BackendError as error:
        return error.outcome
    except KernelsError as error:
        return Outcome(OutcomeCode.OVER_DEVICE_LIMIT, str(error))
    except MemoryError as error:
        return Outcome(OutcomeCode.OUT_OF_MEMORY, f"beside the device: {error}")
