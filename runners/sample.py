"""Which outputs of a kernel are looked at where the reference is too slow for all of them.

Faults sit at borders: first and last rows, the ends of masks, what is left over when a size does not divide.
"""

from __future__ import annotations

from math import prod

import numpy as np

from kernels.ops import Ops
from kernels.reference.concrete import ConcreteAst
from kernels.reference.formats import Array

#: At least so many elements of a slot (all, where there are no more).
SAMPLE = 4096
_ENDS = 128
_NEAR = 3
_PER_BORDER = 8


def sample_elements(kernel: ConcreteAst) -> dict[int, Array]:
    """Flat element numbers in the shape of each STORE, ascending; the same every time."""
    return {
        slot: _of_shape(kernel.shapes[store], _borders(kernel, kernel.shapes[store]))
        for slot, store in kernel.stores.items()
    }


def _borders(kernel: ConcreteAst, shape: tuple[int, ...]) -> list[Array]:
    """For each axis the positions where something begins or ends: the axis itself, and every mask on it."""
    found: list[set[int]] = [{*range(_NEAR), *range(size - _NEAR, size)} for size in shape]
    for node, stack in zip(kernel.nodes, kernel.stacks, strict=True):
        mask = stack[-1].mask if node.op is Ops.VIEW else None
        for axis, (low, high) in enumerate(mask or ()):
            if axis < len(found):
                found[axis].update((low - 1, low, high - 1, high))
    return [
        np.array(sorted(at for at in borders if 0 <= at < size), np.int64)
        for borders, size in zip(found, shape, strict=True)
    ]


def _of_shape(shape: tuple[int, ...], borders: list[Array]) -> Array:
    total = prod(shape)
    if total <= SAMPLE:
        return np.arange(total)
    generator = np.random.Generator(np.random.PCG64(total))
    chosen = [np.arange(_ENDS), np.arange(total - _ENDS, total), generator.integers(0, total, SAMPLE)]
    # each border with the other axes anywhere, and corners: every axis on a border or anywhere
    for axis, own in enumerate(borders):
        points = _anywhere(shape, generator, own.size * _PER_BORDER)
        points[axis] = np.repeat(own, _PER_BORDER)
        chosen.append(np.ravel_multi_index(tuple(points), shape))
    points = _anywhere(shape, generator, SAMPLE // 4)
    for axis, own in enumerate(borders):
        there = generator.random(SAMPLE // 4) < 0.5
        points[axis] = np.where(there, generator.choice(own, SAMPLE // 4), points[axis])
    chosen.append(np.ravel_multi_index(tuple(points), shape))
    found = np.unique(np.concatenate(chosen))
    while found.size < SAMPLE:
        found = np.unique(np.concatenate([found, generator.integers(0, total, SAMPLE)]))
    return found


def _anywhere(shape: tuple[int, ...], generator: np.random.Generator, count: int) -> list[Array]:
    return [generator.integers(0, size, count) for size in shape]
