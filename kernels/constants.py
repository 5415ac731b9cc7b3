"""What a constant is in its dtype. A CONST node keeps it as it was sent."""

from __future__ import annotations

import math
import struct

from kernels.dtypes import BFLOAT16, FLOAT16, FLOAT32, DType, Kind

_BFLOAT16_BITS = 8  # of the significand, the leading one included
_BFLOAT16_LEAST_EXPONENT = -125  # of the least normal number, as math.frexp counts
_BFLOAT16_INFINITE = 2.0**128
_PACKED = {FLOAT32.name: struct.Struct("<f"), FLOAT16.name: struct.Struct("<e")}


def constant_in(value: int | float | bool, dtype: DType) -> int | float | bool:
    """`value`, which is of the kind that `dtype` is, as `dtype` holds it: rounded, or an integer that wraps."""
    if isinstance(value, bool):
        return value
    return rounded(value, dtype) if isinstance(value, float) else wrapped(value, dtype)


def wrapped(value: int, dtype: DType) -> int:
    """`value` modulo 2^bits, in the range of the integer `dtype`."""
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if dtype.kind is Kind.SIGNED and value > dtype.max else value


def rounded(value: float, dtype: DType) -> float:
    """`value` rounded to the nearest number of the float `dtype`, ties to even; beyond the greatest, an infinity."""
    if value == 0 or not math.isfinite(value):
        return value
    packed = _PACKED.get(dtype.name)
    if packed is None:
        return _rounded_to_bfloat16(value) if dtype is BFLOAT16 else value
    try:
        result: float = packed.unpack(packed.pack(value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return result


def _rounded_to_bfloat16(value: float) -> float:
    """In one step: by way of float32, some would be rounded twice."""
    exponent = max(math.frexp(value)[1], _BFLOAT16_LEAST_EXPONENT)
    unit = 2.0 ** (exponent - _BFLOAT16_BITS)
    result = math.copysign(round(value / unit) * unit, value) if exponent <= 128 else math.inf
    return result if abs(result) < _BFLOAT16_INFINITE else math.copysign(math.inf, value)
