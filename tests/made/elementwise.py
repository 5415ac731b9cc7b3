"""Made kernels without a reduce: every operator, dtype and constant form, several stores, odd shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from tests.made.build import Build, Document, Value

FLOAT_UNARY = ("EXP2", "LOG2", "SIN", "SQRT", "RECIP", "NEG")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def two_stores_same_shape(size: int = 10) -> Document:
    """out0 = a + b, out1 = a * b (D6 of the fault cases)."""
    b = Build()
    left, right = b.new("float32", (size,)), b.new("float32", (size,))
    b.store(b.op("ADD", left, right))
    b.store(b.op("MUL", left, right))
    return b.document()


def two_stores_transposed() -> Document:
    """A copy and its transpose, stored by one kernel."""
    b = Build()
    value = b.new("float32", (24, 40))
    b.store(value)
    transposed = b.buffer("float32", (40, 24))
    b.store(b.op("NEG", value), transposed, transposed.tracker.permute((1, 0)))
    return b.document()


def three_stores_chain() -> Document:
    """exp2 of x, its sum with x, and a comparison of both: three dtypes of output."""
    b = Build()
    value = b.new("float16", (6, 28, 4))
    power = b.op("EXP2", value)
    total = b.op("ADD", power, value)
    b.store(power)
    b.store(b.cast(total, "float32"))
    b.store(b.cast(b.op("CMPLT", value, power), "uint8"))
    return b.document()


def bit_operations(dtype: str) -> Document:
    """((a & b) | (a ^ c)) == b, for integers and bool."""
    b = Build()
    x, y, z = (b.new(dtype, (12, 18)) for _ in range(3))
    mixed = b.op("OR", b.op("AND", x, y), b.op("XOR", x, z))
    b.store(mixed)
    b.store(b.op("CMPNE", mixed, y))
    return b.document()


def shifts(dtype: str) -> Document:
    """(a << 3) | (a >> 2)."""
    b = Build()
    value = b.new(dtype, (5, 32))
    b.store(b.op("OR", b.op("SHL", value, b.like(3, value)), b.op("SHR", value, b.like(2, value))))
    return b.document()


def threefry_bits() -> Document:
    """Random bits of 64-bit counters and one key, split into two 32-bit halves."""
    b = Build()
    counters = b.new("uint64", (1024,))
    key = b.buffer("uint64", (1,))
    bits = b.op("THREEFRY", counters, b.load(key, key.tracker.expand((1024,))))
    b.store(b.cast(b.op("AND", bits, b.like(0xFFFFFFFF, bits)), "uint32"))
    b.store(b.cast(b.op("SHR", bits, b.like(32, bits)), "uint32"))
    return b.document()


def random_uniform() -> Document:
    """Bits to floats in [0, 1): shift, set the exponent, BITCAST, subtract one."""
    b = Build()
    bits = b.new("uint32", (48, 32))
    mantissa = b.op("OR", b.op("SHR", bits, b.like(9, bits)), b.like(0x3F800000, bits))
    value = b.cast(mantissa, "float32", "BITCAST")
    b.store(b.op("ADD", value, b.like(-1.0, value)))
    return b.document()


def bitcasts(source: str, target: str) -> Document:
    b = Build()
    value = b.new(source, (9, 16))
    b.store(b.cast(value, target, "BITCAST"))
    return b.document()


def bitcast_constant() -> Document:
    """The bits of 1.0, stored eight times (E14)."""
    b = Build()
    b.store(b.cast(b.const(1.0, "float32", (8,)), "uint32", "BITCAST"))
    return b.document()


def float_functions(dtype: str) -> Document:
    """Every unary function in a chain, on one dtype."""
    b = Build()
    value = b.new(dtype, (4, 3, 50))
    for name in FLOAT_UNARY:
        value = b.op(name, value)
    b.store(value)
    return b.document()


def binary_floats(dtype: str) -> Document:
    """SUB, FDIV, POW and MAX of two inputs."""
    b = Build()
    left, right = b.new(dtype, (30, 14)), b.new(dtype, (30, 14))
    quotient = b.op("FDIV", b.op("SUB", left, right), right)
    b.store(b.op("MAX", b.op("POW", quotient, left), b.like(0.5, left)))
    return b.document()


def divide_integers(dtype: str) -> Document:
    """a // b + a % b, truncated as in C."""
    b = Build()
    left, right = b.new(dtype, (7, 20)), b.new(dtype, (7, 20))
    b.store(b.op("ADD", b.op("IDIV", left, right), b.op("MOD", left, right)))
    return b.document()


def multiply_accumulate(dtype: str) -> Document:
    b = Build()
    b.store(b.op("MULACC", *(b.new(dtype, (16, 12)) for _ in range(3))))
    return b.document()


def constants(dtype: str) -> Document:
    """Each constant form a float has, compared with an input."""
    b = Build()
    value = b.new(dtype, (2, 36))
    total = value
    for number in (float("inf"), float("-inf"), float("nan"), -0.0, 1e-30, 3.0):
        total = b.op("WHERE", b.op("CMPLT", value, b.like(number, value)), total, b.like(number, value))
    b.store(total)
    return b.document()


def big_integers() -> Document:
    """Constants beyond 2^53, which the wire form sends as strings."""
    b = Build()
    unsigned = b.new("uint64", (40,))
    signed = b.new("int64", (40,))
    b.store(b.op("XOR", unsigned, b.like(2**64 - 59, unsigned)))
    b.store(b.op("ADD", signed, b.like(-(2**62) - 1, signed)))
    return b.document()


def padded_with_value() -> Document:
    """Seven elements read at 5..7 of [1..5] padded by (2, 1) with 9, plus one (A7)."""
    b = Build()
    source = b.buffer("float32", (5,))
    tracker = source.tracker.pad(((2, 1),)).shrink(((5, 8),))
    loaded = b.load(source, tracker)
    one = b.buffer("float32", (1,))
    value = b.op("WHERE", b.valid(tracker), loaded, b.like(9.0, loaded))
    b.store(b.op("ADD", value, b.load(one, one.tracker.expand((3,)))))
    return b.document()


def concatenation() -> Document:
    """Three inputs side by side, each padded to the whole: the sum of masked loads."""
    b = Build()
    parts: list[Value] = []
    for before, size, after in ((0, 12, 24), (12, 20, 4), (32, 4, 0)):
        source = b.buffer("float32", (10, size))
        parts.append(b.load(source, source.tracker.pad(((0, 0), (before, after)))))
    b.store(b.op("ADD", b.op("ADD", parts[0], parts[1]), parts[2]))
    return b.document()


def where_with_masks() -> Document:
    """Two VALIDs of different masks choose among three values."""
    b = Build()
    source = b.buffer("int32", (8, 8))
    inner = source.tracker.pad(((2, 2), (2, 2)))
    shifted = source.tracker.pad(((4, 0), (0, 4)))
    chosen = b.op("WHERE", b.valid(shifted), b.load(source, shifted), b.const(-7, "int32", (12, 12)))
    b.store(b.op("WHERE", b.valid(inner), b.load(source, inner), chosen))
    return b.document()


def in_place() -> Document:
    """buf0 = buf0 + 1: a slot that is loaded and stored through the same view (F1)."""
    b = Build()
    buffer = b.buffer("float32", (6, 50))
    value = b.load(buffer)
    b.store(b.op("ADD", value, b.like(1.0, value)), buffer)
    return b.document()


def store_into_slice() -> Document:
    """A store that covers the middle of a larger buffer."""
    b = Build()
    buffer = b.buffer("float16", (10, 64))
    b.store(b.new("float16", (4, 32)), buffer, buffer.tracker.shrink(((3, 7), (16, 48))))
    return b.document()


def store_flipped() -> Document:
    b = Build()
    buffer = b.buffer("int16", (9, 20))
    b.store(b.new("int16", (9, 20)), buffer, buffer.tracker.flip((True, False)))
    return b.document()


def shared_subexpressions() -> Document:
    """y = max(y, y * y) 24 times: 2^24 paths, 50 nodes (C10)."""
    b = Build()
    value = b.new("float32", (10,))
    for _ in range(24):
        value = b.op("MAX", value, b.op("MUL", value, value))
    b.store(value)
    return b.document()


def long_chain(length: int = 300) -> Document:
    b = Build()
    value = b.new("float32", (32,))
    step = b.like(1.0, value)
    for _ in range(length):
        value = b.op("ADD", value, step)
    b.store(value)
    return b.document()


def shaped(shape: tuple[int, ...], dtype: str = "float32") -> Document:
    """x times a scalar buffer plus a row vector, in a given shape."""
    b = Build()
    value = b.new(dtype, shape)
    scalar, row = b.buffer(dtype, (1,)), b.buffer(dtype, shape[-1:])
    ones = (1,) * len(shape)
    scaled = b.op("MUL", value, b.load(scalar, scalar.tracker.reshape(ones).expand(shape)))
    spread_row = row.tracker.reshape(ones[:-1] + shape[-1:]).expand(shape)
    b.store(b.op("ADD", scaled, b.load(row, spread_row)))
    return b.document()


def outer_sum(sizes: tuple[int, ...]) -> Document:
    """One vector per axis, added: nothing merges."""
    b = Build()
    total: Value | None = None
    for axis, size in enumerate(sizes):
        vector = b.buffer("float32", (size,))
        placed = tuple(size if i == axis else 1 for i in range(len(sizes)))
        part = b.load(vector, vector.tracker.reshape(placed).expand(sizes))
        total = part if total is None else b.op("ADD", total, part)
    assert total is not None
    b.store(total)
    return b.document()


def converted(source: str, target: str) -> Document:
    b = Build()
    value = b.cast(b.new(source, (11, 24)), target)
    b.store(b.op("ADD", value, b.like(1 if target != "bool" else True, value)) if target != "bool" else value)
    return b.document()


def documents() -> Iterator[tuple[str, Callable[[], Document]]]:
    """(name, maker) of every kernel of this file."""
    yield "elementwise/two_stores_same_shape", two_stores_same_shape
    yield "elementwise/two_stores_12", partial(two_stores_same_shape, 12)
    for maker in (
        two_stores_transposed, three_stores_chain, threefry_bits, random_uniform, bitcast_constant, big_integers,
        padded_with_value, concatenation, where_with_masks, in_place, store_into_slice, store_flipped,
        shared_subexpressions, long_chain,
    ):  # fmt: skip
        yield f"elementwise/{maker.__name__}", maker
    for dtype in ("bool", "uint8", "int32", "uint32", "int64"):
        yield f"elementwise/bit_operations_{dtype}", partial(bit_operations, dtype)
    for dtype in ("uint32", "uint64", "int64", "uint8"):
        yield f"elementwise/shifts_{dtype}", partial(shifts, dtype)
    for source, target in (("float16", "uint16"), ("int32", "float32"), ("float64", "int64"), ("uint8", "int8")):
        yield f"elementwise/bitcast_{source}_{target}", partial(bitcasts, source, target)
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        yield f"elementwise/float_functions_{dtype}", partial(float_functions, dtype)
    for dtype in ("float32", "bfloat16"):
        yield f"elementwise/binary_{dtype}", partial(binary_floats, dtype)
        yield f"elementwise/constants_{dtype}", partial(constants, dtype)
        yield f"elementwise/mulacc_{dtype}", partial(multiply_accumulate, dtype)
    for dtype in INTEGERS:
        yield f"elementwise/divide_{dtype}", partial(divide_integers, dtype)
    for source, target in (("float32", "bfloat16"), ("bfloat16", "float64"), ("int64", "bool"), ("uint16", "float16")):
        yield f"elementwise/cast_{source}_{target}", partial(converted, source, target)
    shapes: tuple[tuple[int, ...], ...] = (
        (1, 1, 1), (1,), (1, 40, 1, 3), (3, 4, 5, 6, 7), (2, 3, 2, 5, 2, 3), (2, 3, 2, 2, 3, 2, 2, 3), (2,) * 16,
        (70000, 3, 5), (1 << 20, 1 << 18), (997,), (4, 4),
    )  # fmt: skip
    for shape in shapes:
        yield f"elementwise/shape_{'x'.join(map(str, shape))}", partial(shaped, shape)
    for sizes in ((3, 4, 5, 6, 7), (2, 7, 3, 2, 5, 2), (32, 1, 48), (6, 2, 3, 2, 4, 2, 3, 2)):
        yield f"elementwise/outer_{'x'.join(map(str, sizes))}", partial(outer_sum, sizes)
