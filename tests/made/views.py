"""Made kernels whose loads go through stacks of views: the cases known to break compilers, and seeded random stacks."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

from tinygrad.shape.shapetracker import ShapeTracker

from tests.made.build import Build, Document, Shape
from tests.made.random_views import stack_of


def copied(base: Shape, tracker: ShapeTracker, dtype: str = "float32", dense: bool = True) -> Document:
    """The view, written to a dense buffer, beside a plain load of the same shape where `dense`."""
    b = Build()
    value = b.load(b.buffer(dtype, base), tracker)
    b.store(b.op("ADD", value, b.new(dtype, tracker.shape)) if dense else value)
    return b.document()


def summed(base: Shape, tracker: ShapeTracker, axes: tuple[int, ...]) -> Document:
    """The view times a plain load, reduced over `axes`; a VALID of the view is counted along."""
    b = Build()
    value = b.load(b.buffer("float32", base), tracker)
    filled = b.op("WHERE", b.valid(tracker), value, b.like(1.0, value))
    b.store(b.reduce(b.op("MUL", filled, b.new("float32", tracker.shape)), "ADD", *axes))
    return b.document()


def rows_seen_as_columns() -> Document:
    """Rows 0 to 4 of (6, 4) are valid; seen again as (3, 8) the first 20 flat elements are (A8)."""
    tracker = ShapeTracker.from_shape((5, 4)).pad(((0, 1), (0, 0))).reshape((3, 8))
    return copied((5, 4), tracker)


def empty_mask() -> Document:
    """Nothing of the load is valid: the sum of twenty elements outside the buffer (A9)."""
    b = Build()
    source = b.buffer("float32", (20,))
    tracker = source.tracker.pad(((20, 0),)).shrink(((0, 20),))
    b.store(b.reduce(b.load(source, tracker), "ADD", 0))
    return b.document()


def negative_stride() -> Document:
    """16, 13, 10, 7, 4, 1, 0, 0: length 8, stride -3, offset 15, the first six valid (A12)."""
    source = ShapeTracker.from_shape((16,)).flip((True,)).pad(((0, 2),)).reshape((6, 3))
    return copied((16,), source.shrink(((0, 6), (0, 1))).reshape((6,)).pad(((0, 2),)))


def transposed_copy(rows: int, columns: int) -> Document:
    """(D1)"""
    return copied((rows, columns), ShapeTracker.from_shape((rows, columns)).permute((1, 0)), dense=False)


def shifted_by_one(size: int = 8) -> Document:
    """out[i] = x[i + 1] + 1 (D3)."""
    b = Build()
    source = b.buffer("float32", (size + 1,))
    value = b.load(source, source.tracker.shrink(((1, size + 1),)))
    b.store(b.op("ADD", value, b.like(1.0, value)))
    return b.document()


def vector_expanded(size: int = 4) -> Document:
    """[4] expanded to 4x4, times 1.0 (D2)."""
    b = Build()
    source = b.buffer("float32", (size,))
    value = b.load(source, source.tracker.reshape((1, size)).expand((size, size)))
    b.store(b.op("MUL", value, b.like(1.0, value)))
    return b.document()


def five_axes_padded() -> Document:
    """(3, 4, 5, 6, 7) padded by one on each side, plus one (C4)."""
    b = Build()
    source = b.buffer("float32", (3, 4, 5, 6, 7))
    value = b.load(source, source.tracker.pad(((1, 1),) * 5))
    b.store(b.op("ADD", value, b.like(1.0, value)))
    return b.document()


def padded_small_axes() -> Document:
    """Masks on axes of 3 to 7 elements, as the first upcasts of the heuristic look for."""
    b = Build()
    left, right = b.buffer("float32", (3, 30, 5)), b.buffer("float32", (5, 30, 4))
    value = b.load(left, left.tracker.pad(((1, 1), (0, 2), (1, 0))))
    other = b.load(right, right.tracker.pad(((0, 0), (1, 1), (2, 0))))
    b.store(b.op("MAX", value, other))
    return b.document()


def pixel_shuffle(scale: int, size: int) -> Document:
    """(s * s, n, n) to (n * s, n * s), plus itself flipped."""
    b = Build()
    source = b.buffer("float32", (scale, scale, size, size))
    tracker = source.tracker.permute((2, 0, 3, 1)).reshape((size * scale, size * scale))
    b.store(b.op("ADD", b.load(source, tracker), b.load(source, tracker.flip((False, True)))))
    return b.document()


def rolled(size: int, by: int) -> Document:
    """x rotated by `by`: a window over its repetition."""
    source = ShapeTracker.from_shape((size,)).reshape((1, size)).expand((2, size)).reshape((2 * size,))
    return copied((size,), source.shrink(((by, by + size),)))


def tiled(rows: int, columns: int, times: int) -> Document:
    """x repeated along both axes."""
    source = ShapeTracker.from_shape((rows, columns)).reshape((1, rows, 1, columns))
    tracker = source.expand((times, rows, times, columns)).reshape((times * rows, times * columns))
    return copied((rows, columns), tracker)


def diagonal(size: int) -> Document:
    """The diagonal of a square matrix, through a padded flat view."""
    flat = ShapeTracker.from_shape((size, size)).reshape((size * size,)).pad(((0, size),))
    tracker = flat.reshape((size, size + 1)).shrink(((0, size), (0, 1))).reshape((size,))
    return copied((size, size), tracker)


def random_stacks() -> Iterator[tuple[str, Callable[[], Document]]]:
    """Stacks of exactly 2, 3 and 4 views, with and without masks: copied, and reduced over one or two axes."""
    for count in (2, 3, 4):
        for masked in (False, True):
            kind = f"{count}_{'masked' if masked else 'plain'}"
            for index in range(4):
                seed = f"{kind}_{index}"
                yield f"views/copied_{seed}", partial(random_copy, seed, count, masked)
                yield f"views/summed_{seed}", partial(random_sum, seed + "s", count, masked)


def random_copy(seed: str, count: int, masked: bool) -> Document:
    return copied(*stack_of(random.Random(seed), count, masked))


def random_sum(seed: str, count: int, masked: bool) -> Document:
    rng = random.Random(seed)
    base, tracker = stack_of(rng, count, masked, axes=(3, 4))
    axes = sorted(rng.sample(range(len(tracker.shape)), rng.choice((1, 1, 2))))
    return summed(base, tracker, tuple(axes))


def documents() -> Iterator[tuple[str, Callable[[], Document]]]:
    """(name, maker) of every kernel of this file."""
    for maker in (
        rows_seen_as_columns, empty_mask, negative_stride, shifted_by_one, vector_expanded, five_axes_padded,
        padded_small_axes,
    ):  # fmt: skip
        yield f"views/{maker.__name__}", maker
    yield "views/transposed_copy", partial(transposed_copy, 8, 32)
    for scale, size in ((2, 16), (3, 12)):
        yield f"views/pixel_shuffle_{scale}_{size}", partial(pixel_shuffle, scale, size)
    yield "views/rolled_24", partial(rolled, 24, 5)
    yield "views/tiled_6x10", partial(tiled, 6, 10, 4)
    yield "views/diagonal_16", partial(diagonal, 16)
    yield from random_stacks()
