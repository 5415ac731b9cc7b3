"""`python -m tests.made --write` writes the made kernels to tests/data/made; else it says whether they are current."""

from __future__ import annotations

import argparse
import sys

from tests.made import FOLDER, files


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.made", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the files instead of comparing with them")
    write = parser.parse_args().write
    out_of_date = 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for file, text in files().items():
        if write:
            file.write_text(text)
        current = file.exists() and file.read_text() == text
        out_of_date += not current
        state = "current" if current else "out of date: run python -m tests.made --write"
        print(f"{file.name}: {text.count(chr(10))} kernels, {state}")
    return 1 if out_of_date else 0


if __name__ == "__main__":
    sys.exit(main())
