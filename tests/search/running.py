"""Searches as the tests run them: kernels to search, stored trials, and what a search said."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from kernels import Ast, Kernel, build, parse_ast
from runners.api import Workload
from search import Event, GenerationEnded, SearchEnded, SearchSettings, Trial, TrialEnded, search
from tests.search.fake_device import FakeDevice

CORPUS = Path(__file__).parent.parent / "data" / "corpus" / "tinygrad-0.10.2.jsonl"
MATMUL = build.matmul(64, 64, 64)
SMALL = SearchSettings(budget_s=1e6, max_trials=60, beam_width=3, max_depth=6, generation_trials=8, finalists=3)


@functools.cache
def corpus_ast(name: str) -> Ast:
    lines = (json.loads(text) for text in CORPUS.read_text().splitlines())
    return parse_ast(next(line["ast"] for line in lines if line["name"] == name))


@dataclass
class StoredTrials:
    """Trials by candidate key, as a database keeps them."""

    trials: dict[str, Trial] = field(default_factory=dict)
    asked: int = 0

    def find(self, candidate_key: str) -> Trial | None:
        self.asked += 1
        return self.trials.get(candidate_key)

    def add(self, trial: Trial) -> None:
        assert trial.candidate_key not in self.trials
        self.trials[trial.candidate_key] = trial


@dataclass(frozen=True)
class Said:
    """All events of a search."""

    events: tuple[Event, ...]

    @property
    def trials(self) -> list[Trial]:
        return [event.trial for event in self.events if isinstance(event, TrialEnded)]

    @property
    def generations(self) -> list[GenerationEnded]:
        return [event for event in self.events if isinstance(event, GenerationEnded)]

    @property
    def end(self) -> SearchEnded:
        event = self.events[-1]
        assert isinstance(event, SearchEnded)
        return event


def start(
    device: FakeDevice,
    ast: Ast = MATMUL,
    settings: SearchSettings = SMALL,
    trials: StoredTrials | None = None,
    clock: Callable[[], float] = lambda: 0.0,
) -> Iterable[Event]:
    kernel = Kernel(ast, device.device.target)
    return search(kernel, Workload(ast), device, device, trials or StoredTrials(), settings, clock)


def run(
    device: FakeDevice,
    ast: Ast = MATMUL,
    settings: SearchSettings = SMALL,
    trials: StoredTrials | None = None,
    clock: Callable[[], float] = lambda: 0.0,
) -> Said:
    return Said(tuple(start(device, ast, settings, trials, clock)))
