"""Unlimited random kernels, each a function of its seed alone: `random_ast(seed)`.

Elementwise graphs over random view stacks, with none, one, two or three reduces (in a row or beside each other), one
to three stores, contractions that tensor cores may or may not take, and sometimes variables.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Sequence

from tinygrad.ops import UOp
from tinygrad.shape.shapetracker import ShapeTracker

from tests.made.build import Build, Document, Shape, Unsendable, Value, spread
from tests.made.matmuls import Product, finished, multiplied, reduce_sizes
from tests.made.random_views import random_tracker
from tests.oracle import oracle_kernel

SMALL = (1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10, 12, 14, 16, 16, 17, 20, 24, 25, 28, 32, 32, 33)
LARGE = (36, 48, 49, 50, 64, 64, 77, 96, 100, 127, 128, 192, 255, 256, 300, 512, 1000, 1024, 2048, 4096)
MOST_ELEMENTS = 1 << 33
FLOATS = ("float32", "float32", "float32", "float16", "bfloat16", "float64")
INTEGERS = ("int32", "int32", "int8", "uint8", "int16", "uint16", "uint32", "int64", "uint64")
FLOAT_OPS = ("ADD", "ADD", "MUL", "MUL", "MAX", "SUB", "FDIV", "POW")
INTEGER_OPS = ("ADD", "MUL", "MAX", "SUB", "IDIV", "MOD", "AND", "OR", "XOR", "SHL", "SHR")
UNARY = ("EXP2", "LOG2", "SIN", "SQRT", "RECIP", "NEG")
FLOAT_CONSTANTS = (0.5, -1.0, math.inf, -math.inf, math.nan)
SAME_WIDTH = {"float32": "int32", "float16": "uint16", "float64": "uint64", "int8": "uint8", "uint32": "float32"}


def random_ast(seed: int) -> Document:
    """A valid random document that the oracle's Kernel accepts; the same for the same seed."""
    attempt = 0
    while True:
        rng = random.Random(f"{seed}/{attempt}")
        attempt += 1
        try:
            document = random_document(rng)
            oracle_kernel(document, "opencl")
        except (Unsendable, ValueError, RuntimeError, AssertionError):
            continue  # what the oracle itself cannot build is no case: take the next attempt of this seed
        return document


def random_document(rng: random.Random) -> Document:
    kind = rng.choices((elementwise, one_reduce, nested, beside, contraction, product), (20, 22, 16, 16, 12, 14))[0]
    return kind(rng)


class Grower:
    """Grows random values of a shape and dtype, using buffers and values again now and then."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.build = Build()
        self.values: list[Value] = []

    def sizes(self, most: int = 5) -> Shape:
        """A random shape, with one or two variables in every seventh."""
        rng = self.rng
        count = rng.choice((1, 2, 2, 3, 3, 3, 4, 4, 5, 6, 8)) if most > 4 else rng.randint(1, most)
        sizes: list[int | UOp] = []
        for _ in range(count):
            size = rng.choice(LARGE if rng.random() < 0.25 else SMALL)
            sizes.append(size if math.prod(sizes) * size <= MOST_ELEMENTS else 2)
        if rng.random() < 0.14:
            for name in ("i", "j")[: rng.choice((1, 1, 2))]:
                variable = self.build.variable(name, rng.randint(1, 3), rng.randint(4, 64))
                sizes[rng.randrange(count)] = rng.choice((variable, variable, variable, variable + 1, variable * 2))
        largest = math.prod(size if isinstance(size, int) else int(size.vmax) for size in sizes)
        return tuple(sizes) if largest <= MOST_ELEMENTS else self.sizes(most)

    def value(self, shape: Shape, dtype: str, depth: int) -> Value:
        known = [value for value in self.values if value.shape == shape and value.dtype == dtype]
        if known and self.rng.random() < 0.15:
            return self.rng.choice(known)
        is_leaf = depth == 0 or self.rng.random() < 0.2
        value = self.leaf(shape, dtype) if is_leaf else self.inner(shape, dtype, depth - 1)
        self.values.append(value)
        return value

    def pair(self, shape: Shape, dtype: str, depth: int) -> tuple[Value, Value]:
        return self.value(shape, dtype, depth), self.value(shape, dtype, depth)

    def load(self, shape: Shape, dtype: str) -> Value:
        base, tracker = random_tracker(self.rng, shape)
        return self.build.load(self.build.buffer(dtype, base), tracker)

    def leaf(self, shape: Shape, dtype: str) -> Value:
        rng, b = self.rng, self.build
        roll = rng.random()
        if dtype == "bool":
            return b.valid(self.masked_tracker(shape)) if roll < 0.5 else self.load(shape, dtype)
        if roll < 0.12:
            number = (
                rng.choice((0, 1, 2, 3, 7))
                if dtype in INTEGERS
                else rng.choice((0.5, -1.0, math.inf, -math.inf, math.nan))
            )
            return b.const(number, dtype, shape)
        if roll < 0.2 and not any(isinstance(size, UOp) for size in shape):
            base, tracker = random_tracker(rng, shape)
            loaded = b.load(b.buffer(dtype, base), tracker)
            return b.op("WHERE", b.valid(tracker), loaded, b.like(1 if dtype in INTEGERS else -1.5, loaded))
        if roll < 0.3 and b.variables:
            return self.to(b.define_var(rng.choice(sorted(b.variables)), shape), dtype)
        return self.load(shape, dtype)

    def masked_tracker(self, shape: Shape) -> ShapeTracker:
        return random_tracker(self.rng, shape)[1]

    def to(self, value: Value, dtype: str) -> Value:
        return value if value.dtype == dtype else self.build.cast(value, dtype)

    def inner(self, shape: Shape, dtype: str, depth: int) -> Value:
        rng, b = self.rng, self.build
        if dtype == "bool":
            if rng.random() < 0.75:
                other = rng.choice((*FLOATS, *INTEGERS))
                return b.op(rng.choice(("CMPLT", "CMPNE")), *self.pair(shape, other, depth))
            return b.op(rng.choice(("AND", "OR", "XOR")), *self.pair(shape, dtype, depth))
        roll = rng.random()
        if roll < 0.12:
            return b.op("WHERE", self.value(shape, "bool", depth), *self.pair(shape, dtype, depth))
        if roll < 0.2:
            return self.to(self.value(shape, rng.choice((*FLOATS, *INTEGERS, "bool")), depth), dtype)
        if roll < 0.24 and dtype in SAME_WIDTH.values():
            source = next(source for source, target in SAME_WIDTH.items() if target == dtype)
            return b.cast(self.value(shape, source, depth), dtype, "BITCAST")
        if roll < 0.27:
            return b.op("MULACC", *(self.value(shape, dtype, depth) for _ in range(3)))
        if dtype == "uint64" and roll < 0.4:
            return b.op("THREEFRY", *self.pair(shape, dtype, depth))
        if dtype not in INTEGERS and roll < 0.5:
            return b.op(rng.choice(UNARY), self.value(shape, dtype, depth))
        return b.op(rng.choice(INTEGER_OPS if dtype in INTEGERS else FLOAT_OPS), *self.pair(shape, dtype, depth))

    def number(self) -> str:
        return self.rng.choice(FLOATS if self.rng.random() < 0.75 else INTEGERS)

    def combined(self, first: Value, second: Value) -> Value:
        """Both in one value of the first's dtype; the first stays the first source."""
        op = self.rng.choice(("ADD", "MUL", "MAX"))
        return self.build.op(op, first, self.to(second, first.dtype))

    def reduced(self, value: Value, axes: Sequence[int]) -> Value:
        if value.dtype == "bool":
            return self.build.reduce(value, "MAX", *axes)
        op = self.rng.choices(("ADD", "MAX", "MUL"), (70, 22, 8))[0]
        if op == "ADD" and self.rng.random() < 0.15:
            value = self.to(value, "float32" if value.dtype in FLOATS else "int32")
        return self.build.reduce(value, op, *axes)

    def finish(self, value: Value) -> Document:
        """Stores `value`, sometimes a second or third one of the same shape too."""
        rng, b = self.rng, self.build
        after = value
        for _ in range(rng.choice((0, 0, 1, 2))):
            after = self.combined(after, self.value(after.shape, after.dtype, 1))
        self.store(after)
        if rng.random() < 0.2:
            self.store(
                value if rng.random() < 0.5 and after is not value else self.value(value.shape, self.number(), 2)
            )
        if rng.random() < 0.05:
            self.store(b.cast(value, "uint8" if value.dtype != "uint8" else "float32"))
        return b.document()

    def store(self, value: Value) -> None:
        """Mostly dense; else transposed in memory, or into a part of a larger buffer."""
        rng, shape = self.rng, value.shape
        if rng.random() < 0.85 or any(isinstance(size, UOp) for size in shape):
            return self.build.store(value)
        order = rng.sample(range(len(shape)), len(shape))
        margin = rng.choice((0, 0, 2))
        buffer = self.build.buffer(value.dtype, tuple(shape[axis] + margin for axis in order))
        start = rng.randint(0, margin)
        tracker = buffer.tracker.shrink(tuple((start, start + shape[axis]) for axis in order))
        return self.build.store(value, buffer, spread(tracker, shape, order))


def pick_axes(rng: random.Random, shape: Shape, most: int = 3) -> list[int]:
    """One to `most` axes, mostly the last ones."""
    count = rng.randint(1, min(most, len(shape)))
    if rng.random() < 0.5:
        return list(range(len(shape) - count, len(shape)))
    return sorted(rng.sample(range(len(shape)), count))


def elementwise(rng: random.Random) -> Document:
    grow = Grower(rng)
    shape = grow.sizes()
    return grow.finish(grow.value(shape, grow.number() if rng.random() < 0.9 else "bool", rng.randint(1, 4)))


def one_reduce(rng: random.Random) -> Document:
    grow = Grower(rng)
    shape = grow.sizes()
    value = grow.value(shape, grow.number(), rng.randint(0, 3))
    return grow.finish(grow.reduced(value, pick_axes(rng, shape)))


def nested(rng: random.Random) -> Document:
    """A reduce of a reduce, sometimes a third: each time other axes."""
    grow = Grower(rng)
    shape = grow.sizes()
    value = grow.value(shape, grow.number(), rng.randint(0, 2))
    left = list(range(len(shape)))
    for _ in range(rng.choice((2, 2, 3))):
        if not left:
            break
        axes = sorted(rng.sample(left, rng.randint(1, min(2, len(left)))))
        left = [axis for axis in left if axis not in axes]
        value = grow.reduced(value, axes)
        if rng.random() < 0.6:
            value = grow.combined(value, grow.value(value.shape, value.dtype, rng.randint(0, 2)))
    return grow.finish(value)


def beside(rng: random.Random) -> Document:
    """Two reduces over the same axes, or the second over fewer."""
    grow = Grower(rng)
    shape = grow.sizes()
    axes = pick_axes(rng, shape)
    first = grow.reduced(grow.value(shape, grow.number(), rng.randint(0, 2)), axes)
    fewer = axes if len(axes) == 1 or rng.random() < 0.6 else axes[: rng.randint(1, len(axes) - 1)]
    inner_shape = tuple(1 if axis in axes and axis not in fewer else size for axis, size in enumerate(shape))
    dtype = first.dtype if rng.random() < 0.6 else grow.number()
    second = grow.reduced(grow.value(inner_shape, dtype, rng.randint(0, 2)), fewer)
    if rng.random() < 0.2:
        grow.store(first)
        return grow.finish(second)
    return grow.finish(grow.combined(first, second))


def contraction(rng: random.Random) -> Document:
    """A sum of products of two loads over random subsets of the axes, half and bfloat16 for the most part."""
    grow = Grower(rng)
    b = grow.build
    shape = tuple(size for size in grow.sizes() if size != 1) or (32, 48)
    axes = pick_axes(rng, shape, 2)
    dtype = rng.choice(("float16", "float16", "bfloat16", "float32"))
    loads = []
    for _ in range(2):
        kept = [axis for axis in range(len(shape)) if axis in axes or rng.random() < 0.6]
        if rng.random() < 0.3:
            rng.shuffle(kept)
        if rng.random() < 0.25:
            loads.append(grow.load(shape, dtype))
            continue
        buffer = b.buffer(dtype, tuple(shape[axis] for axis in kept))
        loads.append(b.load(buffer, spread(buffer.tracker, shape, kept)))
    value = b.op("MUL", *loads)
    if dtype != "float32" and rng.random() < 0.8:
        value = b.cast(value, "float32")
    return grow.finish(b.reduce(value, "ADD", *axes))


PRODUCT_SIZES = (2, 4, 5, 7, 8, 9, 12, 15, 16, 17, 18, 24, 30, 32, 33, 40, 48, 64, 64, 77, 96, 100, 128, 256, 512)


PRODUCT_DTYPES = (
    *(("float16", "float32"),) * 4,
    *(("bfloat16", "float32"),) * 3,
    *(("float16", "float16"),) * 3,
    *(("float32", "float32"),) * 3,
)


def product(rng: random.Random) -> Document:
    """A matrix product as `matmuls.product` makes it, every choice random."""
    dtype, accumulator = rng.choice(PRODUCT_DTYPES)
    aligned = rng.random() < 0.4
    m, n, k = (rng.choice((16, 32, 48, 64, 128)) if aligned else rng.choice(PRODUCT_SIZES) for _ in range(3))
    parts = (rng.choice((2, 3, 8, 9, 16)), rng.choice((4, 8, 16, 30))) if rng.random() < 0.15 else (0, 0)
    batch = tuple(rng.choice((2, 3, 4, 5, 8, 12, 16)) for _ in range(rng.choice((0, 0, 0, 1, 1, 2))))
    p = Product(
        m, n, k, batch, dtype, accumulator,
        loaded=rng.choice(("", "", "", "", "float32", "float16", "int8")),
        transposed_a=rng.random() < 0.3,
        transposed_b=rng.random() < 0.3,
        shared_batch=bool(batch) and rng.random() < 0.15,
        k_parts=parts,
        masked=rng.random() < 0.1 and min(m, n, k) > 2,
        swapped=rng.random() < 0.3,
        epilogue=rng.choice(("", "", "relu", "bias")),
    )  # fmt: skip
    p = dataclasses.replace(p, masked=p.masked and parts == (0, 0))
    grow = Grower(rng)
    first = len(batch) + 2
    total = grow.build.reduce(multiplied(grow.build, p), "ADD", *range(first, first + len(reduce_sizes(p))))
    return grow.finish(finished(grow.build, total, p))
