"""A small builder of `kernel-ast/1` documents for the tests. It knows nothing of the product's code.

Views come from the oracle's ShapeTracker, and a buffer is as large as the shape its views start from, so that nothing
reaches outside. Values carry dtype and shape, which the builder asserts on: a wrong test document fails at once.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from tinygrad.ops import Ops, UOp
from tinygrad.shape.shapetracker import ShapeTracker
from tinygrad.shape.view import View

Document = dict[str, Any]
Shape = tuple[Any, ...]
SIZE_NAMES = {Ops.ADD: "+", Ops.SUB: "-", Ops.MUL: "*", Ops.IDIV: "//", Ops.MOD: "%", Ops.MAX: "max"}
SAFE_INTEGER = 2**53
COMPARISONS = ("CMPLT", "CMPNE")


class Unsendable(Exception):
    """A size that the wire form has no operator for."""


@dataclasses.dataclass(frozen=True, slots=True)
class Value:
    """A node that has a value: its number in the document, dtype and shape."""

    node: int
    dtype: str
    shape: Shape


@dataclasses.dataclass(frozen=True, slots=True)
class Buffer:
    """A DEFINE_GLOBAL and the shape that its views start from."""

    node: int
    dtype: str
    tracker: ShapeTracker


def size_to_wire(size: Any) -> Any:
    """An integer, a variable's name, or `[op, a, b]`."""
    if isinstance(size, int):
        return int(size)
    assert isinstance(size, UOp)
    if size.op is Ops.CONST:
        return int(size.arg)
    if size.op is Ops.DEFINE_VAR:
        return size.arg[0]
    if size.op not in SIZE_NAMES:
        raise Unsendable(str(size.op))
    return [SIZE_NAMES[size.op], *(size_to_wire(source) for source in size.src)]


def view_to_wire(view: View) -> dict[str, Any]:
    mask = view.mask
    return {
        "shape": [size_to_wire(size) for size in view.shape],
        "strides": [size_to_wire(stride) for stride in view.strides],
        "offset": size_to_wire(view.offset),
        "mask": None if mask is None else [[size_to_wire(low), size_to_wire(high)] for low, high in mask],
    }


def constant_to_wire(value: float | int | bool) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= SAFE_INTEGER else str(value)
    if math.isnan(value):
        return "nan"
    return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")


class Build:
    """Collects nodes. Every method that makes a value returns it; `document()` ends with the SINK."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.stores: list[int] = []
        self.buffers = 0
        self.variables: dict[str, dict[str, int]] = {}

    def node(self, op: str, sources: Sequence[int], dtype: str | None = None, arg: Any = None) -> int:
        node: dict[str, Any] = {"op": op, "src": list(sources)}
        if dtype is not None:
            node["dtype"] = dtype
        if arg is not None:
            node["arg"] = arg
        self.nodes.append(node)
        return len(self.nodes) - 1

    def variable(self, name: str, low: int, high: int) -> UOp:
        """A variable for use in shapes, offsets and masks."""
        self.variables[name] = {"min": low, "max": high}
        return UOp.variable(name, low, high)

    def buffer(self, dtype: str, shape: Shape) -> Buffer:
        """The next slot; `shape` may hold variables, of which the declared size takes the maximum."""
        size = math.prod(s if isinstance(s, int) else int(s.vmax) for s in shape)
        node = self.node("DEFINE_GLOBAL", (), dtype, {"slot": self.buffers, "size": size})
        self.buffers += 1
        return Buffer(node, dtype, ShapeTracker.from_shape(shape))

    def view(self, tracker: ShapeTracker) -> int:
        return self.node("VIEW", (), arg={"views": [view_to_wire(view) for view in tracker.views]})

    def load(self, buffer: Buffer, tracker: ShapeTracker | None = None) -> Value:
        tracker = buffer.tracker if tracker is None else tracker
        node = self.node("LOAD", (buffer.node, self.view(tracker)), buffer.dtype)
        return Value(node, buffer.dtype, tracker.shape)

    def spread(self, buffer: Buffer, shape: Shape, axes: Sequence[int]) -> Value:
        """A load of the whole buffer, its axes being the axes `axes` of `shape`, broadcast along the others."""
        return self.load(buffer, spread(buffer.tracker, shape, axes))

    def new(self, dtype: str, shape: Shape) -> Value:
        """A load of a whole new buffer."""
        return self.load(self.buffer(dtype, shape))

    def const(self, value: float | int | bool, dtype: str, shape: Shape) -> Value:
        tracker = ShapeTracker.from_shape((1,) * len(shape)).expand(shape)
        return Value(self.node("CONST", (self.view(tracker),), dtype, constant_to_wire(value)), dtype, shape)

    def like(self, value: float | int | bool, other: Value) -> Value:
        return self.const(value, other.dtype, other.shape)

    def valid(self, tracker: ShapeTracker) -> Value:
        return Value(self.node("VALID", (self.view(tracker),), "bool"), "bool", tracker.shape)

    def define_var(self, name: str, shape: Shape) -> Value:
        """A variable's value, spread over `shape`."""
        bounds = self.variables[name]
        tracker = ShapeTracker.from_shape((1,) * len(shape)).expand(shape)
        node = self.node("DEFINE_VAR", (self.view(tracker),), "int32", {"name": name, **bounds})
        return Value(node, "int32", shape)

    def op(self, op: str, *sources: Value) -> Value:
        """An elementwise node; its dtype is the last source's (bool for comparisons)."""
        shapes = {source.shape for source in sources}
        assert len(shapes) == 1, (op, shapes)
        dtypes = {source.dtype for source in (sources[1:] if op == "WHERE" else sources)}
        assert len(dtypes) == 1, (op, dtypes)
        dtype = "bool" if op in COMPARISONS else sources[-1].dtype
        return Value(self.node(op, [source.node for source in sources], dtype), dtype, sources[0].shape)

    def cast(self, value: Value, dtype: str, op: str = "CAST") -> Value:
        return Value(self.node(op, (value.node,), dtype), dtype, value.shape)

    def reduce(self, value: Value, op: str, *axes: int) -> Value:
        shape = tuple(1 if axis in axes else size for axis, size in enumerate(value.shape))
        node = self.node("REDUCE_AXIS", (value.node,), value.dtype, {"op": op, "axes": list(axes)})
        return Value(node, value.dtype, shape)

    def store(self, value: Value, buffer: Buffer | None = None, tracker: ShapeTracker | None = None) -> None:
        """Stores to `buffer`, or to a new one that is contiguous in the value's shape."""
        buffer = self.buffer(value.dtype, value.shape) if buffer is None else buffer
        tracker = buffer.tracker if tracker is None else tracker
        assert tracker.shape == value.shape and buffer.dtype == value.dtype, (tracker.shape, value)
        self.stores.append(self.node("STORE", (buffer.node, self.view(tracker), value.node)))

    def document(self) -> Document:
        self.node("SINK", self.stores)
        document: Document = {"format": "kernel-ast/1", "nodes": self.nodes}
        used = {name: bounds for name, bounds in self.variables.items() if name in names_in(self.nodes)}
        if used:
            document["vars"] = used
        return document


def names_in(nodes: list[dict[str, Any]]) -> set[str]:
    """The variables that views and DEFINE_VAR nodes name."""
    names: set[str] = set()
    pending: list[Any] = [node["arg"]["views"] for node in nodes if node["op"] == "VIEW"]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            pending.extend(part.values())
        elif isinstance(part, list):
            pending.extend(part)
        elif isinstance(part, str) and part not in SIZE_NAMES.values():
            names.add(part)
    return names | {node["arg"]["name"] for node in nodes if node["op"] == "DEFINE_VAR"}


def spread(tracker: ShapeTracker, shape: Shape, axes: Sequence[int]) -> ShapeTracker:
    """`tracker`, whose axes become the axes `axes` of `shape`, broadcast along the others."""
    placed: list[Any] = [1] * len(shape)
    for size, axis in zip(tracker.shape, axes, strict=True):
        placed[axis] = size
    order = sorted(range(len(axes)), key=lambda i: axes[i])
    return tracker.permute(tuple(order)).reshape(tuple(placed)).expand(shape)


def windows(tracker: ShapeTracker, window: int, stride: int = 1, axes: int | None = None) -> ShapeTracker:
    """Sliding windows over the first `axes` axes (all by default): shape (places..., other axes..., window...).

    Each axis is repeated and cut into rows one element longer than itself, so that row r starts r elements later.
    """
    count = len(tracker.shape) if axes is None else axes
    sizes, rest = tracker.shape[:count], tracker.shape[count:]
    places = tuple((size - window) // stride + 1 for size in sizes)
    whole = tuple((0, size) for size in rest)
    paired = tracker.reshape((*(side for size in sizes for side in (1, size)), *rest))
    repeated = paired.expand((*(side for size in sizes for side in (window + 1, size)), *rest))
    flat = repeated.reshape((*((window + 1) * size for size in sizes), *rest))
    cut = flat.shrink((*((0, window * (size + 1)) for size in sizes), *whole))
    rows = cut.reshape((*(side for size in sizes for side in (window, size + 1)), *rest))
    spans = tuple((place - 1) * stride + 1 for place in places)
    rows = rows.shrink((*(side for span in spans for side in ((0, window), (0, span))), *whole))
    if stride > 1:
        rows = strided(rows, stride, places, rest)
    outer, inner = (tuple(2 * i + side for i in range(count)) for side in (1, 0))
    return rows.permute((*outer, *range(2 * count, 2 * count + len(rest)), *inner))


def strided(rows: ShapeTracker, stride: int, places: Shape, rest: Shape) -> ShapeTracker:
    """Every `stride`-th element of each second axis: padded to whole strides, cut in pieces, the first of each kept."""
    whole = tuple((0, size) for size in rest)
    window = rows.shape[0]
    rows = rows.pad((*(side for _ in places for side in ((0, 0), (0, stride - 1))), *((0, 0) for _ in rest)))
    rows = rows.reshape((*(side for place in places for side in (window, place, stride)), *rest))
    rows = rows.shrink((*(side for place in places for side in ((0, window), (0, place), (0, 1))), *whole))
    return rows.reshape((*(side for place in places for side in (window, place)), *rest))
