"""Elementwise operations: the oracle's answers, published vectors, and the corners that C and IEEE 754 define."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from kernels import parse_ast
from kernels.compare import compare
from kernels.dtypes import BFLOAT16, BOOL, DTYPES, FLOAT16, FLOAT32, INT8, INT32, INT64, UINT8, UINT64, DType
from kernels.inputs import make_inputs
from kernels.ops import Ops
from kernels.reference import evaluate, expect
from kernels.reference.formats import held_type, rounded, to_held, to_storage
from kernels.reference.operations import apply_operation, cast
from tests.kernels.reference.oracle_values import oracle_values
from tests.kernels.reference.test_evaluate import document_named
from tests.made.build import Build, Document

ORACLE_KNOWS = (
    "elementwise/threefry_bits",
    "elementwise/random_uniform",
    "elementwise/bit_operations_int64",
    "elementwise/bit_operations_bool",
    "elementwise/shifts_uint64",
    "elementwise/shifts_int64",
    "elementwise/divide_int32",
    "elementwise/divide_int64",
    "reduce/after_EXP2",
    "elementwise/where_with_masks",
    "elementwise/big_integers",
    "elementwise/bitcast_int32_float32",
    "elementwise/cast_int64_bool",
    "elementwise/padded_with_value",
    "reduce/log_softmax_loss",
    "reduce/after_SIN",
    "reduce/after_LOG2",
    "reduce/shape_03_MUL_int32",
    "matmul/float32_sizes_16x8x16",
    "views/padded_small_axes",
)


@pytest.mark.parametrize("name", ORACLE_KNOWS)
def test_expect_holds_for_the_oracle(name: str) -> None:
    document = document_named(name)
    ast = parse_ast(document)
    inputs = make_inputs(ast, 11)
    found = oracle_values(document, inputs)
    for slot, expected in expect(ast, inputs).items():
        assert compare(expected, np.frombuffer(bytes(found[slot]), expected.values.dtype)) is None


# ---- THREEFRY --------------------------------------------------------------------------------------------------------


def threefry(document_size: int) -> Document:
    b = Build()
    b.store(b.op("THREEFRY", b.new("uint64", (document_size,)), b.new("uint64", (document_size,))))
    return b.document()


def test_threefry_gives_the_published_vectors() -> None:
    """The known answers that come with Random123 for threefry2x32 of 20 rounds, low word first."""
    ones = 0xFFFFFFFF
    counters = [(0, 0), (ones, ones), (0x243F6A88, 0x85A308D3)]
    keys = [(0, 0), (ones, ones), (0x13198A2E, 0x03707344)]
    answers = [(0x6B200159, 0x99BA4EFE), (0x1CB996FC, 0xBB002BE7), (0xC4923A9C, 0x483DF7A0)]
    packed = [np.array([low | high << 32 for low, high in words], np.uint64) for words in (counters, keys, answers)]
    assert evaluate(parse_ast(threefry(3)), packed[:2])[2].tolist() == packed[2].tolist()


def test_threefry_is_packed_as_the_oracle_packs_it() -> None:
    random = np.random.default_rng(1)
    inputs = {slot: random.integers(0, 2**64, 16, dtype=np.uint64) for slot in (0, 1)}
    document = threefry(16)
    wanted = np.frombuffer(bytes(oracle_values(document, inputs)[2]), np.uint64)
    assert np.array_equal(evaluate(parse_ast(document), inputs)[2], wanted)


# ---- corners ---------------------------------------------------------------------------------------------------------


def result(op: Ops, dtype: DType, *operands: Any, sources: DType | None = None) -> list[Any]:
    source = dtype if sources is None else sources
    values = [np.array(operand, held_type(source)) for operand in operands]
    with np.errstate(all="ignore"):
        return list(apply_operation(op, dtype, values, [source] * len(values)).tolist())


def test_division_truncates_towards_zero() -> None:
    pairs = [(left, right) for left, right in itertools.product(range(-9, 10), range(-4, 5)) if right]
    left, right = zip(*pairs, strict=True)
    for dtype in (INT8, INT32, INT64):
        assert result(Ops.IDIV, dtype, left, right) == [math.trunc(a / b) for a, b in pairs]
        assert result(Ops.MOD, dtype, left, right) == [int(math.fmod(a, b)) for a, b in pairs]


def test_integers_wrap() -> None:
    assert result(Ops.ADD, INT8, [127], [1]) == [-128]
    assert result(Ops.MUL, UINT8, [255], [255]) == [1]
    assert result(Ops.NEG, UINT8, [1]) == [255]
    assert result(Ops.NEG, INT8, [-128]) == [-128]
    assert result(Ops.MULACC, INT8, [100], [2], [100]) == [44]
    assert result(Ops.SHL, INT32, [1], [31]) == [-(2**31)]
    assert result(Ops.SUB, UINT64, [0], [1]) == [2**64 - 1]


def test_right_shift_of_a_negative_number_keeps_the_sign() -> None:
    assert result(Ops.SHR, INT32, [-5, 5], [1, 1]) == [-3, 2]


def test_nan_loses_a_maximum_on_both_sides() -> None:
    assert result(Ops.MAX, FLOAT32, [math.nan, 1.0, -math.inf], [1.0, math.nan, math.nan]) == [1.0, 1.0, -math.inf]


def test_bool_arithmetic_is_or_and_and() -> None:
    left, right = [False, False, True, True], [False, True, False, True]
    assert result(Ops.ADD, BOOL, left, right) == result(Ops.MAX, BOOL, left, right) == [False, True, True, True]
    assert result(Ops.MUL, BOOL, left, right) == [False, False, False, True]
    assert result(Ops.CMPLT, BOOL, left, right, sources=BOOL) == [False, True, False, False]


def test_half_and_bfloat16_round_after_each_operation() -> None:
    assert result(Ops.ADD, FLOAT16, [2048.0, 2050.0], [1.0, 1.0]) == [2048.0, 2052.0]  # ties to even
    assert result(Ops.MUL, FLOAT16, [300.0], [300.0]) == [math.inf]
    assert result(Ops.ADD, BFLOAT16, [256.0, 258.0], [1.0, 1.0]) == [256.0, 260.0]


def test_bfloat16_is_held_and_stored_as_the_upper_half_of_a_float32() -> None:
    patterns = np.arange(1 << 16, dtype=np.uint16)
    held = to_held(patterns, BFLOAT16)
    numbers = ~np.isnan(held)
    assert np.array_equal(to_storage(held, BFLOAT16), patterns)
    assert np.array_equal(rounded(held, BFLOAT16)[numbers], held[numbers])
    between = np.float32(1.0) + np.array([2**-8, 2**-8 + 2**-20, 3 * 2**-8], np.float32)
    assert rounded(between, BFLOAT16).tolist() == [1.0, 1.0 + 2**-7, 1.0 + 2**-6]


def test_casts_of_floats_truncate() -> None:
    values = np.array([-1.5, 2.9, 1e10, math.nan, -(2.0**63), 1.8e19], np.float64)
    with np.errstate(all="ignore"):
        assert cast(values, FLOAT32, INT64)[[0, 1, 2, 4]].tolist() == [-1, 2, 10**10, -(2**63)]
        assert cast(values, FLOAT32, UINT64)[[1, 2, 5]].tolist() == [2, 10**10, 18 * 10**18]
        assert cast(values, FLOAT32, BOOL).tolist() == [True] * 6
    assert cast(np.array([0.0, -0.0, 0.3]), FLOAT32, BOOL).tolist() == [False, False, True]


def test_casts_of_integers_round_to_nearest() -> None:
    values = np.array([2**24 + 1, 2**24 + 3, -(2**62) - 1], np.int64)
    with np.errstate(over="ignore"):
        assert cast(values, INT64, FLOAT32).tolist() == [2.0**24, 2.0**24 + 4, -(2.0**62)]
        assert cast(np.array([70_000], np.int32), INT32, FLOAT16).tolist() == [math.inf]


def test_bitcasts_keep_the_bits() -> None:
    for dtype, bits, value in ((FLOAT16, 0x3C00, 1.0), (BFLOAT16, 0x3F80, 1.0), (FLOAT32, 0xBF800000, -1.0)):
        integer = {16: "uint16", 32: "uint32"}[dtype.bits]
        source = DTYPES[integer]
        found = apply_operation(Ops.BITCAST, dtype, [np.array([bits], integer)], [source])
        assert found.tolist() == [value]
