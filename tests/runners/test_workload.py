"""Buffers of a workload: their sizes, their poison, and what does not fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kernels import Kernel, build, parse_ast
from kernels.build import Graph
from kernels.reference.concrete import concrete_ast
from runners.api import DeviceInfo, DeviceKind, OutcomeCode
from runners.fake import FAKE_DEVICE
from runners.launch import artifact_key, launch_of, lowest_values
from runners.workload import GUARD_BYTES, input_sets, memory_refusal, slots_of
from runners.yardsticks import Yardstick, predicted_unoptimised_s, yardsticks_of
from tests.kernels.documents import corpus
from tests.runners.programs import program_of

MB = 1 << 20


def device(memory_bytes: int, max_alloc_bytes: int, kind: DeviceKind = DeviceKind.GPU) -> DeviceInfo:
    limits = replace(FAKE_DEVICE.limits, memory_bytes=memory_bytes, max_alloc_bytes=max_alloc_bytes)
    return replace(FAKE_DEVICE, limits=limits, kind=kind)


def test_slots_say_what_is_read_and_written_and_how_long_it_is() -> None:
    g = Graph()
    x = g.load("float32", (6, 4))
    y = g.load("int32", (6, 4))
    g.store(x + 1, at=x)
    g.store((x + 1).cast("int32") + y)
    slots = slots_of(concrete_ast(g.build(), {}))
    assert [(slot.number, slot.elements, slot.read, slot.written) for slot in slots] == [
        (0, 24, True, True),
        (1, 24, False, True),
        (2, 24, True, False),
    ]
    assert slots[0].size_bytes == 96


def test_slots_of_dynamic_kernels_follow_the_variables() -> None:
    ast = parse_ast(corpus()["symbolic/01"])
    lengths = []
    for pick in (min, max):
        values = {variable.name: pick(variable.min, variable.max) for variable in ast.variables}
        kernel = concrete_ast(ast, values)
        inputs = input_sets(ast, 0, values)["normal"].inputs
        for slot in slots_of(kernel):
            if slot.read:
                assert inputs[slot.number].size == slot.elements
        lengths.append([slot.elements for slot in slots_of(kernel)])
    assert lengths[0] != lengths[1]


@pytest.mark.parametrize(
    ("memory_bytes", "max_alloc_bytes", "word"),
    [(100 * MB, 7 * MB, "largest buffer"), (15 * MB, 100 * MB, "device's memory"), (100 * MB, 100 * MB, None)],
)
def test_memory_is_refused_with_sizes(memory_bytes: int, max_alloc_bytes: int, word: str | None) -> None:
    """8 MB are read and 8 MB written."""
    slots = slots_of(concrete_ast(build.elementwise((2 * MB,), lambda x: x + 1), {}))
    refusal = memory_refusal(slots, device(memory_bytes, max_alloc_bytes))
    if word is None:
        assert refusal is None
    else:
        assert refusal is not None
        assert refusal.code is OutcomeCode.OUT_OF_MEMORY
        assert word in refusal.reason
        assert "MB" in refusal.reason


def test_memory_counts_guards_and_what_is_kept_of_a_buffer_that_is_updated() -> None:
    g = Graph()
    x = g.load("float32", (2 * MB,))
    g.store(x + 1, at=x)
    slots = slots_of(concrete_ast(g.build(), {}))
    needed = 2 * 8 * MB + 2 * GUARD_BYTES
    assert memory_refusal(slots, device(int(needed / 0.8) + 8, 100 * MB)) is None
    assert memory_refusal(slots, device(int(needed / 0.8) - 8, 100 * MB)) is not None


def test_memory_of_this_machine_is_a_limit_as_well() -> None:
    """A petabyte on the device, and what verification copies of it here."""
    slots = slots_of(concrete_ast(build.elementwise((1 << 20, 1 << 19), lambda x: x + 1), {}))
    refusal = memory_refusal(slots, device(1 << 50, 1 << 50))
    assert refusal is not None
    assert "this machine's memory" in refusal.reason


def test_poison_differs_between_the_sets_for_every_dtype() -> None:
    """So that no right value can be there in both before the program has run."""
    for dtype in ("bool", "uint8", "int32", "float16", "bfloat16", "float32", "float64"):
        ast = build.elementwise((16,), lambda x, to=dtype: x.cast(to))
        (slot,) = (slot for slot in slots_of(concrete_ast(ast, {})) if slot.written)
        sets = input_sets(ast, 0, {})
        one, other = (sets[kind].before(slot) for kind in ("normal", "extremes"))
        assert one.size == other.size == 16
        assert one.nbytes == slot.size_bytes
        assert not np.any(one == other)


# ---- yardsticks ------------------------------------------------------------------------------------------------------


def test_yardstick_is_the_reference_where_that_is_cheap_and_else_a_program_that_is_fast_enough() -> None:
    reference = Yardstick("reference")
    assert yardsticks_of(build.matmul(128, 128, 128), FAKE_DEVICE)[0] == Yardstick("reference", beside_unoptimised=True)
    heuristic = Yardstick("heuristic")
    assert yardsticks_of(build.matmul(512, 512, 512), FAKE_DEVICE) == (Yardstick("unoptimised"), heuristic, reference)
    assert yardsticks_of(build.matmul(4096, 4096, 4096), FAKE_DEVICE) == (heuristic, reference)


def test_unoptimised_program_is_predicted_by_its_work_and_what_runs_at_once() -> None:
    """One sum of everything is one work-item, however many the device has."""
    wide, one = build.matmul(512, 512, 512), build.reduce_all("sum", (1 << 28,))
    operations = 1 << 28
    for ast, share in ((wide, 8), (one, 1)):
        kernel = Kernel(ast, FAKE_DEVICE.target)
        predicted = predicted_unoptimised_s(kernel, operations, FAKE_DEVICE)
        assert predicted == pytest.approx(operations / 2e8 / share)


# ---- launches --------------------------------------------------------------------------------------------------------


def test_launch_is_the_program_in_plain_numbers_at_its_values() -> None:
    ast = parse_ast(corpus()["symbolic/01"])
    program = program_of(ast, FAKE_DEVICE.target)
    low = launch_of(program, lowest_values(program))
    high = launch_of(program, {variable.name: variable.max for variable in ast.variables})
    assert low.key == high.key == artifact_key(program)
    assert low.values == tuple(variable.min for variable in ast.variables)
    assert all(
        isinstance(size, int) for size in (*low.items, *high.items, *(each for slot in high.slots for each in slot))
    )
    assert (low.items, low.slots) != (high.items, high.slots)


def test_launch_counts_work_items() -> None:
    kernel = Kernel(build.matmul(64, 64, 64), FAKE_DEVICE.target).default_opts()
    program = kernel.to_program()
    launch = launch_of(program, {})
    assert program.local_size is not None
    assert launch.items == tuple(
        groups * own for groups, own in zip(program.global_size, program.local_size, strict=True)
    )


def test_artifact_key_is_of_source_name_and_work_group() -> None:
    program = program_of(build.matmul(64, 64, 64), FAKE_DEVICE.target)
    keys = {
        artifact_key(each)
        for each in (
            program,
            replace(program, opts=()),
            replace(program, source=f"{program.source} "),
            replace(program, name="other"),
            replace(program, local_size=(2, 1, 1)),
        )
    }
    assert len(keys) == 4
