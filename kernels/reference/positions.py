"""Where the elements of a domain lie in a buffer: views applied with plain integer arithmetic.

A *domain* is a set of positions on the kernel's axes, given as one int64 array per axis. All arrays of a domain have
the same number of dimensions and broadcast with each other: dimension 0 runs over chosen points, dimension a + 1 over
a range of axis a. So a box of positions costs no more memory than the sides of the box.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple, TypeAlias

import numpy as np

from kernels.reference.concrete import Stack
from kernels.reference.formats import Array

Domain: TypeAlias = tuple[Array, ...]
Box: TypeAlias = tuple[tuple[int, int], ...]


class Location(NamedTuple):
    """Positions in a buffer, and where they are valid; None where all are. The position of an invalid one is 0."""

    positions: Array
    valid: Array | None


def box_domain(box: Box) -> Domain:
    """The domain of all positions within one [from, to) pair per axis."""
    return tuple(side(axis, bounds, len(box)) for axis, bounds in enumerate(box))


def side(axis: int, bounds: tuple[int, int], axes: int) -> Array:
    """The positions [from, to) of axis number `axis`, laid along its dimension; `axes` is how many axes there are."""
    shape = [1] * (axes + 1)
    shape[axis + 1] = bounds[1] - bounds[0]
    return np.arange(*bounds, dtype=np.int64).reshape(shape)


def point_domain(flat: Array, shape: tuple[int, ...]) -> Domain:
    """The domain of single elements, given by their flat row-major numbers in `shape`."""
    if not shape:
        return ()
    dimensions = (-1, *(1,) * len(shape))
    return tuple(numbers.astype(np.int64).reshape(dimensions) for numbers in np.unravel_index(flat, shape))


def with_sides(domain: Domain, box: Mapping[int, tuple[int, int]]) -> Domain:
    """`domain` with other positions on the axes of `box`."""
    axes = len(domain)
    return tuple(side(axis, box[axis], axes) if axis in box else old for axis, old in enumerate(domain))


def boxes(sizes: Sequence[int], limit: int) -> Iterator[Box]:
    """All of a space of these sizes, in boxes of at most `limit` positions, as even-sided as may be."""
    steps = list(sizes)
    elements = 1
    for step in steps:
        elements *= step
    while elements > max(limit, 1):
        longest = max(range(len(steps)), key=lambda axis: steps[axis])
        elements //= steps[longest]
        steps[longest] = (steps[longest] + 1) // 2
        elements *= steps[longest]
    starts = [range(0, size, step) for size, step in zip(sizes, steps, strict=True)]
    for corner in product(*starts):
        yield tuple((start, min(start + step, size)) for start, step, size in zip(corner, steps, sizes, strict=True))


def locate(stack: Stack, domain: Domain) -> Location:
    """Where a stack of views puts the elements of `domain`."""
    one = (1,) * (domain[0].ndim if domain else 1)
    coordinates = domain
    valid: Array | None = None
    flat = np.zeros(one, np.int64)
    for depth in range(len(stack) - 1, -1, -1):
        view = stack[depth]
        valid = _inside(view.shape, view.mask, coordinates, valid)
        flat = np.full(one, view.offset, np.int64)
        for size, stride, coordinate in zip(view.shape, view.strides, coordinates, strict=True):
            if size > 1 and stride != 0:
                flat = flat + coordinate * stride
        if valid is not None:
            flat = np.where(valid, flat, 0)
        if depth:
            coordinates = _unravelled(flat, stack[depth - 1].shape, one)
    return Location(flat, valid)


def _inside(
    shape: tuple[int, ...], mask: tuple[tuple[int, int], ...] | None, coordinates: Domain, valid: Array | None
) -> Array | None:
    """`valid`, and inside `mask`."""
    for size, (start, end), coordinate in zip(shape, mask or (), coordinates, strict=mask is not None):
        for bound, inside in ((start > 0, coordinate >= start), (end < size, coordinate < end)):
            if bound:
                valid = inside if valid is None else valid & inside
    return valid


def _unravelled(flat: Array, shape: tuple[int, ...], one: tuple[int, ...]) -> Domain:
    """The coordinates in `shape` of flat row-major positions that lie inside it."""
    coordinates = [np.zeros(one, np.int64)] * len(shape)
    real = [axis for axis, size in enumerate(shape) if size > 1]
    rest = flat
    for axis in reversed(real):
        coordinates[axis] = rest if axis == real[0] else rest % shape[axis]
        rest = rest // shape[axis]
    return tuple(coordinates)
