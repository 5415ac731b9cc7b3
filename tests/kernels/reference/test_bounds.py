"""The errors that go with the reference's values: wide enough for right programs, and too narrow for wrong ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import parse_ast
from kernels.compare import compare, count_compared
from kernels.dtypes import BFLOAT16, BOOL, FLOAT16, FLOAT32, FLOAT64, INT8, INT32, UINT8, DType
from kernels.ops import Ops
from kernels.reference import Expected, expect
from kernels.reference.bounds import Step, operation_error
from kernels.reference.formats import UNITS, held_type, rounded
from kernels.reference.operations import apply_operation
from kernels.reference.reductions import collector
from tests.made.build import Build, Document

INF, NAN = math.inf, math.nan
FLOAT_OPS = {
    Ops.ADD: 2, Ops.SUB: 2, Ops.MUL: 2, Ops.FDIV: 2, Ops.MAX: 2, Ops.POW: 2, Ops.MULACC: 3, Ops.EXP2: 1, Ops.LOG2: 1,
    Ops.SIN: 1, Ops.SQRT: 1, Ops.RECIP: 1,
}  # fmt: skip


def step(op: Ops, dtype: DType, values: list[Any], errors: list[Any], source: DType | None = None) -> Step:
    sources = [source or dtype] * len(values)
    arrays = [np.array(value, held_type(kind)) for value, kind in zip(values, sources, strict=True)]
    arrays = [rounded(a, kind) if kind.is_float else a for a, kind in zip(arrays, sources, strict=True)]
    given_errors = [None if error is None else np.array(error, np.float64) for error in errors]
    with np.errstate(all="ignore"):
        return Step(op, dtype, arrays, given_errors, sources, apply_operation(op, dtype, arrays, sources), False)


def error_of(op: Ops, dtype: DType, values: list[Any], errors: list[Any], source: DType | None = None) -> Any:
    made = step(op, dtype, values, errors, source)
    with np.errstate(all="ignore"):
        error = operation_error(made)
    return np.zeros(made.result.shape) if error is None else np.broadcast_to(error, made.result.shape)


numbers = st.floats(-100, 100, width=16)
shares = st.floats(0, 1)


@given(
    op=st.sampled_from(sorted(FLOAT_OPS)),
    dtype=st.sampled_from([FLOAT16, BFLOAT16, FLOAT32]),
    operands=st.lists(st.tuples(numbers, st.floats(0, 0.25), st.floats(-1, 1)), min_size=3, max_size=3),
)
@settings(max_examples=600, deadline=None)
def test_error_covers_the_operation_on_operands_that_are_off(
    op: Ops, dtype: DType, operands: list[tuple[float, float, float]]
) -> None:
    """Each operand moved within its error, the operation exact, and the result rounded once."""
    used = operands[: FLOAT_OPS[op]]
    made = step(op, dtype, [[value] for value, _, _ in used], [[error] for _, error, _ in used])
    moved = [
        value.astype(np.float64) + share * error for value, (_, error, share) in zip(made.values, used, strict=True)
    ]
    with np.errstate(all="ignore"):
        (bound,) = np.broadcast_to(np.asarray(operation_error(made)), (1,))
        (found,) = apply_operation(op, FLOAT64, moved, [FLOAT64] * len(moved))
        if op is not Ops.MAX:  # which does not round: its operands are numbers of the dtype already
            (found,) = rounded(np.array([found]), dtype)
        (value,) = made.result
    if not math.isfinite(bound):
        return
    if math.isnan(value):
        assert math.isnan(found)
    elif math.isinf(value) or math.isinf(found):
        assert found == value or abs(float(value)) + bound > 60_000
    else:
        assert abs(float(found) - float(value)) <= bound + 1e-12 * (1.0 + abs(float(value)))


def test_error_of_exact_operands_is_a_few_last_places() -> None:
    for op, count in FLOAT_OPS.items():
        error = error_of(op, FLOAT32, [[1.25]] * count, [None] * count)
        with np.errstate(all="ignore"):
            result = step(op, FLOAT32, [[1.25]] * count, [None] * count).result
        assert error[0] <= 60 * UNITS[FLOAT32] * abs(result[0])


# ---- what is certain, and what is left open --------------------------------------------------------------------------


def test_comparison_of_nearly_equal_sums_is_uncertain() -> None:
    values: list[Any] = [[1.0, 1.0, 1.0, NAN, INF, INF], [1.1, 1.001, 1.0, 1.0, 1.0, INF]]
    errors: list[Any] = [[0.01, 0.01, 0.0, 0.0, 0.0, 0.0], [0.01, 0.0, 0.0, 0.5, 0.5, 0.0]]
    for op in (Ops.CMPLT, Ops.CMPNE):
        assert (error_of(op, BOOL, values, errors, FLOAT32) > 0).tolist() == [False, True, False, False, False, False]


def test_logic_is_certain_where_one_side_decides() -> None:
    values: list[Any] = [[True, True, False, False], [True, False, True, False]]
    first_unsure: list[Any] = [[1.0] * 4, None]
    assert (error_of(Ops.AND, BOOL, values, first_unsure) > 0).tolist() == [True, False, True, False]
    assert (error_of(Ops.OR, BOOL, values, first_unsure) > 0).tolist() == [False, True, False, True]
    assert (error_of(Ops.XOR, BOOL, values, first_unsure) > 0).tolist() == [True] * 4


def test_choice_that_is_uncertain_spans_both_sides() -> None:
    made = Step(
        Ops.WHERE,
        FLOAT32,
        [np.array([True, True, False]), np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.0, INF])],
        [np.array([1.0, 1.0, 0.0]), None, np.array([0.25, 0.0, 0.0])],
        [BOOL, FLOAT32, FLOAT32],
        np.array([1.0, 2.0, INF]),
        False,
    )
    error = operation_error(made)
    assert error is not None and error.tolist() == [0.75, 0.0, 0.0]


def test_what_c_leaves_open_is_not_compared() -> None:
    least = -(2**31)
    assert error_of(Ops.IDIV, INT32, [[1, least, least, 7], [0, -1, 2, 2]], [None, None]).tolist() == [INF, INF, 0, 0]
    assert error_of(Ops.MOD, UINT8, [[1, 255], [0, 255]], [None, None]).tolist() == [INF, 0]
    assert error_of(Ops.SHL, INT8, [[1, 1, 1], [7, 8, -1]], [None, None]).tolist() == [0, INF, INF]
    assert error_of(Ops.FDIV, FLOAT32, [[1.0, 0.0, 1.0], [0.0, 0.0, INF]], [None, None]).tolist() == [INF, INF, 0]
    assert error_of(Ops.POW, FLOAT32, [[0.0, 0.0], [-1.0, 2.0]], [None, None]).tolist() == [INF, 0]
    assert error_of(Ops.RECIP, FLOAT32, [[0.0, INF, 1e-3]], [[0.0, 0.0, 0.01]]).tolist() == [INF, 0.0, INF]
    assert error_of(Ops.CAST, UINT8, [[255.5, 256.0, -1.0, NAN]], [None], FLOAT32).tolist() == [0, INF, INF, INF]
    assert error_of(Ops.CAST, INT8, [[1.99, 1.5, 127.9]], [[0.02, 0.02, 0.2]], FLOAT32).tolist() == [1, 0, INF]
    assert error_of(Ops.BITCAST, INT32, [[NAN, 1.0, 1.0]], [[0.0, 0.0, 1e-9]], FLOAT32).tolist() == [INF, 0, INF]


@pytest.mark.parametrize("op", [Ops.SQRT, Ops.LOG2])
def test_roots_and_logarithms_below_zero_are_nan_for_certain(op: Ops) -> None:
    """Of an operand that is negative wherever in its error it lies, and of none that may be positive."""
    assert error_of(op, FLOAT32, [[-1.0, -1.0, -1.0, 0.5]], [[0.0, 0.5, 2.0, 1.0]]).tolist() == [0, 0, INF, INF]


def test_infinities_and_nan_that_are_certain_are_compared() -> None:
    infinite: list[Any] = [[INF, -INF, NAN, INF], [1.0, 1.0, 1.0, -INF]]
    assert error_of(Ops.ADD, FLOAT32, infinite, [None, [0.5, 0.5, 0.5, 0.0]]).tolist() == [0, 0, 0, 0]
    assert error_of(Ops.MUL, FLOAT32, [[INF, INF], [1.0, 0.1]], [None, [0.0, 0.5]]).tolist() == [0, INF]
    assert error_of(Ops.EXP2, FLOAT32, [[200.0, 200.0, -INF]], [[0.0, 0.5, 0.0]]).tolist() == [0, INF, 0]
    assert error_of(Ops.MAX, FLOAT32, [[NAN, -INF], [1.0, 1.0]], [None, [0.5, 0.5]]).tolist() == [0.5, 0.5]


def expected_of(document: Document, *inputs: Any) -> Expected:
    (found,) = expect(parse_ast(document), list(inputs)).values()
    return found


def test_a_value_left_open_matters_only_where_it_is_chosen() -> None:
    b = Build()
    dividend, divisor = b.new("int32", (4,)), b.new("int32", (4,))
    zero = b.op("CMPNE", divisor, b.like(0, divisor))
    b.store(b.op("WHERE", zero, b.op("IDIV", dividend, divisor), b.like(-1, dividend)))
    found = expected_of(b.document(), np.full(4, 7, np.int32), np.array([0, 1, 2, 0], np.int32))
    assert found.values.tolist() == [-1, 7, 3, -1]
    assert count_compared(found) == 4


# ---- reduces ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16, FLOAT32])
@pytest.mark.parametrize("length", [3, 100, 5000])
@pytest.mark.parametrize("same", [False, True])
def test_error_of_a_sum_covers_float32_in_any_order(dtype: DType, length: int, same: bool) -> None:
    random = np.random.default_rng(length)
    values = rounded(np.full(length, 0.1) if same else random.normal(size=length), dtype)
    sum_of = collector(Ops.ADD, dtype, length, 1, True)
    sum_of.add(values, None, (0,))
    value, error = sum_of.result()
    assert error is not None
    for order in (values, values[::-1], np.sort(values), np.sort(values)[::-1]):
        one_by_one = np.float32(0.0)
        for number in order:
            one_by_one = np.float32(one_by_one + number)
        assert abs(float(rounded(one_by_one[None], dtype)[0]) - float(value[0])) <= error[0]
    assert error[0] <= (length + 8) * UNITS[FLOAT32] * np.abs(values).sum() + 3 * UNITS[dtype] * abs(value[0])


def test_error_of_a_sum_that_may_overflow_on_the_way_is_open() -> None:
    for values, wanted in (([3e38, 3e38, -3e38], INF), ([INF, 1.0, 2.0], 0.0), ([INF, -INF, 2.0], 0.0)):
        sum_of = collector(Ops.ADD, FLOAT32, 3, 1, True)
        with np.errstate(invalid="ignore"):
            sum_of.add(np.array(values, np.float32), None, (0,))
        error = sum_of.result()[1]
        assert error is not None and error.tolist() == [wanted]


def test_error_of_a_product_that_may_overflow_on_the_way_is_open() -> None:
    for values, is_open in (([1e30, 1e30, 1e-30, 1e-30], True), ([2.0, 3.0, 0.0, 1.0], False)):
        product = collector(Ops.MUL, FLOAT32, 4, 1, True)
        with np.errstate(divide="ignore"):
            product.add(np.array(values, np.float32), None, (0,))
        error = product.result()[1]
        assert error is not None and math.isinf(error[0]) is is_open


def test_error_of_a_decision_is_none_where_one_bool_is_certain() -> None:
    values, unsure = np.array([[True, False], [False, False]]), np.array([[0.0, 1.0], [1.0, 0.0]])
    for op, wanted in ((Ops.MAX, [0.0, 1.0]), (Ops.MUL, [1.0, 0.0])):
        decision = collector(op, BOOL, 2, 1, True)
        decision.add(values, unsure, (1,))
        error = decision.result()[1]
        assert error is not None and error.ravel().tolist() == wanted


# ---- faults that a bound must not let through ------------------------------------------------------------------------


def sine_of_sums(rows: int, length: int) -> Document:
    b = Build()
    b.store(b.op("SIN", b.reduce(b.new("float32", (rows, length)), "ADD", 1)))
    return b.document()


def test_f13_sine_of_a_sum_passes_in_any_order_and_a_fault_does_not() -> None:
    rows, length = 64, 100
    x = np.random.default_rng(13).normal(size=(rows, length)).astype(np.float32)
    found = expected_of(sine_of_sums(rows, length), x)

    def computed(values: Any) -> Any:
        collected = np.zeros(rows, np.float32)
        for column in values.T:
            collected += column
        return np.sin(collected)

    assert compare(found, computed(x)) is None
    assert compare(found, computed(x[:, ::-1])) is None
    dropped = compare(found, computed(x[:, 1:]))
    assert dropped is not None and dropped.wrong >= rows - 2
    nudged = computed(x)
    nudged[7] += np.float32(2e-3)
    assert compare(found, nudged) is not None


@pytest.mark.parametrize(("dtype", "accumulated"), [("float32", "float32"), ("float16", "float32")])
def test_one_product_missing_from_a_matrix_product_is_seen(dtype: str, accumulated: str) -> None:
    b = Build()
    length = 512
    left, right = b.buffer(dtype, (16, length)), b.buffer(dtype, (length, 24))
    full = (16, 24, length)
    product = b.op("MUL", b.spread(left, full, (0, 2)), b.spread(right, full, (2, 1)))
    b.store(b.reduce(b.cast(product, accumulated) if dtype != accumulated else product, "ADD", 2))
    random = np.random.default_rng(3)
    x, y = random.normal(size=(16, length)).astype(dtype), random.normal(size=(length, 24)).astype(dtype)
    found = expected_of(b.document(), x, y)
    wide, high = x.astype(np.float32), y.astype(np.float32)
    assert compare(found, (wide @ high).ravel()) is None
    mismatch = compare(found, (wide[:, 1:] @ high[1:]).ravel())
    assert mismatch is not None and mismatch.wrong > 300
