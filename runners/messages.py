"""What a device's child is asked, and what it answers. Plain values, so that nothing of a kernel's identity is lost.

An AST goes as its wire form: element types are told apart by identity, which a copy in another process has not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from runners.api import DeviceInfo, Outcome, Timing, Verification
from runners.backends.base import Listed, RunTime
from runners.launch import Launch
from runners.yardsticks import Yardstick

#: What a child is at, while it works on a request. For each of them the parent has a deadline.
StageName: TypeAlias = Literal["start", "reference", "build", "launch", "verify", "run", "time"]


@dataclass(frozen=True, slots=True)
class Stage:
    """Said before a stage begins. extra_s: by how much it may last longer than its deadline says."""

    name: StageName
    extra_s: float = 0.0


# ---- requests --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListDevices:
    """Which devices does the driver show? Answered by a tuple of Listed."""


@dataclass(frozen=True, slots=True)
class OpenDevice:
    """Take a device into use and check it. Answered by Opened."""

    platform_index: int
    device_index: int


@dataclass(frozen=True, slots=True)
class Build:
    """Compile. Answered by Built."""

    launch: Launch


@dataclass(frozen=True, slots=True)
class Prepare:
    """Make a workload's inputs, buffers and standards, and forget those of others but `keep`. Answered by Prepared."""

    number: int
    document: dict[str, Any]
    variables: tuple[tuple[str, int], ...]
    seed: int
    yardstick: Yardstick
    keep: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Measure:
    """Verify on the prepared workload `number`, and time where `timing` is given. Answered by Measured."""

    number: int
    launch: Launch
    run_deadline_s: float
    timing: Timing | None


@dataclass(frozen=True, slots=True)
class JoinTurn:
    """Have a program that was verified run in turn with others, at a place of its own. Answered by RanInTurn."""

    place: int
    number: int
    launch: Launch


@dataclass(frozen=True, slots=True)
class RunInTurn:
    """Run the program at a place once. Answered by RanInTurn."""

    place: int


Request: TypeAlias = ListDevices | OpenDevice | Build | Prepare | Measure | JoinTurn | RunInTurn


# ---- answers ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Opened:
    """info: of the device, None where it cannot be used; `reason` then says why."""

    info: DeviceInfo | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Built:
    """build_s: seconds that the compiler took; 0.0 where the program was kept from before."""

    outcome: Outcome
    build_s: float


@dataclass(frozen=True, slots=True)
class Prepared:
    """ok, out_of_memory, or another outcome of a yardstick that did not serve."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Measured:
    """runs: those that were timed."""

    outcome: Outcome
    verification: Verification | None = None
    runs: tuple[RunTime, ...] = ()


@dataclass(frozen=True, slots=True)
class RanInTurn:
    """run: where the outcome is ok."""

    outcome: Outcome
    run: RunTime | None = None


Answer: TypeAlias = tuple[Listed, ...] | Opened | Built | Prepared | Measured | RanInTurn
