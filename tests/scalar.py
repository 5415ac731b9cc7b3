"""A slow interpreter of `kernel-ast/1` documents, one element at a time, as a second opinion on the NumPy reference.

It knows nothing of the product's code: it reads the wire form, and numbers are Python's. It computes as a plain program
does, rounding after every operation, with choices in which right programs differ (`Manner`).
"""

from __future__ import annotations

import dataclasses
import math
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

Number = bool | int | float
Document = Mapping[str, Any]
BITS = {"bool": 8, "float16": 16, "bfloat16": 16, "float32": 32, "float64": 64}
FORMATS = {"float16": "e", "float32": "f", "float64": "d"}
INTEGER_FORMATS = {8: "B", 16: "H", 32: "I", 64: "Q"}
sys.setrecursionlimit(max(sys.getrecursionlimit(), 40_000))  # chains of thousands of nodes


@dataclasses.dataclass(frozen=True, slots=True)
class Manner:
    """How a program may differ: the order of a sum, products fused into a float32 sum, halves rounded late."""

    backwards: bool = False
    fused: bool = False


def is_float(dtype: str) -> bool:
    return "float" in dtype


def width(dtype: str) -> int:
    return BITS.get(dtype) or int(dtype.lstrip("uint"))


def round_float(value: float, dtype: str) -> float:
    """To nearest, ties to even; beyond the greatest number to an infinity."""
    if math.isnan(value) or math.isinf(value):
        return value
    if dtype == "bfloat16":
        bits = struct.unpack("I", struct.pack("f", round_float(value, "float32")))[0]
        bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
        return struct.unpack("f", struct.pack("I", bits))[0]
    try:
        return struct.unpack(FORMATS[dtype], struct.pack(FORMATS[dtype], value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def wrap(value: int, dtype: str) -> int:
    bits = width(dtype)
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype.startswith("int") and value >> (bits - 1) else value


def as_dtype(value: Number, dtype: str) -> Number:
    """A result of arithmetic, as a number of the dtype."""
    if dtype == "bool":
        return bool(value)
    return round_float(float(value), dtype) if is_float(dtype) else wrap(int(value), dtype)


def cast(value: Number, dtype: str) -> Number:
    if dtype == "bool":
        return value != 0
    if not is_float(dtype) and isinstance(value, float):
        return wrap(math.trunc(value), dtype) if math.isfinite(value) else 0
    return as_dtype(value, dtype)


def to_bits(value: Number, dtype: str) -> int:
    if dtype == "bfloat16":
        return struct.unpack("I", struct.pack("f", value))[0] >> 16
    if is_float(dtype):
        return int.from_bytes(struct.pack("<" + FORMATS[dtype], value), "little")
    return int(value) & ((1 << width(dtype)) - 1)


def from_bits(bits: int, dtype: str) -> Number:
    if dtype == "bfloat16":
        return struct.unpack("f", struct.pack("I", bits << 16))[0]
    if is_float(dtype):
        return struct.unpack("<" + FORMATS[dtype], bits.to_bytes(width(dtype) // 8, "little"))[0]
    return bits != 0 if dtype == "bool" else wrap(bits, dtype)


# ---- operations ------------------------------------------------------------------------------------------------------


def divide(left: float, right: float) -> float:
    if right != 0.0 or math.isnan(left):
        return left / right if right != 0.0 else math.nan
    return math.nan if left == 0.0 else math.copysign(math.inf, left) * math.copysign(1.0, right)


def guarded(function: Callable[..., float], *values: float) -> float:
    """A function of `math`, with IEEE's answers where that raises."""
    try:
        return function(*values)
    except OverflowError:
        odd = function is math.pow and values[0] < 0 and values[1] % 2 == 1
        return -math.inf if odd else math.inf
    except ValueError:
        if values[0] == 0.0 and function is not math.sin:  # log2(0), or 0 to a negative power
            return -math.inf if function is math.log2 else math.inf
        return math.nan


def larger(left: Number, right: Number) -> Number:
    """NaN loses."""
    if left != left:
        return right
    return left if right != right or left >= right else right


def truncated_division(left: int, right: int) -> int:
    if right == 0:
        return 0
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def threefry(counter: int, key: int) -> int:
    """Threefry-2x32-20 in the shape of the published description: four rounds, then a key injection."""
    low = 0xFFFFFFFF
    words = [counter & low, counter >> 32]
    keys = [key & low, key >> 32]
    keys.append(0x1BD11BDA ^ keys[0] ^ keys[1])
    words = [(words[0] + keys[0]) & low, (words[1] + keys[1]) & low]
    for injection in range(1, 6):
        for rotation in ((17, 29, 16, 24), (13, 15, 26, 6))[injection % 2]:
            words[0] = (words[0] + words[1]) & low
            words[1] = ((words[1] << rotation | words[1] >> (32 - rotation)) & low) ^ words[0]
        words[0] = (words[0] + keys[injection % 3]) & low
        words[1] = (words[1] + keys[(injection + 1) % 3] + injection) & low
    return words[1] << 32 | words[0]


OPERATIONS: dict[str, Callable[..., Number]] = {
    "EXP2": lambda x: guarded(math.exp2, x),
    "LOG2": lambda x: guarded(math.log2, x),
    "SIN": lambda x: guarded(math.sin, x),
    "SQRT": lambda x: guarded(math.sqrt, x) if x != 0.0 else x,
    "RECIP": lambda x: divide(1.0, x),
    "NEG": lambda x: -x,
    "ADD": lambda x, y: x + y,
    "SUB": lambda x, y: x - y,
    "MUL": lambda x, y: x * y,
    "FDIV": divide,
    "IDIV": truncated_division,
    "MOD": lambda x, y: x - truncated_division(x, y) * y,
    "MAX": larger,
    "CMPLT": lambda x, y: x < y,
    "CMPNE": lambda x, y: x != y,
    "XOR": lambda x, y: x ^ y,
    "OR": lambda x, y: x | y,
    "AND": lambda x, y: x & y,
    "SHL": lambda x, y: x << y if 0 <= y < 64 else 0,
    "SHR": lambda x, y: x >> y if 0 <= y < 64 else 0,
    "POW": lambda x, y: guarded(math.pow, x, y),
    "THREEFRY": threefry,
    "WHERE": lambda c, x, y: x if c else y,
}


# ---- the interpreter -------------------------------------------------------------------------------------------------


class Interpreter:
    """Elements of one document's outputs. `buffers` are flat, in the form that the reference takes."""

    def __init__(
        self,
        document: Document,
        buffers: Mapping[int, Sequence[Any]],
        variables: Mapping[str, int] | None = None,
        manner: Manner = Manner(),
    ) -> None:
        self.nodes = document["nodes"]
        self.buffers = buffers
        self.variables = variables or {}
        self.manner = manner
        self.shapes: list[tuple[int, ...]] = []
        for node in self.nodes:
            self.shapes.append(self._shape(node))
        self.stores = {self.nodes[self.nodes[n]["src"][0]]["arg"]["slot"]: n for n in self.nodes[-1]["src"]}
        self._known: dict[tuple[int, tuple[int, ...]], Number] = {}

    def outputs(self, slot: int) -> Iterator[tuple[int | None, Number]]:
        """(position in the buffer, value) of every element of the STORE to `slot`; no position outside its mask."""
        for place in product(*map(range, self.shapes[self.stores[slot]])):
            yield self._stored(slot, place)

    def output(self, slot: int, flat: int) -> tuple[int | None, Number]:
        """The same of the element with that flat number."""
        return self._stored(slot, self._unravel(flat, self.shapes[self.stores[slot]]))

    def _stored(self, slot: int, place: tuple[int, ...]) -> tuple[int | None, Number]:
        _, view, value = self.nodes[self.stores[slot]]["src"]
        self._known.clear()
        return self.locate(view, place), self.value(value, place)

    def size(self, size: Any) -> int:
        if isinstance(size, str):
            return self.variables[size]
        if isinstance(size, int):
            return size
        op, left, right = size[0], self.size(size[1]), self.size(size[2])
        if op in ("//", "%"):
            return left // right if op == "//" else left % right
        return {"+": left + right, "-": left - right, "*": left * right, "max": max(left, right)}[op]

    def _shape(self, node: Mapping[str, Any]) -> tuple[int, ...]:
        if node["op"] == "VIEW":
            return tuple(self.size(size) for size in node["arg"]["views"][-1]["shape"])
        if node["op"] in ("DEFINE_GLOBAL", "SINK"):
            return ()
        shape = self.shapes[node["src"][1 if node["op"] in ("LOAD", "STORE") else 0]]
        if node["op"] == "REDUCE_AXIS":
            return tuple(1 if axis in node["arg"]["axes"] else size for axis, size in enumerate(shape))
        return shape

    @staticmethod
    def _unravel(flat: int, shape: Sequence[int]) -> tuple[int, ...]:
        place = []
        for size in reversed(shape):
            flat, coordinate = divmod(flat, size)
            place.append(coordinate)
        return tuple(reversed(place))

    def locate(self, view: int, place: tuple[int, ...]) -> int | None:
        """The position in the buffer of the element at `place`; None outside a mask."""
        views = self.nodes[view]["arg"]["views"]
        for depth in range(len(views) - 1, -1, -1):
            for coordinate, bounds in zip(place, views[depth]["mask"] or (), strict=False):
                if not self.size(bounds[0]) <= coordinate < self.size(bounds[1]):
                    return None
            strides = map(self.size, views[depth]["strides"])
            flat = self.size(views[depth]["offset"]) + sum(c * s for c, s in zip(place, strides, strict=True))
            if depth:
                place = self._unravel(flat, tuple(self.size(size) for size in views[depth - 1]["shape"]))
        return flat

    def value(self, number: int, place: tuple[int, ...]) -> Number:
        known = self._known.get((number, place))
        if known is None:
            known = self._known[number, place] = self._compute(number, place)
        return known

    def _compute(self, number: int, place: tuple[int, ...]) -> Number:
        node = self.nodes[number]
        op, sources, dtype = node["op"], node["src"], node["dtype"]
        if op == "LOAD":
            position = self.locate(sources[1], place)
            loaded = 0 if position is None else self.buffers[self.nodes[sources[0]]["arg"]["slot"]][position]
            if dtype == "bfloat16":
                return from_bits(int(loaded), dtype)
            return {"bool": bool}.get(dtype, float if is_float(dtype) else int)(loaded)
        if op == "VALID":
            return self.locate(sources[0], place) is not None
        if op == "CONST":
            return as_dtype(float(node["arg"]) if is_float(dtype) else int(node["arg"]), dtype)
        if op == "DEFINE_VAR":
            return self.variables[node["arg"]["name"]]
        if op == "REDUCE_AXIS":
            return self._reduce(node, place)
        values = [self.value(source, place) for source in sources]
        if op == "CAST":
            return cast(values[0], dtype)
        if op == "BITCAST":
            return from_bits(to_bits(values[0], self.nodes[sources[0]]["dtype"]), dtype)
        if op == "MULACC":
            return as_dtype(as_dtype(values[0] * values[1], dtype) + values[2], dtype)
        return as_dtype(OPERATIONS[op](*values), dtype)

    def _reduce(self, node: Mapping[str, Any], place: tuple[int, ...]) -> Number:
        dtype, op, axes = node["dtype"], node["arg"]["op"], node["arg"]["axes"]
        shape = self.shapes[node["src"][0]]
        collected: Number = {"ADD": 0, "MUL": 1, "MAX": self._least(dtype)}[op]
        through = {"float16": "float32", "bfloat16": "float32"}.get(dtype, dtype)
        order = list(product(*(range(shape[axis]) for axis in axes)))
        for part in reversed(order) if self.manner.backwards else order:
            inner = list(place)
            for axis, coordinate in zip(axes, part, strict=True):
                inner[axis] = coordinate
            collected = as_dtype(OPERATIONS[op](collected, self._addend(node["src"][0], tuple(inner))), through)
        return as_dtype(collected, dtype)

    def _addend(self, number: int, place: tuple[int, ...]) -> Number:
        """A value that a reduce takes; the product of two floats as it is, where products are fused."""
        node = self.nodes[number]
        if self.manner.fused and node["op"] == "MUL" and node["dtype"] in ("float32", "float16", "bfloat16"):
            return self.value(node["src"][0], place) * self.value(node["src"][1], place)
        return self.value(number, place)

    @staticmethod
    def _least(dtype: str) -> Number:
        if is_float(dtype):
            return -math.inf
        return -(1 << (width(dtype) - 1)) if dtype.startswith("int") else 0
