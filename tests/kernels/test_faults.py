"""Faults that systems of this kind had: what each kernel's Opts may do here, held against the oracle; and that the
cases ask for the right values, held against the NumPy reference.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np
import pytest

from kernels import Kernel, KernelOptError, parse_ast
from kernels.reference import evaluate
from tests.kernels.fault_cases import FaultCase, Run, fault_cases
from tests.kernels.shown import opt
from tests.oracle import OptTriple, assignments, oracle_kernel, oracle_shown, oracle_try
from tests.parity.product import product_kernel, product_shown, product_target

CASES = fault_cases()
SEQUENCES = [
    pytest.param(case, opts, id=f"{case.name}: {'+'.join(str(opt(*o)) for o in opts) or 'no Opts'}")
    for case in CASES
    for opts in case.opts
]
RUNS = [
    pytest.param(case, run, id=f"{case.name}, run {number}") for case in CASES for number, run in enumerate(case.runs)
]
# Elements that are compared of an output that takes long to compute as a whole.
SAMPLED = 64
MOST_ELEMENTS = 10_000_000


def named(label: str) -> list[FaultCase]:
    return [case for case in CASES if case.label == label]


def test_every_fault_of_groups_a_to_e_has_a_case() -> None:
    numbers = {"A": 12, "B": 5, "C": 11, "D": 6, "E": 16}
    labels = {f"{group}{number}" for group, most in numbers.items() for number in range(1, most + 1)} - {"E4"}
    assert {case.label for case in CASES} == labels
    assert max(Counter(case.name for case in CASES).values()) == 1


def refused_at(kernel: Kernel, opts: tuple[OptTriple, ...]) -> int | None:
    """The place of the Opt that is refused, None where all are accepted. Any exception but KernelOptError is raised."""
    for place, triple in enumerate(opts):
        before = kernel.state
        try:
            kernel.apply_opt(opt(*triple))
        except KernelOptError as error:
            assert error.reason
            assert kernel.state is before
            return place
    return None


@pytest.mark.parametrize(("case", "opts"), SEQUENCES)
def test_fault_opts_are_accepted_or_refused_as_by_the_oracle(case: FaultCase, opts: tuple[OptTriple, ...]) -> None:
    oracle, oracle_refused_at = oracle_kernel(case.document, case.target), None
    for place, triple in enumerate(opts):
        answer = oracle_try(oracle, triple)
        if answer.end != "accepted":
            oracle_refused_at = place
            break
        oracle = answer.kernel
    kernel = product_kernel(case.document, case.target)
    assert refused_at(kernel, opts) == oracle_refused_at
    values = assignments(case.document)
    assert product_shown(kernel, values) == oracle_shown(oracle, values)


@pytest.mark.parametrize(
    ("case", "opts"), [pytest.param(case, opts, id=case.name) for case in CASES for opts in case.refused]
)
def test_fault_opts_that_must_be_refused_are(case: FaultCase, opts: tuple[OptTriple, ...]) -> None:
    assert refused_at(product_kernel(case.document, case.target), opts) == len(opts) - 1


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fault_kernel_takes_the_heuristics_opts(case: FaultCase) -> None:
    kernel = product_kernel(case.document, case.target).default_opts()
    again = product_kernel(case.document, case.target)
    for chosen in kernel.applied_opts:
        again.apply_opt(chosen)
    assert again.full_shape == kernel.full_shape


# ---- single faults ---------------------------------------------------------------------------------------------------


def test_fault_a5_padding_an_unrolled_axis_is_refused() -> None:
    (case,) = named("A5")
    kernel = product_kernel(case.document, case.target)
    kernel.apply_opt(opt("UNROLL", 0, 0))
    with pytest.raises(KernelOptError, match="upcast"):
        kernel.apply_opt(opt("PADTO", 2, 8))


def test_fault_b3_shared_memory_is_counted_before_anything_compiles() -> None:
    (case,) = named("B3")
    kernel = product_kernel(case.document, case.target)
    for triple in (("GROUP", 0, 256), ("UPCAST", 0, 16)):
        kernel.apply_opt(opt(*triple))
    # 256 partial sums of 16 by 4 lanes, 4 bytes each, are 64 KiB, and there are 32.
    with pytest.raises(KernelOptError, match="65536 bytes of shared memory"):
        kernel.apply_opt(opt("UPCAST", 0, 4))


def test_fault_b5_nolocals_refuses_locals_and_groups() -> None:
    (case,) = named("B5")
    for triple in (("LOCAL", 0, 2), ("GROUP", 0, 4), ("GROUPTOP", 0, 4)):
        kernel = product_kernel(case.document, case.target)
        kernel.apply_opt(opt("NOLOCALS"))
        with pytest.raises(KernelOptError):
            kernel.apply_opt(opt(*triple))
        assert kernel.colors() == ["BLUE", "red"]


def test_fault_c6_offset_beyond_the_buffer_is_flagged() -> None:
    flagged = {case.about: parse_ast(case.document).size_unproven for case in named("C6")}
    assert flagged == {"offset that can leave the buffer": True, "offset that stays inside": False}


def test_fault_c7_dynamic_length_cannot_be_split() -> None:
    (case,) = named("C7")
    for triple in (("UNROLL", 0, 4), ("UNROLL", 0, 0), ("GROUP", 0, 8), ("GROUPTOP", 0, 8), ("PADTO", 1, 32)):
        with pytest.raises(KernelOptError):
            product_kernel(case.document, case.target).apply_opt(opt(*triple))


@pytest.mark.parametrize("label", ["C9", "C10"])
def test_fault_large_graph_is_built_and_padded_in_under_two_seconds(label: str) -> None:
    (case,) = named(label)
    started = time.perf_counter()
    kernel = Kernel(parse_ast(case.document), product_target(case.target))
    kernel.copy().default_opts()
    kernel.apply_opt(opt("PADTO", 0, 20))
    assert kernel.name
    assert time.perf_counter() - started < 2.0


# ---- the cases themselves --------------------------------------------------------------------------------------------


def elements_of(kernel: Kernel, run: Run) -> float:
    sizes = [size if isinstance(size, int) else 32 for size in kernel.full_shape]
    return float(np.prod(sizes, dtype=np.float64))


@pytest.mark.parametrize(("case", "run"), RUNS)
def test_fault_case_asks_for_what_the_reference_computes(case: FaultCase, run: Run) -> None:
    ast = parse_ast(case.document)
    chosen: dict[int, Any] | None = None
    if elements_of(product_kernel(case.document, case.target), run) > MOST_ELEMENTS:
        chosen = {slot: np.linspace(0, e.size - 1, SAMPLED).astype(int) for slot, e in run.expected.items()}
    found = evaluate(ast, dict(run.inputs), dict(run.variables), chosen)
    assert set(found) == set(run.expected)
    for slot, expected in run.expected.items():
        wanted = expected.ravel() if chosen is None else expected.ravel()[chosen[slot]]
        got = found[slot].ravel()[: wanted.size]
        if run.tolerance:
            np.testing.assert_allclose(got.astype(np.float64), wanted, rtol=run.tolerance)
        else:
            assert got.dtype == wanted.dtype
            np.testing.assert_array_equal(got, wanted)
