"""What a reduction's accumulator is: its dtype, what it begins with, how it takes a value in."""

from __future__ import annotations

from kernels.dtypes import BFLOAT16, FLOAT16, FLOAT32, DType
from kernels.ops import Ops
from kernels.render import opencl, types
from kernels.render.value import Value


def accumulating(dtype: DType) -> DType:
    """The dtype in which values of `dtype` are reduced: half and bfloat16 in float, rounded once in the end."""
    return FLOAT32 if dtype in (FLOAT16, BFLOAT16) else dtype


def identity(op: Ops, dtype: DType) -> Value:
    """What changes nothing under `op`."""
    if op is Ops.ADD:
        return types.literal(0, dtype)
    return types.literal(1 if op is Ops.MUL else dtype.min, dtype)


def taken_in(op: Ops, accumulator: Value, term: Value) -> str:
    """The statement by which a variable takes `term` in."""
    return f"{accumulator.text} = {opencl.accumulated(op, accumulator.dtype, accumulator, term)};"
