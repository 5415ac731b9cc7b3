"""What all tests share: the options of this test suite, and the tally of programs that ran on a device."""

from __future__ import annotations

import os

import pytest

from tests.codegen.tally import ProgramTally

# A PYTHON=python3 in the environment, meant for make, would be a device's number to tinygrad.
os.environ.pop("PYTHON", None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden sources anew (raise CODEGEN_VERSION first)"
    )


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # the reports of all workers come together in the main process
        config.pluginmanager.register(ProgramTally(), "program-tally")
