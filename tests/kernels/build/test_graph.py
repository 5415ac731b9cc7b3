"""Expressions: operators, broadcasting, movements of computed values, variables, buffers and their slots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kernels import AstError, Kernel, dump_ast, opencl_target
from kernels.build import BuildError, Graph, Value, constant, least, up_to, valid, variable, variable_value
from kernels.errors import KernelsError, ViewError
from kernels.ops import Ops
from tests.kernels.build.values import buffers_of, stored
from tests.scalar import Interpreter

Function = Callable[..., Any]
X = np.array([[3, -7, 2], [-5, 1, 9]])
Y = np.array([[2, 3, -4], [5, -6, 1]])


def computed(function: Function, *arrays: Any, dtype: str = "int32") -> list[Any]:
    """What `function` makes of one load per array, stored by a kernel of its own."""
    g = Graph()
    g.store(function(*(g.load(dtype, np.shape(array)) for array in arrays)))
    return stored(g.build(), *arrays).tolist()


# ---- operators -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("built", "expected"),
    [
        (lambda x, y: x + y, X + Y),
        (lambda x, y: x - y, X - Y),
        (lambda x, y: x * y, X * Y),
        (lambda x, y: 10 - x * 2 + y, 10 - X * 2 + Y),
        (lambda x: -x, -X),
        (lambda x, y: x.maximum(y), np.maximum(X, Y)),
        (lambda x, y: x.minimum(y), np.minimum(X, Y)),
        (lambda x: x.minimum(1), np.minimum(X, 1)),
        (lambda x: x.relu(), np.maximum(X, 0)),
        (lambda x, y: (x < y).where(x, y), np.minimum(X, Y)),
        (lambda x, y: (x > 1).where(1, y), np.where(X > 1, 1, Y)),
        (lambda x, y: x.eq(9).where(y, 0), np.where(X == 9, Y, 0)),
        (lambda x, y: x.ne(9).where(y, 0), np.where(X != 9, Y, 0)),
        (lambda x, y: (x & y) + (x | 8) + (x ^ y), (X & Y) + (X | 8) + (X ^ Y)),
        (lambda x: (x << 2) + (x >> 1), (X << 2) + (X >> 1)),
        (lambda x, y: x.idiv(y), np.trunc(X / Y)),
        (lambda x, y: x.mod(y), np.fmod(X, Y)),
        (lambda x, y: x.apply(Ops.MULACC, y, 5), X * Y + 5),
        (lambda x, y: x.apply(Ops.SUB, y), X - Y),
        (lambda x: (x.bitcast("uint32") - 4).bitcast("int32"), X - 4),
        (lambda x: (-x.bitcast("uint32")).bitcast("int32"), -X),
        (lambda x: (x < 0).cast("int32"), X < 0),
    ],
)
def test_operators_compute_as_numpy_does(built: Function, expected: Any) -> None:
    assert computed(built, *(X, Y)[: built.__code__.co_argcount]) == np.ravel(expected).tolist()


@pytest.mark.parametrize(
    ("built", "expected"),
    [
        (lambda x: x / 4, lambda x: x / 4),
        (lambda x: 3 / x, lambda x: 3 / x),
        (lambda x: x.exp() - x.exp2(), lambda x: np.exp(x) - np.exp2(x)),
        (lambda x: (x * x).log() + (x * x).log2(), lambda x: np.log(x * x) + np.log2(x * x)),
        (lambda x: x.sin() + (x * x).sqrt(), lambda x: np.sin(x) + np.abs(x)),
        (lambda x: x.sigmoid() + x.tanh(), lambda x: 1 / (1 + np.exp(-x)) + np.tanh(x)),
        (lambda x: (x * x).rsqrt() + x.recip(), lambda x: 1 / np.abs(x) + 1 / x),
        (lambda x: (x * x).pow(1.5), lambda x: np.abs(x) ** 3),
        (lambda x: (x < x.recip()).where(x, 0.5), lambda x: np.where(x < 1 / x, x, 0.5)),
    ],
)
def test_functions_of_floats_compute_as_numpy_does(built: Function, expected: Function) -> None:
    x = np.array([0.5, -1.25, 2.0, 3.5])
    np.testing.assert_allclose(computed(built, x, dtype="float32"), expected(x), rtol=1e-5)


def test_numbers_take_the_dtype_of_the_value_beside_them() -> None:
    g = Graph()
    g.store(g.load("float16", (4,)) * 2 + True * 1)
    constants = [node for node in g.build().nodes if node.op is Ops.CONST]
    assert [(str(node.dtype), repr(node.arg)) for node in constants] == [("float16", "2.0"), ("float16", "1.0")]


@pytest.mark.parametrize("shapes", [((2, 3), (3,)), ((2, 1), (1, 3)), ((3,), ()), ((2, 1, 3), (4, 1))])
def test_operands_broadcast_as_numpy_does(shapes: tuple[tuple[int, ...], ...]) -> None:
    arrays = [np.arange(1, 1 + np.prod(shape, dtype=int)).reshape(shape) for shape in shapes]
    left, right = arrays
    assert computed(lambda x, y: x * y, *arrays) == np.ravel(left * right).tolist()


def test_reductions_count_negative_axes_from_the_last_and_leave_axes_of_size_1() -> None:
    x = np.arange(12).reshape(2, 1, 6)
    assert computed(lambda v: v.sum(-1), x) == x.sum(-1).ravel().tolist()
    assert computed(lambda v: v.max(), x) == [11]
    assert computed(lambda v: v.prod(0, -1), x + 1) == [479001600]
    g = Graph()
    value = g.load("int32", (2, 1, 6))
    assert value.sum(1).term is value.term


# ---- movements of computed values ------------------------------------------------------------------------------------

MOVEMENTS: dict[str, tuple[Function, Function]] = {
    "reshape": (lambda v: v.reshape(3, 2), lambda a: a.reshape(3, 2)),
    "permute": (lambda v: v.permute(1, 0), lambda a: a.T),
    "expand": (lambda v: v.reshape(2, 1, 3).expand(2, 2, 3), lambda a: np.repeat(a[:, None], 2, 1)),
    "shrink": (lambda v: v.shrink((1, 2), (0, 2)), lambda a: a[1:2, 0:2]),
    "flip": (lambda v: v.flip(1), lambda a: a[:, ::-1]),
    "step": (lambda v: v.step(1, 2), lambda a: a[:, ::2]),
    "windows": (lambda v: v.windows(1, 2), lambda a: np.lib.stride_tricks.sliding_window_view(a, 2, 1)),
    "pad": (lambda v: v.pad((1, 0), (0, 2)), lambda a: np.pad(a, ((1, 0), (0, 2)))),
    "pad with a number": (
        lambda v: v.pad((0, 1), (1, 0), fill=-9),
        lambda a: np.pad(a, ((0, 1), (1, 0)), constant_values=-9),
    ),
}
COMPUTED: dict[str, tuple[Function, Function]] = {
    "a load": (lambda x, y: x, lambda x, y: x),
    "a sum": (lambda x, y: x + y, lambda x, y: x + y),
    "what is not 0 for 0": (lambda x, y: x * 2 + 5, lambda x, y: x * 2 + 5),
    "a shared part": (lambda x, y: (x - y) * (x - y), lambda x, y: (x - y) ** 2),
    "a choice": (lambda x, y: (x < y).where(x, 7), lambda x, y: np.where(x < y, x, 7)),
    "a division": (lambda x, y: x.idiv(y) + x.mod(y), lambda x, y: np.trunc(x / y) + np.fmod(x, y)),
    "a mask": (lambda x, y: valid((2, 3)).where(x, 1), lambda x, y: x),
}


@pytest.mark.parametrize("movement", MOVEMENTS)
@pytest.mark.parametrize("value", COMPUTED)
def test_movement_of_a_computed_value_moves_what_it_is_made_of(movement: str, value: str) -> None:
    (move, numpy_move), (built, expected) = MOVEMENTS[movement], COMPUTED[value]
    wanted = np.ravel(numpy_move(expected(X, Y))).tolist()
    g = Graph()
    x, y = g.load("int32", X.shape), g.load("int32", Y.shape)
    g.store(move(built(x, y)) + 0 * move(y))  # both are in use whatever `value` is
    assert stored(g.build(), X, Y).tolist() == wanted


def test_pad_of_a_pad_keeps_each_its_own_number() -> None:
    row = np.array([4, 5])
    built = computed(lambda v: v.pad((1, 0), fill=1).pad((0, 1), fill=2).pad((1, 1)), row)
    assert built == [0, 1, 4, 5, 2, 0]


def test_pad_of_a_load_with_zeros_needs_no_select() -> None:
    g = Graph()
    g.store(g.load("float32", (4,)).pad((1, 1)))
    assert {node.op for node in g.build().nodes} == {Ops.DEFINE_GLOBAL, Ops.VIEW, Ops.LOAD, Ops.STORE, Ops.SINK}


def test_pad_with_negative_zero_stores_that() -> None:
    g = Graph()
    g.store(g.load("float32", (1,)).pad((0, 1), fill=-0.0))
    assert [str(value) for value in stored(g.build(), [1.0])] == ["1.0", "-0.0"]


def test_padded_division_never_divides_by_a_padded_zero() -> None:
    g = Graph()
    g.store(g.load("int32", (3,)).idiv(g.load("int32", (3,))).pad((2, 2)))
    ast = g.build()
    interpreter = Interpreter(dump_ast(ast), {1: [8, 9, 10], 2: [2, 3, 5]})
    (division,) = (node for node in ast.nodes if node.op is Ops.IDIV)
    assert [interpreter.value(division.src[1], (place,)) for place in range(7)] == [1, 1, 2, 3, 5, 1, 1]


def test_up_to_holds_on_and_below_the_diagonal() -> None:
    g = Graph()
    g.store(up_to(4).cast("int32"))
    assert stored(g.build()).tolist() == np.tril(np.ones((4, 4), int)).ravel().tolist()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float32"])
def test_least_is_a_constant_of_its_dtype(dtype: str) -> None:
    assert constant(least(dtype), dtype, (1,)).dtype.name == dtype


# ---- variables -------------------------------------------------------------------------------------------------------


def test_sizes_may_be_expressions_of_variables() -> None:
    n = variable("n", 1, 8)
    g = Graph()
    g.store(g.load("int32", (n, 2 * n + 1)).shrink((0, n), (n, n + 1)) + variable_value(n, (1, 1)))
    ast = g.build()
    assert [(v.name, v.min, v.max) for v in ast.variables] == [("n", 1, 8)]
    assert [buffer.size for buffer in buffers_of(ast)] == [8, 136]
    x = np.arange(3 * 7).reshape(3, 7)
    assert stored(ast, x, variables={"n": 3}).tolist() == (x[:, 3] + 3).tolist()


def test_an_offset_that_may_reach_beyond_the_buffer_is_left_to_who_launches() -> None:
    start = variable("start", 0, 128)
    g = Graph()
    g.store(g.load("float32", (128, 4)).shrink((start, start + 1), (0, 4)))
    ast = g.build()
    assert ast.size_unproven
    assert Kernel(ast, opencl_target()).full_shape == (4,)


def test_a_padded_row_expands_to_a_dynamic_number_of_rows() -> None:
    rows = variable("rows", 1, 4)
    g = Graph()
    g.store(g.load("int32", (1, 3)).pad((0, 0), (1, 1)).expand(rows, 5))
    assert stored(g.build(), [7, 8, 9], variables={"rows": 2}).tolist() == [0, 7, 8, 9, 0] * 2


# ---- buffers and stores ----------------------------------------------------------------------------------------------


def test_slots_are_stores_first_then_loads_as_they_were_made() -> None:
    g = Graph()
    a, b = g.load("int8", (4,)), g.load("int16", (4,))
    g.store(b.cast("int64"))
    g.store(a.cast("float32"))
    assert [str(buffer_dtype(g, slot)) for slot in range(4)] == ["int64", "float32", "int8", "int16"]


def buffer_dtype(g: Graph, slot: int) -> object:
    return next(n.dtype for n in g.build().nodes if n.op is Ops.DEFINE_GLOBAL and n.arg.slot == slot)  # type: ignore[union-attr]


def test_store_at_a_load_updates_it_in_place() -> None:
    g = Graph()
    x = g.load("int32", (3,))
    g.store(x + 1, at=x)
    ast = g.build()
    assert len(buffers_of(ast)) == 1
    assert stored(ast, [5, 6, 7]).tolist() == [6, 7, 8]


def test_store_at_a_moved_load_writes_there_alone() -> None:
    g = Graph()
    place = g.load("int32", (2, 4)).shrink((0, 2), (1, 3)).permute(1, 0)
    g.store(g.load("int32", (2, 2)), at=place)
    assert stored(g.build(), [1, 2, 3, 4]).tolist() == [-99, 1, 3, -99, -99, 2, 4]


def test_shared_parts_are_one_node_however_often_they_are_used() -> None:
    g = Graph()
    value = g.load("float32", (64,))
    for _ in range(24):
        value = value.maximum(value * value)
    g.store(value)
    assert sum(node.op is Ops.MUL for node in g.build().nodes) == 24


def test_chains_of_thousands_of_operations_can_be_built_and_moved() -> None:
    g = Graph()
    value = g.load("float32", (8,))
    for _ in range(3000):
        value = value + 1
    g.store(value.reshape(2, 4).permute(1, 0))
    assert sum(node.op is Ops.ADD for node in g.build().nodes) == 3000


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda g, x: x + g.load("int32", (2, 3)), "ADD needs int32 here, not float32"),
        (lambda g, x: x + g.load("float32", (3, 2)), "shapes that do not fit together: (2, 3), (3, 2)"),
        (lambda g, x: x.cast("int32") + 0.5, "0.5 is no int32 constant"),
        (lambda g, x: x.cast("int8") + 128, "128 is not in the range of int8"),
        (lambda g, x: x.cast("bool") & 1, "1 is no bool constant"),
        (lambda g, x: x << 1, "SHL computes with integers, not float32"),
        (lambda g, x: x.cast("int32").exp2(), "EXP2 computes with floats, not int32"),
        (lambda g, x: x.bitcast("float64"), "BITCAST keeps the width, and float32 is not as wide as float64"),
        (lambda g, x: x.where(x, x), "WHERE needs bool here, not float32"),
        (lambda g, x: (x < 1).where(1, 2), "where needs a value for one of its branches, to know the dtype"),
        (lambda g, x: x.sum(2), "there is no axis 2 to reduce in (2, 3)"),
        (lambda g, x: x.apply(Ops.LOAD), "LOAD is no operation on values alone"),
        (lambda g, x: x.apply(Ops.WHERE, x), "WHERE has 3 sources, not 2"),
        (lambda g, x: x.sum(1).permute(1, 0), "a reduced value (2, 1) cannot be moved or repeated: "),
        (lambda g, x: x - x.max(1), "a reduced value (2, 1) cannot be moved or repeated: move what it is made of"),
        (lambda g, x: (x.max(1) + 1).pad((1, 0), (0, 0)), "a reduced value (2, 1) cannot be moved or repeated: "),
        (lambda g, x: variable_value(2 * variable("n", 1, 4), (1,)), "n*2 is no variable: "),
        (lambda g, x: variable("n", 2, 1), "the variable n has a least value 2 above its greatest, 1"),
        (lambda g, x: g.store(x, at=x + 1), "a value is stored at something that this graph has loaded"),
        (lambda g, x: g.store(x, at=Graph().load("float32", (2, 3))), "a value is stored at something that this"),
        (
            lambda g, x: g.store(x, at=x.permute(1, 0)),
            "a value of float32 (2, 3) is stored at elements of float32 (3, 2)",
        ),
        (lambda g, x: g.build(), "nothing is stored"),
    ],
)
def test_what_makes_no_sense_is_refused_where_it_is_written(wrong: Function, message: str) -> None:
    g = Graph()
    with pytest.raises(BuildError) as error:
        wrong(g, g.load("float32", (2, 3)))
    assert str(error.value).startswith(message), error.value


def test_movements_that_do_not_fit_a_computed_value_are_refused() -> None:
    x = Graph().load("float32", (2, 3))
    with pytest.raises(ViewError, match=r"6 elements of shape \(2, 3\) do not fit the shape \(7\)"):
        (x + 1).reshape(7)


def built_wrongly(wrong: Function) -> KernelsError:
    g = Graph()
    wrong(g)
    with pytest.raises(KernelsError) as error:
        g.build()
    return error.value


def test_build_refuses_a_load_without_use() -> None:
    def unused(g: Graph) -> None:
        g.load("int8", (2,))
        g.store(g.load("float32", (2,)))

    assert str(built_wrongly(unused)) == "a buffer of int8 is loaded, and no stored value depends on it"


def test_build_refuses_values_of_another_graph() -> None:
    assert str(built_wrongly(lambda g: g.store(Graph().load("float32", (2,))))) == (
        "a stored value is made of another graph's loads"
    )


def test_build_refuses_two_variables_of_one_name() -> None:
    def twice(g: Graph) -> None:
        g.store(g.load("float32", (variable("n", 1, 4),)))
        g.store(g.load("float32", (variable("n", 1, 5),)))

    assert str(built_wrongly(twice)) == "there are two variables n, with different least or greatest values"


def test_build_leaves_rules_of_the_whole_to_verification() -> None:
    def sizes_differ(g: Graph) -> None:
        g.store(g.load("float32", (2,)))
        g.store(g.load("float32", (3,)))

    def deep_stack(g: Graph) -> None:
        value = g.load("float32", (4, 6))
        for _ in range(8):
            value = value.permute(1, 0).reshape(24).pad((1, 1)).shrink((0, 24)).reshape(4, 6)
        g.store(value)

    for wrong, rule in ((sizes_differ, "axis-size"), (deep_stack, "limit")):
        error = built_wrongly(wrong)
        assert isinstance(error, AstError) and error.rule == rule


def test_values_are_compared_by_methods_and_are_themselves_distinct() -> None:
    g = Graph()
    x = g.load("float32", (2,))
    assert x != Value(x.term) and x.eq(x).dtype.name == "bool"
