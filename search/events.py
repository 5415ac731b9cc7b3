"""What a search says while it goes on. Whoever runs it stores, shows or forgets them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from kernels import Opt, Program
from runners.api import Verification
from search.trial import Trial


@dataclass(frozen=True, slots=True)
class TrialEnded:
    """A candidate was tried just now (none that was known from before)."""

    trial: Trial


@dataclass(frozen=True, slots=True)
class GenerationEnded:
    """A generation is through: the beam that the next one begins with, best first, with seconds.

    candidates: distinct kernels that there were; tried: those of them with a trial.
    """

    number: int
    beam: tuple[tuple[tuple[Opt, ...], float], ...]
    candidates: int
    tried: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The best opts found, measured in turn with the heuristic's at full size, verified.

    The pair of samples at one place was taken in one round. interval_s: a 95 % interval of the median time. ratio:
    median of (time / baseline) over the rounds, with its interval: below 1 is faster than the heuristic. Where the
    whole interval is not below 1, the answer is the heuristic itself (`is_heuristic`) and `reason` says so. portable:
    the opts replay within tinygrad 0.10's own limits. complete: False where budget or trials ran out with candidates
    left to try.
    """

    opts: tuple[Opt, ...]
    is_heuristic: bool
    program: Program
    time_s: float
    interval_s: tuple[float, float]
    samples_s: tuple[float, ...]
    baseline_opts: tuple[Opt, ...]
    baseline_s: float
    baseline_samples_s: tuple[float, ...]
    ratio: float
    ratio_interval: tuple[float, float]
    verification: Verification
    method: str
    portable: bool
    complete: bool
    reason: str


@dataclass(frozen=True, slots=True)
class SearchEnded:
    """The last event. answer: None where not even the unoptimised kernel could be measured; `reason` then says why.

    reason: why it ended. spent_s: seconds that the device was busy for all of it, the final comparison included.
    choosing_s: seconds of the clock that making, ranking and lowering candidates took.
    """

    answer: Answer | None
    reason: str
    spent_s: float
    choosing_s: float = 0.0


Event: TypeAlias = TrialEnded | GenerationEnded | SearchEnded
