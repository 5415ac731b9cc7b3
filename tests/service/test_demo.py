"""The demo as a user runs it, on kernels small enough for a test."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernels import build, dump_ast
from tests.service.servers import ROOT

RUN = """
import sys
from pathlib import Path
from service.demo import run_demo
sys.exit(run_demo({once}, 1.0, examples=Path({folder!r})))
"""


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    folder = tmp_path / "examples"
    folder.mkdir()
    (folder / "matmul-128.json").write_text(json.dumps(dump_ast(build.matmul(128, 128, 128))))
    (folder / "row-sum.json").write_text(json.dumps(dump_ast(build.reduce_rows("sum", 256, 256))))
    return folder


def demo(examples: Path, once: bool) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", RUN.format(once=once, folder=str(examples))],
        cwd=ROOT,
        env=os.environ | {"POCL_CACHE_DIR": str(examples.parent / "pocl"), "TMPDIR": str(examples.parent)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def processes_below(folder: Path) -> list[str]:
    """The command lines of processes that were started with `folder` in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_text().replace("\0", " "))
        except OSError:  # gone meanwhile, or another's
            continue
    return found


def test_demo_once_ends_with_the_table_and_leaves_nothing(examples: Path) -> None:
    process = demo(examples, once=True)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert re.search(r"^Page: +http://127\.0\.0\.1:\d+/$", output, re.MULTILINE)
    for name in ("matmul-128", "row-sum"):
        (row,) = re.findall(rf"^│ {name} .*$", output, re.MULTILINE)
        assert re.search(r"\d ms │ +\d+\.\d+ ms │ +\d+\.\d\d │", row), row
    assert processes_below(examples.parent) == []
    assert not list(examples.parent.glob("beamtune-demo-*"))


def test_demo_serves_its_page_until_it_is_ended(examples: Path) -> None:
    (examples / "row-sum.json").unlink()
    process = demo(examples, once=False)
    try:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        address = next(match[1] for line in lines if (match := re.match(r"The page: (\S+)", line)))
        page = subprocess.run(
            [sys.executable, "-c", f"import urllib.request as r; print(r.urlopen({address!r}, timeout=10).status)"],
            capture_output=True, text=True, timeout=30, check=True,
        )  # fmt: skip
        assert page.stdout.strip() == "200"
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    deadline = time.monotonic() + 10
    while processes_below(examples.parent):
        assert time.monotonic() < deadline, processes_below(examples.parent)
        time.sleep(0.1)


def test_demo_says_which_example_is_refused(examples: Path) -> None:
    (examples / "broken.json").write_text('{"format": "kernel-ast/1", "nodes": []}')
    process = demo(examples, once=True)
    output, _ = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "broken.json was refused" in output and "invalid_ast" in output
    assert processes_below(examples.parent) == []
