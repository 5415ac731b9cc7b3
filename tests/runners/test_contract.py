"""The contract, kept by each implementation of Runner."""

from __future__ import annotations

import pytest

from runners.fake import FakeRunner
from tests.runners.contract import RunnerContract
from tests.runners.programs import declared_fault


class TestLocalRunner(RunnerContract):
    """On PoCL; the fixture is conftest's."""


class TestFakeRunner(RunnerContract):
    @pytest.fixture
    def runner(self) -> FakeRunner:
        return FakeRunner(noise=0.05, fault=declared_fault)
