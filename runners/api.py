"""What crosses between the search and the runners: values, and the protocols `Builder` and `Measurer`.

The search sees nothing else of a runner, so a stored history, a fake or a cluster can stand in for a device.
"""

from __future__ import annotations

import hashlib
import json
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from kernels import Ast, Program, Target, opencl_target

#: Local memory that a work-group may use on any OpenCL device: what tinygrad 0.10 counts with, so opts stay portable.
PORTABLE_SHARED_BYTES = 32768


class OutcomeCode(StrEnum):
    """How a candidate ended."""

    OK = "ok"
    ILLEGAL_OPT = "illegal_opt"
    OVER_DEVICE_LIMIT = "over_device_limit"
    BUILD_ERROR = "build_error"
    BUILD_TIMEOUT = "build_timeout"
    RUN_ERROR = "run_error"
    RUN_TIMEOUT = "run_timeout"
    OUT_OF_BOUNDS = "out_of_bounds"
    WRONG_RESULT = "wrong_result"
    INVALID_TIME = "invalid_time"
    OUT_OF_MEMORY = "out_of_memory"
    DEVICE_LOST = "device_lost"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a candidate ended, and why, for people (empty where all went well)."""

    code: OutcomeCode
    reason: str = ""

    @property
    def ok(self) -> bool:
        """True where the candidate did what was asked for."""
        return self.code is OutcomeCode.OK

    def __str__(self) -> str:
        return f"{self.code}: {self.reason}" if self.reason else str(self.code)


OK = Outcome(OutcomeCode.OK)


class DeviceKind(StrEnum):
    """What sort of device runs a program."""

    GPU = "gpu"
    CPU = "cpu"
    ACCELERATOR = "accelerator"


@dataclass(frozen=True, slots=True)
class DeviceIdentity:
    """What a kind of device is known by. Every machine that has one reads the same five values.

    arch: of a GPU ("sm_90"), where its driver tells; else empty. compute_units: multiprocessors, or a CPU's threads.
    """

    backend: str
    vendor: str
    name: str
    arch: str
    compute_units: int

    @property
    def device_key(self) -> str:
        """SHA-256 (hex) of the five values' canonical JSON; runs of spaces count as one, those at the ends as none."""
        document = {
            "arch": _collapsed(self.arch),
            "backend": self.backend,
            "compute_units": self.compute_units,
            "name": _collapsed(self.name),
            "vendor": _collapsed(self.vendor),
        }
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()


def _collapsed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What may change under a device without making it another one: versions, as its driver gives them."""

    driver: str
    platform: str
    compiler: str

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the canonical JSON."""
        document = {"compiler": self.compiler, "driver": self.driver, "platform": self.platform}
        return hashlib.sha256(json.dumps(document, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """What a device can do at most. Sizes in bytes; work-items per dimension with x first.

    max_alloc_bytes: of one buffer. float_width: lanes of its own float32 vectors, 1 where arithmetic is scalar.
    """

    memory_bytes: int
    max_alloc_bytes: int
    shared_max: int
    local_max: tuple[int, int, int]
    work_group_max: int
    fp16: bool
    fp64: bool
    float_width: int


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """One physical device as its runner sees it. unit: which one of several of the same identity on its host."""

    identity: DeviceIdentity
    fingerprint: Fingerprint
    limits: DeviceLimits
    kind: DeviceKind
    unit: int = 0

    @property
    def device_key(self) -> str:
        """The identity's key: what records are kept by."""
        return self.identity.device_key

    @property
    def target(self) -> Target:
        """What a code generator must know of it. Shared memory is held to what every dialect's opts may count with."""
        limits = self.limits
        return opencl_target(
            shared_max=min(limits.shared_max, PORTABLE_SHARED_BYTES),
            local_max=limits.local_max,
            work_group_max=limits.work_group_max,
            fp16=limits.fp16,
            fp64=limits.fp64,
            vector_widths=_vector_widths(limits.float_width),
        )


def _vector_widths(float_width: int) -> Mapping[str, int] | None:
    """Lanes of every dtype for a device whose float32 vectors have `float_width`; None where arithmetic is scalar."""
    if float_width <= 1:
        return None
    narrow = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "bfloat16", "float32")
    wide = ("int64", "uint64", "float64")
    return {**dict.fromkeys(narrow, float_width), **dict.fromkeys(wide, max(float_width // 2, 1))}


@dataclass(frozen=True, slots=True)
class Workload:
    """What is computed, whichever program does it: an AST, its variables' values, and the seed of its inputs.

    Values are pairs of (name, value), sorted by name.
    """

    ast: Ast
    variables: tuple[tuple[str, int], ...] = ()
    seed: int = 0


@dataclass(frozen=True, slots=True)
class BuildInput:
    """A program to compile, within `deadline_s` seconds of a compiler's time."""

    program: Program
    deadline_s: float = 20.0


@dataclass(frozen=True, slots=True)
class Artifact:
    """A program that was compiled: what a measurer of the same device takes. key: of source, entry point and target."""

    key: str
    program: Program


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What came of a BuildInput: an artifact where the outcome is ok. build_s: seconds that the compiler took."""

    outcome: Outcome
    artifact: Artifact | None
    build_s: float


@dataclass(frozen=True, slots=True)
class Timing:
    """When to stop repeating a run.

    A run is repeated until `budget_s` seconds of the device are used or `most` runs are made, but at least `least`
    times; already after the first where that took more than `stop_above_s`.
    """

    budget_s: float = 0.3
    least: int = 3
    most: int = 50
    stop_above_s: float | None = None


@dataclass(frozen=True, slots=True)
class MeasureInput:
    """An artifact to verify and then time on a workload at full size.

    launch_deadline_s: for its first launch, in which some drivers compile the rest. run_deadline_s: for any later run.
    """

    workload: Workload
    artifact: Artifact
    timing: Timing = Timing()
    launch_deadline_s: float = 30.0
    run_deadline_s: float = 10.0


@dataclass(frozen=True, slots=True)
class Measurement:
    """Seconds of each timed run, in order. method: how they were taken; times of two methods are never compared."""

    method: str
    samples_s: tuple[float, ...]

    @property
    def time_s(self) -> float:
        """The median."""
        return statistics.median(self.samples_s)


class Numerics(StrEnum):
    """How a program's outputs stand to the unoptimised kernel's, as observed over every element."""

    BIT_EXACT = "bit_exact"
    REORDERED = "reordered"
    LOWER_PRECISION = "lower_precision"


@dataclass(frozen=True, slots=True)
class Verification:
    """What a candidate's outputs were compared with: `elements` of `yardstick`, and `sampled` of the NumPy reference.

    elements: 0 where some output has none that can be compared (divisions by zero, say): then nothing was verified.
    yardstick: "reference", "unoptimised" or "heuristic".
    """

    yardstick: str
    elements: int
    sampled: int
    numerics: Numerics


@dataclass(frozen=True, slots=True)
class MeasureResult:
    """What came of a MeasureInput. A measurement is there where the outcome is ok. spent_s: the device was busy for it.

    verification: None where it did not come to that.
    """

    outcome: Outcome
    measurement: Measurement | None
    verification: Verification | None
    spent_s: float


class Builder(Protocol):
    """Compiles programs. Never raises for what a program does: a compiler that fails, hangs or dies is an outcome."""

    def build(self, inputs: Sequence[BuildInput]) -> Iterator[BuildResult]:
        """A result for each input, in their order, each as soon as it is known."""
        ...


class Measurer(Protocol):
    """Runs artifacts on one device. Never raises for what a program does: a hang, crash or wrong value is an outcome.

    Raises RunnerError where there is no device to run anything on any more.
    """

    @property
    def device(self) -> DeviceInfo:
        """The device that everything is run on."""
        ...

    def measure(self, item: MeasureInput) -> MeasureResult:
        """Verify an artifact and, if it is right, time it."""
        ...

    def measure_in_turn(self, items: Sequence[MeasureInput], rounds: int) -> list[MeasureResult]:
        """Verify all, then time those that are right in turn, once each a round: equal places in the samples are pairs.

        Each item's run deadline holds; its `timing` has no part in it, but the sum of all budgets ends the rounds early
        (after three at the earliest). A round in which one of them fails ends them all; its samples do not count.
        """
        ...


class Runner(Builder, Measurer, Protocol):
    """One device's builder and measurer."""

    def close(self) -> None:
        """Give the device back. Nothing of it is left behind."""
        ...
