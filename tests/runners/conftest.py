"""The device that runners are tested on: found once, and one runner for a file's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from runners.devices import FoundDevice, bundled_pocl, discover
from runners.local import LocalRunner


@pytest.fixture(scope="session")
def found() -> FoundDevice:
    """The PoCL of the requirements."""
    library = bundled_pocl()
    assert library is not None
    (device,) = [device for device in discover().devices if device.address.library == library]
    return device


@pytest.fixture(scope="module")
def runner(found: FoundDevice) -> Iterator[LocalRunner]:
    opened = LocalRunner(found.address, found.info)
    yield opened
    opened.close()
