"""Made kernels with variables: in sizes, offsets, masks, reduce lengths and as values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from tinygrad.shape.shapetracker import ShapeTracker

from tests.made.build import Build, Document, spread


def rows_plus_one() -> Document:
    """(i, 32) + 1."""
    b = Build()
    i = b.variable("i", 1, 64)
    value = b.new("float32", (i, 32))
    b.store(b.op("ADD", value, b.like(1.0, value)))
    return b.document()


def column_scale() -> Document:
    """(12, i) times one factor a row, plus a row."""
    b = Build()
    i = b.variable("i", 2, 100)
    full = (12, i)
    factor, row = b.buffer("float32", (12,)), b.buffer("float32", (i,))
    scaled = b.op("MUL", b.new("float32", full), b.spread(factor, full, (0,)))
    b.store(b.op("ADD", scaled, b.spread(row, full, (1,))))
    return b.document()


def variable_as_value() -> Document:
    """x + i, and x compared with i."""
    b = Build()
    b.variable("i", 0, 1000)
    value = b.new("int32", (24, 16))
    number = b.define_var("i", (24, 16))
    b.store(b.op("ADD", value, number))
    b.store(b.cast(b.op("CMPLT", value, number), "int32"))
    return b.document()


def variable_as_value_and_size() -> Document:
    """The mean over a dynamic axis: the sum times one over i."""
    b = Build()
    i = b.variable("i", 1, 128)
    total = b.reduce(b.new("float32", (6, i)), "ADD", 1)
    count = b.cast(b.define_var("i", (6, 1)), "float32")
    b.store(b.op("MUL", total, b.op("RECIP", count)))
    return b.document()


def reduce_length(op: str, rows: int = 40) -> Document:
    """A reduce of length i, C7 of the fault cases."""
    b = Build()
    i = b.variable("i", 1, 32)
    b.store(b.reduce(b.new("float32", (rows, i)), op, 1))
    return b.document()


def reduce_dynamic_rows() -> Document:
    """i rows, each the sum of 48 elements."""
    b = Build()
    i = b.variable("i", 1, 32)
    b.store(b.reduce(b.new("float16", (i, 8, 48)), "ADD", 2))
    return b.document()


def reduce_static_and_dynamic() -> Document:
    """One static and one dynamic reduced axis, a kept one between."""
    b = Build()
    i = b.variable("i", 1, 32)
    b.store(b.reduce(b.new("float32", (16, 20, i)), "ADD", 0, 2))
    return b.document()


def two_variables() -> Document:
    """(i, j, 16): three factors of different extent."""
    b = Build()
    i, j = b.variable("i", 1, 20), b.variable("j", 2, 30)
    full = (i, j, 16)
    left, right = b.buffer("float32", (i, 16)), b.buffer("float32", (j, 16))
    product = b.op("MUL", b.spread(left, full, (0, 2)), b.spread(right, full, (1, 2)))
    b.store(b.op("ADD", product, b.new("float32", full)))
    return b.document()


def outer_product_sum() -> Document:
    """(i, 16) x (16, j): a matrix product of two dynamic sizes."""
    b = Build()
    i, j = b.variable("i", 1, 128), b.variable("j", 1, 128)
    full = (i, j, 16)
    left, right = b.buffer("float32", (i, 16)), b.buffer("float32", (16, j))
    value = b.op("MUL", b.spread(left, full, (0, 2)), b.spread(right, full, (2, 1)))
    b.store(b.reduce(value, "ADD", 2))
    return b.document()


def half_product(dynamic: str) -> Document:
    """A half matrix product in which one of m, n and k is dynamic: what tensor cores make of it."""
    b = Build()
    i = b.variable("i", 1, 64)
    m, n, k = (i if dynamic == name else 32 for name in "mnk")
    full = (m, n, k)
    left, right = b.buffer("float16", (m, k)), b.buffer("float16", (k, n))
    value = b.op("MUL", b.spread(left, full, (0, 2)), b.spread(right, full, (2, 1)))
    b.store(b.reduce(b.cast(value, "float32"), "ADD", 2))
    return b.document()


def cache_write() -> Document:
    """Rows written from start_pos on into 132 rows (C6)."""
    b = Build()
    start = b.variable("start_pos", 0, 128)
    cache = b.buffer("float32", (132, 16))
    value = b.new("float32", (4, 16))
    b.store(value, cache, cache.tracker.shrink(((start, start + 4), (0, 16))))
    return b.document()


def cache_read() -> Document:
    """The first start_pos + 1 rows of a cache, summed with a weight for each."""
    b = Build()
    start = b.variable("start_pos", 0, 127)
    length = start + 1
    cache, weight = b.buffer("float32", (128, 16)), b.buffer("float32", (8, length))
    full = (8, 16, length)
    rows = cache.tracker.shrink(((0, length), (0, 16)))
    value = b.op("MUL", b.spread(weight, full, (0, 2)), b.load(cache, spread(rows, full, (2, 1))))
    b.store(b.reduce(value, "ADD", 2))
    return b.document()


def offset_read() -> Document:
    """Sixteen elements from a dynamic offset."""
    b = Build()
    i = b.variable("i", 0, 48)
    source = b.buffer("float32", (64, 6))
    value = b.load(source, source.tracker.shrink(((i, i + 16), (0, 6))))
    b.store(b.op("NEG", value))
    return b.document()


def symbolic_mask() -> Document:
    """i rows, padded to twenty."""
    b = Build()
    i = b.variable("i", 1, 19)
    source = b.buffer("float32", (i, 8))
    b.store(b.op("EXP2", b.load(source, source.tracker.pad(((0, 20 - i), (0, 0))))))
    return b.document()


def symbolic_mask_reduce() -> Document:
    """As before, the padded axis reduced, with a VALID."""
    b = Build()
    i = b.variable("i", 1, 19)
    source = b.buffer("float32", (8, i))
    tracker = source.tracker.pad(((0, 0), (0, 20 - i)))
    value = b.load(source, tracker)
    b.store(b.reduce(b.op("WHERE", b.valid(tracker), value, b.like(-1.0, value)), "MAX", 1))
    return b.document()


def padded_then_expanded() -> Document:
    """[1, 3] padded to [1, 5], expanded to [i, 5] (C8)."""
    b = Build()
    i = b.variable("i", 1, 4)
    source = b.buffer("float32", (1, 3))
    b.store(b.load(source, source.tracker.pad(((0, 0), (1, 1))).expand((i, 5))))
    return b.document()


def merged_tokens() -> Document:
    """(2, i, 24) seen as (2 * i, 24): a size that is a product."""
    b = Build()
    i = b.variable("i", 1, 16)
    source = b.buffer("float32", (2, i, 24))
    value = b.load(source, ShapeTracker.from_shape((2 * i, 24)))
    b.store(b.op("MUL", value, b.new("float32", (2 * i, 24))))
    return b.document()


def masked_attention() -> Document:
    """Scores of 4 heads over start_pos + 8 keys, the future masked by a padded view."""
    b = Build()
    start = b.variable("start_pos", 0, 56)
    keys = start + 8
    full = (4, 8, keys, 16)
    q, k = b.buffer("float32", (4, 8, 16)), b.buffer("float32", (4, 64, 16))
    seen = k.tracker.shrink(((0, 4), (0, keys), (0, 16)))
    value = b.op("MUL", b.spread(q, full, (0, 1, 3)), b.load(k, spread(seen, full, (0, 2, 3))))
    b.store(b.reduce(value, "ADD", 3))
    return b.document()


def softmax_length() -> Document:
    """One over the sum of exponentials less their maximum, over a dynamic axis twice."""
    b = Build()
    i = b.variable("i", 1, 64)
    x = b.buffer("float32", (8, i))
    top = b.reduce(b.spread(x, (8, i, i), (0, 2)), "MAX", 2)
    value = b.spread(x, (8, i, 1), (0, 1))
    b.store(b.reduce(b.op("EXP2", b.op("SUB", value, top)), "ADD", 1))
    return b.document()


def documents() -> Iterator[tuple[str, Callable[[], Document]]]:
    """(name, maker) of every kernel of this file."""
    for maker in (
        rows_plus_one, column_scale, variable_as_value, variable_as_value_and_size, reduce_dynamic_rows,
        reduce_static_and_dynamic, two_variables, outer_product_sum, cache_write, cache_read, offset_read,
        symbolic_mask, symbolic_mask_reduce, padded_then_expanded, merged_tokens, masked_attention, softmax_length,
    ):  # fmt: skip
        yield f"dynamic/{maker.__name__}", maker
    for op in ("ADD", "MAX"):
        yield f"dynamic/reduce_length_{op}", partial(reduce_length, op)
    for name in "mnk":
        yield f"dynamic/half_product_{name}", partial(half_product, name)
