from __future__ import annotations

import numpy as np
import pytest

from kernels import parse_ast
from kernels.compare import compare
from kernels.dtypes import BFLOAT16, FLOAT16, FLOAT32
from kernels.inputs import make_inputs
from kernels.reference.concrete import concrete_ast
from kernels.reference.formats import UNITS
from kernels.tolerance import Tolerance, expected_of, tolerance
from tests.kernels.reference.against_scalar import (
    chosen_outputs,
    interpreted,
    is_affordable,
    middle_values,
    stored_documents,
)
from tests.kernels.reference.test_evaluate import document_named
from tests.made.build import Build, Document
from tests.scalar import Manner

BUDGET = 4_000


def summed(dtype: str, length: int, op: str = "ADD") -> Document:
    b = Build()
    b.store(b.reduce(b.new(dtype, (4, length)), op, 1))
    return b.document()


def only(document: Document) -> Tolerance:
    (found,) = tolerance(parse_ast(document)).values()
    return found


@pytest.mark.parametrize("name", ["elementwise/threefry_bits", "reduce/arange_51", "reduce/max_pool_float32"])
def test_tolerance_of_integers_and_maxima_is_none(name: str) -> None:
    found = tolerance(parse_ast(document_named(name)))
    assert set(found.values()) == {Tolerance(0.0, 0.0, False)}


def test_tolerance_of_a_copy_is_none() -> None:
    b = Build()
    b.store(b.new("float16", (7, 3)))
    assert only(b.document()) == Tolerance(0.0, 0.0, False)


def test_tolerance_grows_with_the_reduce_length_and_the_dtype() -> None:
    lengths = [only(summed("float32", length)).rtol for length in (10, 1000, 100_000)]
    assert lengths == sorted(lengths) and lengths[0] < lengths[-1] < 1e-3
    dtypes = [only(summed(dtype, 100)).rtol for dtype in ("float64", "float32", "float16", "bfloat16")]
    assert dtypes == sorted(dtypes)
    assert 2 * UNITS[FLOAT16] < dtypes[2] < 4 * UNITS[FLOAT16] and dtypes[3] < 4 * UNITS[BFLOAT16]
    assert only(summed("float32", 1000, "MAX")) == Tolerance(0.0, 0.0, False)


def test_tolerance_grows_where_sums_go_through_functions() -> None:
    b = Build()
    total = b.reduce(b.new("float32", (4, 100)), "ADD", 1)
    b.store(b.op("SIN", total))
    b.store(b.op("EXP2", total))
    b.store(total)
    sine, power, plain = tolerance(parse_ast(b.document())).values()
    assert sine.rtol > 8 * plain.rtol and power.rtol > 8 * plain.rtol


def test_tolerance_says_where_a_decision_depends_on_rounding() -> None:
    b = Build()
    x = b.new("float32", (8,))
    root = b.op("SQRT", x)
    b.store(b.cast(b.op("CMPLT", root, x), "int32"))
    b.store(b.cast(root, "int32"))
    b.store(b.cast(b.op("CMPLT", x, b.like(1.0, x)), "int32"))
    b.store(b.cast(b.op("CMPNE", root, root), "int32"))
    found = tolerance(parse_ast(b.document()))
    assert [each.discontinuous for each in found.values()] == [True, True, False, False]


def test_tolerance_takes_the_values_of_variables() -> None:
    ast = parse_ast(document_named("dynamic/reduce_length_ADD"))
    short, long = tolerance(ast, {"i": 1}), tolerance(ast)
    assert all(short[slot].rtol < long[slot].rtol for slot in short)


def test_expected_of_lets_through_what_is_within() -> None:
    output = np.array([1.0, -2.0, np.inf, np.nan], np.float32)
    allowed = expected_of(0, FLOAT32, output, Tolerance(1e-3, 1e-3, False))
    assert compare(allowed, np.array([1.002, -2.003, np.inf, np.nan], np.float32)) is None
    for place, value in ((0, 1.01), (1, 2.0), (2, 5.0), (3, 0.0)):
        wrong = output.copy()
        wrong[place] = value
        assert compare(allowed, wrong) is not None


def test_tolerance_covers_right_programs_of_stored_kernels() -> None:
    """Two interpreters that round in other places, the second against the first as a yardstick."""
    beyond = []
    compared = 0
    for name, document in stored_documents():
        ast = parse_ast(document)
        kernel = concrete_ast(ast, middle_values(ast))
        if not is_affordable(kernel, BUDGET):
            continue
        inputs = make_inputs(ast, 2, kernel.variables)
        outputs = chosen_outputs(kernel, BUDGET, 2)
        first, second = (
            interpreted(document, kernel, inputs, outputs, manner)
            for manner in (Manner(), Manner(backwards=True, fused=True))
        )
        for slot, allowed in tolerance(ast, kernel.variables).items():
            written = [position for position in first[slot][1] if position is not None]
            yardstick, actual = first[slot][0][written], second[slot][0][written]
            compared += 1
            if compare(expected_of(slot, kernel.slots[slot].dtype, yardstick, allowed), actual) is not None:
                beyond.append(f"{name} slot {slot}")
    assert compared > 400
    assert not beyond
