"""The fault cases on a real device: every sequence of Opts that is accepted gives the right values.

Guard bytes lie around every buffer, so that a read beside it shows in the values, and one far away ends the child.
Legality, with the oracle's, is in tests/kernels/test_faults.py. A sequence runs on this device's own target, which has
no tensor cores; what a case asks of another target's limits is in test_lowering.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import pytest

from kernels import Ast, BufferArgument, Kernel, KernelOptError, Program, ProgramError, Target, opencl_target, parse_ast
from kernels.dtypes import FLOAT16
from kernels.ir import BufferArg
from kernels.reference.formats import storage_type
from tests.devices.opencl import DeviceError, OpenCL, Ran
from tests.kernels.fault_cases import FaultCase, Run, fault_cases
from tests.kernels.shown import opt
from tests.made.reduces import reduced
from tests.oracle import OptTriple

Opts: TypeAlias = tuple[OptTriple, ...]

RUNNABLE = [case for case in fault_cases() if case.runs]
HALVES = [case for case in RUNNABLE if any(node.get("dtype") == "float16" for node in case.document["nodes"])]
SEQUENCES = [
    pytest.param(case, opts, id=f"{case.name}: {'+'.join(str(opt(*o)) for o in opts) or 'no Opts'}")
    for case in RUNNABLE
    if case not in HALVES
    for opts in dict.fromkeys([(), *case.opts])
]


def named(label: str) -> list[FaultCase]:
    return [case for case in RUNNABLE if case.label == label]


def shaped(case: FaultCase, opts: Opts, target: Target) -> Kernel:
    """The kernel after `opts`. Raises KernelOptError."""
    kernel = Kernel(parse_ast(case.document), target)
    for triple in opts:
        kernel.apply_opt(opt(*triple))
    return kernel


def buffers_of(ast: Ast, run: Run) -> dict[int, np.ndarray]:
    """The run's inputs, and outputs full of values that no kernel writes by accident, as long as they are expected."""
    found: dict[int, np.ndarray] = {}
    for node in ast.nodes:
        if isinstance(node.arg, BufferArg) and node.dtype is not None:
            kind, slot = storage_type(node.dtype), node.arg.slot
            size = run.expected[slot].size if slot in run.expected else node.arg.size
            poison = np.full(size * kind.itemsize, 0x5A, np.uint8).view(kind)
            found[slot] = np.ascontiguousarray(run.inputs[slot]).ravel() if slot in run.inputs else poison
    return found


def assert_right(run: Run, ran: Ran, program: Program, before: Mapping[int, np.ndarray]) -> None:
    assert ran.broken == (), "memory around these slots was written"
    for arg in program.args:
        if isinstance(arg, BufferArgument) and not arg.written:
            assert ran.outputs[arg.slot].tobytes() == before[arg.slot].tobytes(), "an input was changed"
    for slot, expected in run.expected.items():
        found, wanted = ran.outputs[slot], expected.ravel()
        if run.tolerance:
            np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=run.tolerance)
        else:
            np.testing.assert_array_equal(found, wanted)


def run_all(case: FaultCase, opts: Opts, device: OpenCL, offset_bytes: int = 0) -> None:
    """Every run of a case with `opts` on `device`."""
    kernel = shaped(case, opts, device.target())
    program = kernel.to_program()
    for run in case.runs:
        before = buffers_of(kernel.ast, run)
        ran = device.run(program, before, run.variables, offset_bytes=offset_bytes)
        assert_right(run, ran, program, before)


@pytest.mark.parametrize(("case", "opts"), SEQUENCES)
def test_fault_programs_give_the_right_values(case: FaultCase, opts: Opts, device: OpenCL) -> None:
    try:
        shaped(case, opts, device.target())
    except KernelOptError:
        # Refusing is right, and what may be refused is held against the oracle in tests/kernels: here only that what
        # must be accepted everywhere, no Opts at all, is not lost this way.
        assert opts
        return
    run_all(case, opts, device)


@pytest.mark.parametrize("case", [case for case in RUNNABLE if case not in HALVES], ids=lambda case: case.name)
def test_fault_programs_of_the_heuristic_give_the_right_values(case: FaultCase, device: OpenCL) -> None:
    kernel = shaped(case, (), device.target()).default_opts()
    program = kernel.to_program()
    for run in case.runs:
        before = buffers_of(kernel.ast, run)
        assert_right(run, device.run(program, before, run.variables), program, before)


def test_most_fault_opts_are_accepted_by_this_device(device: OpenCL) -> None:
    accepted = 0
    for parameters in SEQUENCES:
        case, opts = parameters.values
        try:
            shaped(case, opts, device.target())
            accepted += 1
        except KernelOptError:
            pass
    assert accepted >= 0.75 * len(SEQUENCES)


# ---- single faults ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "opts",
    [
        (("GROUPTOP", 0, 256),),
        (("GROUP", 0, 64),),
        (("GROUP", 0, 16), ("GROUP", 1, 16)),
        (("GROUPTOP", 0, 8), ("GROUPTOP", 1, 32), ("UPCAST", 0, 2)),
    ],
)
def test_fault_b2_repeats_give_the_same_bytes(opts: Opts, device: OpenCL) -> None:
    """The case's own 256 by 256 work-items need more shared memory than there is; these are accepted."""
    (case,) = named("B2")
    (run,) = case.runs
    kernel = shaped(case, opts, device.target())
    program = kernel.to_program()
    assert "barrier(" in program.source
    before = buffers_of(kernel.ast, run)
    ran = device.run(program, before, repeats=1000, deadline_s=120.0, steady=True)
    assert len(ran.times_s) == 1000
    assert ran.unsteady == ()
    assert_right(run, ran, program, before)


@pytest.mark.parametrize("opts", [(), (("GROUPTOP", 0, 29), ("PADTO", 0, 32)), (("PADTO", 0, 32), ("UPCAST", 0, 4))])
def test_fault_a6_nothing_is_written_behind_the_last_element(opts: Opts, device: OpenCL) -> None:
    (case,) = named("A6")
    run_all(case, opts, device)


def test_fault_c6_buffer_that_is_too_short_is_not_launched(device: OpenCL) -> None:
    (case,) = (case for case in fault_cases() if case.label == "C6" and "leave" in case.about)
    ast = parse_ast(case.document)
    assert ast.size_unproven
    program = Kernel(ast, device.target()).to_program()
    written = next(arg for arg in program.args if isinstance(arg, BufferArgument) and arg.written)
    (variable,) = ast.variables
    sizes = {node.arg.slot: node.arg.size for node in ast.nodes if isinstance(node.arg, BufferArg)}
    buffers = {
        arg.slot: np.zeros(sizes[arg.slot], storage_type(arg.dtype))
        for arg in program.args
        if isinstance(arg, BufferArgument)
    }
    device.run(program, buffers, {variable.name: variable.min})
    with pytest.raises(DeviceError, match=f"slot {written.slot} has") as refused:
        device.run(program, buffers, {variable.name: variable.max})
    assert refused.value.kind == "buffer"


@pytest.mark.parametrize("opts", [(), (("UPCAST", 0, 4),), (("UPCAST", 0, 8),)])
def test_fault_d3_vectors_need_no_alignment_beyond_an_elements(opts: Opts, device: OpenCL) -> None:
    (case,) = named("D3")
    run_all(case, opts, device, offset_bytes=4)
    program = shaped(case, opts, device.target()).to_program()
    assert all(arg.alignment == 4 for arg in program.args if isinstance(arg, BufferArgument))


@pytest.mark.parametrize("case", HALVES, ids=lambda case: case.name)
def test_fault_d4_halves_are_one_clear_refusal_where_there_are_none(case: FaultCase, device: OpenCL) -> None:
    target = device.target()
    assert not target.fp16
    for opts in ((), *case.opts):
        try:
            kernel = shaped(case, opts, target)
        except KernelOptError:
            continue
        with pytest.raises(ProgramError) as refused:
            kernel.to_program()
        assert refused.value.limit == "fp16"
        assert "float16" in str(refused.value)


def test_fault_d4_extension_is_enabled_although_no_scalar_half_occurs() -> None:
    for case in named("D4"):
        program = shaped(case, (("UPCAST", 0, 4),), opencl_target(fp16=True)).to_program()
        assert program.source.startswith("#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n")
        assert any(isinstance(arg, BufferArgument) and arg.dtype is FLOAT16 for arg in program.args)


def test_fault_d5_slots_stay_where_they_are_when_a_buffer_folds_away(device: OpenCL) -> None:
    (case,) = named("D5")
    for opts in ((), *case.opts):
        program = shaped(case, opts, device.target()).to_program()
        assert [arg.slot for arg in program.args if isinstance(arg, BufferArgument)] == [0, 1, 2]


def test_fault_e11_maximum_with_nan_is_the_other_value_under_every_opt(device: OpenCL) -> None:
    """More elements than the case has, NaN in every place, and each way to reduce."""
    document = reduced((3, 16), (1,), "MAX")
    values = np.arange(48, dtype=np.float32).reshape(3, 16) - 30
    values[0, ::2] = np.nan
    values[1, 15] = np.nan
    values[2, 1:] = np.nan
    run = Run({0: values}, {1: np.array([-15, 0, 2], np.float32)})
    case = FaultCase("E11", "rows of NaN", document, runs=(run,))
    ways: list[Opts] = [(), (("UNROLL", 0, 0),), (("UNROLL", 0, 4),), (("GROUP", 0, 4),), (("GROUPTOP", 0, 8),),
                        (("UPCAST", 0, 0), ("UNROLL", 0, 8)), (("GROUP", 0, 2), ("UNROLL", 1, 4))]  # fmt: skip
    for opts in ways:
        run_all(case, opts, device)
