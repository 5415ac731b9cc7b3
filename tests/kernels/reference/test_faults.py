"""Cases from the public fault reports of other systems, without Opts: what the right answer is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from kernels import parse_ast
from kernels.reference import evaluate, expect
from tests.kernels.reference.test_evaluate import document_named
from tests.made.build import Buffer, Build, Document, Value, windows

NAN, INF = math.nan, math.inf
COUNTED = -np.arange(1.0, 66.0, dtype=np.float32)  # x[5,13] = -1..-65


def output(document: Document, *inputs: Any, variables: dict[str, int] | None = None) -> Any:
    """The contents of the only stored slot; inputs are the slots 0, 1, ..."""
    (found,) = evaluate(parse_ast(document), list(inputs), variables).values()
    return found


def view(shape: list[Any], strides: list[int], offset: int, mask: Any) -> dict[str, Any]:
    """A view as it is on the wire."""
    return {"shape": shape, "strides": strides, "offset": offset, "mask": mask}


def load(b: Build, buffer: Buffer, views: list[dict[str, Any]]) -> int:
    """The number of a LOAD through views that are written by hand."""
    return b.node("LOAD", (buffer.node, b.node("VIEW", (), arg={"views": views})), buffer.dtype)


def test_a1_maximum_of_negative_numbers() -> None:
    b = Build()
    b.store(b.reduce(b.new("float32", (5, 13)), "MAX", 1))
    assert output(b.document(), COUNTED).tolist() == [-1, -14, -27, -40, -53]


def test_a2_sum_of_reciprocals() -> None:
    b = Build()
    b.store(b.reduce(b.op("RECIP", b.new("float32", (5, 13))), "ADD", 1))
    assert output(b.document(), COUNTED)[0] == pytest.approx(-3.18013, abs=5e-6)


def test_a3_sum_of_differences_from_a_row_sum() -> None:
    found = output(document_named("reduce/difference_from_row_sum"), np.zeros(289, np.float32))
    assert found.tolist() == [-27200.0] * 17


def test_a7_padding_with_a_value() -> None:
    b = Build()
    tracker = (x := b.buffer("float32", (5,))).tracker.pad(((2, 1),)).shrink(((5, 8),))
    loaded = b.load(x, tracker)
    padded = b.op("WHERE", b.valid(tracker), loaded, b.like(9.0, loaded))
    b.store(b.op("ADD", padded, b.like(1.0, padded)))
    assert output(b.document(), np.arange(1, 6, dtype=np.float32)).tolist() == [5, 6, 10]


def test_a8_mask_below_another_view() -> None:
    b = Build()
    x = b.buffer("float32", (5, 4))
    b.store(b.load(x, x.tracker.pad(((0, 1), (0, 0))).reshape((3, 8))))
    assert output(b.document(), np.arange(1, 21, dtype=np.float32)).tolist() == [*range(1, 21), 0, 0, 0, 0]


def test_a9_empty_mask_reads_nothing() -> None:
    b = Build()
    x = b.buffer("float32", (20,))
    b.store(b.reduce(Value(load(b, x, [view([20], [1], 0, [[0, 0]])]), "float32", (20,)), "ADD", 0))
    assert output(b.document(), np.full(20, NAN, np.float32)).tolist() == [0.0]


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_a10_padding_of_a_maximum_is_the_least_value(dtype: str) -> None:
    b = Build()
    x = b.buffer(dtype, (5, 5))
    tracker = windows(x.tracker.pad(((1, 1), (1, 1))), 3)
    loaded = b.load(x, tracker)
    least = -INF if dtype == "float32" else -(2**31)
    b.store(b.reduce(b.op("WHERE", b.valid(tracker), loaded, b.like(least, loaded)), "MAX", 2, 3))
    found = output(b.document(), (-np.arange(1, 26)).astype(dtype))
    assert found[:7].tolist() == [-1, -1, -2, -3, -4, -1, -1]


def test_a11_three_tap_sum() -> None:
    found = output(document_named("reduce/three_tap_sum"), np.ones(56, np.float32))
    assert found.tolist() == [2.0, *[3.0] * 54, 2.0]


def test_a12_negative_stride() -> None:
    b = Build()
    x = b.buffer("float32", (16,))
    b.store(Value(load(b, x, [view([8], [-3], 15, [[0, 6]])]), "float32", (8,)))
    assert output(b.document(), np.arange(1, 17, dtype=np.float32)).tolist() == [16, 13, 10, 7, 4, 1, 0, 0]


def test_c1_positions_as_a_sum() -> None:
    assert output(document_named("reduce/arange_2560")).tolist() == list(range(2560))


def test_c2_gather_out_of_range_gives_zeros() -> None:
    ast = parse_ast(document_named("reduce/gather_256x256"))
    table, rows = np.ones(65536, np.float32), np.arange(256, dtype=np.int32)
    picks = np.array([-19238, -257, 256, 495, 10982377], np.int32)
    assert evaluate(ast, [table, picks, rows])[3].tolist() == [0.0] * 1280
    assert evaluate(ast, [table, np.array([0, 255, 256, -1, 7], np.int32), rows])[3].sum() == 3 * 256


def test_c3_maximum_of_a_stack() -> None:
    b = Build()
    x, y = b.buffer("float32", (1,)), b.buffer("float32", (1,))
    stacked = b.op("ADD", b.load(x, x.tracker.pad(((0, 1),))), b.load(y, y.tracker.pad(((1, 0),))))
    b.store(b.reduce(stacked, "MAX", 0))
    assert output(b.document(), np.ones(1, np.float32), np.full(1, 2.0, np.float32)).tolist() == [2.0]


@pytest.mark.parametrize("start", [0, 7, 128])
def test_c6_symbolic_offset(start: int) -> None:
    ast = parse_ast(document_named("dynamic/cache_write"))
    values = np.arange(64, dtype=np.float32)
    before = np.full(132 * 16, -1.0, np.float32)
    (found,) = evaluate(ast, [before, values], {"start_pos": start}).values()
    wanted = before.copy()
    wanted[start * 16 : start * 16 + 64] = values
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("length", [1, 5, 32])
def test_c7_symbolic_reduce_length(length: int) -> None:
    found = output(
        document_named("dynamic/reduce_length_ADD"), np.ones(40 * length, np.float32), variables={"i": length}
    )
    assert found[:40].tolist() == [float(length)] * 40


@pytest.mark.parametrize("rows", [1, 4])
def test_c8_padding_below_a_symbolic_expand(rows: int) -> None:
    """The view is written by hand: the oracle's own expand keeps the mask of the one row that there was."""
    b = Build()
    i = b.variable("i", 1, 4)
    x = b.buffer("float32", (1, 3))
    b.store(Value(load(b, x, [view(["i", 5], [0, 1], -1, [[0, "i"], [1, 4]])]), "float32", (i, 5)))
    found = output(b.document(), np.ones(3, np.float32), variables={"i": rows})
    assert found[: 5 * rows].reshape(rows, 5).tolist() == [[0, 1, 1, 1, 0]] * rows


def test_c9_chain_of_three_thousand_additions() -> None:
    b = Build()
    x = value = b.new("float32", (4,))
    for _ in range(3000):
        value = b.op("ADD", value, x)
    b.store(value)
    assert output(b.document(), np.ones(4, np.float32)).tolist() == [3001.0] * 4


def test_c10_values_shared_exponentially_often() -> None:
    b = Build()
    value = b.new("float32", (10,))
    for _ in range(24):
        value = b.op("MAX", value, b.op("MUL", value, value))
    b.store(value)
    assert output(b.document(), np.ones(10, np.float32)).tolist() == [1.0] * 10


def test_d5_product_with_zero() -> None:
    b = Build()
    x, y = b.new("int32", (4,)), b.new("int32", (4,))
    b.store(b.op("ADD", b.op("MUL", x, b.like(0, x)), y))
    assert output(b.document(), np.arange(4, dtype=np.int32), np.arange(4, 8, dtype=np.int32)).tolist() == [4, 5, 6, 7]


# ---- E: values and dtypes --------------------------------------------------------------------------------------------


def test_e5_half_sums_are_not_collected_in_half() -> None:
    b = Build()
    b.store(b.reduce(b.new("float16", (4096,)), "ADD", 0))
    assert output(b.document(), np.ones(4096, np.float16)).tolist() == [4096.0]


def test_e5_mean_of_many() -> None:
    b = Build()
    total = b.reduce(b.new("float32", (100_000,)), "ADD", 0)
    b.store(b.op("MUL", total, b.like(1e-5, total)))
    assert output(b.document(), np.full(100_000, 100.0, np.float32)).tolist() == [100.0]


@pytest.mark.parametrize(("dtype", "wanted"), [("uint8", 1000 * 255 % 256), ("uint32", 255_000), ("int64", 255_000)])
def test_e6_sum_of_bytes_is_of_the_type_it_is_collected_in(dtype: str, wanted: int) -> None:
    b = Build()
    value = b.new("uint8", (1000,))
    b.store(b.reduce(value if dtype == "uint8" else b.cast(value, dtype), "ADD", 0))
    assert output(b.document(), np.full(1000, 255, np.uint8)).tolist() == [wanted]


def test_e6_sum_of_bools() -> None:
    b = Build()
    value = b.new("bool", (300,))
    b.store(b.reduce(b.cast(value, "int32"), "ADD", 0))
    b.store(b.reduce(value, "ADD", 0))
    found = evaluate(parse_ast(b.document()), [np.ones(300, np.bool_)])
    assert found[1].tolist() == [300] and found[2].tolist() == [True]


@pytest.mark.parametrize("values", [[-5, -7, -3], [-(2**31)] * 3])
def test_e7_maximum_of_integers(values: list[int]) -> None:
    b = Build()
    b.store(b.reduce(b.new("int32", (3,)), "MAX", 0))
    assert output(b.document(), np.array(values, np.int32)).tolist() == [max(values)]


def test_e8_product() -> None:
    b = Build()
    b.store(b.reduce(b.new("float32", (3,)), "MUL", 0))
    assert output(b.document(), np.array([1, 2, 3], np.float32)).tolist() == [6.0]


def applied(make: Callable[[Build, Value], Value], values: Sequence[float], dtype: str = "float32") -> list[Any]:
    """What an elementwise kernel of one input makes of `values`."""
    b = Build()
    b.store(make(b, b.new(dtype, (len(values),))))
    return output(b.document(), np.array(values, dtype)).tolist()


def test_e9_nan_differs_from_itself_for_certain() -> None:
    b = Build()
    value = b.new("float32", (4,))
    b.store(b.cast(b.op("CMPNE", value, value), "int32"))
    found = expect(parse_ast(b.document()), [np.array([NAN, 1, INF, -INF], np.float32)])[1]
    assert found.values.tolist() == [1, 0, 0, 0]
    assert not found.errors.any()


def test_e10_nan_times_zero_is_nan() -> None:
    def make(b: Build, value: Value) -> Value:
        return b.op("ADD", b.op("MUL", value, b.like(0.0, value)), b.like(5.0, value))

    found = applied(make, [0, 1, 2, NAN])
    assert found[:3] == [5, 5, 5] and math.isnan(found[3])


def test_e11_nan_loses_a_maximum() -> None:
    for values in ([1, NAN], [NAN, 1]):
        b = Build()
        b.store(b.reduce(b.new("float32", (2,)), "MAX", 0))
        assert output(b.document(), np.array(values, np.float32)).tolist() == [1.0]
    assert applied(lambda b, value: b.op("MAX", value, b.like(1.0, value)), [NAN, 0.0, 2.0]) == [1.0, 1.0, 2.0]
    assert applied(lambda b, value: b.reduce(value, "MAX", 0), [NAN, NAN]) == [-INF]


def test_e12_both_comparisons() -> None:
    def make(b: Build, value: Value) -> Value:
        above = b.op("CMPLT", b.like(1.0, value), value)
        return b.cast(b.op("AND", above, b.op("CMPLT", value, b.like(2.0, value))), "int32")

    assert applied(make, [1.2, 1.2, 1.2, 3.2]) == [1, 1, 1, 0]


def test_e13_reciprocal_of_negative_zero() -> None:
    assert applied(lambda b, value: b.op("RECIP", value), [-0.0, 0.0]) == [-INF, INF]
    found = applied(lambda b, value: b.op("ADD", value, b.like(INF, value)), [1.0, -INF])
    assert found[0] == INF and math.isnan(found[1])
    assert math.isnan(applied(lambda b, value: b.op("ADD", value, b.like(NAN, value)), [1.0])[0])


def test_e14_bits_of_a_constant() -> None:
    assert output(document_named("elementwise/bitcast_constant")).tolist() == [0x3F800000] * 8


@pytest.mark.parametrize(("values", "wanted"), [([1, 3, 3], 1), ([2, 2, 2], 0)])
def test_e15_first_of_equal_maxima(values: list[int], wanted: int) -> None:
    """n - max((x == max x) * (n - i)), as argmax is commonly written."""
    b = Build()
    x, rest = b.buffer("float32", (3,)), b.buffer("int32", (3,))
    inner = b.load(x, x.tracker.reshape((1, 3)).expand((3, 3)))
    top = b.reduce(inner, "MAX", 1)
    other = b.op("CMPNE", b.load(x, x.tracker.reshape((3, 1))), top)
    left = b.load(rest, rest.tracker.reshape((3, 1)))
    best = b.reduce(b.op("WHERE", other, b.like(0, left), left), "MAX", 0)
    b.store(b.op("SUB", b.like(3, best), best))
    assert output(b.document(), np.array(values, np.float32), np.array([3, 2, 1], np.int32)).tolist() == [wanted]


def test_e16_a_float_out_of_an_integers_range_wraps_and_is_not_compared() -> None:
    b = Build()
    b.store(b.cast(b.new("float32", (5,)), "uint8"))
    found = expect(parse_ast(b.document()), [np.array([-1.0, 255.9, 256.0, NAN, -0.9], np.float32)])[1]
    assert found.values.tolist() == [255, 255, 0, 0, 0]
    assert found.errors.tolist() == [INF, 0.0, INF, INF, 0.0]
