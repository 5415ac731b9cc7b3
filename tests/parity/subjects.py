"""The kernels that parity is tested on, by name.

Three sets are stored, `corpus` (`gemm/01`), `made` (`reduce/arange_16`) and `scheduled` (`scheduled/max_pool/0`);
`random` (`random/7`) has one kernel for every seed.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path

from tests.made import MADE_FILE, SCHEDULED_FILE
from tests.made.build import Document
from tests.made.random_ast import random_ast

STORED = {
    "corpus": Path(__file__).parent.parent / "data" / "corpus" / "tinygrad-0.10.2.jsonl",
    "made": MADE_FILE,
    "scheduled": SCHEDULED_FILE,
}
SETS = (*STORED, "random")


@functools.cache
def stored(kind: str) -> Mapping[str, Document]:
    """The documents of a stored set, by name."""
    rows = (json.loads(line) for line in STORED[kind].read_text().splitlines())
    return {row["name"]: row["ast"] for row in rows}


def document(name: str) -> Document:
    """The document of that name, of whichever set."""
    if name.startswith("random/"):
        return built(int(name.removeprefix("random/")))
    return next(stored(kind)[name] for kind in STORED if name in stored(kind))


@functools.lru_cache(maxsize=256)
def built(seed: int) -> Document:
    """The random document of a seed; the last ones are kept, as they are wanted for one target after the other."""
    return random_ast(seed)


def name_of(kind: str, number: int) -> str:
    """The `number`th name of a set; a stored set starts again after its last."""
    if kind == "random":
        return f"random/{number}"
    names = list(stored(kind))
    return names[number % len(names)]
