"""The kernels that parity is tested on, by name: `gemm/01` (corpus), `reduce/arange_16` (made), `random/7` (a seed)."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path

from tests.made import MADE_FILE
from tests.made.build import Document
from tests.made.random_ast import random_ast

CORPUS_FILE = Path(__file__).parent.parent / "data" / "corpus" / "tinygrad-0.10.2.jsonl"


@functools.cache
def stored(kind: str) -> Mapping[str, Document]:
    """The documents of the set `corpus` or `made`, by name."""
    file = {"corpus": CORPUS_FILE, "made": MADE_FILE}[kind]
    rows = (json.loads(line) for line in file.read_text().splitlines())
    return {row["name"]: row["ast"] for row in rows}


def document(name: str) -> Document:
    """The document of that name, of whichever set."""
    if name.startswith("random/"):
        return random_ast(int(name.removeprefix("random/")))
    return stored("corpus").get(name) or stored("made")[name]


def name_of(kind: str, number: int) -> str:
    """The `number`th name of a set; a stored set starts again after its last."""
    if kind == "random":
        return f"random/{number}"
    names = list(stored(kind))
    return names[number % len(names)]
