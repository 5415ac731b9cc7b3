"""The reference against the scalar interpreter, and what it promises about blocks, choices and what it is given."""

from __future__ import annotations

import functools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import parse_ast
from kernels.inputs import Kind, make_inputs
from kernels.reference import EvaluationError, contraction, engine, evaluate, expect, regions
from kernels.reference.concrete import concrete_ast
from tests.kernels.reference.against_scalar import (
    Document,
    disagreement,
    is_affordable,
    middle_values,
    stored_documents,
)
from tests.made.build import Build
from tests.made.random_ast import random_ast
from tests.scalar import Manner

BUDGET = 8_000
MANNERS = (Manner(), Manner(backwards=True, fused=True))


@functools.cache
def documents() -> dict[str, Document]:
    """The stored kernels that the interpreter can afford."""
    found = {}
    for name, document in stored_documents():
        ast = parse_ast(document)
        if is_affordable(concrete_ast(ast, middle_values(ast)), BUDGET):
            found[name] = document
    return found


def document_named(name: str) -> Document:
    return next(document for known, document in stored_documents() if known == name)


def test_most_stored_kernels_are_compared_with_the_interpreter() -> None:
    assert len(documents()) >= 400


@pytest.mark.parametrize("kind", ["normal", "extremes"])
@pytest.mark.parametrize("manner", MANNERS, ids=["plain", "backwards_fused"])
def test_evaluate_agrees_with_the_interpreter_on_stored_kernels(kind: Kind, manner: Manner) -> None:
    wrong = {}
    for name, document in documents().items():
        found = disagreement(document, kind, BUDGET, manner)
        if found is not None:
            wrong[name] = str(found)
    assert not wrong


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(("normal", "extremes")), manner=st.sampled_from(MANNERS))
@settings(max_examples=120, deadline=None)
def test_evaluate_agrees_with_the_interpreter_on_random_kernels(seed: int, kind: Kind, manner: Manner) -> None:
    document = random_ast(seed)
    ast = parse_ast(document)
    if is_affordable(concrete_ast(ast, middle_values(ast)), BUDGET):
        assert disagreement(document, kind, BUDGET, manner, seed) is None


# ---- whole and chosen, in blocks -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["gemm/05", "reduce/06", "softmax_norm/03", "reduce/variance_rows_4x1024", "elementwise/two_stores_transposed"],
)
def test_evaluate_of_chosen_outputs_is_that_of_whole_buffers(name: str) -> None:
    ast = parse_ast(document_named(name))
    inputs = make_inputs(ast, 3)
    whole = evaluate(ast, inputs)
    outputs = np.random.default_rng(0).integers(0, min(map(len, whole.values())), 40)
    chosen = expect(ast, inputs, outputs=outputs)
    for slot, expected in chosen.items():
        np.testing.assert_allclose(expected.values, whole[slot][expected.positions], rtol=1e-6)


@pytest.mark.parametrize(
    "name",
    ["gemm/07", "conv/1_8_24_9_3_1_0_bfloat16", "reduce/three_nested", "reduce/arange_51", "reduce/max_pool_int32"],
)
def test_evaluate_is_the_same_in_small_blocks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ast = parse_ast(document_named(name))
    inputs = make_inputs(ast, 1)
    wanted = expect(ast, inputs)
    monkeypatch.setattr(regions, "BLOCK", 64)
    monkeypatch.setattr(regions, "CONTRACTION_BLOCK", 50)
    monkeypatch.setattr(regions, "_SMALLEST_BLOCK", 16)
    monkeypatch.setattr(engine, "BLOCK", 64)
    monkeypatch.setattr(engine, "CONTRACTION_BLOCK", 50)
    monkeypatch.setattr(contraction, "BLOCK", 64)
    for slot, found in expect(ast, inputs).items():
        np.testing.assert_allclose(found.values, wanted[slot].values, rtol=1e-6)
        np.testing.assert_allclose(found.errors, wanted[slot].errors, rtol=1e-3)
        assert np.array_equal(found.written, wanted[slot].written)


def test_sum_of_products_is_the_sum_of_the_products() -> None:
    random = np.random.default_rng(5)
    shapes = [((1, 3, 1, 4, 1, 6), (1, 3, 5, 1, 2, 6)), ((1, 7, 1, 9), (1, 1, 8, 9)), ((4, 1, 9, 5), (4, 1, 9, 1))]
    for first_shape, second_shape in shapes:
        first, second = random.normal(size=first_shape), random.normal(size=second_shape)
        for over in ((), (3,), (2, 3), tuple(range(1, len(first_shape)))):
            found = contraction.sum_of_products(first, second, over)
            np.testing.assert_allclose(found, (first * second).sum(axis=over, keepdims=True), rtol=1e-12, atol=1e-12)


def test_evaluate_of_a_large_product_takes_little_memory() -> None:
    ast = parse_ast(document_named("gemm/02"))
    inputs = make_inputs(ast, 0)
    tracemalloc.start()
    expect(ast, inputs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 256 << 20


def test_evaluate_of_chosen_outputs_never_materialises_the_rest() -> None:
    """2^38 outputs, of buffers that are one element seen everywhere."""
    ast = parse_ast(document_named("elementwise/shape_1048576x262144"))
    kernel = concrete_ast(ast, {})
    everywhere = np.broadcast_to(np.full(1, 0.5, np.float32), (1 << 38,))
    inputs = {slot: everywhere for slot in range(len(kernel.slots)) if slot not in kernel.stores}
    (found,) = evaluate(ast, inputs, outputs=[0, 1 << 37, (1 << 38) - 1]).values()
    assert found.shape == (3,) and len(set(found.tolist())) == 1


# ---- stores ----------------------------------------------------------------------------------------------------------


def masked_store() -> Document:
    """x + 1 of four elements; the last two are stored outside a mask."""
    b = Build()
    x = b.new("float32", (4,))
    out = b.buffer("float32", (2,))
    b.store(b.op("ADD", x, b.like(1.0, x)), out, out.tracker.pad(((0, 2),)))
    return b.document()


def test_expect_says_what_a_masked_store_leaves_alone() -> None:
    ast = parse_ast(masked_store())
    x = np.arange(4, dtype=np.float32)
    chosen = expect(ast, {0: x}, outputs=[3, 0, 1])[1]
    assert chosen.written.tolist() == [False, True, True]
    assert chosen.values.tolist() == [4.0, 1.0, 2.0]
    whole = expect(ast, {0: x})[1]
    assert whole.written.tolist() == [True, True] and whole.values.tolist() == [1.0, 2.0]


def test_evaluate_keeps_what_is_not_stored() -> None:
    b = Build()
    x = b.new("int32", (3,))
    out = b.buffer("int32", (8,))
    b.store(x, out, out.tracker.shrink(((2, 5),)))
    ast = parse_ast(b.document())
    found = evaluate(ast, [np.array([7, 8, 9], np.int32), np.full(8, -1, np.int32)])
    assert found[1].tolist() == [-1, -1, 7, 8, 9, -1, -1, -1]
    assert evaluate(ast, [np.array([7, 8, 9], np.int32)])[1].tolist() == [0, 0, 7, 8, 9, 0, 0, 0]


def test_evaluate_reads_a_stored_slot_as_it_was_given() -> None:
    b = Build()
    x = b.buffer("float32", (3,))
    value = b.load(x)
    b.store(b.op("ADD", value, b.like(1.0, value)), x)
    given_buffer = np.array([1.0, 2.0, 3.0], np.float32)
    assert evaluate(parse_ast(b.document()), {0: given_buffer})[0].tolist() == [2.0, 3.0, 4.0]
    assert given_buffer.tolist() == [1.0, 2.0, 3.0]


# ---- what is given ---------------------------------------------------------------------------------------------------


def test_evaluate_refuses_what_does_not_fit() -> None:
    ast = parse_ast(masked_store())
    x = np.zeros(4, np.float32)
    for buffers, text in (
        ({}, "slot 0 is loaded"),
        ({0: x[:3]}, "slot 0 has 3 elements"),
        ({0: x.astype(np.float64)}, "slot 0 takes an array of float32, not float64"),
        ({0: x, 2: x}, "no slot 2"),
    ):
        with pytest.raises(EvaluationError, match=text):
            evaluate(ast, buffers)
    for outputs, text in (([4], "from 0 to 3"), ([-1], "from 0 to 3"), ([0.5], "numbers"), ({0: [0]}, "not stored")):
        with pytest.raises(EvaluationError, match=text):
            evaluate(ast, {0: x}, outputs=outputs)


def test_evaluate_refuses_wrong_variables() -> None:
    b = Build()
    i = b.variable("i", 1, 8)
    b.store(b.reduce(b.new("int32", (3, i)), "ADD", 1))
    ast = parse_ast(b.document())
    buffers = {0: np.ones(24, np.int32)}
    assert evaluate(ast, buffers, {"i": 5})[1].tolist() == [5, 5, 5]
    for values, text in (({}, "no value for the variable i"), ({"i": 9}, "i = 9 is not within 1..8")):
        with pytest.raises(EvaluationError, match=text):
            evaluate(ast, buffers, values)
