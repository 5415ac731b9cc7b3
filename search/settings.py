"""How much a search may spend, and how wide it looks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Effort(StrEnum):
    """How much device time a kernel is worth to whoever asks."""

    QUICK = "quick"
    NORMAL = "normal"
    THOROUGH = "thorough"


#: Seconds of a device that an effort stands for.
EFFORT_S = {Effort.QUICK: 5.0, Effort.NORMAL: 30.0, Effort.THOROUGH: 300.0}


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Bounds of one search.

    budget_s: seconds that a device may be busy, builds included and the final comparison left out. max_trials:
    candidates that may be built. beam_width: kernels that are kept of a generation. max_depth: Opts in a row.
    generation_trials: candidates that may be built in one generation. final_rounds: rounds of the final comparison.
    finalists: how many meet the heuristic there. action_set: the name and version of the actions tried.
    """

    budget_s: float
    max_trials: int = 1000
    beam_width: int = 4
    max_depth: int = 12
    generation_trials: int = 32
    finalists: int = 3
    final_rounds: int = 15
    action_set: str = "axes-1"


def settings_for(effort: Effort) -> SearchSettings:
    """The settings that an effort stands for."""
    generation_trials = {Effort.QUICK: 10, Effort.NORMAL: 24, Effort.THOROUGH: 64}[effort]
    width = {Effort.QUICK: 2, Effort.NORMAL: 4, Effort.THOROUGH: 8}[effort]
    return SearchSettings(EFFORT_S[effort], beam_width=width, generation_trials=generation_trials)
