"""A workload's buffers on a device: what goes into them, and whether anything was written beside them.

Every buffer lies between guard bytes. They are noise, so that a program that reads them gives other values, and one
that copies beside its end changes them. An output holds poison before every run that is verified.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kernels import Ast, make_inputs
from kernels.dtypes import BOOL, DType
from kernels.ops import Ops
from kernels.reference.concrete import ConcreteAst
from kernels.reference.formats import Array, storage_type
from runners.api import DeviceInfo, DeviceKind, Outcome, OutcomeCode
from runners.backends.base import Memory, OpenDevice

#: On each side of every buffer. A multiple of every device's base alignment, so that a part may begin behind it.
GUARD_BYTES = 65536
#: What verification holds beside a device's own buffers: copies of what is read, and of what is written.
_HOST_COPIES_READ, _HOST_COPIES_WRITTEN = 3, 9
#: The share of a memory that may be used.
_SHARE = 0.8

Kind = Literal["normal", "extremes"]


@dataclass(frozen=True, slots=True)
class Slot:
    """A buffer of a kernel: as long as the AST declares it, or as what is reached where that is more or dynamic."""

    number: int
    dtype: DType
    elements: int
    read: bool
    written: bool

    @property
    def size_bytes(self) -> int:
        """Without guards."""
        return self.elements * self.dtype.itemsize


def slots_of(kernel: ConcreteAst) -> tuple[Slot, ...]:
    """The slots in order, as long as `make_inputs` and `expect` have them."""
    loaded = {kernel.slot(number) for number, node in enumerate(kernel.nodes) if node.op is Ops.LOAD}
    return tuple(
        Slot(
            number,
            facts.dtype,
            max(facts.reach, 1) if kernel.variables and number in loaded else max(facts.declared, facts.reach, 1),
            number in loaded,
            number in kernel.stores,
        )
        for number, facts in enumerate(kernel.slots)
    )


def memory_refusal(slots: Sequence[Slot], info: DeviceInfo) -> Outcome | None:
    """out_of_memory with the sizes where the workload does not fit; known before anything is allocated."""
    limits = info.limits
    guarded = {slot.number: slot.size_bytes + 2 * GUARD_BYTES for slot in slots}
    for slot in slots:
        if guarded[slot.number] > limits.max_alloc_bytes:
            return _no_room(
                f"slot {slot.number}", guarded[slot.number], "the device's largest buffer", limits.max_alloc_bytes
            )
    device = sum(guarded.values()) + sum(slot.size_bytes for slot in slots if slot.read and slot.written)
    if device > _SHARE * limits.memory_bytes:
        return _no_room("all buffers", device, f"{_SHARE:.0%} of the device's memory", _SHARE * limits.memory_bytes)
    host = _HOST_COPIES_READ * sum(slot.size_bytes for slot in slots if slot.read)
    host += _HOST_COPIES_WRITTEN * sum(slot.size_bytes for slot in slots if slot.written)
    host += device if info.kind is DeviceKind.CPU else 0
    there = _SHARE * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return _no_room("verification", host, f"{_SHARE:.0%} of this machine's memory", there) if host > there else None


def _no_room(what: str, size_bytes: float, where: str, there_bytes: float) -> Outcome:
    reason = f"{what} takes {size_bytes / 1e6:,.1f} MB, and {where} is {there_bytes / 1e6:,.1f} MB"
    return Outcome(OutcomeCode.OUT_OF_MEMORY, reason)


@dataclass(frozen=True, slots=True)
class InputSet:
    """What every slot holds before a run: its input, or poison."""

    kind: Kind
    inputs: Mapping[int, Array]

    def before(self, slot: Slot) -> Array:
        """As long as the slot, in storage form. Outputs are poisoned differently in the two sets."""
        if slot.number in self.inputs:
            return self.inputs[slot.number]
        dtype = storage_type(slot.dtype)
        byte = 0x5A if self.kind == "extremes" else 0x00 if slot.dtype is BOOL else 0xC3
        return np.broadcast_to(np.full(dtype.itemsize, byte, np.uint8).view(dtype), (slot.elements,))


def input_sets(ast: Ast, seed: int, variables: Mapping[str, int]) -> dict[Kind, InputSet]:
    """Both sets of a workload."""
    kinds: tuple[Kind, ...] = ("normal", "extremes")
    return {kind: InputSet(kind, make_inputs(ast, seed, variables, kind)) for kind in kinds}


class Buffers:
    """A workload's buffers on a device. Making them may raise OutOfMemoryError, everything else a BackendError."""

    def __init__(self, device: OpenDevice, slots: Sequence[Slot]) -> None:
        self.slots = tuple(slots)
        self._guarded = {slot.number: _Guarded(device, slot) for slot in slots}
        self._kept = {slot.number: device.allocate(slot.size_bytes) for slot in slots if slot.read and slot.written}
        self._loaded: InputSet | None = None

    def memories(self, numbers: Sequence[int]) -> tuple[Memory, ...]:
        """The buffers of some slots, as a program gets them."""
        return tuple(self._guarded[number].inner for number in numbers)

    def load(self, inputs: InputSet) -> None:
        """Write every buffer anew: inputs, and poison where there is none."""
        for slot in self.slots:
            self._guarded[slot.number].inner.write(inputs.before(slot))
        for number, kept in self._kept.items():
            kept.copy_from(self._guarded[number].inner)
        self._loaded = inputs

    def restore(self) -> None:
        """Undo what a run did to the buffers that it also reads, so that each timed run begins with the inputs."""
        for number, kept in self._kept.items():
            self._guarded[number].inner.copy_from(kept)

    def wrongly_written(self) -> str | None:
        """Where memory was written that is no output: around a buffer, or an input; None where that did not happen."""
        for slot in self.slots:
            if not self._guarded[slot.number].intact():
                return f"memory around slot {slot.number} was written"
        for slot in self.slots:
            if not slot.written and self._loaded is not None:
                before = np.ascontiguousarray(self._loaded.before(slot)).view(np.uint8)
                if not np.array_equal(self._guarded[slot.number].read(), before):
                    return f"slot {slot.number} is only read, and was changed"
        return None

    def outputs(self) -> Iterator[tuple[Slot, Array]]:
        """Each written slot with its contents, in storage form."""
        for slot in self.slots:
            if slot.written:
                yield slot, self._guarded[slot.number].read().view(storage_type(slot.dtype))


class _Guarded:
    """A buffer between guard bytes of its own noise."""

    def __init__(self, device: OpenDevice, slot: Slot) -> None:
        self._size = slot.size_bytes
        noise = np.random.PCG64([0x6BEA, slot.number]).random_raw(2 * GUARD_BYTES // 8).view(np.uint8)
        self._front, self._back = noise[:GUARD_BYTES], noise[GUARD_BYTES:]
        self._whole = device.allocate(GUARD_BYTES + self._size + GUARD_BYTES)
        self._whole.write(self._front)
        self._whole.write(self._back, GUARD_BYTES + self._size)
        self.inner = self._whole.part(GUARD_BYTES, self._size)

    def read(self) -> Array:
        return self.inner.read(self._size)

    def intact(self) -> bool:
        front = self._whole.read(GUARD_BYTES)
        back = self._whole.read(GUARD_BYTES, GUARD_BYTES + self._size)
        return np.array_equal(front, self._front) and np.array_equal(back, self._back)
