"""Made matrix products and convolutions, in every dtype and layout that tensor cores look at."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial

from tinygrad.shape.shapetracker import ShapeTracker

from tests.made.build import Buffer, Build, Document, Value, spread, windows


@dataclasses.dataclass(frozen=True, slots=True)
class Product:
    """C[batch..., m, n] = A[batch..., m, k] x B[batch..., k, n], in the ways a kernel may write it."""

    m: int
    n: int
    k: int
    batch: tuple[int, ...] = ()
    dtype: str = "float16"
    accumulator: str = "float32"
    # What the buffers hold; where it is not `dtype`, the loads are cast to `dtype` before the product.
    loaded: str = ""
    transposed_a: bool = False
    transposed_b: bool = False
    # Batch axes that both operands are broadcast along: the output is the same for each.
    shared_batch: bool = False
    epilogue: str = ""
    # Splits k in two reduce axes.
    k_parts: tuple[int, int] = (0, 0)
    masked: bool = False
    same_buffer: bool = False
    swapped: bool = False


def product(p: Product) -> Document:
    b = Build()
    out = b.buffer(p.accumulator, (*p.batch, p.m, p.n, *(1 for _ in reduce_sizes(p))))
    value = multiplied(b, p)
    first = len(p.batch) + 2
    total = b.reduce(value, "ADD", *range(first, first + len(reduce_sizes(p))))
    b.store(finished(b, total, p), out)
    return b.document()


def reduce_sizes(p: Product) -> tuple[int, ...]:
    return p.k_parts if p.k_parts != (0, 0) else (p.k,)


def multiplied(b: Build, p: Product) -> Value:
    """The products, before they are summed, over the axes (batch..., m, n, k...)."""
    reduced = reduce_sizes(p)
    full = (*p.batch, p.m, p.n, *reduced)
    axes = list(range(len(full)))
    batch, m, n, k = axes[: len(p.batch)], len(p.batch), len(p.batch) + 1, axes[len(p.batch) + 2 :]
    if p.shared_batch:
        batch = []
    dtype = p.loaded or p.dtype
    order_a = [*batch, *k, m] if p.transposed_a else [*batch, m, *k]
    order_b = [*batch, n, *k] if p.transposed_b else [*batch, *k, n]
    first = operand(b, None, dtype, full, order_a, p.masked)
    second = operand(b, first[0] if p.same_buffer else None, dtype, full, order_b, p.masked)
    left, right = first[1], second[1]
    if dtype != p.dtype:
        left, right = b.cast(left, p.dtype), b.cast(right, p.dtype)
    if p.swapped:
        left, right = right, left
    value = b.op("MUL", left, right)
    return value if p.accumulator == p.dtype else b.cast(value, p.accumulator)


def operand(
    b: Build, buffer: Buffer | None, dtype: str, full: tuple[int, ...], order: list[int], masked: bool
) -> tuple[Buffer, Value]:
    """A load that lies in memory in the order of the axes `order`; masked: its last axis is padded from two less."""
    sizes = [full[axis] for axis in order]
    stored = [*sizes[:-1], sizes[-1] - 2] if masked else sizes
    if buffer is None:
        buffer = b.buffer(dtype, tuple(stored))
    tracker = buffer.tracker.reshape(tuple(stored))
    if masked:
        tracker = tracker.pad((*((0, 0) for _ in sizes[:-1]), (1, 1)))
    return buffer, b.load(buffer, spread(tracker, full, order))


def finished(b: Build, total: Value, p: Product) -> Value:
    """What is done to the sum before it is stored."""
    match p.epilogue:
        case "relu":
            return b.op("MAX", total, b.like(0.0, total))
        case "bias":
            bias = b.buffer(total.dtype, (p.n,))
            return b.op("ADD", total, b.spread(bias, total.shape, (len(p.batch) + 1,)))
    return total


def two_products(same: bool) -> Document:
    """Two matrix products in one kernel, added: both have the tensor core's axes, or only one of them has."""
    b = Build()
    full = (32, 48, 64)
    sums = []
    for index in range(2):
        left, right = b.buffer("float16", (32, 64)), b.buffer("float16", (64, 48))
        orders = ((0, 2), (2, 1)) if same or index == 0 else ((2, 1), (0, 2))
        sources = (left, right) if orders[0] == (0, 2) else (right, left)
        loads = [b.spread(s, full, o) for s, o in zip(sources, orders, strict=True)]
        sums.append(b.reduce(b.cast(b.op("MUL", *loads), "float32"), "ADD", 2))
    b.store(b.op("ADD", *sums))
    return b.document()


def product_and_sum() -> Document:
    """A matrix product and the plain sum of its left operand, stored by one kernel."""
    b = Build()
    full = (32, 16, 64)
    left, right = b.buffer("float16", (32, 64)), b.buffer("float16", (64, 16))
    a = b.spread(left, full, (0, 2))
    value = b.op("MUL", a, b.spread(right, full, (2, 1)))
    b.store(b.reduce(b.cast(value, "float32"), "ADD", 2))
    b.store(b.reduce(b.cast(a, "float32"), "ADD", 2))
    return b.document()


def square_of_one_load() -> Document:
    """The sum of x * x, both sources the same node."""
    b = Build()
    x = b.buffer("float16", (32, 64))
    value = b.spread(x, (32, 16, 64), (0, 2))
    b.store(b.reduce(b.cast(b.op("MUL", value, value), "float32"), "ADD", 2))
    return b.document()


def attention_scores() -> Document:
    """q k^T scaled, over heads, from one packed qkv buffer of half."""
    b = Build()
    packed = b.buffer("float16", (2, 32, 3, 4, 16))
    full = (2, 4, 32, 32, 16)
    q = packed.tracker.shrink(((0, 2), (0, 32), (0, 1), (0, 4), (0, 16))).reshape((2, 32, 4, 16))
    k = packed.tracker.shrink(((0, 2), (0, 32), (1, 2), (0, 4), (0, 16))).reshape((2, 32, 4, 16))
    left = b.load(packed, q.permute((0, 2, 1, 3)).reshape((2, 4, 32, 1, 16)).expand(full))
    right = b.load(packed, k.permute((0, 2, 1, 3)).reshape((2, 4, 1, 32, 16)).expand(full))
    total = b.reduce(b.cast(b.op("MUL", left, right), "float32"), "ADD", 4)
    b.store(b.op("MUL", total, b.like(0.25, total)))
    return b.document()


def convolution(
    batch: int, channels: int, out: int, size: int, window: int, stride: int, pad: int, dtype: str
) -> Document:
    """NCHW convolution: reduces over channels and both window axes."""
    b = Build()
    image = b.buffer(dtype, (batch * channels, size, size))
    weight = b.buffer(dtype, (out, channels, window, window))
    seen = pooled(image.tracker, window, stride, pad)
    _, places_y, places_x, _, _ = seen.shape
    full = (batch, out, places_y, places_x, channels, window, window)
    seen = seen.reshape((batch, channels, places_y, places_x, window, window)).permute((0, 2, 3, 1, 4, 5))
    loaded = b.load(image, seen.reshape((batch, 1, places_y, places_x, channels, window, window)).expand(full))
    filters = b.spread(weight, full, (1, 4, 5, 6))
    value = b.op("MUL", loaded, filters)
    if dtype in ("float16", "bfloat16"):
        value = b.cast(value, "float32")
    b.store(b.reduce(value, "ADD", 4, 5, 6))
    return b.document()


def pooled(images: ShapeTracker, window: int, stride: int, pad: int) -> ShapeTracker:
    """Windows over the last two axes of (images, y, x), the first axis kept."""
    count, height, width = images.shape
    padded = images.pad(((0, 0), (pad, pad), (pad, pad)))
    planes_last = padded.permute((1, 2, 0)).reshape((height + 2 * pad, width + 2 * pad, count))
    single = windows(planes_last, window, stride, axes=2)
    return single.permute((2, 0, 1, 3, 4))


BASE = Product(64, 64, 64)
TF32 = Product(64, 64, 64, dtype="float32")
ODD_SIZES = (
    (100, 77, 300), (33, 17, 48), (16, 8, 16), (15, 9, 15), (5, 3, 7), (40, 24, 20), (4, 64, 64), (64, 3, 64),
    (64, 64, 4),
)  # fmt: skip
# batch, channels in and out, size, window, stride, pad, dtype
CONVOLUTIONS = (
    (2, 16, 32, 14, 3, 1, 1, "float16"),
    (2, 3, 16, 16, 3, 2, 1, "float16"),
    (1, 8, 24, 9, 3, 1, 0, "bfloat16"),
    (4, 16, 16, 8, 1, 1, 0, "float16"),
    (1, 4, 16, 20, 5, 1, 2, "float32"),
    (2, 32, 64, 12, 4, 4, 0, "float32"),
)


def products() -> Iterator[tuple[str, Product]]:
    def but(base: Product = BASE, **changes: object) -> Product:
        return dataclasses.replace(base, **changes)  # type: ignore[arg-type]

    yield "half_float", BASE
    yield "half_half", but(accumulator="float16")
    yield "bfloat16_float", but(dtype="bfloat16")
    yield "bfloat16_bfloat16", but(dtype="bfloat16", accumulator="bfloat16")
    yield "tf32", TF32
    yield "float64", but(TF32, dtype="float64", accumulator="float64")
    yield "int8_int32", but(dtype="int8", accumulator="int32")
    yield "half_float64", but(accumulator="float64")
    for i, (m, n, k) in enumerate(ODD_SIZES):
        yield f"half_sizes_{m}x{n}x{k}", but(m=m, n=n, k=k)
        accumulator = ("float16", "float32", "float32")[i % 3]
        dtype = ("float16", "bfloat16", "float32")[i % 3]
        yield f"{dtype}_sizes_{m}x{n}x{k}", but(m=m, n=n, k=k, dtype=dtype, accumulator=accumulator)
    for shape in ((2048, 2048, 2048), (1, 256, 256), (256, 1, 256), (256, 256, 1), (1, 1, 4096)):
        yield f"half_sizes_{'x'.join(map(str, shape))}", but(m=shape[0], n=shape[1], k=shape[2])
    yield "k_4096", but(m=16, n=16, k=4096)
    for dtype, loaded in (("float16", "float32"), ("bfloat16", "float32"), ("float32", "float16"), ("float16", "int8")):
        yield f"loads_cast_{loaded}_{dtype}", but(dtype=dtype, loaded=loaded)
    yield "loads_cast_half_half", but(loaded="float32", accumulator="float16", m=24, n=40, k=18)
    for base, name in ((BASE, "half"), (TF32, "tf32")):
        yield f"{name}_transposed_a", but(base, transposed_a=True, m=48)
        yield f"{name}_transposed_b", but(base, transposed_b=True, n=48)
        yield f"{name}_transposed_both", but(base, transposed_a=True, transposed_b=True, k=32)
        yield f"{name}_swapped", but(base, swapped=True, m=32, n=80)
        yield f"{name}_batched", but(base, batch=(6,), m=32, n=16, k=32)
        yield f"{name}_batched_padded", but(base, batch=(3, 4), m=20, n=30, k=50)
        yield f"{name}_shared_batch", but(base, batch=(16,), shared_batch=True, m=32, n=16, k=32)
        yield f"{name}_k_parts", but(base, k_parts=(9, 16), m=32, n=32)
        yield f"{name}_masked", but(base, masked=True, m=32, n=32, k=32)
        yield f"{name}_masked_padded", but(base, masked=True, m=34, n=35, k=37, transposed_b=True)
        yield f"{name}_relu", but(base, epilogue="relu", m=128)
        yield f"{name}_bias", but(base, epilogue="bias", n=96)
        yield f"{name}_gram", but(base, same_buffer=True, transposed_b=True, m=48, n=48)
    yield "half_shared_batch_padded", but(batch=(5, 9), shared_batch=True, m=20, n=12, k=30)
    yield "bfloat16_batched", but(dtype="bfloat16", batch=(2, 3), m=32, n=24, k=48)
    yield "bfloat16_loads_cast_k_parts", but(dtype="bfloat16", loaded="float32", k_parts=(3, 32))


def documents() -> Iterator[tuple[str, Callable[[], Document]]]:
    """(name, maker) of every kernel of this file."""
    for name, p in products():
        yield f"matmul/{name}", partial(product, p)
    yield "matmul/two_products_same_axes", partial(two_products, True)
    yield "matmul/two_products_other_axes", partial(two_products, False)
    for maker in (product_and_sum, square_of_one_load, attention_scores):
        yield f"matmul/{maker.__name__}", maker
    for args in CONVOLUTIONS:
        yield "conv/" + "_".join(map(str, args)), partial(convolution, *args)
