"""The types of OpenCL C: what values and memory are declared as, and literals that are exactly what they stand for."""

from __future__ import annotations

import math

from kernels.constants import rounded
from kernels.dtypes import BOOL, FLOAT16, FLOAT64, INT32, INT64, DType, Kind
from kernels.render.value import Value

TYPES = {
    "bool": "bool", "int8": "char", "uint8": "uchar", "int16": "short", "uint16": "ushort", "int32": "int",
    "uint32": "uint", "int64": "long", "uint64": "ulong", "float16": "half", "bfloat16": "float", "float32": "float",
    "float64": "double",
}  # fmt: skip
#: How elements lie in memory, where that is not the type they are computed in.
_MEMORY_TYPES = {"bool": "uchar", "bfloat16": "ushort"}
MASKS = {8: "char", 16: "short", 32: "int", 64: "long"}


def vector_type(scalar: str, width: int) -> str:
    """`float`, 4 -> `float4`."""
    return scalar if width == 1 else f"{scalar}{width}"


def type_of(value: Value) -> str:
    """The type that a variable holding `value` is declared with."""
    if value.mask_bits:
        return vector_type(MASKS[value.mask_bits], value.width)
    return vector_type(TYPES[value.dtype.name], value.width)


def memory_type(dtype: DType) -> str:
    """The element type of a buffer."""
    return _MEMORY_TYPES.get(dtype.name, TYPES[dtype.name])


def literal(number: float, dtype: DType) -> Value:
    """A constant, exactly as its dtype holds it."""
    if dtype is BOOL:
        return Value("true" if number else "false", dtype, simple=True)
    if dtype.kind is Kind.FLOAT:
        return Value(_float_literal(float(number), dtype), dtype, simple=True)
    number = int(number)
    suffix = {"int64": "L", "uint64": "UL", "uint32": "u"}.get(dtype.name, "")
    if number == dtype.min and number < 0 and dtype in (INT32, INT64):
        text = f"({number + 1}{suffix}-1)"
    else:
        text = f"{number}{suffix}" if number >= 0 else f"({number}{suffix})"
    return Value(text if dtype.itemsize >= 4 else f"(({TYPES[dtype.name]}){text})", dtype, simple=True)


def _float_literal(number: float, dtype: DType) -> str:
    suffix = "" if dtype is FLOAT64 else "f"
    number = rounded(number, dtype)
    if math.isnan(number):
        text = "NAN"
    elif math.isinf(number):
        text = _signed("INFINITY", number)
    else:
        text = _signed(f"{abs(number)!r}{suffix}", number)
    return f"(({TYPES[dtype.name]}){text})" if dtype is FLOAT16 or text[-1] not in "0123456789f)" else text


def _signed(text: str, number: float) -> str:
    return f"(-{text})" if math.copysign(1.0, number) < 0 else text
