"""The parity harness itself: the oracle's tf32 core is the real one, and a fault in the product would be seen."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from tests.oracle import Answer, oracle_renderer, split_target, tc_mode
from tests.parity import walks
from tests.parity.known import (
    DYNAMIC_MASK,
    ORACLE_RAISES,
    PADDED_MASK,
    PARTIAL_REDUCE,
    UNDECIDED,
    UNDECIDED_MASK,
    known_kind,
)
from tests.parity.product import product_shown
from tests.parity.report import Difference, Report, by_kind
from tests.parity.walks import run_walks, same_n_and_m, step, stored_pair

PRINT_CORE = (
    "from tinygrad.renderer.cstyle import CUDARenderer as R; c = R('sm_80').tensor_cores[-1];"
    "print(len(R('sm_80').tensor_cores), c.dims, c.threads, c.elements_per_thread, c.dtype_in, c.dtype_out, c.opts)"
)


def test_oracle_tf32_core_is_the_one_that_the_variable_gives() -> None:
    environment = {**os.environ, "ALLOW_TF32": "1"}
    printed = subprocess.run(
        [sys.executable, "-c", PRINT_CORE], env=environment, capture_output=True, text=True, check=True
    )
    cores = oracle_renderer("sm_80_tf32").tensor_cores
    last = cores[-1]
    described = (last.dims, last.threads, last.elements_per_thread, last.dtype_in, last.dtype_out, last.opts)
    assert printed.stdout.split() == " ".join(map(str, (len(cores), *described))).split()


def test_split_target_takes_every_suffix() -> None:
    assert split_target("sm_80_tf32_mode2") == ("sm_80", {"tf32", "mode2"})
    assert split_target("opencl_no_local") == ("opencl", {"no_local"})
    assert (tc_mode("sm_80_mode0"), tc_mode("sm_80")) == (0, 1)


def test_walk_reports_a_wrong_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product that shows every upcast size one too large is found in the first few walks."""

    def wrong(kernel: Any, values: Any = ()) -> Any:
        shown = product_shown(kernel, values)
        if "yellow" not in shown.colors:
            return shown
        return shown._replace(full_shape=(*shown.full_shape[:-1], shown.full_shape[-1] + 1))

    monkeypatch.setattr(walks, "product_shown", wrong)
    report = Report()
    run_walks(10, 5, ("corpus",), ("opencl",), report)
    assert not report.within_bar
    assert "shape after UPCAST" in by_kind(report.differences)


@pytest.mark.parametrize(("end", "kind"), [("refused", "refused here: UPCAST"), ("raised", "raised here: UPCAST")])
def test_step_reports_another_end(monkeypatch: pytest.MonkeyPatch, end: str, kind: str) -> None:
    pair = stored_pair("gemm/01", "opencl", Report())
    assert pair is not None
    monkeypatch.setattr(walks, "product_try", lambda kernel, opt: Answer(end, reason="because"))
    report = Report()
    step(pair, ("UPCAST", 0, 4), report)
    assert [difference.kind.startswith(kind) for difference in report.differences] == [True]


def test_step_allows_only_the_listed_refusals() -> None:
    pair = stored_pair("gemm/01", "opencl", Report())
    assert pair is not None
    report = Report()
    for opt in (("NOLOCALS", 0, 2), ("UNROLL", -1, 2)):
        assert step(pair, opt, report) is pair
    assert sorted(report.intended) == ["NOLOCALS with an axis or arg", "negative axis or arg"]
    assert not report.differences


def test_same_n_and_m_counts_triples_from_the_last() -> None:
    """Axes (batch, m, n, k), the batch shared by both operands: N is 0 or 2, M is 0 or 1."""
    pair = stored_pair("matmul/half_shared_batch", "sm_80", Report())
    assert pair is not None
    assert [same_n_and_m(pair.oracle, axis) for axis in range(5)] == [False, False, False, True, False]


AFTER_OPTS = "hand_coded_optimizations after Opts"


@pytest.mark.parametrize(
    ("kind", "name", "opts", "oracle", "reason"),
    [
        ("accepted here: UNROLL", "gemm/01", (), "ValueError", ORACLE_RAISES),
        ("accepted here: UNROLL", "gemm/01", (), "not divisible", None),
        (f"refused here: LOCAL: {UNDECIDED}", "dynamic/padded_then_expanded", ("SWAP",), "accepted", UNDECIDED_MASK),
        (f"refused here: LOCAL: {UNDECIDED}", "dynamic/padded_then_expanded", (), "accepted", None),
        ("refused here: LOCAL: no", "dynamic/padded_then_expanded", ("SWAP",), "accepted", None),
        (AFTER_OPTS, "dynamic/padded_then_expanded", ("SWAP",), "", DYNAMIC_MASK),
        ("shape after SWAP", "dynamic/padded_then_expanded", ("SWAP",), "", None),
        (AFTER_OPTS, "dynamic/rows_plus_one", ("SWAP",), "", None),
        (AFTER_OPTS, "views/copied_2_masked_1", ("PADTO",), "", PADDED_MASK),
        (AFTER_OPTS, "views/copied_2_masked_1", ("LOCAL",), "", None),
        (AFTER_OPTS, "gemm/01", ("PADTO",), "", None),
        ("shape after UPCAST", "views/copied_2_masked_1", ("PADTO",), "", None),
        ("refused here: PADTO", "reduce/shared_and_own_axes", (), "accepted", PARTIAL_REDUCE),
        (AFTER_OPTS, "reduce/shared_and_own_axes", (), "", None),
        ("refused here: PADTO", "reduce/variance_rows_32x12", (), "accepted", None),
    ],
)
def test_known_kind_is_told_by_the_kernel(
    kind: str, name: str, opts: tuple[str, ...], oracle: str, reason: str | None
) -> None:
    applied = tuple((op, 0, 1) for op in opts)
    assert known_kind(Difference(kind, name, "opencl", applied, None, oracle, "")) == reason
