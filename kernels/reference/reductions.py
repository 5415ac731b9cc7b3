"""Reduces: values collected chunk by chunk, with what their rounding can have made of them.

Floats are collected in float64 and rounded once. A right program sums float16, bfloat16 and float32 in float32, in any
order; its error is taken as the smaller of n and 16 sqrt(n) units of the sum of magnitudes: the one is the worst case,
the other is far above what random rounding gives. (A long sum of one and the same number can come out further off.)
"""

from __future__ import annotations

from math import sqrt
from typing import Protocol

import numpy as np

from kernels.dtypes import FLOAT32, FLOAT64, DType
from kernels.ops import Ops
from kernels.reference.bounds import Error, not_compared, rounding, uncertain
from kernels.reference.formats import GREATEST, LEAST, UNITS, Array, held_type, rounded

Dimensions = tuple[int, ...]


class Collector(Protocol):
    """Takes the chunks of one reduce; every chunk is reduced over the same dimensions, which stay with size 1."""

    def add(self, values: Array, error: Error, over: Dimensions) -> None:
        """Take a chunk. The error, where there is one, broadcasts to the values."""

    def result(self) -> tuple[Array, Error]:
        """The reduced value in held form, and its error."""


def collector(op: Ops, dtype: DType, length: int, repeats: int, bounded: bool) -> Collector:
    """A new collector for a reduce of `length` values, of which each that is added stands for `repeats`.

    Where `bounded` is False, the error of the result is always None.
    """
    if dtype.is_bool:
        return _Decision(op is Ops.MUL)
    if op is Ops.MAX:
        return _Maximum(dtype)
    if not dtype.is_float:
        return _WholeSum(dtype, repeats) if op is Ops.ADD else _WholeProduct(dtype, repeats)
    if op is Ops.ADD:
        return Sum(dtype, length, repeats, bounded)
    return _Product(dtype, length, repeats)


def total(values: Array, over: Dimensions) -> Array:
    """The sum in float64 over some dimensions, which stay with size 1."""
    return np.add.reduce(values, axis=over, dtype=np.float64, keepdims=True)


def _spread(error: Array, values: Array) -> Array:
    return np.broadcast_to(error, values.shape)


class Sum:
    """A sum of floats; `take` adds a chunk that is summed already."""

    def __init__(self, dtype: DType, length: int, repeats: int, bounded: bool) -> None:
        self.dtype = dtype
        self.length = length
        self.repeats = repeats
        self.bounded = bounded
        #: How many roundings, one to each addend, the sum has to stand for in units of the sum of magnitudes.
        self.growth = min(length, 16.0 * sqrt(length))
        self._sum: Array | float = 0.0
        self._magnitude: Array | float = 0.0
        self._carried: Array | float = 0.0

    def add(self, values: Array, error: Error, over: Dimensions) -> None:
        """See Collector."""
        if not self.bounded:
            self.take(total(values, over), 0.0, 0.0)
            return
        carried = 0.0 if error is None else total(_spread(error, values), over)
        self.take(total(values, over), total(np.abs(values), over), carried)

    def take(self, value: Array, magnitude: Array | float, carried: Array | float) -> None:
        """Add a sum, the sum of its magnitudes, and the sum of the errors of what is in it."""
        self._sum = self._sum + value
        self._magnitude = self._magnitude + magnitude
        self._carried = self._carried + carried

    def result(self) -> tuple[Array, Error]:
        """See Collector."""
        whole = np.asarray(self._sum * self.repeats)
        value = rounded(whole, self.dtype)
        if not self.bounded:
            return value, None
        precision = FLOAT64 if self.dtype is FLOAT64 else FLOAT32
        magnitude, carried = self._magnitude * self.repeats, self._carried * self.repeats
        growth = (self.growth + 2.0) * UNITS[precision]
        error = carried + magnitude * growth + rounding(value, self.dtype, 2.0)
        # An addend that is infinite or NaN decides. Where a part of the sum may pass the greatest number, nothing does.
        decided = ~np.isfinite(whole) & np.isfinite(carried)
        passed = ~(magnitude <= GREATEST[precision]) | ~np.isfinite(value)
        return value, np.where(decided, 0.0, np.where(passed | np.isnan(error), np.inf, error))


class _Product:
    """A product of floats. Where a part of it may over- or underflow, which depends on the order, nothing is known."""

    def __init__(self, dtype: DType, length: int, repeats: int) -> None:
        self.dtype = dtype
        self.length = length
        self.repeats = repeats
        self._grown: Array | float = 0.0  # the sum of the positive binary logarithms of the factors
        self._shrunk: Array | float = 0.0  # that of the negative ones
        self._product: Array | float = 1.0
        self._spoilt: Array | float = 0.0  # the sum of the relative errors' logarithms

    def add(self, values: Array, error: Error, over: Dimensions) -> None:
        """See Collector."""
        self._product = self._product * np.multiply.reduce(values, axis=over, dtype=np.float64, keepdims=True)
        sizes = np.log2(np.abs(values, dtype=np.float64))
        sizes = np.where(np.isfinite(sizes), sizes, 0.0)
        self._grown = self._grown + total(np.maximum(sizes, 0.0), over)
        self._shrunk = self._shrunk + total(np.minimum(sizes, 0.0), over)
        if error is not None:
            relative = np.where(error == 0.0, 0.0, error / np.abs(values))
            self._spoilt = self._spoilt + total(np.log1p(relative), over)

    def result(self) -> tuple[Array, Error]:
        """See Collector."""
        whole = np.asarray(self._product) ** self.repeats
        value = rounded(whole, self.dtype)
        precision = FLOAT64 if self.dtype is FLOAT64 else FLOAT32
        units = self.length * UNITS[precision] / UNITS[self.dtype] + 2.0
        spoilt = np.asarray(self._spoilt) * self.repeats
        error = np.abs(whole) * np.expm1(spoilt) + rounding(value, self.dtype, units)
        top, bottom = np.log2(GREATEST[precision]), np.log2(LEAST[precision])
        passed = (self._grown * self.repeats >= top) | (self._shrunk * self.repeats <= bottom)
        decided = ~np.isfinite(whole) & (spoilt == 0.0)
        error = np.where(decided, 0.0, np.where(np.isfinite(value) & ~np.isnan(error), error, np.inf))
        return value, np.where(passed, np.inf, error)


class _Maximum:
    """The greatest value; NaN loses, against -inf too."""

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype
        self._value: Array = np.full(1, dtype.min, held_type(dtype))
        self._error: Error = None

    def add(self, values: Array, error: Error, over: Dimensions) -> None:
        """See Collector."""
        self._value = np.fmax(self._value, np.fmax.reduce(values, axis=over, keepdims=True))
        if error is not None:
            errors = np.where(np.isnan(values) & (error == 0.0), 0.0, error)
            largest = np.maximum.reduce(_spread(errors, values), axis=over, keepdims=True)
            self._error = largest if self._error is None else np.maximum(self._error, largest)

    def result(self) -> tuple[Array, Error]:
        """See Collector."""
        if self._error is None:
            return self._value, None
        return self._value, np.where(np.isinf(self._value) & np.isfinite(self._error), 0.0, self._error)


class _WholeSum:
    """A sum of integers, which wraps."""

    def __init__(self, dtype: DType, repeats: int) -> None:
        self.type = held_type(dtype)
        self.repeats = repeats
        self._sum: Array = np.zeros(1, self.type)
        self._error: Error = None

    def add(self, values: Array, error: Error, over: Dimensions) -> None:
        """See Collector."""
        self._sum = self._sum + np.add.reduce(values, axis=over, dtype=self.type, keepdims=True)
        if error is not None:
            carried = total(_spread(error, values), over)
            self._error = carried if self._error is None else self._error + carried

    def result(self) -> tuple[Array, Error]:
        """See Collector."""
        times = np.asarray(self.repeats).astype(self.type)
        return self._sum * times, None if self._error is None else self._error * self.repeats


class _WholeProduct:
    """A product of integers, which wraps. Nothing is known of it where a factor is not exact."""

    def __init__(self, dtype: DType, repeats: int) -> None:
        self.type = held_type(dtype)
        self.repeats = repeats
        self._product: Array = np.ones(1, self.type)
        self._spoilt: Array = np.zeros(1, bool)

    def add(self, values: Array, error: Error, over: Dimensions) -> None:
        """See Collector."""
        self._product = self._product * np.multiply.reduce(values, axis=over, dtype=self.type, keepdims=True)
        if error is not None:
            wrong = _spread(error, values) > 0.0
            self._spoilt = self._spoilt | np.logical_or.reduce(wrong, axis=over, keepdims=True)

    def result(self) -> tuple[Array, Error]:
        """See Collector."""
        value, factor, power = np.ones_like(self._product), self._product, self.repeats
        while power:
            value = value * factor if power & 1 else value
            factor, power = factor * factor, power >> 1
        return value, not_compared(self._spoilt)


class _Decision:
    """Whether any bool is true or, for a product, whether all are. One that is certain can decide alone."""

    def __init__(self, every: bool) -> None:
        self.every = every
        self._value: Array = np.zeros(1, bool)
        self._decided: Array = np.zeros(1, bool)
        self._unsure: Array = np.zeros(1, bool)

    def add(self, values: Array, error: Error, over: Dimensions) -> None:
        """See Collector."""
        decides = ~values if self.every else values
        unsure = np.zeros(1, bool) if error is None else error > 0.0
        self._decided = self._decided | np.logical_or.reduce(decides & ~unsure, axis=over, keepdims=True)
        if error is not None:
            self._unsure = self._unsure | np.logical_or.reduce(_spread(unsure, values), axis=over, keepdims=True)
        self._value = self._value | np.logical_or.reduce(decides, axis=over, keepdims=True)

    def result(self) -> tuple[Array, Error]:
        """See Collector."""
        return self._value ^ self.every, uncertain(self._unsure & ~self._decided)
