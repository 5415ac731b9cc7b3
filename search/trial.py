"""`Trial`: a candidate and how it ended. Stored trials make a search go on where it was cut off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kernels import Opt
from runners.api import Numerics, Outcome


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate that was tried.

    generation: 0 for the heuristic and the unoptimised kernel, then from 1. candidate_key: names the program, so that
    two sequences of Opts that end in one program are one candidate. time_s: the median, where the outcome is ok.
    samples: how many times it was timed. spent_s: seconds that the device was busy for it, build_s of them building.
    """

    generation: int
    opts: tuple[Opt, ...]
    candidate_key: str
    outcome: Outcome
    time_s: float | None
    samples: int
    numerics: Numerics | None
    build_s: float
    spent_s: float


class TrialSource(Protocol):
    """The trials that are known already of the kernel, device and search at hand."""

    def find(self, candidate_key: str) -> Trial | None:
        """The trial of a candidate; None where it is still to be made."""
        ...
