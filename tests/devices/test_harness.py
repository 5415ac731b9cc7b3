"""The harness notices what it is there for: wrong values, writes beside a buffer, changed inputs, hangs and crashes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from kernels import Program
from tests.devices.batch import batched
from tests.devices.check import Case, check, contents_before, make_case
from tests.devices.opencl import DeviceError, OpenCL
from tests.kernels.shown import kernel_of
from tests.made.reduces import reduced

#: 4 rows of 8 are summed into slot 1.
DOCUMENT = reduced((4, 8), (1,))


@pytest.fixture(scope="module")
def device() -> Iterator[OpenCL]:
    opened = OpenCL()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def right() -> tuple[Case, Program]:
    kernel = kernel_of(DOCUMENT)
    program = kernel.to_program()
    return make_case(kernel.ast, program.operations), program


def with_last(program: Program, statement: str) -> Program:
    """The program with a statement of its own at its end."""
    body, _, end = program.source.rpartition("}")
    return replace(program, source=f"{body}  {statement}\n}}{end}")


def test_check_finds_nothing_in_a_right_program(device: OpenCL, right: tuple[Case, Program]) -> None:
    assert check(device, *right) == []


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("p1[2] = p1[2] + 1.0f;", "slot 1, 1 of 4 elements wrong"),
        ("p1[2] = NAN;", "slot 1, 1 of 4 elements wrong"),
        ("p1[4] = 0.0f;", "slot 1: memory around the buffer was written"),
        ("p1[-1] = 0.0f;", "slot 1: memory around the buffer was written"),
        ("p1[32 + 600] = 0.0f;", "slot 1: memory around the buffer was written"),
        ("((__global float*)p0)[3] = 7.0f;", "slot 0: an input was changed"),
    ],
)
def test_check_finds(statement: str, complaint: str, device: OpenCL, right: tuple[Case, Program]) -> None:
    case, program = right
    found = check(device, case, with_last(program, statement))
    assert any(text.startswith(complaint) for text in found), found


def test_check_finds_an_element_that_is_not_written(device: OpenCL, right: tuple[Case, Program]) -> None:
    case, program = right
    before = contents_before(case, program)
    assert before[1].size == 4
    assert not np.isclose(before[1], case.expected[1].values).any()
    idle = replace(program, source=program.source.replace("p1[", "if (0) p1["))
    assert idle.source != program.source
    assert any("4 of 4 elements wrong" in text for text in check(device, case, idle))


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("volatile int spin = 1; while (spin) {}", "timeout"),
        ("p1[1L << 45] = 1.0f;", "crash"),
        ("this is no statement", "error"),
    ],
)
def test_device_says_what_went_wrong_and_goes_on(
    statement: str, kind: str, device: OpenCL, right: tuple[Case, Program]
) -> None:
    case, program = right
    with pytest.raises(DeviceError) as failed:
        check(device, case, with_last(program, statement), deadline_s=10.0)
    assert failed.value.kind == kind
    assert check(device, case, program) == []


def test_device_does_not_start_a_program_with_a_short_buffer(device: OpenCL, right: tuple[Case, Program]) -> None:
    case, program = right
    before = {**contents_before(case, program), 0: case.inputs[0][:-1]}
    with pytest.raises(DeviceError, match="slot 0 has 31 elements, and the program needs 32") as refused:
        device.run(program, before)
    assert refused.value.kind == "buffer"


def test_device_tells_results_that_are_not_steady(device: OpenCL, right: tuple[Case, Program]) -> None:
    case, program = right
    before = contents_before(case, program)
    assert device.run(program, before, repeats=3, steady=True).unsteady == ()
    growing = with_last(program, "p1[1] = ((__global float*)p0)[0]; ((__global float*)p0)[0] += 1.0f;")
    assert device.run(growing, before, repeats=3, steady=True).unsteady == (0, 1)


def test_batch_runs_each_program_as_it_is(device: OpenCL) -> None:
    """Also programs of one name, and with functions of their own."""
    document = reduced((6, 8), (1,), dtype="bfloat16")
    ways = [(), (("UPCAST", 0, 2),), (("UNROLL", 0, 4),), (("UPCAST", 0, 2),)]
    programs = [kernel_of(document, None, *opts).to_program() for opts in ways]
    assert sum("bf16_bits" in program.source for program in programs) == len(programs)
    together = batched(programs)
    (whole,) = {program.source for program in together}
    assert all(program.source in whole for program in programs)
    assert len({program.name for program in together}) == len(programs)
    case = make_case(kernel_of(document).ast, programs[0].operations)
    for program in together:
        assert check(device, case, program) == []
