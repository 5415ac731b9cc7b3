"""How the reference holds numbers, and how coarse each dtype is.

Buffers are in *storage form*: NumPy arrays of the dtype itself, bfloat16 as uint16 bit patterns. Values are in *held
form*: float16 and bfloat16 as float32 numbers that the dtype can represent, every other dtype as itself.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernels.dtypes import BFLOAT16, BOOL, FLOAT16, FLOAT32, FLOAT64, DType

Array: TypeAlias = NDArray[Any]

#: The relative error of one rounding to nearest, half a unit in the last place.
UNITS = {FLOAT16: 2.0**-11, BFLOAT16: 2.0**-8, FLOAT32: 2.0**-24, FLOAT64: 2.0**-53}
#: The greatest finite value.
GREATEST = {
    FLOAT16: 65504.0,
    BFLOAT16: 2.0**128 - 2.0**120,
    FLOAT32: 2.0**128 - 2.0**104,
    FLOAT64: float(np.finfo(np.float64).max),
}
#: The smallest magnitudes that count: what is below may round to a coarser step, or be flushed to 0 by a device.
LEAST = {FLOAT16: 2.0**-24, BFLOAT16: 2.0**-126, FLOAT32: 2.0**-126, FLOAT64: 2.0**-1022}
#: Binary digits of a significand: integers of no more bits are exact.
DIGITS = {FLOAT16: 11, BFLOAT16: 8, FLOAT32: 24, FLOAT64: 53}
#: Conversions between floats that lose nothing.
EXACT_CASTS = frozenset(
    {(FLOAT16, FLOAT32), (FLOAT16, FLOAT64), (BFLOAT16, FLOAT32), (BFLOAT16, FLOAT64), (FLOAT32, FLOAT64)}
)


def storage_type(dtype: DType) -> np.dtype[Any]:
    """The NumPy dtype of a buffer."""
    return np.dtype("uint16" if dtype is BFLOAT16 else dtype.name)


def held_type(dtype: DType) -> np.dtype[Any]:
    """The NumPy dtype of a value in held form."""
    return np.dtype("float32" if dtype is FLOAT16 or dtype is BFLOAT16 else dtype.name)


def to_held(stored: Array, dtype: DType) -> Array:
    """The held form of numbers in storage form; exact."""
    if dtype is BFLOAT16:
        return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32)
    if dtype is BOOL:
        return np.not_equal(stored.view(np.uint8), 0)
    return stored.astype(held_type(dtype), copy=False)


def to_storage(held: Array, dtype: DType) -> Array:
    """The storage form of numbers in held form; exact."""
    if dtype is BFLOAT16:
        return (held.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    return held.astype(storage_type(dtype), copy=False)


def rounded(values: Array, dtype: DType) -> Array:
    """Floats of any precision, rounded to nearest, ties to even, in held form. float64 reaches bfloat16 by float32."""
    if dtype is FLOAT16:
        return values.astype(np.float16).astype(np.float32)
    if dtype is BFLOAT16:
        return _rounded_to_bfloat16(values.astype(np.float32, copy=False))
    return values.astype(held_type(dtype), copy=False)


def _rounded_to_bfloat16(values: Array) -> Array:
    bits = values.view(np.uint32)
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    kept = ((bits + np.uint32(0x7FFF) + odd) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isnan(values), np.float32(np.nan), kept)
