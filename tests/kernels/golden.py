"""`python -m tests.kernels.golden --write` writes what tests compare with: the golden keys and the published schema."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from kernels.canonical import ast_key
from kernels.schema import json_schema
from kernels.wire import parse_ast
from tests.kernels.documents import DATA, corpus, hand_made

KEYS_FILE = DATA / "golden_keys.json"
SCHEMA_FILE = Path(__file__).parent.parent.parent / "docs" / "kernel-ast-1.schema.json"


def keys_text() -> str:
    """The keys of the corpus and of the documents by hand, by name."""
    documents = corpus() | {f"hand/{name}": made for name, made in hand_made().items()}
    return json.dumps({name: ast_key(parse_ast(made)) for name, made in documents.items()}, indent=1) + "\n"


def schema_text() -> str:
    """The published schema."""
    return json.dumps(json_schema(), indent=2) + "\n"


def main() -> int:
    """Write the files, or say which are out of date."""
    parser = argparse.ArgumentParser(prog="python -m tests.kernels.golden", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the files instead of comparing with them")
    write = parser.parse_args().write
    outdated = 0
    for path, text in ((KEYS_FILE, keys_text()), (SCHEMA_FILE, schema_text())):
        current = path.exists() and path.read_text() == text
        if write:
            path.write_text(text)
        outdated += not current and not write
        print(f"{path.name}: {'current' if current else 'written' if write else 'out of date'}")
    return 1 if outdated else 0


if __name__ == "__main__":
    sys.exit(main())
