"""Seeded random view stacks: movement operations in a row on the oracle's ShapeTracker, ending in an asked shape."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from tinygrad.ops import UOp
from tinygrad.shape.shapetracker import ShapeTracker

from tests.made.build import Shape, spread

MOST_VIEWS = 6
LARGEST_BUFFER = 1 << 34


def random_tracker(rng: random.Random, shape: Shape) -> tuple[Shape, ShapeTracker]:
    """(shape of a buffer, a view of `shape` over it): mostly one plain view, some axes broadcast."""
    kept = [axis for axis, size in enumerate(shape) if size != 1 and rng.random() < 0.75]
    if rng.random() < 0.3:
        kept = [axis for axis, size in enumerate(shape) if size != 1]
    if rng.random() < 0.4:
        rng.shuffle(kept)
    sizes = tuple(shape[axis] for axis in kept)
    dynamic = any(isinstance(size, UOp) for size in sizes)
    if not dynamic and rng.random() < 0.3:
        base, tracker = scrambled(rng, sizes)
    else:
        base, tracker = direct(rng, sizes)
    return base, spread(tracker, shape, kept)


def direct(rng: random.Random, sizes: Shape) -> tuple[Shape, ShapeTracker]:
    """Each axis as it is, or padded, cut from a longer one, strided, or flipped."""
    changes = [rng.choices(("as_is", "pad", "cut", "stride", "flip"), (70, 9, 9, 6, 6))[0] for _ in sizes]
    base = []
    for size, change in zip(sizes, changes, strict=True):
        if isinstance(size, UOp):
            base.append(size)
        elif change == "pad":
            base.append(max(1, size - rng.randint(0, max(1, size // 3))))
        elif change == "cut":
            base.append(size + rng.randint(1, 4))
        elif change == "stride":
            base.append(size * rng.choice((2, 3)))
        else:
            base.append(size)
    tracker = ShapeTracker.from_shape(tuple(base))
    for axis, change in enumerate(changes):
        tracker = along(rng, tracker, axis, sizes[axis], change)
    return tuple(base), tracker


def along(rng: random.Random, tracker: ShapeTracker, axis: int, size: Any, change: str) -> ShapeTracker:
    """Brings axis `axis` of `tracker` to `size` in the way of `change`."""
    shape = tracker.shape
    whole: list[Any] = [(0, s) for s in shape]
    if change == "flip" and not isinstance(size, UOp):
        return tracker.flip(tuple(i == axis for i in range(len(shape))))
    if isinstance(size, UOp) or shape[axis] == size:
        return tracker
    if change == "pad":
        before = rng.randint(0, size - shape[axis])
        after = size - shape[axis] - before
        return tracker.pad(tuple((before, after) if i == axis else (0, 0) for i in range(len(shape))))
    if change == "stride":
        factor = shape[axis] // size
        tracker = tracker.reshape((*shape[:axis], size, factor, *shape[axis + 1 :]))
        pick = rng.randrange(factor)
        ranges = (*whole[:axis], (0, size), (pick, pick + 1), *whole[axis + 1 :])
        return tracker.shrink(ranges).reshape((*shape[:axis], size, *shape[axis + 1 :]))
    start = rng.randint(0, shape[axis] - size)
    whole[axis] = (start, start + size)
    return tracker.shrink(tuple(whole))


def scrambled(rng: random.Random, sizes: Shape) -> tuple[Shape, ShapeTracker]:
    """A random chain of movement operations on a random buffer, cut or padded to the asked number of elements."""
    wanted = math.prod(sizes)
    base = factored(rng, max(1, wanted + rng.choice((0, 0, 0, 1, -1, 4, -3, wanted // 2))))
    tracker = ShapeTracker.from_shape(base)
    for _ in range(rng.randint(1, 6)):
        moved = random_move(rng, tracker)
        if math.prod(moved.shape) < 4 * wanted + 64:
            tracker = moved
        if len(tracker.views) >= MOST_VIEWS - 1:
            break
    have = math.prod(tracker.shape)
    if have != wanted:
        flat = tracker.reshape((have,))
        if have < wanted:
            before = rng.randint(0, wanted - have)
            tracker = flat.pad(((before, wanted - have - before),))
        else:
            start = rng.randint(0, have - wanted)
            tracker = flat.shrink(((start, start + wanted),))
    tracker = tracker.reshape(sizes)
    return base, tracker.simplify() if rng.random() < 0.7 else tracker


def random_move(rng: random.Random, tracker: ShapeTracker) -> ShapeTracker:
    shape = tracker.shape
    match rng.choice(("permute", "reshape", "pad", "shrink", "flip", "repeat", "window")):
        case "permute":
            return tracker.permute(tuple(rng.sample(range(len(shape)), len(shape))))
        case "reshape":
            return tracker.reshape(factored(rng, math.prod(shape)))
        case "pad":
            pads = tuple((rng.randint(0, 3), rng.randint(0, 3)) if rng.random() < 0.5 else (0, 0) for _ in shape)
            return tracker.pad(pads)
        case "shrink":
            return tracker.shrink(tuple(random_range(rng, size) for size in shape))
        case "flip":
            return tracker.flip(tuple(rng.random() < 0.5 for _ in shape))
        case "repeat":
            count = rng.choice((2, 3))
            return tracker.reshape((1, *shape)).expand((count, *shape)).reshape((count * shape[0], *shape[1:]))
    # "window": rows one longer than the axis, over its repetition: each row starts one element later
    size = shape[0]
    rest, whole = shape[1:], tuple((0, s) for s in shape[1:])
    repeated = tracker.reshape((1, size, *rest)).expand((3, size, *rest)).reshape((3 * size, *rest))
    rows = max(1, (3 * size) // (size + 1))
    return repeated.shrink(((0, rows * (size + 1)), *whole)).reshape((rows, size + 1, *rest))


def random_range(rng: random.Random, size: int) -> tuple[int, int]:
    if size < 3 or rng.random() < 0.5:
        return 0, size
    start = rng.randint(0, size // 3)
    return start, rng.randint(size - size // 3, size)


def factored(rng: random.Random, number: int) -> tuple[int, ...]:
    """`number` as a product of one to four factors, in random order."""
    factors = [number]
    for _ in range(rng.randint(0, 3)):
        index = rng.randrange(len(factors))
        divisors = small_divisors(factors[index])
        if divisors:
            divisor = rng.choice(divisors)
            factors[index : index + 1] = [divisor, factors[index] // divisor]
    rng.shuffle(factors)
    return tuple(factors)


def small_divisors(number: int) -> list[int]:
    return [d for d in range(2, min(number, 65)) if number % d == 0]


def stack_of(rng: random.Random, count: int, masked: bool, axes: Sequence[int] = (2, 3)) -> tuple[Shape, ShapeTracker]:
    """(buffer shape, tracker) whose stack really has `count` views, with at least one mask if `masked`."""
    while True:
        sizes = tuple(rng.choice((2, 3, 4, 5, 6, 8, 9, 12, 16, 20, 32)) for _ in range(rng.choice(axes)))
        base, tracker = scrambled(rng, sizes)
        simplified = tracker.simplify()
        has_mask = any(view.mask is not None for view in simplified.views)
        if len(simplified.views) == count and has_mask == masked:
            return base, simplified
