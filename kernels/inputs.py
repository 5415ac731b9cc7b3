"""Seeded inputs for a kernel: numbers that its outputs can be judged by.

The same on every platform and with every version of NumPy: only the raw bits of a PCG64 generator are used, one stream
for each slot, and turned into numbers by arithmetic that is exact or rounded once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import numpy as np

from kernels.dtypes import BOOL, DType
from kernels.input_needs import Need, Role, input_needs
from kernels.ir import Ast
from kernels.reference.concrete import concrete_ast
from kernels.reference.formats import Array, held_type, rounded, storage_type, to_storage

Kind: TypeAlias = Literal["normal", "extremes"]

#: How many of a slot's elements are extreme: one in so many, fewer where one would spoil a whole sum.
_EXTREME_EVERY = 8
#: One index in so many is outside the positions that there are.
_OUTSIDE_EVERY = 8
_FAR_OUTSIDE = (-19238, -257, 10982377)
_PART = np.uint64(0x1FFFFF)  # a third of a raw number's 63 bits
_LARGE = 64.0  # so that no product of two is beyond float16


def make_inputs(
    ast: Ast, seed: int, variables: Mapping[str, int] | None = None, kind: Kind = "normal"
) -> dict[int, Array]:
    """Inputs for every loaded slot, in storage form (bfloat16 as uint16), as long as the kernel needs at least.

    Without variables a buffer has its declared size; with variables, what is reached at these values. Floats are about
    as large as 1, scaled down where many are added up or multiplied, and of the sign that logarithms, roots and
    divisions above need. Integers are small; indices mostly within their axis; divisors at least 1; shifts within the
    width. With `extremes` some elements are zeros, infinities, NaN, the least and the greatest integers, or indices far
    outside. Raises EvaluationError for wrong variables.
    """
    kernel = concrete_ast(ast, variables or {})
    inputs = {}
    for slot, need in sorted(input_needs(kernel).items()):
        facts = kernel.slots[slot]
        length = max(facts.reach, 1) if ast.variables else facts.declared
        generator = np.random.PCG64([seed, slot])
        values = _numbers(generator, length, facts.dtype, need)
        if kind == "extremes":
            values = _with_extremes(generator, values, facts.dtype, need)
        inputs[slot] = values
    return inputs


def _numbers(generator: np.random.PCG64, length: int, dtype: DType, need: Need) -> Array:
    raw: Array = generator.random_raw(length)
    if dtype.is_float:
        return to_storage(_floats(raw, dtype, need), dtype)
    if dtype is BOOL:
        return (raw >> np.uint64(63)).astype(np.bool_)
    if need.role is Role.BITS:
        return raw.astype(storage_type(dtype))
    if need.role is Role.FLOAT_BITS and need.pattern is not None:
        return to_storage(_floats(raw, need.pattern, need), need.pattern).view(storage_type(dtype))
    return _integers(raw, dtype, need)


# ---- floats ----------------------------------------------------------------------------------------------------------


def _floats(raw: Array, dtype: DType, need: Need) -> Array:
    """In held form. Either of one sign within a factor of four, or of both, around 0 with a deviation of about 1."""
    if need.multiplied > 1:
        return rounded(_factors(raw, need), dtype)
    if need.sign:
        values = need.sign * (0.5 + 1.5 * _unit(raw)) * (0.25 if need.small else 1.0)
    else:
        total = raw & _PART
        for shift in (21, 42):
            total += (raw >> np.uint64(shift)) & _PART
        values = total.astype(np.float64)
        values *= 2.0**-20
        values -= 3.0
    values *= _scale(need)
    return rounded(values, dtype)


def _unit(raw: Array) -> Array:
    """Numbers in [0, 1) of 24 bits."""
    return (raw >> np.uint64(40)).astype(np.float64) * 2.0**-24


def _scale(need: Need) -> float:
    """A power of two that keeps sums about as large as 1: of values of one sign, and of products of two values."""
    bits = need.summed.bit_length() - 1
    return 2.0 ** -(bits // 2 if need.sign else bits // 4)


def _factors(raw: Array, need: Need) -> Array:
    """Numbers so near to 1 or -1 that the product of all of them is neither very large nor very small."""
    spread = 2.0 ** -min(1 + (need.multiplied.bit_length()) // 2, 12)
    sizes: Array = 1.0 + spread * (2.0 * _unit(raw) - 1.0)
    negative = np.full(1, need.sign < 0) if need.sign else (raw & np.uint64(1)).astype(np.bool_)
    return np.where(negative, -sizes, sizes)


# ---- integers --------------------------------------------------------------------------------------------------------


def _integers(raw: Array, dtype: DType, need: Need) -> Array:
    """Of a role other than bits; where the dtype cannot hold a range, as much of it as it can."""
    low, high = {
        Role.DIVISOR: (1, 16),
        Role.SHIFT: (0, need.bound - 1),
        Role.INDEX: (0, need.bound - 1),
    }.get(need.role, (1, 18) if need.sign > 0 else (-9, 9))
    values = _between(raw, low, high, dtype)
    if need.role is Role.INDEX:
        near = _between(raw >> np.uint64(8), -2, need.bound + 1, dtype)
        return np.where(raw % np.uint64(_OUTSIDE_EVERY) == 0, near, values)
    if need.multiplied > 1 and need.role is Role.NUMBER:
        return values | np.ones(1, values.dtype)  # odd factors: their product does not end up as 0
    return values


def _between(raw: Array, low: int, high: int, dtype: DType) -> Array:
    """Both ends included, cut to the dtype's own range."""
    low, high = max(low, int(dtype.min)), min(high, int(dtype.max))
    span = np.uint64(max(high - low, 0) + 1)
    numbers: Array = ((raw >> np.uint64(16)) % span).astype(np.int64).astype(held_type(dtype))
    numbers += np.array(low, numbers.dtype)
    return numbers


# ---- extremes --------------------------------------------------------------------------------------------------------


def _with_extremes(generator: np.random.PCG64, values: Array, dtype: DType, need: Need) -> Array:
    extremes = _extremes(dtype, need)
    if not extremes.size:
        return values
    every = _EXTREME_EVERY * (need.summed * need.multiplied if dtype.is_float else 1)
    raw = generator.random_raw(values.size)
    chosen = extremes[(raw >> np.uint64(32)) % np.uint64(extremes.size)]
    return np.where((raw & np.uint64(0xFFFFFFFF)) % np.uint64(min(every, 2**31)) == 0, chosen, values)


def _extremes(dtype: DType, need: Need) -> Array:
    """In storage form. None where anything is allowed already, or nothing else is."""
    if dtype.is_float:
        signed = [0.0, -0.0, -np.inf, -_LARGE, -1.0] if need.sign == 0 else []
        sign = need.sign or 1
        numbers = [*signed, np.nan, sign * np.inf, sign * _LARGE, sign / _LARGE]
        return to_storage(rounded(np.array(numbers), dtype), dtype)
    if dtype is BOOL or need.role in (Role.BITS, Role.FLOAT_BITS):
        return np.zeros(0, storage_type(dtype))
    whole = {
        Role.DIVISOR: (1, dtype.max),
        Role.SHIFT: (0, need.bound - 1),
        Role.INDEX: (*_FAR_OUTSIDE, dtype.min, dtype.max, need.bound),
    }.get(need.role, (dtype.min, dtype.max, 0, 1, -1) if need.sign == 0 else (1, dtype.max))
    within = [int(number) for number in whole if dtype.min <= number <= dtype.max]
    return np.array(within, storage_type(dtype))
