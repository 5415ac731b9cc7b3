"""The heuristic's Opts of both sides: alone, after random Opts, through tensor cores, and the whole default path."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tinygrad.helpers import Context

from tests.oracle import OptTriple, opt_triple, oracle_opt, oracle_renderer, tc_mode
from tests.parity.product import product_opt
from tests.parity.report import Report
from tests.parity.tries import legal_opt
from tests.parity.walks import Pair, new_pair, same_n_and_m, step

HEURISTIC_TARGETS = ("opencl", "opencl_no_local", "opencl_no_shared", "sm_80", "sm_75", "sm_80_tf32", "sm_70")
EXTRA_OPTS: tuple[tuple[OptTriple, ...] | None, ...] = (None, None, (), (("UPCAST", 0, 2),), (("LOCAL", 0, 5),))

# What one run of a heuristic gave: what it returned, and the Opts applied.
Given = tuple[Any, tuple[OptTriple, ...]]


def oracle_default(kernel: Any) -> Any:
    """tinygrad's order: what is required, then tensor cores, then by hand where those did not apply."""
    kernel.required_optimizations()
    if not kernel.apply_tensor_cores():
        kernel.hand_coded_optimizations()
    return kernel


def applied(kernel: Any) -> tuple[OptTriple, ...]:
    return tuple(opt_triple(opt) for opt in kernel.applied_opts)


def compare(
    pair: Pair,
    what: str,
    oracle: Callable[[Any], Given],
    product: Callable[[Any], Given],
    report: Report,
    axis: int = 0,
) -> None:
    """Runs both on copies and compares what they gave; `axis` is the triple that a tensor core would be tried with.

    Where the oracle raises, or has taken one axis for both N and M, there is nothing to follow.
    """
    report.heuristics += 1
    reference, copy = pair.oracle.copy(), pair.product.copy()
    try:
        with Context(TC=tc_mode(pair.target)):
            expected = oracle(reference)
    except Exception as error:  # noqa: BLE001 - the oracle's own slips are counted, whatever they are
        report.intended[f"{what}: the oracle raises {type(error).__name__}"] += 1
        return
    try:
        given = product(copy)
    except Exception as error:  # noqa: BLE001 - any exception is a finding
        report.differ(pair.difference(f"{what}: raises here", None, expected, repr(error)))
        return
    report.counts[what] += 1
    if expected[0] is False and expected[1] != applied(pair.oracle) and given[0] is False:
        # The oracle says False after a TC whose further Opts it refused, and keeps the TC; here False changes nothing.
        report.intended[f"{what}: False, but changed there"] += 1
        return
    if expected != given and any(op == "TC" for op, _, _ in expected[1]) and same_n_and_m(pair.oracle, axis):
        report.intended[f"{what}: TC triple with N = M"] += 1
        return
    if expected != given:
        report.differ(pair.difference(what, None, expected, given))


def by_hand(pair: Pair, report: Report, what: str = "hand_coded_optimizations") -> None:
    def run(kernel: Any) -> Given:
        return None, applied(kernel.hand_coded_optimizations())

    compare(pair, what, run, run, report)


def default_path(pair: Pair, report: Report) -> None:
    compare(
        pair,
        "default_opts",
        lambda kernel: (None, applied(oracle_default(kernel))),
        lambda kernel: (None, applied(kernel.default_opts())),
        report,
    )


def tensor_cores(pair: Pair, rng: random.Random, report: Report) -> None:
    """apply_tensor_cores with a random axis, select, opt and further Opts."""
    cores = len(oracle_renderer(pair.target).tensor_cores)
    numbers = {"axis": rng.choice((0, 0, 1, 2, 3)), "tc_select": rng.randint(-1, cores), "tc_opt": rng.randint(0, 2)}
    extra = rng.choice(EXTRA_OPTS)

    def run(kernel: Any, convert: Callable[[OptTriple], Any]) -> Given:
        opts = None if extra is None else [convert(triple) for triple in extra]
        answer = kernel.apply_tensor_cores(1, extra_opts=opts, **numbers)
        return answer, applied(kernel)

    what = "apply_tensor_cores" if extra is None else "apply_tensor_cores with extra_opts"
    compare(pair, what, lambda k: run(k, oracle_opt), lambda k: run(k, product_opt), report, numbers["axis"])


def heuristic(name: str, target: str, seed: int, report: Report) -> None:
    """Every comparison on one kernel and target; a function of its arguments alone."""
    pair = new_pair(name, target, report)
    if pair is None:
        return
    rng = random.Random(f"heuristic/{name}/{target}/{seed}")
    by_hand(pair, report)
    default_path(pair, report)
    if oracle_renderer(target).tensor_cores:
        for _ in range(3):
            tensor_cores(pair, rng, report)
    accepted, after = 0, pair
    for _ in range(6):
        moved = step(after, legal_opt(rng, after.shown), report)
        if moved is None:
            return
        accepted += moved is not after
        after = moved
        if accepted == 2:
            break
    if accepted:
        by_hand(after, report, "hand_coded_optimizations after Opts")


def run_heuristic(names: Iterable[str], targets: Sequence[str], seed: int, report: Report) -> None:
    for name in names:
        for target in targets:
            heuristic(name, target, seed, report)
