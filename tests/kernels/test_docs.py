"""docs/kernels.md: its Python runs, and its commands print what it says."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "docs" / "kernels.md").read_text()
# A Python block, and the indented lines after it that say what it prints.
PYTHON = re.compile(r"```python\n([^`]*)```\n((?:\n|    .*\n)*)")
CONSOLE = re.compile(r"```console\n\$ (.*?)\n(.*?)```", re.DOTALL)


def unindented(text: str) -> str:
    return "\n".join(line.removeprefix("    ") for line in text.strip("\n").splitlines())


def test_python_in_the_kernels_page_runs_and_prints_what_it_says() -> None:
    names: dict[str, Any] = {}
    blocks = PYTHON.findall(TEXT)
    assert len(blocks) >= 5
    for code, printed in blocks:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(code, names)  # noqa: S102 - the repository's own page
        assert output.getvalue().rstrip("\n") == unindented(printed)


def test_commands_in_the_kernels_page_print_what_it_says() -> None:
    commands = CONSOLE.findall(TEXT)
    assert len(commands) >= 2
    for command, printed in commands:
        python, *arguments = shlex.split(command)
        assert python == "python"
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        assert done.stdout == printed
