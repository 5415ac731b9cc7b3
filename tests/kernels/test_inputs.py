from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import pytest

from kernels import parse_ast
from kernels.compare import count_compared
from kernels.input_needs import Need, Role, input_needs
from kernels.inputs import Kind, make_inputs
from kernels.ops import Ops
from kernels.reference import EvaluationError, expect
from kernels.reference.concrete import concrete_ast
from kernels.reference.formats import storage_type
from tests.kernels.reference.against_scalar import chosen_outputs, is_affordable, middle_values, stored_documents
from tests.kernels.reference.test_evaluate import document_named
from tests.made.build import Build, Document

BUDGET = 8_000


def inputs_of(document: Document, kind: Kind = "normal", seed: int = 0) -> dict[int, Any]:
    return make_inputs(parse_ast(document), seed, kind=kind)


def needs_of(document: Document) -> dict[int, Need]:
    return input_needs(concrete_ast(parse_ast(document), {}))


def test_inputs_are_a_function_of_the_seed() -> None:
    document = document_named("reduce/log_softmax_loss")
    for kind in ("normal", "extremes"):
        first, second, other = (inputs_of(document, kind, seed) for seed in (5, 5, 6))
        assert all(first[slot].tobytes() == second[slot].tobytes() for slot in first)
        assert any(first[slot].tobytes() != other[slot].tobytes() for slot in first)


def test_inputs_are_the_same_everywhere() -> None:
    """A change of these numbers changes what every check and every stored trial was made with."""
    digest = hashlib.sha256()
    for name in ("gemm/05", "reduce/gather_50x32", "elementwise/threefry_bits", "elementwise/binary_bfloat16"):
        for kind in ("normal", "extremes"):
            for slot, values in sorted(inputs_of(document_named(name), kind, 1).items()):
                digest.update(
                    f"{name} {kind} {slot}".encode() + values.astype(values.dtype.newbyteorder("<")).tobytes()
                )
    assert digest.hexdigest()[:16] == "66407f254fcb7053"


def test_inputs_are_for_loaded_slots_alone_and_as_long_as_needed() -> None:
    for _, document in stored_documents():
        ast = parse_ast(document)
        kernel = concrete_ast(ast, middle_values(ast))
        if not is_affordable(kernel, 1 << 40):
            continue
        inputs = make_inputs(ast, 0, kernel.variables)
        assert set(inputs) == {kernel.slot(n) for n, node in enumerate(kernel.nodes) if node.op is Ops.LOAD}
        for slot, values in inputs.items():
            facts = kernel.slots[slot]
            assert values.dtype == storage_type(facts.dtype)
            assert values.shape == (max(facts.reach, 1) if ast.variables else facts.declared,)


def test_inputs_of_a_dynamic_kernel_are_as_long_as_these_values_reach() -> None:
    ast = parse_ast(document_named("dynamic/reduce_length_ADD"))
    (loaded,) = make_inputs(ast, 0, {"i": 5}).values()
    assert loaded.shape == (40 * 5,)
    with pytest.raises(EvaluationError):
        make_inputs(ast, 0)


# ---- what operations ask for -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["LOG2", "SQRT", "RECIP"])
def test_inputs_below_functions_of_positive_numbers_are_positive(op: str) -> None:
    b = Build()
    b.store(b.op(op, b.new("float32", (4096,))))
    document = b.document()
    (values,) = inputs_of(document).values()
    assert values.min() >= 0.5 and values.max() < 2.0
    (values,) = inputs_of(document, "extremes").values()
    assert not (values <= 0).any() and np.isinf(values).any() and np.isnan(values).any()


def test_inputs_keep_a_difference_positive() -> None:
    """log2(x - y) / y: both are positive, and x is larger."""
    b = Build()
    x, y = b.new("float32", (1000,)), b.new("float32", (1000,))
    b.store(b.op("FDIV", b.op("LOG2", b.op("SUB", x, y)), y))
    document = b.document()
    needs = {slot: (need.sign, need.small) for slot, need in needs_of(document).items()}
    assert needs == {0: (1, False), 1: (1, True)}
    first, second = inputs_of(document).values()
    assert (second > 0).all() and (first - second >= 0).all()


def test_inputs_follow_a_negated_factor() -> None:
    b = Build()
    x = b.new("float32", (1000,))
    b.store(b.op("SQRT", b.op("MUL", x, b.like(-1.0, x))))
    (values,) = inputs_of(b.document()).values()
    assert (values < 0).all()


def test_inputs_that_divide_or_shift_integers_are_in_range() -> None:
    b = Build()
    x, y, z = (b.new("int32", (2000,)) for _ in range(3))
    b.store(b.op("SHL", b.op("IDIV", x, y), z))
    b.store(b.op("MOD", x, y))
    document = b.document()
    needs = needs_of(document)
    assert (needs[1].role, needs[2].role, needs[2].bound) == (Role.DIVISOR, Role.SHIFT, 32)
    for kind in ("normal", "extremes"):
        inputs = inputs_of(document, kind)
        assert inputs[1].min() >= 1 and inputs[2].min() >= 0 and inputs[2].max() == 31


def test_inputs_that_are_compared_with_positions_are_indices() -> None:
    document = document_named("reduce/gather_256x256")
    need = needs_of(document)[1]
    assert (need.role, need.bound) == (Role.INDEX, 256)
    indices = np.concatenate([inputs_of(document, "normal", seed)[1] for seed in range(200)])
    inside = (indices >= 0) & (indices < 256)
    assert 0.7 < inside.mean() <= 1.0 and indices.min() >= -2 and indices.max() <= 257
    assert len(set(indices.tolist())) > 100
    far = np.concatenate([inputs_of(document, "extremes", seed)[1] for seed in range(50)])
    assert {-19238, 10982377} <= set(far.tolist())


def test_inputs_of_long_products_stay_near_one() -> None:
    b = Build()
    b.store(b.reduce(b.new("float32", (3, 4096)), "MUL", 1))
    ast = parse_ast(b.document())
    (found,) = expect(ast, make_inputs(ast, 0)).values()
    assert ((np.abs(found.values) > 1e-6) & (np.abs(found.values) < 1e6)).all()


def test_inputs_of_long_sums_are_scaled_down() -> None:
    for dtype, function in (("float16", "NEG"), ("float16", "SQRT"), ("float32", "EXP2")):
        b = Build()
        value = b.new(dtype, (2, 1 << 17))
        b.store(b.op(function, b.reduce(value, "ADD", 1)))
        ast = parse_ast(b.document())
        (found,) = expect(ast, make_inputs(ast, 0)).values()
        assert np.isfinite(found.values).all() and np.isfinite(found.errors).all()


def test_inputs_below_bit_operations_are_any_bits() -> None:
    inputs = inputs_of(document_named("elementwise/threefry_bits"))
    assert inputs[0].max() > 2**63 and len(set(inputs[0].tolist())) == inputs[0].size
    floats = inputs_of(document_named("elementwise/bitcast_int32_float32"))[0].view(np.float32)
    assert np.isfinite(floats).all() and np.abs(floats).max() <= 4


def test_extremes_hold_what_they_are_named_for() -> None:
    b = Build()
    b.store(b.new("float32", (1000,)))
    b.store(b.new("int16", (1000,)))
    b.store(b.new("bool", (1000,)))
    floats, integers, bools = inputs_of(b.document(), "extremes").values()
    assert np.isnan(floats).any() and {math.inf, -math.inf, 0.0} <= set(floats.tolist())
    assert np.signbit(floats[floats == 0.0]).any()
    assert {-(2**15), 2**15 - 1, 0} <= set(integers.tolist())
    assert set(bools.tolist()) == {False, True}


# ---- what they are for -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "least_share"), [("normal", 0.97), ("extremes", 0.9)])
def test_inputs_let_nearly_all_outputs_be_compared(kind: Kind, least_share: float) -> None:
    shares = []
    numbers = []
    for _, document in stored_documents():
        ast = parse_ast(document)
        kernel = concrete_ast(ast, middle_values(ast))
        if not is_affordable(kernel, BUDGET):
            continue
        outputs = chosen_outputs(kernel, BUDGET, 0)
        for expected in expect(ast, make_inputs(ast, 0, kernel.variables, kind), kernel.variables, outputs).values():
            shares.append(count_compared(expected) / max(int(expected.written.sum()), 1))
            if expected.dtype.is_float and expected.dtype.name != "bfloat16":
                numbers.append(float(np.isfinite(expected.values).mean()))
    assert np.mean(shares) > least_share
    assert np.mean(numbers) > (0.98 if kind == "normal" else 0.8)
