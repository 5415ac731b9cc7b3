"""The devices that programs run on: one child process for each worker, started when a test first asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.devices.opencl import OpenCL, intel_library


@pytest.fixture(scope="session")
def device() -> Iterator[OpenCL]:
    opened = OpenCL()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def intel_device() -> Iterator[OpenCL]:
    library = intel_library()
    if library is None:
        pytest.skip("the optional package intel-opencl-rt is not installed")
    opened = OpenCL(library)
    yield opened
    opened.close()
