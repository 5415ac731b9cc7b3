from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from kernels.compare import Difference, Mismatch, compare, count_compared
from kernels.dtypes import BFLOAT16, BOOL, DTYPES, FLOAT16, FLOAT32, INT8, UINT64, DType
from kernels.reference import Expected
from kernels.reference.formats import storage_type

INF, NAN = math.inf, math.nan


def expected(dtype: DType, values: Any, errors: Any = None, written: Any = None, positions: Any = None) -> Expected:
    stored = np.array(values, storage_type(dtype))
    return Expected(
        3,
        dtype,
        None if positions is None else np.array(positions),
        np.ones(stored.size, bool) if written is None else np.array(written),
        stored,
        np.zeros(stored.size) if errors is None else np.array(errors, np.float64),
    )


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_compare_takes_equal_buffers_and_no_others(dtype: DType) -> None:
    values, others = (np.array(numbers, storage_type(dtype)) for numbers in ([0, 1, 1, 0], [1, 1, 0, 0]))
    assert compare(expected(dtype, values), values) is None
    mismatch = compare(expected(dtype, values), others)
    assert mismatch is not None and (mismatch.wrong, mismatch.first.position, mismatch.compared) == (2, 0, 4)


def test_compare_reports_the_first_and_the_worst() -> None:
    found = compare(
        expected(FLOAT32, [1.0, 2.0, 3.0, 4.0, 5.0], [0.1] * 5), np.array([1.05, 2.5, 3.0, 9.0, NAN], np.float32)
    )
    assert isinstance(found, Mismatch)
    assert (found.slot, found.wrong, found.compared) == (3, 3, 5)
    assert found.first == Difference(1, 2.0, 2.5, 0.1)
    assert found.worst.position == 4 and math.isnan(found.worst.actual)
    text = str(found)
    assert text.startswith("slot 3, 3 of 5 elements wrong: element 1 is 2.5, not 2.0 within 0.1; the worst: element 4")


def test_compare_knows_nan_infinities_and_zeros() -> None:
    same = expected(FLOAT32, [NAN, INF, -INF, 0.0, -0.0])
    assert compare(same, np.array([NAN, INF, -INF, -0.0, 0.0], np.float32)) is None
    for values in ([1.0, INF], [NAN, -INF], [NAN, 1e38]):
        assert compare(expected(FLOAT32, [NAN, INF], [1.0, 1.0]), np.array(values, np.float32)) is not None


def test_compare_lets_a_value_overflow_that_may() -> None:
    near = expected(FLOAT16, [65000.0, -65000.0], [600.0, 600.0])
    assert compare(near, np.array([INF, -INF], np.float16)) is None
    assert compare(near, np.array([-INF, -65000.0], np.float16)) is not None
    assert compare(expected(FLOAT16, [64000.0], [600.0]), np.array([INF], np.float16)) is not None


def test_compare_skips_what_is_left_open_or_not_written() -> None:
    some = expected(FLOAT32, [1.0, 2.0, 3.0], [0.0, INF, 0.0], [True, True, False])
    actual = np.array([1.0, 99.0, 99.0], np.float32)
    assert compare(some, actual) is None
    assert count_compared(some) == 1
    before = np.array([0.0, 0.0, 99.0], np.float32)
    assert compare(some, actual, before) is None
    touched = compare(some, actual, np.zeros(3, np.float32))
    assert touched is not None and touched.first == Difference(2, 0.0, 99.0, 0.0)


def test_compare_of_chosen_elements_looks_where_they_go() -> None:
    chosen = expected(INT8, [5, 6], positions=[3, 1])
    assert compare(chosen, np.array([0, 6, 0, 5], np.int8)) is None
    mismatch = compare(chosen, np.array([0, 6, 0, 4], np.int8))
    assert mismatch is not None and mismatch.first == Difference(3, 5, 4, 0.0)


def test_compare_of_integers_counts_around_the_end() -> None:
    assert compare(expected(UINT64, [0, 2**64 - 1], [1.0, 1.0]), np.array([2**64 - 1, 0], np.uint64)) is None
    assert compare(expected(INT8, [127], [1.0]), np.array([-128], np.int8)) is None
    assert compare(expected(INT8, [127], [1.0]), np.array([-127], np.int8)) is not None
    assert compare(expected(BOOL, [True], [1.0]), np.array([False])) is None


def test_compare_reads_bfloat16_as_numbers() -> None:
    one, above = 0x3F80, 0x3F81
    assert compare(expected(BFLOAT16, [one], [2.0**-7]), np.array([above], np.uint16)) is None
    mismatch = compare(expected(BFLOAT16, [one]), np.array([above], np.uint16))
    assert mismatch is not None and mismatch.first == Difference(0, 1.0, 1.0078125, 0.0)


def test_compare_finds_one_element_among_many() -> None:
    size = (1 << 20) + 5
    actual = np.zeros(size, np.float32)
    actual[-1] = 1.0
    mismatch = compare(expected(FLOAT32, np.zeros(size)), actual)
    assert mismatch is not None
    assert (mismatch.wrong, mismatch.compared, mismatch.first.position) == (1, size, size - 1)
