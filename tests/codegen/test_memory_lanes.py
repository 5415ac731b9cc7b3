"""Scalar arithmetic: which lanes are one access to memory all the same, and what that asks of a buffer."""

from __future__ import annotations

import re

import pytest

from kernels import Ast, BufferArgument, Kernel, Opt, OptOps, Program, build, opencl_target
from tests.codegen.subjects import TARGETS
from tests.devices.check import check, make_case
from tests.devices.opencl import OpenCL

VECTOR = re.compile(r"\*\(\(__global (?:const )?(\w+)\*\)")


def program_of(ast: Ast, *opts: Opt, cpu: bool = False) -> Program:
    kernel = Kernel(ast, TARGETS["cpu"] if cpu else opencl_target())
    for opt in opts:
        kernel.apply_opt(opt)
    return kernel.to_program()


def alignments(program: Program) -> dict[int, int]:
    return {arg.slot: arg.alignment for arg in program.args if isinstance(arg, BufferArgument)}


def added(dtype: str = "float32", size: int = 64) -> Ast:
    return build.elementwise((size,), lambda x, y: x + y, dtype, dtype)


def shifted() -> Ast:
    """out[i] = x[i + 1] + 1 for i < 8."""
    g = build.Graph()
    g.store(g.load("float32", (9,)).shrink((1, 9)) + 1.0)
    return g.build()


def padded() -> Ast:
    """x[6] with a zero on each side, + 1."""
    g = build.Graph()
    g.store(g.load("float32", (6,)).pad((1, 1)) + 1.0)
    return g.build()


@pytest.mark.parametrize(
    ("dtype", "amount", "kind", "size_bytes"),
    [("float32", 4, "float4", 16), ("float32", 2, "float2", 8), ("float32", 16, "float4", 16),
     ("float16", 8, "half8", 16), ("float64", 4, "double2", 16), ("bfloat16", 8, "ushort8", 16),
     ("int8", 16, "char16", 16), ("bool", 4, "uchar4", 4)],
)  # fmt: skip
def test_contiguous_lanes_are_one_aligned_access(dtype: str, amount: int, kind: str, size_bytes: int) -> None:
    program = program_of(added(dtype), Opt(OptOps.UPCAST, 0, amount))
    found = VECTOR.findall(program.source)
    lanes = int(re.sub(r"\D", "", kind))
    assert found == [kind] * (3 * amount // lanes)
    assert alignments(program) == dict.fromkeys((0, 1, 2), size_bytes)


def test_vectors_of_arithmetic_ask_for_no_alignment() -> None:
    program = program_of(added(), Opt(OptOps.UPCAST, 0, 4), cpu=True)
    assert VECTOR.findall(program.source) == []
    assert alignments(program) == dict.fromkeys((0, 1, 2), 4)


def test_a_processor_takes_lanes_together_wherever_they_begin(device: OpenCL) -> None:
    """Where its arithmetic is scalar: the gathered half of a transposed addition leaves no vectors to compute with."""
    ast = build.transpose_add(64, 64)
    kernel = Kernel(ast, TARGETS["cpu"])
    kernel.apply_opt(Opt(OptOps.UPCAST, 0, 2))
    program = kernel.to_program()
    assert program.source.count("= LOAD_float2(p") == 1 and "float2 v" in program.source
    assert alignments(program) == dict.fromkeys((0, 1, 2), 4)
    assert check(device, make_case(ast, 1000), program) == []


def test_lanes_that_begin_anywhere_are_loaded_alone() -> None:
    program = program_of(shifted(), Opt(OptOps.UPCAST, 0, 4))
    assert VECTOR.findall(program.source) == ["float4"]  # what is stored
    assert alignments(program) == {0: 16, 1: 4}


def test_lanes_of_which_some_are_invalid_are_loaded_alone() -> None:
    assert alignments(program_of(padded(), Opt(OptOps.UPCAST, 0, 4))) == {0: 16, 1: 4}


def test_rows_that_no_vector_divides_are_loaded_alone() -> None:
    ast = build.elementwise((6, 10), lambda x: x + 1.0)
    sliced = build.Graph()
    sliced.store(sliced.load("float32", (6, 10)).shrink((0, 6), (0, 4)) * 2.0)
    assert alignments(program_of(ast, Opt(OptOps.UPCAST, 0, 4))) == {0: 16, 1: 16}  # the rows are merged
    assert alignments(program_of(sliced.build(), Opt(OptOps.UPCAST, 1, 4))) == {0: 16, 1: 8}  # rows of 10


@pytest.mark.parametrize("amount", [2, 4, 8])
@pytest.mark.parametrize(
    "ast",
    [added(), shifted(), padded(), added("bfloat16"), added("bool"), added("float64"), added("int8")],
    ids=["added", "shifted", "padded", "bfloat16", "bool", "float64", "int8"],
)
def test_accesses_together_give_the_same_values(ast: Ast, amount: int, device: OpenCL) -> None:
    kernel = Kernel(ast, opencl_target(fp16=False))
    kernel.apply_opt(Opt(OptOps.UPCAST, 0, amount))
    assert check(device, make_case(ast, 1000), kernel.to_program()) == []
