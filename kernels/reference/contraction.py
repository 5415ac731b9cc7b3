"""Sums of products of two arrays: a matrix product where that saves work, else multiplied out.

The products that a sum adds up are taken as they are, not rounded, as fused multiply-adds and tensor cores take them;
the rounding that other programs do, each product to its own dtype, is part of the error. Whether a matrix product is
used depends on sizes, and changes the result by no more than float64's rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from kernels.dtypes import DType
from kernels.reference.bounds import Error
from kernels.reference.formats import GREATEST, LEAST, UNITS, Array
from kernels.reference.positions import boxes
from kernels.reference.reductions import Dimensions, Sum, total
from kernels.reference.regions import BLOCK

#: A matrix product is used where there are this many times as many products as factors.
GAIN = 4


def is_matrix_product(first: Sequence[int], second: Sequence[int]) -> bool:
    """True where factors of these shapes have far more products than there are factors."""
    return prod(np.broadcast_shapes(tuple(first), tuple(second))) >= GAIN * (prod(first) + prod(second))


def add_products(
    collected: Sum, dtype: DType, factors: tuple[Array, Array], errors: tuple[Error, Error], over: Dimensions
) -> None:
    """Add to `collected` all products of two factors that broadcast; the MUL is of `dtype`."""
    if is_matrix_product(factors[0].shape, factors[1].shape) and _is_plain(collected, dtype, factors, errors):
        _add_matrix_product(collected, dtype, factors, errors, over)
        return
    shape = np.broadcast_shapes(factors[0].shape, factors[1].shape)
    kept = prod(size for dimension, size in enumerate(shape) if dimension not in over)
    for box in boxes([shape[dimension] for dimension in over], BLOCK // kept):
        part = dict(zip(over, box, strict=True))
        parts = (_sliced(factors[0], part), _sliced(factors[1], part))
        part_errors = tuple(
            None if error is None else _sliced(np.broadcast_to(error, factor.shape), part)
            for factor, error in zip(factors, errors, strict=True)
        )
        _add_directly(collected, dtype, parts, (part_errors[0], part_errors[1]), over)


def _sliced(values: Array, part: Mapping[int, tuple[int, int]]) -> Array:
    """`values` within a range of some dimensions; along those of size 1 there is nothing to choose."""
    return values[
        tuple(
            slice(*part[dimension]) if dimension in part and size > 1 else slice(None)
            for dimension, size in enumerate(values.shape)
        )
    ]


def _is_plain(collected: Sum, dtype: DType, factors: tuple[Array, Array], errors: tuple[Error, Error]) -> bool:
    """True where the errors of a matrix product are simple: no product overflows, nor is one infinite and inexact."""
    if not collected.bounded:
        return True
    sizes = [_finite_size(factor) for factor in factors]
    if float(sizes[0].max()) * float(sizes[1].max()) > GREATEST[dtype]:
        return False
    return (errors[0] is None and errors[1] is None) or all(bool(np.isfinite(factor).all()) for factor in factors)


def _add_matrix_product(
    collected: Sum, dtype: DType, factors: tuple[Array, Array], errors: tuple[Error, Error], over: Dimensions
) -> None:
    first, second = factors
    value = sum_of_products(first, second, over)
    if not collected.bounded:
        collected.take(value, 0.0, 0.0)
        return
    sizes = (_finite_size(first), _finite_size(second))
    magnitude = sum_of_products(*sizes, over)
    count = prod(max(first.shape[dimension], second.shape[dimension]) for dimension in over)
    carried = magnitude * _share(collected, dtype) + LEAST[dtype] * count
    if errors[0] is not None:
        carried = carried + sum_of_products(np.broadcast_to(errors[0], first.shape), sizes[1], over)
    if errors[1] is not None:
        grown = sizes[0] if errors[0] is None else sizes[0] + errors[0]
        carried = carried + sum_of_products(grown, np.broadcast_to(errors[1], second.shape), over)
    collected.take(value, magnitude, np.where(np.isnan(carried), np.inf, carried))


def _share(collected: Sum, dtype: DType) -> float:
    """What rounding each product to `dtype` adds to a sum, of the sum of magnitudes: less where many even out."""
    return UNITS[dtype] * collected.growth / collected.length


def _finite_size(values: Array) -> Array:
    size = np.abs(values, dtype=np.float64)
    return np.where(np.isfinite(size), size, 0.0)


def _add_directly(
    collected: Sum, dtype: DType, factors: tuple[Array, Array], errors: tuple[Error, Error], over: Dimensions
) -> None:
    """One piece, its products in memory."""
    first, second = factors
    products = np.multiply(first, second, dtype=np.float64)
    if not collected.bounded:
        collected.take(total(products, over), 0.0, 0.0)
        return
    size = np.abs(products)
    error = size * _share(collected, dtype)
    finite = np.isfinite(products)
    if not (errors[0] is None and errors[1] is None):
        first_error, second_error = (np.zeros(1) if each is None else each for each in errors)
        error = error + np.abs(first) * second_error + (np.abs(second) + second_error) * first_error
        exact = (first_error == 0.0) & (second_error == 0.0)
        certain = exact | (np.isnan(first) & (first_error == 0.0)) | (np.isnan(second) & (second_error == 0.0))
        error = np.where(np.isnan(error) | ~finite, np.where(finite | ~certain, np.inf, 0.0), error)
    elif not finite.all():
        error = np.where(finite, error, 0.0)
    if dtype.itemsize < 8:  # beyond the dtype, a product that is rounded is infinite, and one that is fused is not
        error = np.where(finite & (size > GREATEST[dtype]), np.inf, error)
    count = prod(products.shape[dimension] for dimension in over)
    collected.take(total(products, over), total(size, over), total(error, over) + LEAST[dtype] * count)


def sum_of_products(first: Array, second: Array, over: Dimensions) -> Array:
    """The sum of all products over some dimensions, which stay with size 1, by a matrix product in float64."""
    first = total(first, tuple(d for d in over if second.shape[d] == 1))
    second = total(second, tuple(d for d in over if first.shape[d] == 1))
    shape = [1 if d in over else max(first.shape[d], second.shape[d]) for d in range(first.ndim)]
    summed = [d for d in over if first.shape[d] > 1]
    others = [d for d in range(first.ndim) if d not in over]
    batch = [d for d in others if first.shape[d] > 1 and second.shape[d] > 1]
    rows = [d for d in others if first.shape[d] > 1 and second.shape[d] == 1]
    columns = [d for d in others if first.shape[d] == 1]
    left = _as_matrices(first, batch, rows, summed)
    right = _as_matrices(second, batch, summed, columns)
    result = np.matmul(left, right)
    order = [*batch, *rows, *columns]
    result = result.reshape([shape[d] for d in order] + [1] * len(over))
    return np.transpose(result, np.argsort([*order, *over]))


def _as_matrices(values: Array, batch: list[int], rows: list[int], columns: list[int]) -> Array:
    """`values` as a batch of matrices: each dimension is in one of the three groups, or has size 1."""
    groups = (batch, rows, columns)
    named = [dimension for group in groups for dimension in group]
    rest = [dimension for dimension in range(values.ndim) if dimension not in named]
    sizes = [prod(values.shape[dimension] for dimension in group) for group in groups]
    return np.transpose(values, [*named, *rest]).reshape(sizes)
