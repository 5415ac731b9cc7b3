"""What counts as right, without a device: yardsticks' outputs are made of the reference's."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from kernels import Ast, build, parse_ast
from kernels.build import Graph
from kernels.dtypes import FLOAT32, INT32
from kernels.reference import evaluate
from kernels.reference.concrete import concrete_ast
from kernels.reference.formats import Array
from runners.api import Numerics
from runners.sample import SAMPLE, sample_elements
from runners.verify import MAX_DISPUTED, Judge, Standard, are_exact, differing, same_bits
from runners.workload import InputSet, Slot, input_sets, slots_of
from tests.codegen.subjects import documents


class Bench:
    """A kernel with inputs, and what the reference says its outputs are."""

    def __init__(self, ast: Ast, *, extremes: bool = False) -> None:
        self.kernel = concrete_ast(ast, {})
        self.judge = Judge(ast, self.kernel)
        self.inputs: InputSet = input_sets(ast, 0, {})["extremes" if extremes else "normal"]
        self.slots = {slot.number: slot for slot in slots_of(self.kernel)}
        values = evaluate(ast, self.inputs.inputs, {})
        self.outputs = {number: self._on_poison(number, values[number]) for number in values}

    def _on_poison(self, number: int, values: Array) -> Array:
        """What a right program leaves: poison where it does not write."""
        whole = self.judge.by_reference(self.inputs).whole[number]
        return np.where(whole.written, values, self.inputs.before(self.slots[number]))

    def given(self, outputs: Mapping[int, Array]) -> list[tuple[Slot, Array]]:
        return [(self.slots[number], output) for number, output in outputs.items()]

    def standard(self, *, unoptimised: bool = True) -> Standard:
        return self.judge.by_program(self.inputs, self.given(self.outputs), unoptimised)

    def complaint(self, standard: Standard, change: Mapping[int, float] | None = None) -> str | None:
        """Of the right outputs with `change`, by position in slot 0."""
        outputs = {number: output.copy() for number, output in self.outputs.items()}
        for position, value in (change or {}).items():
            outputs[0][position] = value
        return self.judge.complaint(standard, self.given(outputs))


def into_every_third_row() -> Ast:
    """Positions are not element numbers: rows 0, 3, 6, ... of 300 are written, transposed."""
    g = Graph()
    whole = g.load("float32", (300, 64))
    x = g.load("float32", (64, 100))
    g.store(x.permute(1, 0) * 2, at=whole.reshape(100, 3, 64).shrink((0, 100), (0, 1), (0, 64)).reshape(100, 64))
    return g.build()


# ---- by the reference ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extremes", [False, True])
def test_judge_by_reference_finds_one_wrong_element(extremes: bool) -> None:
    bench = Bench(build.matmul(16, 8, 12), extremes=extremes)
    standard = bench.judge.by_reference(bench.inputs)
    assert bench.complaint(standard) is None
    right = bench.outputs[0]
    place = int(np.flatnonzero(np.isfinite(right))[-1])
    wrong = bench.complaint(standard, {place: float(right[place]) + 0.5})
    assert wrong is not None
    assert f"element {place}" in wrong
    assert wrong.endswith("(inputs with extreme values)") is extremes


def test_judge_wants_what_is_not_stored_untouched() -> None:
    bench = Bench(into_every_third_row())
    for standard in (bench.judge.by_reference(bench.inputs), bench.standard()):
        assert bench.complaint(standard) is None
        assert "element 70" in str(bench.complaint(standard, {70: 1.0}))


# ---- by another program ----------------------------------------------------------------------------------------------


def test_judge_by_program_lets_the_reference_settle_what_differs() -> None:
    """The yardstick is wrong in one element that is in no sample; who has the right value there is right."""
    bench = Bench(build.matmul(256, 8, 256))
    unsampled = int(np.setdiff1d(np.arange(65536), sample_elements(bench.kernel)[0])[1000])
    right = float(bench.outputs[0][unsampled])
    bench.outputs[0][unsampled] = right + 1.0
    standard = bench.standard()
    assert bench.complaint(standard) is None
    assert bench.complaint(standard, {unsampled: right}) is None
    assert f"element {unsampled} is" in str(bench.complaint(standard, {unsampled: right + 2.0}))


def test_judge_by_program_finds_every_single_wrong_element() -> None:
    bench = Bench(build.matmul(128, 4, 128))
    standard = bench.standard()
    for place in (0, 127, 128, 5000, 16383):
        assert f"element {place} is" in str(bench.complaint(standard, {place: 9.0}))


def test_judge_by_program_knows_where_elements_are_stored() -> None:
    bench = Bench(into_every_third_row())
    standard = bench.standard()
    right = bench.outputs[0]
    row, column = 3 * 41, 17
    place = row * 64 + column
    assert f"element {place} is" in str(bench.complaint(standard, {place: float(right[place]) + 1.0}))


def test_judge_does_not_work_out_everything_where_everything_is_wrong() -> None:
    bench = Bench(build.elementwise((MAX_DISPUTED * 2,), lambda x: x + 1))
    standard = bench.standard()
    sampled = sample_elements(bench.kernel)[0]
    outputs = {0: bench.outputs[0] + 1.0}
    outputs[0][sampled] = bench.outputs[0][sampled]
    wrong = bench.judge.complaint(standard, bench.given(outputs))
    assert wrong is not None
    assert "lie further from the yardstick's" in wrong


def test_judge_settles_integers_that_rounded_values_decide() -> None:
    """Which of two nearly equal values is greater may differ; what the reference leaves open is not wrong."""
    g = Graph()
    x, y = g.load("float32", (64, 32)), g.load("float32", (64, 32))
    g.store((x.sum(1) < y.sum(1)).cast("int32"))
    bench = Bench(g.build())
    standard = bench.standard()
    assert bench.complaint(standard) is None
    assert bench.complaint(standard, {5: 1 - int(bench.outputs[0][5])}) is not None


def test_differing_takes_nan_for_nan_and_infinity_for_infinity() -> None:
    bench = Bench(build.elementwise((8,), lambda x: x + 1))
    bench.outputs[0][:4] = [np.nan, np.inf, -np.inf, 0.0]
    whole = bench.standard().whole[0]
    for change, places in (
        ((0, 1.0), [0]),
        ((1, -np.inf), [1]),
        ((2, np.nan), [2]),
        ((3, -0.0), []),
        ((4, np.nan), [4]),
    ):
        output = bench.outputs[0].copy()
        output[change[0]] = change[1]
        assert differing(whole, output).tolist() == places


# ---- bits ------------------------------------------------------------------------------------------------------------


def test_same_bits_tells_zeros_apart_and_not_which_nan_it_is() -> None:
    values = np.array([1.0, 0.0, np.nan], np.float32)
    other_nan = values.view(np.uint32) ^ np.array([0, 0, 1], np.uint32)
    assert same_bits(FLOAT32, values, other_nan.view(np.float32))
    assert not same_bits(FLOAT32, values, np.array([1.0, -0.0, np.nan], np.float32))
    assert not same_bits(FLOAT32, values, np.array([1.0, 0.0, 2.0], np.float32))
    assert not same_bits(INT32, np.array([1, 2], np.int32), np.array([1, 3], np.int32))


def test_exactness_is_claimed_only_where_the_unoptimised_bits_are_known() -> None:
    """Or where every right program has the same bits, as of a copy."""
    summed, copied = Bench(build.reduce_rows("sum", 8, 64)), Bench(build.elementwise((64,), lambda x: x.cast("int32")))
    for bench, unoptimised, exact in ((summed, True, True), (summed, False, False)):
        standard = bench.standard(unoptimised=unoptimised)
        assert are_exact(standard, bench.given(bench.outputs)) is exact
        found = bench.judge.verification("heuristic", standard, exact)
        assert found.numerics is (Numerics.BIT_EXACT if exact else Numerics.REORDERED)
        assert found.elements == found.sampled == 8
    assert are_exact(copied.standard(unoptimised=False), copied.given(copied.outputs))
    assert not are_exact(summed.judge.by_reference(summed.inputs), summed.given(summed.outputs))


# ---- samples ---------------------------------------------------------------------------------------------------------


def test_sample_has_enough_with_ends_and_corners() -> None:
    (elements,) = sample_elements(concrete_ast(build.elementwise((50, 40, 30), lambda x: x + 1), {})).values()
    assert elements.size >= SAMPLE
    assert np.unique(elements).size == elements.size
    assert elements[0] == 0
    assert elements[-1] == 50 * 40 * 30 - 1
    for axis, size in enumerate((50, 40, 30)):
        where = np.unravel_index(elements, (50, 40, 30))[axis]
        for border in (0, 1, 2, size - 3, size - 2, size - 1):
            assert np.count_nonzero(where == border) >= 8
    assert (
        elements.tolist()
        == sample_elements(concrete_ast(build.elementwise((50, 40, 30), lambda x: x + 1), {}))[0].tolist()
    )


def test_sample_has_the_borders_of_masks() -> None:
    g = Graph()
    x = g.load("float32", (100, 60))
    g.store(x.pad((37, 63), (20, 40)) + 1)
    (elements,) = sample_elements(concrete_ast(g.build(), {})).values()
    rows, columns = np.unravel_index(elements, (200, 120))
    for row in (36, 37, 136, 137):
        assert np.count_nonzero(rows == row) >= 8
    for column in (19, 20, 79, 80):
        assert np.count_nonzero(columns == column) >= 8


def test_sample_of_little_is_all_of_it() -> None:
    for name, document in list(documents().items())[:20]:
        if "vars" in document:
            continue
        kernel = concrete_ast(parse_ast(document), {})
        for slot, elements in sample_elements(kernel).items():
            shape = kernel.shapes[kernel.stores[slot]]
            total = int(np.prod(shape, dtype=np.int64))
            assert elements.size == total if total <= SAMPLE else elements.size >= SAMPLE, name
            assert elements.min() >= 0
            assert elements.max() < total
