"""`LocalRunner`: builds and measures on a device of this machine, in a child process that may be lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from kernels import dump_ast
from runners.address import DeviceAddress
from runners.api import (
    OK,
    Artifact,
    BuildInput,
    BuildResult,
    DeviceInfo,
    MeasureInput,
    Measurement,
    MeasureResult,
    Outcome,
    OutcomeCode,
    Timing,
    Workload,
)
from runners.backends.base import RunTime
from runners.environment import child_environment
from runners.errors import ChildError, WorkloadError
from runners.held_device import HeldDevice
from runners.launch import Launch, launch_of, lowest_values
from runners.messages import (
    Build,
    Built,
    JoinTurn,
    Measure,
    Measured,
    Prepare,
    Prepared,
    RanInTurn,
    Request,
    RunInTurn,
)
from runners.timing import measurements_of
from runners.yardsticks import Yardstick, yardsticks_of

#: What the host does for a workload: inputs and the reference, and comparing what a program wrote.
REFERENCE_S = 180.0
VERIFY_S = 120.0
#: A build of a yardstick program, and one that is made again because the child was replaced.
BUILD_S = 20.0
#: A yardstick program's run, what its driver compiles for it included.
LAUNCH_S = 30.0
#: Drivers keep what they built; a child that built so much is replaced.
PROGRAMS_PER_CHILD = 500
#: Workloads whose yardstick is remembered.
_REMEMBERED = 16
_RETIRING = frozenset({OutcomeCode.OUT_OF_BOUNDS, OutcomeCode.WRONG_RESULT, OutcomeCode.RUN_ERROR})
_ROUNDS_LEAST = 3


@dataclass(slots=True)
class _Known:
    """A workload that was met: its number in the child's messages, and the yardsticks that are still to be had."""

    number: int
    yardsticks: tuple[Yardstick, ...]


class LocalRunner:
    """One device's builder and measurer. Threads may share it: while one waits for another, no deadline runs."""

    def __init__(self, address: DeviceAddress, info: DeviceInfo, environment: Mapping[str, str] | None = None) -> None:
        """The device is first touched when it is needed. environment: for the child, where it is not the usual one."""
        self._info = info
        usual = child_environment(address.library) if environment is None else environment
        self._held = HeldDevice(address, info, usual, lost=self._forget)
        self._lock = threading.RLock()
        self._known: dict[Workload, _Known] = {}
        self._numbers = 0
        self._ready: set[int] = set()
        self._programs = 0
        self._longer_deadlines_s: dict[str, float] = {}

    @property
    def device(self) -> DeviceInfo:
        """The device that everything is run on."""
        return self._info

    @property
    def child_pid(self) -> int | None:
        """The process that holds the device; None where there is none at the moment."""
        return self._held.pid

    def close(self) -> None:
        """End the child. The next use would start another one."""
        with self._lock:
            self._held.close()

    # ---- building ----------------------------------------------------------------------------------------------------

    def build(self, inputs: Sequence[BuildInput]) -> Iterator[BuildResult]:
        """Compile one after the other in the device's child."""
        for item in inputs:
            with self._lock:
                result = self._held.once_more_if_idle_child_died(partial(self._build, item))
                if self._held.doubts_cache(result.outcome):
                    result = self._build(item)
            yield result

    def _build(self, item: BuildInput) -> BuildResult:
        if self._programs >= PROGRAMS_PER_CHILD:
            self._held.give_up()
        launch = launch_of(item.program, lowest_values(item.program))
        try:
            built: Built = self._held.ask(Build(launch), {"build": item.deadline_s})
        except ChildError as error:
            return BuildResult(self._held.outcome_of_loss(error), None, error.elapsed_s)
        self._programs += 1
        if not built.outcome.ok:
            return BuildResult(built.outcome, None, built.build_s)
        if item.deadline_s > BUILD_S:
            self._longer_deadlines_s[launch.key] = item.deadline_s
        return BuildResult(OK, Artifact(launch.key, item.program), built.build_s)

    # ---- measuring ---------------------------------------------------------------------------------------------------

    def measure(self, item: MeasureInput) -> MeasureResult:
        """Verify an artifact and, if it is right, time it."""
        with self._lock:
            return self._held.once_more_if_idle_child_died(partial(self._measure, item))

    def _measure(self, item: MeasureInput) -> MeasureResult:
        started = time.monotonic()
        measured = self._verify(item, item.timing, ())
        return _result(measured, measurements_of([measured.runs]), time.monotonic() - started)

    def measure_in_turn(self, items: Sequence[MeasureInput], rounds: int) -> list[MeasureResult]:
        """Verify all, then time those that are right in turn. Each round begins with another one."""
        with self._lock:
            return self._held.once_more_if_idle_child_died(partial(self._measure_in_turn, items, rounds))

    def _measure_in_turn(self, items: Sequence[MeasureInput], rounds: int) -> list[MeasureResult]:
        workloads = [item.workload for item in items]
        measured, spent_s = [], []
        for item in items:
            started = time.monotonic()
            measured.append(self._verify(item, None, workloads))
            spent_s.append(time.monotonic() - started)
        times: list[tuple[RunTime, ...]] = []
        right: list[int] = []
        while not times:
            right = [place for place, each in enumerate(measured) if each.outcome.ok]
            if not right:
                break
            turn = _Turn([items[place] for place in right], rounds)
            self._run_turn(turn)
            for place, used_s in zip(right, turn.spent_s, strict=True):
                spent_s[place] += used_s
            if turn.failed is not None:
                measured[right[turn.failed[0]]] = Measured(turn.failed[1])
            times = turn.rounds_run
        return _results_in_turn(measured, right, times, spent_s)

    def _verify(self, item: MeasureInput, timing: Timing | None, keep: Sequence[Workload]) -> Measured:
        """Verify, and time where `timing` is given."""
        measured = self._verify_once(item, timing, keep)
        if self._held.doubts_cache(measured.outcome):
            return self._verify_once(item, timing, keep)
        return measured

    def _verify_once(self, item: MeasureInput, timing: Timing | None, keep: Sequence[Workload]) -> Measured:
        """A child that cannot be trusted any more is replaced."""
        outcome = self._prepare(item.workload, keep)
        if not outcome.ok:
            return Measured(outcome)
        launch = _launch_on(item)
        request = Measure(self._known_of(item.workload).number, launch, item.run_deadline_s, timing)
        try:
            measured: Measured = self._held.ask(request, self._deadlines_s(item, launch))
        except ChildError as error:
            return Measured(self._held.outcome_of_loss(error))
        if measured.outcome.code in _RETIRING:
            self._held.give_up()
        return measured

    def _deadlines_s(self, item: MeasureInput, launch: Launch) -> dict[str, float]:
        return {
            "build": self._longer_deadlines_s.get(launch.key, BUILD_S),
            "launch": item.launch_deadline_s,
            "run": item.run_deadline_s,
            "time": item.run_deadline_s,
            "verify": VERIFY_S,
        }

    # ---- in turn -----------------------------------------------------------------------------------------------------

    def _run_turn(self, turn: _Turn) -> None:
        """Rounds until there are enough, or until one of the programs fails."""
        workloads = [item.workload for item in turn.items]
        for place, item in enumerate(turn.items):
            outcome = self._prepare(item.workload, workloads)
            if not outcome.ok:
                turn.failed = place, outcome
                return
        for place, item in enumerate(turn.items):
            request = JoinTurn(place, self._known_of(item.workload).number, _launch_on(item))
            if self._run_one(turn, place, request) is None:
                return
        while not turn.enough:
            this_round: dict[int, RunTime] = {}
            for place in turn.order:
                run = self._run_one(turn, place, RunInTurn(place))
                if run is None:
                    return
                this_round[place] = run
            turn.rounds_run.append(tuple(this_round[place] for place in range(len(turn.items))))

    def _run_one(self, turn: _Turn, place: int, request: Request) -> RunTime | None:
        """The run; None where it failed, which the turn then knows."""
        item = turn.items[place]
        started = time.monotonic()
        try:
            ran: RanInTurn = self._held.ask(request, self._deadlines_s(item, _launch_on(item)))
        except ChildError as error:
            ran = RanInTurn(self._held.outcome_of_loss(error))
        turn.spent_s[place] += time.monotonic() - started
        if not ran.outcome.ok:
            turn.failed = place, ran.outcome
            self._held.give_up()
        return ran.run

    # ---- workloads ---------------------------------------------------------------------------------------------------

    def _prepare(self, workload: Workload, keep: Sequence[Workload]) -> Outcome:
        """See that the child has the workload at hand, beside those to `keep`. Not ok where nothing can be measured."""
        known = self._known_of(workload)
        failure = OK
        while known.number not in self._ready:
            if not known.yardsticks:
                del self._known[workload]  # asked for again, everything is tried again
                return Outcome(OutcomeCode.RUN_ERROR, f"there is nothing to hold its outputs against: {failure}")
            kept = {self._known_of(other).number for other in keep} & self._ready
            outcome = self._prepare_with(known, workload, tuple(sorted(kept)))
            if outcome.code is OutcomeCode.OUT_OF_MEMORY:
                return outcome
            if outcome.ok:
                self._ready = {known.number, *kept}
            elif not self._held.doubts_cache(outcome):
                known.yardsticks = known.yardsticks[1:]
                failure = outcome
        return OK

    def _prepare_with(self, known: _Known, workload: Workload, keep: tuple[int, ...]) -> Outcome:
        """How making a workload with its first yardstick ended."""
        document, values = dump_ast(workload.ast), workload.variables
        request = Prepare(known.number, document, values, workload.seed, known.yardsticks[0], keep)
        deadlines_s = {"reference": REFERENCE_S, "build": BUILD_S, "launch": LAUNCH_S, "verify": VERIFY_S}
        try:
            prepared: Prepared = self._held.ask(request, deadlines_s)
        except ChildError as error:
            return self._held.outcome_of_loss(error)
        if prepared.outcome.code in _RETIRING:
            self._held.give_up()
        return prepared.outcome

    def _known_of(self, workload: Workload) -> _Known:
        found = self._known.get(workload)
        if found is None:
            _check_variables(workload)
            if len(self._known) >= _REMEMBERED:
                del self._known[next(iter(self._known))]
            self._numbers += 1
            found = self._known[workload] = _Known(self._numbers, yardsticks_of(workload.ast, self._info))
        return found

    def _forget(self) -> None:
        """The child is gone, and what it held with it."""
        self._ready.clear()
        self._programs = 0


class _Turn:
    """Programs that are timed in turn, and how far they have come."""

    def __init__(self, items: Sequence[MeasureInput], rounds: int) -> None:
        self.items = items
        self.spent_s = [0.0] * len(items)
        self.rounds_run: list[tuple[RunTime, ...]] = []
        self.failed: tuple[int, Outcome] | None = None
        self._rounds = rounds
        self._budget_s = sum(item.timing.budget_s for item in items)

    @property
    def enough(self) -> bool:
        """True after all rounds, or as many as the budget allows."""
        done = len(self.rounds_run)
        used_s = sum(run.wall_s for each in self.rounds_run for run in each)
        return done >= self._rounds or (done >= _ROUNDS_LEAST and used_s >= self._budget_s)

    @property
    def order(self) -> list[int]:
        """Places in the order of the next round: each round begins with another one."""
        count = len(self.items)
        return [(len(self.rounds_run) + place) % count for place in range(count)]


def _result(measured: Measured, measurements: tuple[Measurement, ...] | None, spent_s: float) -> MeasureResult:
    if not measured.outcome.ok:
        return MeasureResult(measured.outcome, None, measured.verification, spent_s)
    if measurements is None:
        reason = "neither the device's clock nor the host's gave times above zero"
        return MeasureResult(Outcome(OutcomeCode.INVALID_TIME, reason), None, measured.verification, spent_s)
    (measurement,) = measurements
    return MeasureResult(OK, measurement, measured.verification, spent_s)


def _results_in_turn(
    measured: Sequence[Measured], right: Sequence[int], times: Sequence[tuple[RunTime, ...]], spent_s: Sequence[float]
) -> list[MeasureResult]:
    """`times`: for each round the runs of those at the places `right`; all by one clock, as they are to be compared."""
    measurements = measurements_of(list(zip(*times, strict=True)))
    results = []
    for place, (each, used_s) in enumerate(zip(measured, spent_s, strict=True)):
        own = None
        if measurements is not None and place in right and times:
            own = (measurements[right.index(place)],)
        results.append(_result(each, own, used_s))
    return results


def _launch_on(item: MeasureInput) -> Launch:
    return launch_of(item.artifact.program, dict(item.workload.variables))


def _check_variables(workload: Workload) -> None:
    values = dict(workload.variables)
    wanted = {variable.name: variable for variable in workload.ast.variables}
    if values.keys() != wanted.keys() or len(values) != len(workload.variables):
        raise WorkloadError(f"the kernel's variables are {sorted(wanted)}, and values are given for {sorted(values)}")
    for name, variable in wanted.items():
        if not variable.min <= values[name] <= variable.max:
            raise WorkloadError(f"{name} = {values[name]} is not within {variable.min}..{variable.max}")
