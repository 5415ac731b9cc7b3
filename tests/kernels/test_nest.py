"""A kernel before any Opt: its accesses, and which of the AST's axes are moved, dropped and merged."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from tinygrad.shape.shapetracker import ShapeTracker

from kernels import parse_ast
from kernels.index import Var, single
from kernels.nest import Nest, build_nest
from kernels.ops import Ops
from tests.kernels.shown import kernel_of, shape_of
from tests.made import dynamic, elementwise, reduces, views
from tests.made.build import Build, Document, spread
from tests.oracle import oracle_kernel


def nest_of(document: Document) -> Nest:
    return build_nest(parse_ast(document))


def copied(base: tuple[int, ...], move: Callable[[ShapeTracker], ShapeTracker], shape: tuple[int, ...]) -> Document:
    """A buffer of shape `base`, moved to `shape`, stored contiguously."""
    b = Build()
    buffer = b.buffer("float32", base)
    tracker = move(buffer.tracker)
    assert tracker.shape == shape
    b.store(b.load(buffer, tracker))
    return b.document()


def plain(shape: tuple[int, ...]) -> Document:
    return copied(shape, lambda tracker: tracker, shape)


def times_row(shape: tuple[int, ...], axes: tuple[int, ...]) -> Document:
    """A whole buffer times one that has only the axes `axes`."""
    b = Build()
    whole = b.new("float32", shape)
    part = b.buffer("float32", tuple(shape[axis] for axis in axes))
    b.store(b.op("MUL", whole, b.spread(part, shape, axes)))
    return b.document()


def sum_of_cast(shape: tuple[int, ...], axes: tuple[int, ...], permuted: bool = False) -> Document:
    """The sum of what is no access itself, so that the reduce's input counts as contiguous in its own shape."""
    b = Build()
    tracker = ShapeTracker.from_shape(shape)
    buffer = b.buffer("float32", shape)
    loaded = b.load(buffer, tracker.permute((1, 0, 2)) if permuted else tracker)
    b.store(b.reduce(b.op("NEG", loaded), "ADD", *axes))
    return b.document()


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        # Neighbours merge where every row allows it.
        (partial(plain, (4, 6, 8)), "B192"),
        (partial(copied, (6, 4), lambda t: t.permute((1, 0)), (4, 6)), "B4 B6"),
        (partial(copied, (4, 6, 8), lambda t: t.permute((1, 2, 0)), (6, 8, 4)), "B48 B4"),
        (partial(copied, (8,), lambda t: t.reshape((1, 1, 8)).expand((4, 6, 8)), (4, 6, 8)), "B24 B8"),
        (partial(copied, (4, 9), lambda t: t.shrink(((0, 4), (2, 8))), (4, 6)), "B4 B6"),
        (partial(copied, (4, 6), lambda t: t.flip((True, True)), (4, 6)), "B24"),
        (partial(copied, (4, 6), lambda t: t.flip((False, True)), (4, 6)), "B4 B6"),
        (partial(times_row, (4, 6, 8), (2,)), "B24 B8"),
        (partial(times_row, (4, 6, 8), (0, 1)), "B24 B8"),
        (partial(times_row, (4, 6, 8), (0, 2)), "B4 B6 B8"),
        # A masked axis has no known stride.
        (partial(copied, (4, 4), lambda t: t.pad(((0, 0), (1, 1))), (4, 6)), "B4 B6"),
        (partial(copied, (2, 6), lambda t: t.pad(((1, 1), (0, 0))), (4, 6)), "B4 B6"),
        (partial(copied, (2, 6, 8), lambda t: t.pad(((1, 1), (0, 0), (0, 0))), (4, 6, 8)), "B4 B48"),
        # Axes of size 1 are dropped; a kernel of nothing else has no axes.
        (partial(plain, (1, 40, 1, 3)), "B120"),
        (partial(plain, (1, 1, 1)), ""),
        (partial(reduces.reduced, (1, 1, 1), (0, 1)), ""),
        # Reduced axes go behind, in order, and merge among themselves only.
        (partial(reduces.reduced, (4, 6), (1,)), "B4 R6"),
        (partial(reduces.reduced, (4, 6), (0,)), "B6 R4"),
        (partial(reduces.reduced, (4, 6), (0, 1)), "R24"),
        (partial(reduces.reduced, (4, 6, 8, 3), (2, 3)), "B24 R24"),
        (partial(reduces.reduced, (4, 6, 8, 3), (0, 1)), "B24 R24"),
        (partial(reduces.reduced, (4, 6, 8, 3), (1, 2)), "B4 B3 R48"),
        (partial(reduces.reduced, (4, 6, 8, 3), (0, 2)), "B6 B3 R4 R8"),
        (partial(reduces.reduced, (4, 1, 8, 3), (0, 2)), "B3 R32"),
        (partial(reduces.reduced, (16, 1, 16), (1,)), "B256"),
        # The input of a reduce that is no access counts as contiguous, in the order before the reduced axes moved.
        (partial(sum_of_cast, (4, 6, 8), (2,)), "B24 R8"),
        (partial(sum_of_cast, (4, 6, 8), (1,)), "B4 B8 R6"),
        (partial(sum_of_cast, (6, 4, 8), (2,), True), "B4 B6 R8"),
        # Variables: no merge where one is in a stride or in the inner size, unless both strides are 0.
        (dynamic.rows_plus_one, "Bi*32"),
        (dynamic.column_scale, "B12 Bi"),
        (dynamic.merged_tokens, "Bi*48"),
        (partial(dynamic.reduce_length, "ADD"), "B40 Ri"),
        (dynamic.variable_as_value, "B384"),
        # A stack of two views merges where its simplified position does.
        (partial(copied, (4, 6), lambda t: t.permute((1, 0)).reshape((24,)).reshape((6, 4)), (6, 4)), "B6 B4"),
        (views.rows_seen_as_columns, "B3 B8"),
        (partial(elementwise.outer_sum, (3, 4, 5)), "B3 B4 B5"),
        # Two reduces: the axes of both, in the order of the first one's shape.
        (partial(reduces.mean_of_max, (6, 8, 16)), "B6 R8 R16"),
        (partial(reduces.parallel, "ADD", "MAX"), "B20 R96"),
    ],
)  # fmt: skip
def test_kernel_has_the_axes_of_its_ast(make: Callable[[], Document], shape: str) -> None:
    assert shape_of(kernel_of(make())) == shape


def test_dynamic_outer_axis_merges_by_plain_strides() -> None:
    for sizes, shape in (((1, 1), "Bi*12"), ((1, 12), "Bi B12")):
        b = Build()
        i = b.variable("i", 1, 9)
        source = b.buffer("float32", sizes)
        b.store(b.load(source, source.tracker.expand((i, 12))))
        assert shape_of(kernel_of(b.document())) == shape


def test_dynamic_inner_axis_merges_where_every_stride_is_zero() -> None:
    b = Build()
    i = b.variable("i", 1, 9)
    b.store(b.reduce(b.const(1.0, "float32", (4, 8, i)), "ADD", 1, 2))
    assert shape_of(kernel_of(b.document())) == "B4 Ri*8"


def test_accesses_are_in_reverse_order_and_the_first_is_the_last_store() -> None:
    document = elementwise.two_stores_same_shape()
    nest = nest_of(document)
    ops = [nest.ast.nodes[access.node].op for access in nest.accesses]
    assert ops == [Ops.STORE, Ops.STORE, Ops.LOAD, Ops.LOAD]
    numbers = [access.node for access in nest.accesses]
    assert numbers == sorted(numbers, reverse=True)
    last_store = nest.ast.nodes[numbers[0]]
    assert nest.ast.nodes[last_store.src[2]].op is Ops.MUL


def test_order_in_which_a_document_lists_its_nodes_does_not_matter() -> None:
    document = elementwise.two_stores_same_shape()
    nodes = document["nodes"]
    # The second load, with its buffer and view, before the first.
    loads = [number for number, node in enumerate(nodes) if node["op"] == "LOAD"]
    first, second = range(loads[0] + 1), range(loads[0] + 1, loads[1] + 1)
    order = [*second, *first, *range(loads[1] + 1, len(nodes))]
    at = {old: new for new, old in enumerate(order)}
    renumbered = [{**nodes[old], "src": [at[source] for source in nodes[old]["src"]]} for old in order]
    assert renumbered != nodes
    one, other = nest_of(document), nest_of({**document, "nodes": renumbered})
    assert one.ast == other.ast
    assert one.accesses == other.accesses


def test_structurally_equal_nodes_are_one_access() -> None:
    b = Build()
    buffer = b.buffer("float32", (8, 4))
    total = b.op("ADD", b.load(buffer), b.load(buffer))
    b.store(b.op("MUL", total, b.op("MUL", b.like(2.0, total), b.like(2.0, total))))
    nest = nest_of(b.document())
    assert [nest.ast.nodes[access.node].op for access in nest.accesses] == [Ops.STORE, Ops.CONST, Ops.LOAD]


def test_rows_are_the_accesses_and_two_of_each_reduce() -> None:
    nest = nest_of(reduces.reduced((4, 6, 8), (1,)))
    assert len(nest.accesses) == 2
    assert len(nest.rows) == 4
    store, load, result, reduced = (row.strides for row in nest.rows)
    assert nest.sizes == (4, 8, 6)
    assert store == (8, 1, 0)
    assert load == (48, 1, 8)
    assert result == (8, 1, 0)
    assert reduced == load


def test_reduce_of_what_is_no_access_counts_as_contiguous() -> None:
    nest = nest_of(sum_of_cast((6, 4, 8), (2,), permuted=True))
    assert nest.sizes == (4, 6, 8)
    assert nest.rows[1].strides == (8, 32, 1)
    assert nest.rows[3].strides == (48, 8, 1)


def test_row_of_a_masked_load_has_no_stride_there() -> None:
    nest = nest_of(copied((2, 6), lambda t: t.pad(((1, 1), (0, 0))), (4, 6)))
    store, load = nest.rows
    assert store.strides == (6, 1)
    assert load.strides == (None, 1)
    assert load.location.validity.axes == {0}
    assert load.raw.strides == (6, 1)
    assert load.raw.mask == ((1, 3), (0, 6))


def test_spans_tell_the_axes_that_a_row_has() -> None:
    b = Build()
    total = b.reduce(b.new("float32", (4, 6)), "ADD", 1)
    b.store(b.op("MUL", total, b.new("float32", (4, 1))))
    nest = nest_of(b.document())
    spans = {nest.ast.nodes[access.node].op: access.row.spans for access in nest.accesses if access.row.spans[1]}
    assert spans == {Ops.LOAD: (True, True)}
    assert all(row.spans[0] for row in nest.rows)


@pytest.mark.parametrize(
    ("make", "can_group", "can_pad_reduce", "reduce_itemsize"),
    [
        (partial(plain, (4,)), True, False, 0),
        (partial(reduces.reduced, (4, 6), (1,)), True, True, 4),
        (partial(reduces.reduced, (4, 6), (1,), "MAX", "float16"), True, False, 2),
        (partial(reduces.mean_of_max, (6, 8, 16)), True, False, 4),
        (partial(reduces.parallel, "ADD", "MAX"), False, True, 4),
        (partial(reduces.parallel, "MAX", "ADD", "int64"), False, False, 8),
        (partial(reduces.accumulated, "uint8", "uint32"), True, True, 4),
    ],
)
def test_nest_tells_what_its_reduces_allow(
    make: Callable[[], Document], can_group: bool, can_pad_reduce: bool, reduce_itemsize: int
) -> None:
    nest = nest_of(make())
    assert (nest.can_group, nest.can_pad_reduce, nest.reduce_itemsize) == (can_group, can_pad_reduce, reduce_itemsize)


def test_reduced_axes_are_those_of_each_reduce() -> None:
    nest = nest_of(reduces.mean_of_max((6, 8, 16)))
    assert nest.sizes == (6, 8, 16)
    assert nest.reduced_axes == ((2,), (1,))
    assert [nest.ast.nodes[reduce].arg.op for reduce in nest.reduces] == [Ops.MAX, Ops.ADD]  # type: ignore[union-attr]


def test_dynamic_sizes_are_expressions_of_the_variables() -> None:
    nest = nest_of(dynamic.column_scale())
    assert nest.has_variables
    assert nest.sizes == (12, single(Var("i", 2, 100)))
    assert not nest_of(plain((4,))).has_variables


def test_spread_buffers_agree_with_the_oracle_on_merging() -> None:
    # Every choice of axes that two buffers can have, of three: where a merge is allowed, both sides do it.
    subsets = [axes for n in range(1, 8) for axes in [tuple(a for a in range(3) if n >> a & 1)]]
    for left in subsets:
        for right in subsets:
            b = Build()
            full = (4, 6, 8)
            parts = [(b.buffer("float32", tuple(full[a] for a in axes)), axes) for axes in (left, right)]
            one, other = (b.load(buffer, spread(buffer.tracker, full, axes)) for buffer, axes in parts)
            b.store(b.op("ADD", one, other))
            document: Any = b.document()
            assert kernel_of(document).full_shape == tuple(oracle_kernel(document, "opencl").full_shape)
