"""Kernels made for the tests, as `kernel-ast/1` documents: named ones (kept in tests/data/made) and random ones."""

from __future__ import annotations

import json
from pathlib import Path

from tests.made import dynamic, elementwise, matmuls, reduces, views
from tests.made.build import Document

MADE_FILE = Path(__file__).parent.parent / "data" / "made" / "made.jsonl"


def made_documents() -> dict[str, Document]:
    """Every named kernel, built anew."""
    documents: dict[str, Document] = {}
    for module in (elementwise, reduces, matmuls, views, dynamic):
        for name, make in module.documents():
            assert name not in documents, name
            documents[name] = make()
    return documents


def made_lines() -> str:
    """The text of `MADE_FILE`: one `{"name", "ast"}` a line, the form of the corpus."""
    rows = ({"name": name, "ast": document} for name, document in made_documents().items())
    return "".join(json.dumps(row, separators=(",", ":"), allow_nan=False) + "\n" for row in rows)
