"""Constants are rounded and wrapped as their dtype holds them."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.constants import constant_in, rounded, wrapped
from kernels.dtypes import BFLOAT16, BOOL, DTYPES, FLOAT16, FLOAT32, FLOAT64, INT8, UINT8


@given(st.integers(-(2**63), 2**64 - 1))
@settings(max_examples=200, deadline=None)
def test_wrapped_agrees_with_numpy(value: int) -> None:
    unsigned = np.array([value & (2**64 - 1)], dtype=np.uint64)
    for name, dtype in DTYPES.items():
        if dtype.is_int:
            assert wrapped(value, dtype) == int(unsigned.astype(name)[0])


def test_constant_in_follows_the_kind_of_the_dtype() -> None:
    assert constant_in(-1, UINT8) == 255
    assert constant_in(300, INT8) == 44
    assert constant_in(1e6, FLOAT16) == math.inf
    assert constant_in(True, BOOL) is True


def numpy_rounded(value: float, dtype: Any) -> float:
    with np.errstate(over="ignore"):
        return float(np.float64(value).astype(dtype))


@given(st.floats())
@settings(max_examples=500, deadline=None)
def test_rounded_agrees_with_numpy(value: float) -> None:
    for dtype, numpy_dtype in ((FLOAT16, np.float16), (FLOAT32, np.float32), (FLOAT64, np.float64)):
        ours, theirs = rounded(value, dtype), numpy_rounded(value, numpy_dtype)
        assert struct.pack("<d", ours) == struct.pack("<d", theirs) or (math.isnan(ours) and math.isnan(theirs))


@given(st.floats(width=32, allow_nan=False))
@settings(max_examples=500, deadline=None)
def test_rounded_to_bfloat16_keeps_the_upper_half_of_a_float32(value: float) -> None:
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    even = bits + 0x7FFF + (bits >> 16 & 1)
    (expected,) = struct.unpack("<f", struct.pack("<I", even >> 16 << 16))
    assert struct.pack("<d", rounded(value, BFLOAT16)) == struct.pack("<d", expected)


@pytest.mark.parametrize(
    ("value", "nearest"),
    [
        (1.00390625, 1.0),
        (1.01171875, 1.015625),
        (1.00390625 + 2**-40, 1.0078125),  # by way of float32 it would be 1
        (3.3895313892515355e38, 3.3895313892515355e38),
        (3.3961775292304602e38, math.inf),
        (1e300, math.inf),
        (9.183549615799121e-41, 9.183549615799121e-41),
        (4.591774807899561e-41, 0.0),
        (5e-324, 0.0),
    ],
)
def test_rounded_to_bfloat16_at_its_edges(value: float, nearest: float) -> None:
    assert rounded(value, BFLOAT16) == nearest
    assert rounded(-value, BFLOAT16) == -nearest
