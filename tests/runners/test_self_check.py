"""The self-check tells a device that computes wrongly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from runners.api import DeviceInfo
from runners.backends.base import Memory, RunTime
from runners.errors import SelfCheckError
from runners.fake import FAKE_DEVICE
from runners.self_check import check_device


class HostMemory:
    """Bytes of this process."""

    def __init__(self, size_bytes: int) -> None:
        self.data = np.zeros(size_bytes, np.uint8)

    def write(self, data: Any, offset_bytes: int = 0) -> None:
        self.data[offset_bytes : offset_bytes + data.nbytes] = data.view(np.uint8)

    def read(self, size_bytes: int, offset_bytes: int = 0) -> Any:
        return self.data[offset_bytes : offset_bytes + size_bytes].copy()

    def copy_from(self, other: Memory) -> None:
        self.data[:] = other.read(self.data.size)

    def part(self, offset_bytes: int, size_bytes: int) -> Memory:
        raise NotImplementedError


class Built:
    work_group_max = 256
    shared_bytes = 0


class HostDevice:
    """Finds the least and greatest of the first numbers: of all that are asked for, or of at most so many."""

    def __init__(self, at_most: int) -> None:
        self.at_most = at_most
        self.group = 0

    @property
    def info(self) -> DeviceInfo:
        return FAKE_DEVICE

    def build(self, source: str, name: str) -> Built:
        assert name in source
        return Built()

    def allocate(self, size_bytes: int) -> HostMemory:
        return HostMemory(size_bytes)

    def run(
        self, executable: Any, items: Any, local_size: Any, buffers: Sequence[Memory], values: Sequence[int]
    ) -> RunTime:
        (count,) = values
        numbers = buffers[0].read(4 * min(count, self.at_most)).view(np.float32)
        buffers[1].write(np.array([numbers.min(), numbers.max()], np.float32))
        return RunTime(None, 0.001)


def test_self_check_passes_a_device_that_computes_rightly() -> None:
    check_device(HostDevice(at_most=10000))


@pytest.mark.parametrize("at_most", [1, 200, 4000])
def test_fault_b6_self_check_refuses_a_device_that_leaves_numbers_out(at_most: int) -> None:
    with pytest.raises(SelfCheckError, match="the device found"):
        check_device(HostDevice(at_most))
