"""Kernels made for the tests, as `kernel-ast/1` documents.

`made` ones are built node by node, `scheduled` ones come out of tinygrad's scheduler, both kept in tests/data/made;
random ones (`tests.made.random_ast`) are built from a seed when they are wanted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tests.made import dynamic, elementwise, matmuls, reduces, views
from tests.made.build import Document
from tests.made.scheduled import scheduled_documents

FOLDER = Path(__file__).parent.parent / "data" / "made"
MADE_FILE = FOLDER / "made.jsonl"
SCHEDULED_FILE = FOLDER / "scheduled.jsonl"


def made_documents() -> dict[str, Document]:
    """Every kernel that is built node by node, built anew."""
    documents: dict[str, Document] = {}
    for module in (elementwise, reduces, matmuls, views, dynamic):
        for name, make in module.documents():
            assert name not in documents, name
            documents[name] = make()
    return documents


def lines(documents: Mapping[str, Document]) -> str:
    """The text of a file: one `{"name", "ast"}` a line, the form of the corpus."""
    rows = ({"name": name, "ast": document} for name, document in documents.items())
    return "".join(json.dumps(row, separators=(",", ":"), allow_nan=False) + "\n" for row in rows)


def files() -> dict[Path, str]:
    """The files of made kernels, and what they have to hold."""
    return {MADE_FILE: lines(made_documents()), SCHEDULED_FILE: lines(scheduled_documents())}
