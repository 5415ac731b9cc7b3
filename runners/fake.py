"""`FakeRunner`: a runner without a device, for tests of whatever stands above runners.

Times follow from what a program is and a seed, as a device's would: the same program has the same time in every
process. Verification is declared, not computed: a program counts as right unless `fault` says otherwise.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence

from kernels import BufferArgument, Program
from kernels.index import lower, upper
from runners.api import (
    OK,
    Artifact,
    BuildInput,
    BuildResult,
    DeviceIdentity,
    DeviceInfo,
    DeviceKind,
    DeviceLimits,
    Fingerprint,
    MeasureInput,
    Measurement,
    MeasureResult,
    Numerics,
    Outcome,
    OutcomeCode,
    Timing,
    Verification,
)
from runners.launch import artifact_key

FAKE_DEVICE = DeviceInfo(
    identity=DeviceIdentity("opencl", "Beamtune", "a device that is not there", "", 8),
    fingerprint=Fingerprint("1", "1", "1"),
    limits=DeviceLimits(1 << 34, 1 << 32, 32768, (1024, 1024, 1024), 1024, fp16=True, fp64=True, float_width=8),
    kind=DeviceKind.CPU,
)
METHOD = "fake-1"
#: Operations and bytes a second at the best.
_RATE, _BANDWIDTH = 1e11, 2e10
_LAUNCH_S = 5e-6
_BUILDING = frozenset({OutcomeCode.BUILD_ERROR, OutcomeCode.BUILD_TIMEOUT, OutcomeCode.OVER_DEVICE_LIMIT})
_ROUNDS_LEAST = 3


class FakeRunner:
    """One device's builder and measurer.

    noise: deviation of a sample, in proportion. latency: seconds of a program, in place of the model. fault: how a
    program ends where that is not well; outcomes of a build end it there, all others when it is measured. build_s: what
    each build takes. `built` and `measured` list the artifacts' keys in the order in which they came.
    """

    def __init__(
        self,
        info: DeviceInfo = FAKE_DEVICE,
        *,
        seed: int = 0,
        noise: float = 0.0,
        latency: Callable[[Program], float] | None = None,
        fault: Callable[[Program], Outcome | None] | None = None,
        build_s: float = 0.02,
    ) -> None:
        self._info = info
        self._seed = seed
        self._noise = noise
        self._latency = latency
        self._fault = fault
        self._build_s = build_s
        self._samples = 0
        self.built: list[str] = []
        self.measured: list[str] = []

    @property
    def device(self) -> DeviceInfo:
        """The device that is not there."""
        return self._info

    def close(self) -> None:
        """There is nothing to give back."""

    def time_of(self, program: Program) -> float:
        """The true seconds of a program, before noise."""
        return modelled_s(program, self._seed) if self._latency is None else self._latency(program)

    def build(self, inputs: Sequence[BuildInput]) -> Iterator[BuildResult]:
        """An artifact each, unless a fault or the deadline is in the way."""
        for item in inputs:
            key = artifact_key(item.program)
            self.built.append(key)
            outcome = self._ended(item.program)
            if self._build_s > item.deadline_s:
                outcome = Outcome(OutcomeCode.BUILD_TIMEOUT, f"build took more than {item.deadline_s:g} s")
            if outcome.code in _BUILDING:
                yield BuildResult(outcome, None, min(self._build_s, item.deadline_s))
            else:
                yield BuildResult(OK, Artifact(key, item.program), self._build_s)

    def measure(self, item: MeasureInput) -> MeasureResult:
        """The model's time with noise, as often as `timing` asks."""
        self.measured.append(item.artifact.key)
        failure = self._failure(item)
        if failure is not None:
            return failure
        samples: list[float] = []
        while not _enough(item.timing, samples):
            samples.append(self._sample(item))
        # two runs to verify it, and then those that are timed
        spent_s = 2 * self.time_of(item.artifact.program) + sum(samples)
        return MeasureResult(OK, Measurement(METHOD, tuple(samples)), _declared(item), spent_s)

    def measure_in_turn(self, items: Sequence[MeasureInput], rounds: int) -> list[MeasureResult]:
        """A sample of each that does not fail in every round, within the sum of the budgets."""
        results = {place: failure for place, item in enumerate(items) if (failure := self._failure(item)) is not None}
        right = [place for place in range(len(items)) if place not in results]
        budget_s = sum(items[place].timing.budget_s for place in right)
        taken: list[list[float]] = []
        while right and len(taken) < rounds and (len(taken) < _ROUNDS_LEAST or sum(map(sum, taken)) < budget_s):
            taken.append([self._sample(items[place]) for place in right])
        for place, samples in zip(right, zip(*taken, strict=True), strict=True):
            spent_s = 2 * self.time_of(items[place].artifact.program) + sum(samples)
            results[place] = MeasureResult(OK, Measurement(METHOD, samples), _declared(items[place]), spent_s)
        return [results[place] for place in range(len(items))]

    def _ended(self, program: Program) -> Outcome:
        return (self._fault(program) if self._fault is not None else None) or OK

    def _failure(self, item: MeasureInput) -> MeasureResult | None:
        outcome = self._ended(item.artifact.program)
        time_s = self.time_of(item.artifact.program)
        if outcome.ok and time_s > item.run_deadline_s:
            outcome = Outcome(OutcomeCode.RUN_TIMEOUT, f"a run takes {time_s:.3g} s")
        if outcome.ok and not (math.isfinite(time_s) and time_s > 0.0):
            outcome = Outcome(OutcomeCode.INVALID_TIME, f"a run takes {time_s} s")
        if outcome.ok:
            return None
        return MeasureResult(outcome, None, None, min(max(time_s, 0.0), item.run_deadline_s))

    def _sample(self, item: MeasureInput) -> float:
        self._samples += 1
        time_s = self.time_of(item.artifact.program)
        if not self._noise:
            return time_s
        draw = random.Random(f"{self._seed}/{item.artifact.key}/{self._samples}").gauss(1.0, self._noise)
        return time_s * max(draw, 0.1)


def modelled_s(program: Program, seed: int) -> float:
    """Seconds of a program: what its work takes at best, times how badly its launch and its source suit the device.

    `seed` is the device: how much work an item should have, and how many items a work-group, and what a source adds.
    """
    groups = math.prod(upper(size) for size in program.global_size)
    group = math.prod(program.local_size or (1,))
    best_s = max(program.operations / _RATE, program.bytes / _BANDWIDTH) + _LAUNCH_S
    liking = random.Random(f"device/{seed}")
    per_item, per_group = liking.uniform(3.0, 8.0), liking.uniform(3.0, 7.0)
    too_far = abs(math.log2(max(program.operations / (groups * group), 1.0)) - per_item)
    unlike = 1.0 + 0.4 * too_far + 0.15 * abs(math.log2(group) - per_group)
    return best_s * unlike * random.Random(f"{seed}/{artifact_key(program)}").uniform(0.9, 1.1)


def _enough(timing: Timing, samples: Sequence[float]) -> bool:
    if len(samples) == 1 and timing.stop_above_s is not None and samples[0] > timing.stop_above_s:
        return True
    return len(samples) >= timing.most or (len(samples) >= timing.least and sum(samples) >= timing.budget_s)


def _declared(item: MeasureInput) -> Verification:
    """As if every element had been compared with the reference."""
    written = [arg for arg in item.artifact.program.args if isinstance(arg, BufferArgument) and arg.written]
    elements = sum(lower(arg.length) for arg in written)
    return Verification("reference", elements, elements, Numerics.REORDERED)
