"""What a program is beside its source: limits, launch, arguments, estimates. And the index arithmetic in its text."""

from __future__ import annotations

import itertools
from collections import Counter
from math import prod

import numpy as np
import pytest

from kernels import (
    BufferArgument,
    Kernel,
    Opt,
    OptOps,
    ProgramError,
    Target,
    VariableArgument,
    cuda_target,
    opencl_target,
    parse_ast,
)
from kernels.index import Atom, Axis, Index, Var, evaluate_index, single
from kernels.index_rules import floordiv, mod
from kernels.lowering import lower
from kernels.lowering.integers import Integers, is_wide
from kernels.lowering.launch import Launch, launch_of
from kernels.lowering.scope import Scope
from kernels.state import KernelState
from tests.codegen.subjects import TARGETS, documents, kernel_of
from tests.codegen.walks import random_walk
from tests.devices.check import check, make_case
from tests.devices.opencl import OpenCL
from tests.kernels.faults.indexing import plus_one
from tests.kernels.shown import kernel_of as kernel_after
from tests.made.build import Build, Document
from tests.made.dynamic import reduce_length
from tests.made.elementwise import long_chain
from tests.made.reduces import reduced


def refused_for(kernel: Kernel) -> str:
    """The limit that is in the way of a kernel's program."""
    with pytest.raises(ProgramError) as refused:
        kernel.to_program()
    assert refused.value.message
    assert refused.value.code == "over_device_limit"
    return refused.value.limit


# ---- limits ----------------------------------------------------------------------------------------------------------


def test_lanes_are_refused_above_4096_and_not_before() -> None:
    lanes = (("UPCAST", 0, 16), ("UPCAST", 1, 16), ("UNROLL", 0, 16))
    assert kernel_after(documents()["corpus/gemm/01"], None, *lanes).to_program().opts
    more = kernel_after(documents()["corpus/gemm/01"], None, *lanes, ("UNROLL", 0, 2))
    assert refused_for(more) == "lanes"


def test_work_group_is_refused_above_the_targets_limit() -> None:
    target = opencl_target(work_group_max=64)
    document = documents()["corpus/gemm/01"]
    assert kernel_after(document, target, ("LOCAL", 0, 8), ("LOCAL", 1, 8)).to_program().local_size == (8, 8, 1)
    assert refused_for(kernel_after(document, target, ("LOCAL", 0, 8), ("LOCAL", 1, 16))) == "work_group_max"


def test_work_group_is_refused_above_a_limit_of_one_dimension() -> None:
    target = opencl_target(local_max=(4, 1024, 1024))
    assert refused_for(kernel_after(documents()["corpus/gemm/01"], target, ("LOCAL", 0, 8))) == "local_max"


def test_shared_memory_of_the_program_is_refused_above_the_targets_limit() -> None:
    """Two reduces with a group axis each need memory for both, which the Opts' own check does not count."""
    document = documents()["made/reduce/variance_rows_4x1024"]
    opts = (("GROUP", 0, 16), ("GROUP", 1, 16))
    fits = kernel_after(document, opencl_target(shared_max=4096), *opts).to_program()
    needed = fits.shared_bytes
    assert needed > 1024
    assert kernel_after(document, opencl_target(shared_max=needed), *opts).to_program().shared_bytes == needed
    assert refused_for(kernel_after(document, opencl_target(shared_max=needed - 1), *opts)) == "shared_max"


def test_shared_bytes_are_those_of_the_arrays_in_the_source() -> None:
    program = kernel_after(documents()["corpus/reduce/01"], None, ("GROUP", 0, 16)).to_program()
    assert program.source.count("__local") == 1
    assert "__local float" in program.source
    assert "[16]" in program.source
    assert program.shared_bytes == 64
    assert kernel_after(documents()["corpus/reduce/01"]).to_program().shared_bytes == 0


def test_source_is_refused_above_its_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = kernel_after(long_chain(300))
    size = len(kernel.to_program().source)
    monkeypatch.setattr(lower, "SOURCE_MAX", size)
    assert kernel.to_program().source
    monkeypatch.setattr(lower, "SOURCE_MAX", size - 1)
    assert refused_for(kernel) == "source"


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_floats_that_the_target_does_not_compute_are_refused(dtype: str) -> None:
    limit = {"float16": "fp16", "float64": "fp64"}[dtype]
    document = reduced((4, 8), (1,), dtype=dtype)
    assert refused_for(kernel_after(document, opencl_target(**{limit: False}))) == limit
    source = kernel_after(document, opencl_target()).to_program().source
    assert source.startswith(f"#pragma OPENCL EXTENSION cl_khr_{limit} : enable\n")


# ---- launch ----------------------------------------------------------------------------------------------------------


def in_order(state: KernelState) -> tuple[int, ...]:
    """The places of local and group axes as they come."""
    return tuple(range(state.n_global, state.first_loop))


def positions_of(launch: Launch, values: dict[str, int]) -> list[tuple[int, ...]]:
    """The launched axes' positions (by id, in order) in every work-item of a launch."""
    own: dict[Atom, int] = {Var(name, 0, 2**20): value for name, value in values.items()}
    groups = [evaluate_index(size, own) for size in launch.global_size]
    local = launch.local_size or (1, 1, 1)
    found = []
    for group in itertools.product(*(range(size) for size in groups)):
        for item in itertools.product(*(range(size) for size in local)):
            ids: dict[Atom, int] = dict(own)
            for variable, kind, dimension in launch.ids:
                ids[variable] = item[dimension] if kind == "item" else group[dimension]
            found.append(tuple(evaluate_index(launch.positions[axis], ids) for axis in sorted(launch.positions)))
    return found


SMALL_LAUNCHES = [
    ((6, 4), [], None),
    ((6, 4), [("LOCAL", 0, 2)], None),
    ((3, 4, 5, 6), [("LOCAL", 3, 3), ("LOCAL", 0, 3)], None),
    ((2, 3, 2, 5, 2), [("LOCAL", 4, 2), ("LOCAL", 3, 5), ("LOCAL", 1, 3), ("LOCAL", 0, 2)], None),
    ((2, 3, 2, 5, 2), [("SWAP", 0, 3), ("LOCAL", 0, 5)], None),
    ((2, 3, 2, 5, 2), [("NOLOCALS", None, None)], None),
    ((7, 5), [("PADTO", 0, 4), ("LOCAL", 0, 2)], None),
    ((60, 7), [], (16, 16, 16)),
    ((8, 9, 10), [], (12, 12, 12)),
    ((8, 9, 10), [("LOCAL", 2, 5)], (6, 12, 4)),
    ((2, 2, 2, 2, 2, 2), [], (4, 4, 4)),
]


def spread_over(shape: tuple[int, ...]) -> Document:
    """A copy whose axes stay apart: the input lies in memory the other way round."""
    return plus_one(shape, apart=True)


@pytest.mark.parametrize(("shape", "opts", "global_max"), SMALL_LAUNCHES)
def test_launch_covers_every_position_once(
    shape: tuple[int, ...], opts: list[tuple[str, int, int]], global_max: tuple[int, int, int] | None
) -> None:
    target = opencl_target(**({} if global_max is None else {"global_max": global_max}))
    kernel = kernel_after(spread_over(shape), target, *opts)
    launch = launch_of(kernel.state, target, in_order(kernel.state))
    state = kernel.state
    launched = sorted(zip(state.ids[: state.first_loop], state.sizes, strict=False))
    assert sorted(launch.positions) == [axis for axis, _ in launched]
    found = Counter(positions_of(launch, {}))
    assert set(found) == set(itertools.product(*(range(size) for _, size in launched if isinstance(size, int))))
    assert set(found.values()) == {1}
    assert all(size <= most for size, most in zip(launch.global_size, target.global_max, strict=True))


def test_launch_has_group_axes_among_its_work_items() -> None:
    kernel = kernel_after(reduced((6, 8, 4), (1, 2)), None, ("LOCAL", 0, 3), ("GROUP", 0, 4))
    launch = launch_of(kernel.state, kernel.target, in_order(kernel.state))
    assert launch.local_size is not None
    assert prod(launch.local_size) == 12
    assert Counter(positions_of(launch, {})) == Counter(itertools.product(range(2), range(3), range(4)))


@pytest.mark.parametrize("length", [1, 3, 8])
def test_launch_of_a_dynamic_size_covers_every_position_once(length: int) -> None:
    b = Build()
    i = b.variable("i", 1, 8)
    source, out = b.buffer("float32", (5, i)), b.buffer("float32", (i, 5))
    b.store(b.load(source, source.tracker.permute((1, 0))), out)
    kernel = kernel_after(b.document())
    launch = launch_of(kernel.state, kernel.target, in_order(kernel.state))
    (variable,) = kernel.ast.variables
    values: dict[Atom, int] = {Var(variable.name, variable.min, variable.max): length}
    fixed = Launch(*(tuple(evaluate_index(size, values) for size in launch.global_size),), *_rest(launch))  # type: ignore[arg-type]
    assert Counter(positions_of(fixed, {})) == Counter(itertools.product(range(length), range(5)))


def _rest(launch: Launch) -> tuple[object, ...]:
    return launch.local_size, launch.positions, launch.ids, launch.loops


@pytest.mark.parametrize(
    ("apart", "opts"),
    [
        (False, []),
        (False, [("PADTO", 0, 32)]),
        (True, []),
        (True, [("PADTO", 0, 32)]),
        (True, [("PADTO", 2, 8)]),
        (True, [("LOCAL", 0, 16), ("PADTO", 0, 64)]),
    ],
)
def test_fault_c5_launch_stays_within_cudas_limits(apart: bool, opts: list[tuple[str, int, int]]) -> None:
    target = cuda_target("sm_80")
    kernel = kernel_after(plus_one((70000, 3, 5), apart), target, *opts)
    launch = launch_of(kernel.state, target, in_order(kernel.state))
    x, y, z = launch.global_size
    assert isinstance(y, int)
    assert isinstance(z, int)
    assert y <= 65535
    assert z <= 65535
    assert x * y * z == prod(size for size in kernel.full_shape[: kernel.global_dims] if isinstance(size, int))


def test_launch_that_fits_nowhere_is_refused() -> None:
    kernel = kernel_after(spread_over((11, 13)), opencl_target(global_max=(4, 4, 4)))
    with pytest.raises(ProgramError) as refused:
        launch_of(kernel.state, kernel.target, ())
    assert refused.value.limit == "global_max"


def test_launch_without_work_groups_is_one_work_item_that_loops(device: OpenCL) -> None:
    for name in (
        "corpus/reduce/05",
        "made/views/five_axes_padded",
        "made/dynamic/two_variables",
        "made/conv/1_4_16_20_5_1_2_float32",
    ):
        for target in (TARGETS["no_local"], opencl_target(fp16=False, has_local=False, vector_widths={"float32": 8})):
            kernel = kernel_of(name, target)
            for shaped in (kernel, kernel.copy().default_opts(), random_walk(kernel, name)):
                program = shaped.to_program()
                assert (program.global_size, program.local_size) == ((1, 1, 1), (1, 1, 1))
                assert "get_" not in program.source
                assert check(device, make_case(kernel.ast, program.operations), program) == []


def test_vector_of_which_one_lane_is_never_valid_is_not_loaded_as_a_whole(device: OpenCL) -> None:
    """The first of three windows begins in the padding, so that its first lane is 0 everywhere."""
    kernel = kernel_of("corpus/resnet_train/56", device.target())
    kernel.apply_opt(Opt(OptOps.UPCAST, 3, 0))
    program = kernel.to_program()
    assert "(float4)(0.0f, (" in program.source
    assert check(device, make_case(kernel.ast, program.operations), program) == []


# ---- index arithmetic ------------------------------------------------------------------------------------------------


def test_positions_are_64_bits_only_where_32_can_overflow() -> None:
    """x of 2^16 by 2^16 elements, of which the last row and column are copied."""
    narrow, wide = far_apart(2**14), far_apart(2**17)
    assert "long" not in kernel_after(narrow).to_program().source
    assert "long" in kernel_after(wide).to_program().source


def far_apart(row: int) -> Document:
    """Elements of a matrix of `row` by `row` elements, a column of it."""
    b = Build()
    source = b.buffer("float32", (row, row))
    b.store(b.load(source, source.tracker.shrink(((0, row), (7, 8)))))
    return b.document()


def text_of(value: Index) -> str:
    return Integers(frozenset()).expression(value)


@pytest.mark.parametrize(
    ("coefficient", "wide"),
    [(1, False), (2**20, False), (2**21 - 1, False), (2**21, True), (2**31, True), (-(2**22), True)],
)
def test_expression_is_wide_exactly_where_32_bits_can_overflow(coefficient: int, wide: bool) -> None:
    value = single(Var("x", 0, 1024)) * coefficient
    assert is_wide(value) is wide
    assert ("long" in text_of(value)) is wide


def test_expression_is_wide_where_only_an_intermediate_can_overflow() -> None:
    value = mod(single(Var("x", 0, 2**20)) * 2**12 + single(Var("y", 0, 5)), 1_000_003)
    assert is_wide(value)
    assert "long" in text_of(value)


DIVISIONS = [(-17, 16, 4), (-100, -1, 7), (-12, 40, 12), (0, 50, 9), (-1, 0, 2), (-(2**40), -(2**40) + 60, 11)]


@pytest.mark.parametrize(("low", "high", "divisor"), DIVISIONS)
def test_floor_division_in_c_is_pythons(low: int, high: int, divisor: int, device: OpenCL) -> None:
    """The texts, run on the device for every numerator from `low` to `high`."""
    x = Var("x", low, high)
    wide = abs(low) > 2**31
    quotient, rest = text_of(floordiv(single(x), divisor)), text_of(mod(single(x), divisor))
    source = (
        "__kernel void divide(__global long* a, __global long* b) {\n"
        f"  {'long' if wide else 'int'} x = get_global_id(0) + ({low}L);\n  a[get_global_id(0)] = {quotient};\n"
        f"  b[get_global_id(0)] = {rest};\n}}\n"
    )
    count = high - low + 1
    buffers = [np.zeros(count, np.int64), np.zeros(count, np.int64)]
    ran = device.run_source(source, "divide", (count, 1, 1), (1, 1, 1), buffers)
    numerators = range(low, high + 1)
    assert ran.outputs[0].tolist() == [numerator // divisor for numerator in numerators]
    assert ran.outputs[1].tolist() == [numerator % divisor for numerator in numerators]


def test_sums_are_computed_outside_of_the_loops_that_do_not_change_them() -> None:
    outer, loop = Var("g", 0, 15), Axis(3, 8)
    top = Scope(None, frozenset())
    inner = Scope(top, frozenset({3}))
    integers = Integers(frozenset({3}))
    text = integers.text(single(outer) * 8 + single(loop) * 2 + 5, inner)
    assert any("g*8" in line for line in top.lines)
    assert not any("g*8" in line for line in inner.lines)
    assert not any("r3" in line for line in top.lines)
    assert text.endswith("+5")
    assert integers.text(single(outer) * 8 + single(loop) * 2 + 5, inner) == text
    assert len(top.lines) == 1


# ---- arguments and estimates -----------------------------------------------------------------------------------------


def test_arguments_are_buffers_by_slot_and_then_variables_by_name() -> None:
    for name in documents():
        if not name.startswith(("made/dynamic", "corpus/symbolic", "made/elementwise/two")):
            continue
        args = kernel_of(name, opencl_target()).to_program().args
        slots = [arg.slot for arg in args if isinstance(arg, BufferArgument)]
        names = [arg.name for arg in args if isinstance(arg, VariableArgument)]
        assert slots == list(range(len(slots)))
        assert names == sorted(names)
        assert [*map(type, args)] == [BufferArgument] * len(slots) + [VariableArgument] * len(names)


def test_arguments_say_what_is_read_and_written() -> None:
    def flags(name: str) -> list[tuple[bool, bool]]:
        args = kernel_of(name, opencl_target()).to_program().args
        return [(arg.read, arg.written) for arg in args if isinstance(arg, BufferArgument)]

    assert flags("corpus/gemm/01") == [(False, True), (True, False), (True, False)]
    assert flags("made/elementwise/in_place").count((True, True)) == 1
    assert flags("made/elementwise/two_stores_same_shape").count((False, True)) == 2


def test_arguments_lengths_follow_the_variables() -> None:
    program = kernel_after(reduce_length("ADD")).to_program()
    variable = next(arg for arg in program.args if isinstance(arg, VariableArgument))
    assert (variable.name, variable.min, variable.max) == ("i", 1, 32)
    lengths = [arg.length for arg in program.args if isinstance(arg, BufferArgument)]
    for value in (1, 5, 32):
        own: dict[Atom, int] = {Var("i", 1, 32): value}
        assert [evaluate_index(length, own) for length in lengths] == [40 * value, 40]


def test_sources_do_not_depend_on_the_names_of_variables() -> None:
    def renamed(value: object) -> object:
        if isinstance(value, dict):
            return {"sequence" if key == "i" else key: renamed(part) for key, part in value.items()}
        if isinstance(value, list):
            return [renamed(part) for part in value]
        return "sequence" if value == "i" else value

    document = reduce_length("ADD")
    other = renamed(document)
    first, second = (kernel_after(one, None, ("UPCAST", 0, 4)).to_program() for one in (document, other))
    assert first.source == second.source
    assert first.name == second.name
    assert [arg.name for arg in first.args if isinstance(arg, VariableArgument)] == ["i"]
    assert [arg.name for arg in second.args if isinstance(arg, VariableArgument)] == ["sequence"]
    assert str(first.args[0].length) == str(second.args[0].length).replace("sequence", "i")  # type: ignore[union-attr]


def test_alignment_that_is_assumed_is_an_elements() -> None:
    for name in ("corpus/gemm/01", "made/matmul/float64", "made/matmul/int8_int32", "made/matmul/bfloat16_float"):
        program = kernel_of(name, TARGETS["cpu"]).default_opts().to_program()
        for arg in program.args:
            assert isinstance(arg, BufferArgument)
            assert arg.alignment == arg.dtype.itemsize


def test_estimate_counts_operations_and_bytes_of_a_matmul() -> None:
    program = kernel_of("corpus/gemm/01", opencl_target()).to_program()
    assert program.operations == 2 * 512**3
    assert program.bytes == 3 * 512 * 512 * 4


def test_estimate_counts_padding_as_work_and_not_as_bytes() -> None:
    plain = kernel_after(reduced((5, 13), (1,))).to_program()
    padded = kernel_after(reduced((5, 13), (1,)), None, ("PADTO", 1, 16), ("PADTO", 0, 8)).to_program()
    assert (plain.operations, plain.bytes) == (65, (65 + 5) * 4)
    assert (padded.operations, padded.bytes) == (8 * 16, plain.bytes)


def test_estimate_takes_variables_at_their_maxima() -> None:
    program = kernel_after(reduce_length("ADD")).to_program()
    assert program.operations == 40 * 32
    assert program.bytes == (40 * 32 + 40) * 4


def test_program_records_its_opts_and_target() -> None:
    target: Target = opencl_target()
    program = kernel_after(documents()["corpus/gemm/01"], target, ("UPCAST", 1, 4), ("LOCAL", 0, 8)).to_program()
    assert program.opts == (Opt(OptOps.UPCAST, 1, 4), Opt(OptOps.LOCAL, 0, 8))
    assert program.target is target
    assert program.name.isidentifier()
    assert f" {program.name}(" in program.source
    assert parse_ast(documents()["corpus/gemm/01"]).variables == ()
