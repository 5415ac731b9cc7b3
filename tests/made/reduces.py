"""Made kernels with one or more reduces: parallel, nested, with stores of different reduce states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from tinygrad.shape.shapetracker import ShapeTracker

from tests.made.build import Build, Document, Value, windows

LOG2_E = 1.4426950408889634


def exponential(b: Build, value: Value) -> Value:
    return b.op("EXP2", b.op("MUL", value, b.like(LOG2_E, value)))


def less(b: Build, value: Value, other: Value) -> Value:
    """value - other."""
    return b.op("ADD", value, b.op("MUL", other, b.like(-1.0, other)))


def skewed(vector: ShapeTracker) -> ShapeTracker:
    """Row i holds the first i + 1 elements of `vector`, right-aligned; the rest is masked."""
    (size,) = vector.shape
    period = 2 * size - 1
    rows = vector.pad(((size - 1, 0),)).reshape((1, period)).expand((size + 1, period)).reshape(((size + 1) * period,))
    return rows.shrink(((0, size * 2 * size),)).reshape((size, 2 * size)).shrink(((0, size), (0, size)))


def softmax_rows(rows: int, columns: int) -> Document:
    """out[i, c] = exp(x[i, c] - max x[i]) / sum of exp(x[i, j] - max x[i]): axes (i, c, j, k), three reduces."""
    b = Build()
    x = b.buffer("float32", (rows, columns))
    every = (rows, columns, columns, columns)

    def seen(axis: int, *present: int) -> Value:
        shape = tuple(size if i in (0, axis, *present) else 1 for i, size in enumerate(every))
        return b.spread(x, shape, (0, axis))

    # The first reduce of the graph has to have the full shape: so the denominator is the product's first source.
    inside = b.reduce(seen(3, 1, 2), "MAX", 3)
    total = b.reduce(exponential(b, less(b, seen(2, 1), inside)), "ADD", 2)
    top = b.reduce(seen(3, 1), "MAX", 3)
    b.store(b.op("MUL", b.op("RECIP", total), exponential(b, less(b, seen(1), top))))
    return b.document()


def softmax_denominator(rows: int, columns: int) -> Document:
    """One over the sum of exp(x - max x): two nested reduces, axes (i, j, k)."""
    b = Build()
    x = b.buffer("float32", (rows, columns))
    full = (rows, columns, columns)
    top = b.reduce(b.spread(x, full, (0, 2)), "MAX", 2)
    shifted = less(b, b.spread(x, (rows, columns, 1), (0, 1)), top)
    b.store(b.op("RECIP", b.reduce(exponential(b, shifted), "ADD", 1)))
    return b.document()


def variance_rows(rows: int, columns: int) -> Document:
    """Mean of squared distances from the mean (B2): nested over two axes of the same buffer."""
    b = Build()
    x = b.buffer("float32", (rows, columns))
    total = b.reduce(b.spread(x, (rows, columns, columns), (0, 2)), "ADD", 2)
    mean = b.op("MUL", total, b.like(1.0 / columns, total))
    distance = less(b, b.spread(x, (rows, columns, 1), (0, 1)), mean)
    square = b.reduce(b.op("MUL", distance, distance), "ADD", 1)
    b.store(b.op("MUL", square, b.like(1.0 / columns, square)))
    return b.document()


def mean_of_max(shape: tuple[int, int, int]) -> Document:
    """max over the last axis, then the mean over the middle one."""
    b = Build()
    top = b.reduce(b.new("float32", shape), "MAX", 2)
    total = b.reduce(top, "ADD", 1)
    b.store(b.op("MUL", total, b.like(1.0 / shape[1], total)))
    return b.document()


def three_nested() -> Document:
    """product of (max of (sum)), each over one axis of four."""
    b = Build()
    value = b.new("float32", (6, 5, 8, 12))
    inner = b.op("SQRT", b.reduce(value, "ADD", 3))
    middle = b.op("ADD", b.reduce(inner, "MAX", 2), b.const(1.0, "float32", (6, 5, 1, 1)))
    b.store(b.reduce(middle, "MUL", 1))
    return b.document()


def difference_from_row_sum() -> Document:
    """out_i = sum_j (y_ij - sum_k y_ik), y = x + 100 (A3)."""
    b = Build()
    x = b.buffer("float32", (17, 17))

    def shifted(axis: int, shape: tuple[int, ...]) -> Value:
        value = b.spread(x, shape, (0, axis))
        return b.op("ADD", value, b.like(100.0, value))

    inner = b.reduce(shifted(2, (17, 17, 17)), "ADD", 2)
    b.store(b.reduce(less(b, shifted(1, (17, 17, 1)), inner), "ADD", 1))
    return b.document()


def parallel(first: str, second: str, dtype: str = "float32") -> Document:
    """Two reduces of one input over the same axes, combined."""
    b = Build()
    value = b.new(dtype, (20, 8, 12))
    b.store(b.op("ADD", b.reduce(value, first, 1, 2), b.reduce(value, second, 1, 2)))
    return b.document()


def parallel_two_stores() -> Document:
    """Sum and max of the same rows, each stored."""
    b = Build()
    value = b.new("float32", (18, 64))
    b.store(b.reduce(value, "ADD", 1))
    b.store(b.reduce(value, "MAX", 1))
    return b.document()


def shared_and_own_axes() -> Document:
    """sum_jk x[i, j, k] * max_k y[i, k]: two reduces, the second over fewer axes."""
    b = Build()
    left = b.reduce(b.new("float32", (10, 16, 24)), "ADD", 1, 2)
    b.store(b.op("MUL", left, b.reduce(b.new("float32", (10, 1, 24)), "MAX", 2)))
    return b.document()


def store_beside_reduce(reduce_last: bool, dtype: str = "float32") -> Document:
    """Row sums in one store, in another a value that has seen no reduce (the oracle wants both of one shape)."""
    b = Build()
    plain = b.op("MUL", b.new(dtype, (12, 1)), b.new(dtype, (12, 1)))
    total = b.reduce(b.new(dtype, (12, 30)), "ADD", 1)
    for value in (plain, total) if reduce_last else (total, plain):
        b.store(value)
    return b.document()


def three_stores_of_reduces() -> Document:
    """Sum, sum of squares and maximum over two axes with a kept one between; the last is scaled."""
    b = Build()
    value = b.new("float32", (14, 6, 10))
    b.store(b.reduce(value, "ADD", 0, 2))
    b.store(b.reduce(b.op("MUL", value, value), "ADD", 0, 2))
    top = b.reduce(value, "MAX", 0, 2)
    b.store(b.op("MUL", top, b.new("float32", (1, 6, 1))))
    return b.document()


def arange(size: int, bias: int = -1) -> Document:
    """i = sum over j of (j <= i), minus one: a constant one where a padded, skewed view is valid (A6, C1)."""
    b = Build()
    triangle = skewed(ShapeTracker.from_shape((1,)).expand((size,)))
    one = b.const(1, "int32", (size, size))
    total = b.reduce(b.op("WHERE", b.valid(triangle), one, b.like(0, one)), "ADD", 1)
    b.store(b.op("ADD", total, b.like(bias, total)))
    return b.document()


def gather(rows: int, columns: int, picks: int) -> Document:
    """table[index[p], c] as a sum over rows of (row == index) * table (C2)."""
    b = Build()
    full = (picks, columns, rows)
    table, index, numbers = (
        b.buffer("float32", (rows, columns)),
        b.buffer("int32", (picks,)),
        b.buffer("int32", (rows,)),
    )
    same = b.op(
        "CMPNE",
        b.spread(index, full, (0,)),
        b.spread(numbers, full, (2,)),
    )
    value = b.spread(table, full, (2, 1))
    b.store(b.reduce(b.op("WHERE", same, b.like(0.0, value), value), "ADD", 2))
    return b.document()


def max_pool(dtype: str, least: float | int, size: int = 5, window: int = 3) -> Document:
    """3x3 window, stride 1, pad 1, padded by the dtype's least value (A10)."""
    b = Build()
    image = b.buffer(dtype, (size, size))
    seen = windows(image.tracker.pad(((1, 1), (1, 1))), window)
    loaded = b.load(image, seen)
    b.store(b.reduce(b.op("WHERE", b.valid(seen), loaded, b.like(least, loaded)), "MAX", 2, 3))
    return b.document()


def three_tap_sum(length: int = 56) -> Document:
    """Neighbours summed, padded by one (A11)."""
    b = Build()
    ones = b.buffer("float32", (length,))
    b.store(b.reduce(b.load(ones, windows(ones.tracker.pad(((1, 1),)), 3)), "ADD", 1))
    return b.document()


def reduced(shape: tuple[int, ...], axes: tuple[int, ...], op: str = "ADD", dtype: str = "float32") -> Document:
    b = Build()
    b.store(b.reduce(b.new(dtype, shape), op, *axes))
    return b.document()


def reduce_after(unary: str) -> Document:
    """The sum of a function of x that does not map 0 to 0 (A2)."""
    b = Build()
    b.store(b.reduce(b.op(unary, b.new("float32", (5, 13))), "ADD", 1))
    return b.document()


def accumulated(dtype: str, accumulator: str) -> Document:
    """x summed in a wider dtype (E6)."""
    b = Build()
    b.store(b.reduce(b.cast(b.new(dtype, (100, 255)), accumulator), "ADD", 1))
    return b.document()


def scaled_after_reduce() -> Document:
    """(sum_j x[i, j]) * b[i] (A4)."""
    b = Build()
    total = b.reduce(b.new("float32", (30, 16)), "ADD", 1)
    b.store(b.op("MUL", total, b.new("float32", (30, 1))))
    return b.document()


def reduced_constant(op: str) -> Document:
    b = Build()
    b.store(b.reduce(b.const(3.0, "float32", (6, 20)), op, 1))
    return b.document()


def log_softmax_loss() -> Document:
    """-sum of picked logits plus log of summed exponentials: nested and parallel reduces in one kernel."""
    b = Build()
    logits, labels = b.buffer("float32", (16, 10)), b.buffer("int32", (16,))
    numbers = b.buffer("int32", (10,))
    flat = (16, 10, 1)
    top = b.reduce(b.spread(logits, (16, 10, 10), (0, 2)), "MAX", 2)
    shifted = less(b, b.spread(logits, flat, (0, 1)), top)
    total = b.op("LOG2", b.reduce(exponential(b, shifted), "ADD", 1))
    other = b.op(
        "CMPNE",
        b.spread(labels, flat, (0,)),
        b.spread(numbers, flat, (1,)),
    )
    picked = b.reduce(b.op("WHERE", other, b.like(0.0, shifted), shifted), "ADD", 1)
    loss = less(b, total, picked)
    b.store(b.reduce(loss, "ADD", 0))
    return b.document()


def running_sum(size: int) -> Document:
    """out[i] = sum of x[j], j <= i: one load through a padded and skewed view."""
    b = Build()
    x = b.buffer("float32", (size,))
    b.store(b.reduce(b.load(x, skewed(x.tracker)), "ADD", 1))
    return b.document()


def bool_any() -> Document:
    b = Build()
    value = b.new("float32", (33, 20))
    b.store(b.reduce(b.op("CMPNE", value, b.like(0.0, value)), "MAX", 1))
    return b.document()


def documents() -> Iterator[tuple[str, Callable[[], Document]]]:
    """(name, maker) of every kernel of this file."""
    for maker in (
        three_nested, difference_from_row_sum, parallel_two_stores, shared_and_own_axes, three_stores_of_reduces,
        three_tap_sum, scaled_after_reduce, log_softmax_loss, bool_any,
    ):  # fmt: skip
        yield f"reduce/{maker.__name__}", maker
    for rows, columns in ((8, 16), (5, 13), (4, 64)):
        yield f"reduce/softmax_rows_{rows}x{columns}", partial(softmax_rows, rows, columns)
        yield f"reduce/softmax_denominator_{rows}x{columns}", partial(softmax_denominator, rows, columns)
    for rows, columns in ((4, 1024), (32, 12)):
        yield f"reduce/variance_rows_{rows}x{columns}", partial(variance_rows, rows, columns)
    for triple in ((6, 8, 16), (32, 3, 5)):
        yield f"reduce/mean_of_max_{'x'.join(map(str, triple))}", partial(mean_of_max, triple)
    for first, second in (("ADD", "MAX"), ("MUL", "ADD"), ("ADD", "ADD")):
        yield f"reduce/parallel_{first}_{second}", partial(parallel, first, second)
    yield "reduce/parallel_int64", partial(parallel, "MAX", "ADD", "int64")
    for last in (False, True):
        yield f"reduce/store_beside_reduce_{'last' if last else 'first'}", partial(store_beside_reduce, last)
    yield "reduce/store_beside_reduce_bfloat16", partial(store_beside_reduce, True, "bfloat16")
    for size in (16, 51, 2560):
        yield f"reduce/arange_{size}", partial(arange, size)
    yield "reduce/gather_256x256", partial(gather, 256, 256, 5)
    yield "reduce/gather_50x32", partial(gather, 50, 32, 12)
    yield "reduce/max_pool_float32", partial(max_pool, "float32", float("-inf"))
    yield "reduce/max_pool_int32", partial(max_pool, "int32", -(2**31), 6)
    for unary in ("RECIP", "LOG2", "EXP2", "SIN"):
        yield f"reduce/after_{unary}", partial(reduce_after, unary)
    for dtype, accumulator in (("uint8", "uint32"), ("bool", "int32"), ("int16", "int64"), ("bfloat16", "float32")):
        yield f"reduce/accumulated_{dtype}_{accumulator}", partial(accumulated, dtype, accumulator)
    for op in ("ADD", "MUL"):
        yield f"reduce/constant_{op}", partial(reduced_constant, op)
    for size in (12, 100):
        yield f"reduce/running_sum_{size}", partial(running_sum, size)
    shapes: tuple[tuple[tuple[int, ...], tuple[int, ...], str, str], ...] = (
        ((2, 8, 3, 12), (1, 3), "ADD", "float32"), ((64, 2048), (1,), "ADD", "float32"),
        ((2, 1024), (1,), "ADD", "float32"),
        ((4, 3), (1,), "MUL", "int32"), ((5, 13), (1,), "MAX", "float32"), ((40, 24, 6), (0,), "MAX", "int8"),
        ((3, 5, 4, 2, 6, 3), (0, 2, 4), "ADD", "float32"), ((1, 1, 1), (0, 1), "ADD", "float32"),
        ((1, 1, 30), (2,), "MUL", "float64"), ((16, 1, 16), (1,), "ADD", "float32"),
        ((8, 7, 6, 5, 4, 3, 2), (5, 6), "ADD", "uint64"),
        ((1 << 21, 512), (1,), "MAX", "float16"), ((6, 6, 6, 6, 6), (0, 1, 2, 3, 4), "ADD", "float32"),
    )  # fmt: skip
    for i, (shape, axes, op, dtype) in enumerate(shapes):
        yield f"reduce/shape_{i:02d}_{op}_{dtype}", partial(reduced, shape, axes, op, dtype)
