"""`python -m tests.made --write` writes the made kernels to tests/data/made; else it says whether they are current."""

from __future__ import annotations

import argparse
import sys

from tests.made import MADE_FILE, made_lines


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.made", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the file instead of comparing with it")
    lines = made_lines()
    if parser.parse_args().write:
        MADE_FILE.parent.mkdir(parents=True, exist_ok=True)
        MADE_FILE.write_text(lines)
        print(f"{lines.count(chr(10))} kernels written")
        return 0
    current = MADE_FILE.exists() and MADE_FILE.read_text() == lines
    print("current" if current else "out of date: run python -m tests.made --write")
    return 0 if current else 1


if __name__ == "__main__":
    sys.exit(main())
