"""The values of elementwise operations, on arrays in held form.

Every operation is exact or rounded once to its dtype: float32 in float32, float64 in float64, float16 and bfloat16 in
float32 and then rounded, functions and MULACC in float64 and then rounded. Integers wrap. What service.md leaves open
still has a value here, and bounds.py says that it is not compared: an integer division by zero gives whatever NumPy
gives, a shift by the width or more gives 0 or -1, and a float that no integer of the target can hold is truncated and
wrapped to the target's width (0 beyond 64 bits).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from kernels.dtypes import BOOL, DType
from kernels.ops import Ops
from kernels.reference.formats import Array, held_type, rounded, to_held, to_storage

Operation: TypeAlias = Callable[..., Array]

_THREEFRY_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)  # Salmon et al. 2011, table 2, for two words of 32 bits
_THREEFRY_PARITY = np.uint32(0x1BD11BDA)
_THREEFRY_ROUNDS = 20


def apply_operation(op: Ops, dtype: DType, values: Sequence[Array], sources: Sequence[DType]) -> Array:
    """The value of one elementwise node of `dtype`, given its sources' values and dtypes."""
    if op is Ops.CAST:
        return cast(values[0], sources[0], dtype)
    if op is Ops.BITCAST:
        return to_held(to_storage(values[0], sources[0]).view(_bits_of(dtype)), dtype)
    if dtype.is_bool and op in _BOOL_OPERATIONS:
        return _BOOL_OPERATIONS[op](*values)
    if dtype.is_float and op in _DOUBLE_OPERATIONS:
        return rounded(_DOUBLE_OPERATIONS[op](*(value.astype(np.float64, copy=False) for value in values)), dtype)
    if dtype.is_float and op in _FLOAT_OPERATIONS:
        return rounded(_FLOAT_OPERATIONS[op](*values), dtype)
    return _OPERATIONS[op](*values)


def cast(value: Array, source: DType, target: DType) -> Array:
    """`value` of dtype `source` as `target`."""
    if target is BOOL:
        return np.not_equal(value, 0)
    if target.is_float:
        return rounded(value, target) if source.is_float else _integer_to_float(value, target)
    return _truncated(value, target) if source.is_float else value.astype(held_type(target))


def fits(truncated: Array, target: DType) -> Array:
    """Where a whole float64 number is a value of the integer dtype `target`."""
    return (truncated >= float(target.min)) & (truncated < float(int(target.max) + 1))


def _integer_to_float(value: Array, target: DType) -> Array:
    return rounded(value.astype(np.float64 if target.itemsize == 8 else np.float32), target)


def _truncated(value: Array, target: DType) -> Array:
    whole = np.trunc(value.astype(np.float64))
    wrapped = np.where((whole >= -(2.0**63)) & (whole < 2.0**63), whole, 0.0).astype(np.int64).astype(held_type(target))
    if target.bits < 64 or target.min != 0:
        return wrapped
    high = (whole >= 2.0**63) & fits(whole, target)
    return np.where(high, np.where(high, whole, 0.0).astype(np.uint64), wrapped)


def _bits_of(dtype: DType) -> np.dtype[np.generic]:
    """The type through which a pattern of bits becomes a buffer's content."""
    return np.dtype("uint8") if dtype is BOOL else to_storage(np.zeros(1, held_type(dtype)), dtype).dtype


def _divide_truncating(dividend: Array, divisor: Array) -> Array:
    quotient: Array = (dividend - np.fmod(dividend, divisor)) // divisor
    return quotient


def _shift_left(value: Array, amount: Array) -> Array:
    shifted: Array = np.left_shift(value, amount.astype(value.dtype))
    return shifted


def _shift_right(value: Array, amount: Array) -> Array:
    shifted: Array = np.right_shift(value, amount.astype(value.dtype))
    return shifted


def _multiply_add(first: Array, second: Array, third: Array) -> Array:
    total: Array = first * second + third
    return total


def _threefry(counter: Array, key: Array) -> Array:
    """Threefry-2x32 with 20 rounds; of counter, key and result, the low 32 bits are the first word."""
    keys = [_low(key), _high(key)]
    keys.append(keys[0] ^ keys[1] ^ _THREEFRY_PARITY)
    first, second = _low(counter) + keys[0], _high(counter) + keys[1]
    for number in range(_THREEFRY_ROUNDS):
        rotation = _THREEFRY_ROTATIONS[number % len(_THREEFRY_ROTATIONS)]
        first = first + second
        second = (second << np.uint32(rotation)) | (second >> np.uint32(32 - rotation))
        second = second ^ first
        if number % 4 == 3:
            injected = number // 4 + 1
            first = first + keys[injected % 3]
            second = second + keys[(injected + 1) % 3] + np.uint32(injected)
    return first.astype(np.uint64) | (second.astype(np.uint64) << np.uint64(32))


def _low(words: Array) -> Array:
    return words.astype(np.uint32)


def _high(words: Array) -> Array:
    return (words >> np.uint64(32)).astype(np.uint32)


_BOOL_OPERATIONS: dict[Ops, Operation] = {
    Ops.ADD: np.logical_or,
    Ops.MAX: np.logical_or,
    Ops.MUL: np.logical_and,
    Ops.MULACC: lambda first, second, third: (first & second) | third,
}
#: Computed in float64 and then rounded.
_DOUBLE_OPERATIONS: dict[Ops, Operation] = {
    Ops.EXP2: np.exp2,
    Ops.LOG2: np.log2,
    Ops.SIN: np.sin,
    Ops.POW: np.power,
    Ops.MULACC: _multiply_add,
}
#: Computed in the held form's precision and then rounded.
_FLOAT_OPERATIONS: dict[Ops, Operation] = {
    Ops.ADD: np.add,
    Ops.SUB: np.subtract,
    Ops.MUL: np.multiply,
    Ops.FDIV: np.divide,
    Ops.RECIP: np.reciprocal,
    Ops.SQRT: np.sqrt,
}
#: Exact for floats, and those of integers.
_OPERATIONS: dict[Ops, Operation] = {
    Ops.NEG: np.negative,
    Ops.MAX: np.fmax,
    Ops.CMPLT: np.less,
    Ops.CMPNE: np.not_equal,
    Ops.WHERE: np.where,
    Ops.ADD: np.add,
    Ops.SUB: np.subtract,
    Ops.MUL: np.multiply,
    Ops.MULACC: _multiply_add,
    Ops.IDIV: _divide_truncating,
    Ops.MOD: np.fmod,
    Ops.XOR: np.bitwise_xor,
    Ops.OR: np.bitwise_or,
    Ops.AND: np.bitwise_and,
    Ops.SHL: _shift_left,
    Ops.SHR: _shift_right,
    Ops.THREEFRY: _threefry,
}
