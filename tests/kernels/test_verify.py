"""What one node must keep: its sources, dtypes and shapes; and what the kernel as a whole must keep."""

from __future__ import annotations

from typing import Any

import pytest

from kernels.dtypes import DTYPES
from kernels.errors import AstError
from kernels.wire import parse_ast
from tests.kernels.documents import (
    Document,
    buffer,
    changed,
    computed,
    constant,
    document,
    dynamic_rows,
    loaded,
    node,
    refused,
    scaled_sum,
    stack,
    view,
)

FLOATS = {"float16", "bfloat16", "float32", "float64"}
INTS = {"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"}
EVERY = FLOATS | INTS | {"bool"}

ACCEPTED_DTYPES: dict[str, set[str]] = {
    **dict.fromkeys(["EXP2", "LOG2", "SIN", "SQRT", "RECIP", "FDIV", "POW"], FLOATS),
    **dict.fromkeys(["IDIV", "MOD"], INTS),
    **dict.fromkeys(["XOR", "OR", "AND"], INTS | {"bool"}),
    **dict.fromkeys(["NEG", "SUB"], INTS | FLOATS),
    **dict.fromkeys(["ADD", "MUL", "MAX", "MULACC"], EVERY),
    "THREEFRY": {"uint64"},
}
COUNTS = {"EXP2": 1, "LOG2": 1, "SIN": 1, "SQRT": 1, "RECIP": 1, "NEG": 1, "MULACC": 3}


def accepts(made: Document) -> bool:
    """False where it is refused for a dtype."""
    try:
        parse_ast(made)
    except AstError as error:
        assert error.rule == "dtype"
        return False
    return True


@pytest.mark.parametrize("op", ACCEPTED_DTYPES)
def test_check_node_takes_the_dtypes_of_an_op(op: str) -> None:
    taken = {dtype for dtype in DTYPES if accepts(computed(op, dtype, *[dtype] * COUNTS.get(op, 2)))}
    assert taken == ACCEPTED_DTYPES[op]


@pytest.mark.parametrize("op", ["SHL", "SHR"])
def test_check_node_takes_shifts_by_the_same_dtype_or_uint32(op: str) -> None:
    taken = {(d, by) for d in DTYPES for by in DTYPES if accepts(computed(op, d, d, by))}
    assert taken == {(d, by) for d in INTS for by in (d, "uint32")}


@pytest.mark.parametrize("op", ["CMPLT", "CMPNE"])
def test_check_node_compares_equal_dtypes_to_bool(op: str) -> None:
    assert all(accepts(computed(op, "bool", dtype, dtype)) for dtype in DTYPES)
    assert not accepts(computed(op, "int32", "int32", "int32"))
    assert not accepts(computed(op, "bool", "int32", "uint32"))


def test_check_node_selects_by_a_bool() -> None:
    assert all(accepts(computed("WHERE", dtype, "bool", dtype, dtype)) for dtype in DTYPES)
    assert not accepts(computed("WHERE", "int32", "int32", "int32", "int32"))
    assert not accepts(computed("WHERE", "int32", "bool", "int32", "int64"))
    assert not accepts(computed("WHERE", "int64", "bool", "int32", "int32"))


def test_check_node_casts_any_dtype_to_any() -> None:
    assert all(accepts(computed("CAST", to, dtype)) for dtype in DTYPES for to in DTYPES)


def test_check_node_bitcasts_where_the_width_stays() -> None:
    taken = {(dtype, to) for dtype in DTYPES for to in DTYPES if accepts(computed("BITCAST", to, dtype))}
    assert taken == {(a, b) for a in DTYPES for b in DTYPES if DTYPES[a].itemsize == DTYPES[b].itemsize}


@pytest.mark.parametrize("op", ["ADD", "MULACC", "THREEFRY"])
def test_check_node_refuses_mixed_dtypes(op: str) -> None:
    dtype = "uint64" if op == "THREEFRY" else "float32"
    sources = [dtype] * COUNTS.get(op, 2)
    assert not accepts(computed(op, "int64", *sources))
    for place in range(len(sources)):
        assert not accepts(computed(op, dtype, *sources[:place], "int64", *sources[place + 1 :]))


@pytest.mark.parametrize(
    ("number", "dtype", "at"),
    [(4, "float64", 4), (8, "float16", 8), (0, "float16", 9), (2, "float16", 4), (6, "float64", 7)],
)
def test_check_node_keeps_a_dtype_from_buffer_to_buffer(number: int, dtype: str, at: int) -> None:
    error = refused(changed(scaled_sum(), "nodes", number, "dtype", to=dtype))
    assert (error.rule, error.node) == ("dtype", at)


def test_check_node_refuses_another_dtype_for_valid_and_define_var() -> None:
    nodes = [buffer(0, 4, "int8"), stack(view([4])), node("VALID", [1], "int8")]
    nodes += [node("STORE", [0, 1, 2], None), node("SINK", [3], None)]
    assert (refused(document(nodes)).rule, refused(document(nodes)).node) == ("dtype", 2)
    variables = dynamic_rows(i=(1, 2), j=(1, 2), k=(1, 2))
    assert refused(changed(variables, "nodes", 5, "dtype", to="int64")).rule == "dtype"


# ---- sources ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "sources"),
    [(2, [0]), (3, [0]), (4, [2]), (4, [2, 3, 3]), (6, []), (7, [4]), (8, [7, 7]), (9, [0, 1]), (10, [])],
)
def test_check_node_refuses_another_number_of_sources(number: int, sources: list[int]) -> None:
    error = refused(changed(scaled_sum(), "nodes", number, "src", to=sources))
    assert (error.rule, error.node) == ("source-count", number)


@pytest.mark.parametrize(
    ("number", "sources"),
    [
        (4, [3, 2]),
        (4, [2, 2]),
        (6, [2]),
        (6, [4]),
        (7, [4, 5]),
        (7, [2, 6]),
        (8, [3]),
        (9, [1, 0, 8]),
        (9, [0, 1, 2]),
        (10, [8]),
        (10, [0]),
    ],
)
def test_check_node_refuses_another_kind_of_source(number: int, sources: list[int]) -> None:
    error = refused(changed(scaled_sum(), "nodes", number, "src", to=sources))
    assert (error.rule, error.node) == ("source-kind", number)


# ---- shapes ----------------------------------------------------------------------------------------------------------


def test_check_node_refuses_elementwise_sources_of_other_shapes() -> None:
    error = refused(changed(scaled_sum(), "nodes", 5, "arg", "views", 0, to=view([4, 1], [0, 0])))
    assert (error.rule, error.node) == ("shape", 7)
    assert "(4, 8)" in error.message
    assert "(4, 1)" in error.message


def test_check_node_refuses_a_value_stored_through_another_shape() -> None:
    error = refused(changed(scaled_sum(), "nodes", 1, "arg", "views", 0, to=view([1, 4])))
    assert (error.rule, error.node) == ("shape", 9)


def test_check_node_takes_equal_sizes_that_are_written_differently() -> None:
    made = dynamic_rows(i=(1, 20), j=(2, 30), k=(0, 5))
    twice = changed(made, "nodes", 4, "arg", "views", 0, "shape", 0, to=["-", ["+", "i", 7], 7])
    assert parse_ast(twice) == parse_ast(made)
    other = changed(made, "nodes", 4, "arg", "views", 0, "shape", 0, to=["+", "i", 1])
    assert (refused(other).rule, refused(other).node) == ("shape", 7)


@pytest.mark.parametrize("axes", [[], [2], [1, 1], [1, 0], [0, 1, 2], [-1], [16], [10**30]])
def test_check_node_refuses_axes_that_are_not_there_or_not_ascending(axes: list[int]) -> None:
    error = refused(changed(scaled_sum(), "nodes", 8, "arg", "axes", to=axes))
    assert error.rule == ("number" if axes and not -1 < axes[0] < 16 else "axis")
    assert error.node == 8


def test_check_node_gives_a_reduced_axis_size_1() -> None:
    nodes = scaled_sum()["nodes"]
    whole = changed(document(nodes), "nodes", 8, "arg", "axes", to=[0, 1])
    stored = changed(whole, "nodes", 1, "arg", "views", 0, to=view([1, 1]))
    assert parse_ast(stored).shapes[-3:] == ((1, 1), (1, 1), None)


@pytest.mark.parametrize(
    "bad", [view([4], [1]), view([4], [0], 1), view([4], [0], 0, [[0, 3]]), view([1], [0], 5), view([2], [-1], 1)]
)
def test_check_node_refuses_a_constant_through_a_view_that_moves(bad: dict[str, Any]) -> None:
    error = refused(changed(constant(1.0, "float32"), "nodes", 2, "arg", "views", 0, to=bad))
    assert (error.rule, error.node) == ("view", 3)


def test_check_node_takes_a_constant_through_a_view_of_size_1() -> None:
    one = changed(constant(1.0, "float32"), "nodes", 1, "arg", "views", 0, to=view([1]))
    assert parse_ast(changed(one, "nodes", 2, "arg", "views", 0, to=view([1], [3], 0, [[0, 1]])))


# ---- the whole -------------------------------------------------------------------------------------------------------


def two_stores(first: Any, second: Any, slots: tuple[int, int] = (0, 1)) -> Document:
    """A constant stored through two views, to two slots."""
    nodes = []
    for slot, seen in zip(slots, (first, second), strict=True):
        base = len(nodes)
        shape = seen["shape"]
        nodes += [
            buffer(slot, 64),
            stack(seen),
            stack(view(shape, [0] * len(shape))),
            node("CONST", [base + 2], arg=1.0),
        ]
        nodes.append(node("STORE", [base, base + 1, base + 3], None))
    return document([*nodes, node("SINK", [4, 9], None)])


def test_check_axes_takes_full_sizes_and_1() -> None:
    ast = parse_ast(two_stores(view([4, 1]), view([1, 8])))
    assert [shape for shape in ast.shapes if shape] == [(4, 1)] * 4 + [(1, 8)] * 4


def test_check_axes_refuses_other_ranks() -> None:
    error = refused(two_stores(view([4]), view([4, 1])))
    assert (error.rule, error.node) == ("rank", 6)


def test_check_axes_refuses_sizes_neither_full_nor_1() -> None:
    bad = two_stores(view([4, 8]), view([4, 2]))
    assert (refused(bad).rule, refused(bad).node) == ("axis-size", 6)


def test_check_axes_refuses_a_kernel_larger_than_its_views() -> None:
    ends = [[2**20, 1, 1], [1, 2**20, 1], [1, 1, 2]]
    nodes: list[Any] = []
    stores = []
    for slot, shape in enumerate(ends):
        base = len(nodes)
        nodes += [
            buffer(slot, 2**20),
            stack(view(shape)),
            stack(view(shape, [0, 0, 0])),
            node("CONST", [base + 2], arg=1.0),
        ]
        nodes.append(node("STORE", [base, base + 1, base + 3], None))
        stores.append(len(nodes) - 1)
    assert parse_ast(document([*nodes, node("SINK", stores[:2], None)]))
    assert refused(document([*nodes, node("SINK", stores, None)])).rule == "limit"


def test_check_buffers_refuses_gaps() -> None:
    assert refused(changed(scaled_sum(), "nodes", 2, "arg", "slot", to=2)).rule == "slots"
    assert refused(changed(scaled_sum(), "nodes", 0, "arg", "slot", to=2)).rule == "slots"


@pytest.mark.parametrize("second", [buffer(1, 33), buffer(1, 32, "float64")])
def test_check_buffers_refuses_one_slot_declared_in_two_ways(second: dict[str, Any]) -> None:
    nodes = scaled_sum()["nodes"]
    dtype = second["dtype"]
    nodes = [*nodes[:4], second, node("LOAD", [4, 3], dtype), node("CAST", [5], "float32"), node("LOAD", [2, 3])]
    nodes += [node("ADD", [6, 7]), node("REDUCE_AXIS", [8], arg={"op": "MAX", "axes": [1]})]
    error = refused(document([*nodes, node("STORE", [0, 1, 9], None), node("SINK", [10], None)]))
    assert error.rule == "slots"
    assert error.node in (2, 4)


def test_check_buffers_ignores_slots_that_nothing_uses() -> None:
    nodes = scaled_sum()["nodes"]
    assert parse_ast(document([*nodes[:-1], buffer(40, 7), nodes[-1]])) == parse_ast(scaled_sum())


def test_check_stores_refuses_a_slot_that_is_stored_twice() -> None:
    bad = two_stores(view([4, 8]), view([4, 8], [8, 1], 32), slots=(0, 0))
    assert refused(bad).rule == "store-order"
    assert parse_ast(changed(bad, "nodes", 5, "arg", "slot", to=1))
    assert refused(changed(scaled_sum(), "nodes", 10, "src", to=[9, 9])).rule == "store-order"


def in_place(seen: dict[str, Any]) -> Document:
    """x += 1, loaded through `seen`."""
    nodes = [buffer(0, 32), stack(view([32])), stack(seen), node("LOAD", [0, 2]), stack(view([32], [0]))]
    nodes += [node("CONST", [4], arg=1.0), node("ADD", [3, 5]), node("STORE", [0, 1, 6], None), node("SINK", [7], None)]
    return document(nodes)


def test_check_stores_takes_a_slot_loaded_through_the_view_it_is_stored_through() -> None:
    assert parse_ast(in_place(view([32], [1], 0, [[0, 32]]))).reaches == (32,)


@pytest.mark.parametrize("seen", [view([32], [-1], 31), view([32], mask=[[0, 31]]), view([32], [0])])
def test_check_stores_refuses_a_slot_loaded_through_another_view(seen: dict[str, Any]) -> None:
    error = refused(in_place(seen))
    assert (error.rule, error.node) == ("store-order", 3)


def test_needed_by_slot_takes_the_farthest_view() -> None:
    nodes = [buffer(0, 4), stack(view([4])), buffer(1, 50), stack(view([4], [2], 3)), stack(view([4], [-1], 20))]
    nodes += [node("LOAD", [2, 3]), node("LOAD", [2, 4]), node("ADD", [5, 6]), node("STORE", [0, 1, 7], None)]
    assert parse_ast(document([*nodes, node("SINK", [8], None)])).reaches == (4, 21)


def test_unused_variables_are_dropped_with_the_nodes_that_use_them() -> None:
    nodes = scaled_sum()["nodes"]
    made = document([*nodes[:-1], stack(view(["n"])), nodes[-1]], n=(1, 4))
    assert parse_ast(made) == parse_ast(scaled_sum())


def test_loaded_documents_are_what_other_tests_take_them_for() -> None:
    assert parse_ast(loaded(view([2, 3]))).reaches == (6, 6)
