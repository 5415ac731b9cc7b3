"""The same kernel has the same source in every process, whatever its hash seed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from kernels import ProgramError
from tests.codegen.subjects import TARGETS, documents, kernel_of
from tests.codegen.walks import random_walk

ROOT = Path(__file__).parent.parent.parent
PROCESSES = 8


def digest_of_all() -> tuple[int, str]:
    """(how many sources, a digest of them): each corpus kernel with the heuristic's Opts and after a walk."""
    found = hashlib.sha256()
    count = 0
    for name in documents():
        if not name.startswith("corpus/"):
            continue
        kernel = kernel_of(name, TARGETS["cpu"])
        for shaped in (kernel.copy().default_opts(), random_walk(kernel, name)):
            try:
                source = shaped.to_program().source
            except ProgramError as error:
                source = str(error)
            found.update(f"{name}\n{source}\n".encode())
            count += 1
    return count, found.hexdigest()


def test_sources_are_the_same_in_processes_with_other_hash_seeds() -> None:
    text = "from tests.codegen.test_determinism import digest_of_all; print(*digest_of_all())"
    answers = set()
    for first in range(0, PROCESSES, 2):  # two at a time
        started = [
            subprocess.Popen(
                [sys.executable, "-c", text],
                cwd=ROOT,
                env={**os.environ, "PYTHONHASHSEED": str(seed * 7919)},
                stdout=subprocess.PIPE,
                text=True,
            )
            for seed in (first, first + 1)
        ]
        for process in started:
            output, _ = process.communicate(timeout=120)
            assert process.returncode == 0
            answers.add(output.strip())
    corpus = sum(name.startswith("corpus/") for name in documents())
    assert len(answers) == 1, "sources depend on the hash seed"
    assert answers.pop().startswith(f"{2 * corpus} ")
