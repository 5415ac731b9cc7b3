"""The fake runner as these tests want it: with latency models of their own, and all that it was asked for kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from math import prod

from kernels import Program
from runners.api import (
    BuildInput,
    BuildResult,
    DeviceIdentity,
    DeviceInfo,
    DeviceKind,
    DeviceLimits,
    Fingerprint,
    MeasureInput,
    MeasureResult,
    Outcome,
)
from runners.fake import FakeRunner

BUILD_S = 0.2


def device_info(kind: DeviceKind = DeviceKind.CPU, float_width: int = 16, compute_units: int = 2) -> DeviceInfo:
    return DeviceInfo(
        DeviceIdentity("opencl", "Test", f"fake {kind}", "", compute_units),
        Fingerprint("1", "1", "1"),
        DeviceLimits(1 << 33, 1 << 31, 1 << 16, (1024, 1024, 1024), 1024, False, True, float_width),
        kind,
    )


def luck(program: Program, seed: int = 0) -> float:
    """A time between 1 and 10 ms that depends on the source alone."""
    digest = hashlib.sha256(f"{seed} {program.source}".encode()).digest()
    return 1e-3 * 10 ** (int.from_bytes(digest[:4]) / 2**32)


def vectors_and_groups(program: Program) -> float:
    """A time that falls with the lanes of a work-item up to 64 and with the items of a work-group up to 16."""
    lanes = prod(
        opt.arg or 1 for opt in program.opts if opt.op.name in ("UPCAST", "UNROLL") and isinstance(opt.arg, int)
    )
    items = prod(program.local_size or (1, 1, 1))
    return 0.01 / min(lanes, 64) ** 0.5 / min(items, 16) ** 0.25 * (1 + 0.05 * luck(program) / 1e-2)


class FakeDevice(FakeRunner):
    """A fake runner that keeps what it was asked for.

    time_of: the true seconds of a program. fault_of, final_fault_of: how one ends where that is not well, in the search
    and in the final comparison. result_of: what to say instead of what was measured.

    build_items, measure_items: what was asked for, in order. compared: the sources of each final comparison.
    """

    def __init__(
        self,
        time_of: Callable[[Program], float] | None = None,
        *,
        noise: float = 0.0,
        seed: int = 0,
        fault_of: Callable[[Program], Outcome | None] | None = None,
        final_fault_of: Callable[[Program], Outcome | None] | None = None,
        result_of: Callable[[MeasureResult], MeasureResult] | None = None,
        info: DeviceInfo | None = None,
    ) -> None:
        super().__init__(
            info or device_info(),
            seed=seed,
            noise=noise,
            latency=time_of or luck,
            fault=self._fault_now,
            build_s=BUILD_S,
        )
        self._fault_of = fault_of
        self._final_fault_of = final_fault_of
        self._result_of = result_of
        self._in_turn = False
        self.build_items: list[BuildInput] = []
        self.measure_items: list[MeasureInput] = []
        self.compared: list[list[str]] = []

    def build(self, inputs: Sequence[BuildInput]) -> Iterator[BuildResult]:
        for item, result in zip(inputs, super().build(inputs), strict=True):
            self.build_items.append(item)
            yield result

    def measure(self, item: MeasureInput) -> MeasureResult:
        self.measure_items.append(item)
        result = super().measure(item)
        return result if self._result_of is None else self._result_of(result)

    def measure_in_turn(self, items: Sequence[MeasureInput], rounds: int) -> list[MeasureResult]:
        self.compared.append([item.artifact.program.source for item in items])
        self._in_turn = True
        results = super().measure_in_turn(items, rounds)
        self._in_turn = False
        return results

    def _fault_now(self, program: Program) -> Outcome | None:
        fault_of = self._final_fault_of if self._in_turn else self._fault_of
        return None if fault_of is None else fault_of(program)
