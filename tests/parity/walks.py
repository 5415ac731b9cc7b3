"""Random walks: one kernel on both sides, one random Opt after the other, everything compared after each."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterable, Sequence
from typing import Any

from tinygrad.ops import Ops

from tests.oracle import (
    Answer,
    Assignments,
    OptTriple,
    Shown,
    assignments,
    oracle_kernel,
    oracle_renderer,
    oracle_shown,
    oracle_try,
    tc_mode,
)
from tests.parity.product import product_kernel, product_shown, product_try
from tests.parity.report import DEEP, Difference, Report
from tests.parity.subjects import document, name_of
from tests.parity.tries import every_tc, random_opt

TARGETS = ("opencl", "sm_80", "sm_75", "sm_80_tf32")
# Less common forms of these targets, for a few walks of every run.
RARE_TARGETS = ("opencl_no_local", "opencl_no_shared", "sm_80_tf32_mode2", "sm_80_mode3", "sm_80_mode0", "sm_70")
TRIES_PER_WALK = 26
DEEPEST = 10


class Pair:
    """One kernel on both sides: the oracle's and the product's, in the same state."""

    def __init__(self, name: str, target: str, oracle: Any, product: Any, values: Assignments) -> None:
        self.name = name
        self.target = target
        self.oracle = oracle
        self.product = product
        self.values = values
        self.shown = oracle_shown(oracle, values)

    def after(self, oracle: Any, product: Any) -> Pair:
        return Pair(self.name, self.target, oracle, product, self.values)

    def difference(self, kind: str, opt: OptTriple | None, oracle: object, product: object) -> Difference:
        return Difference(kind, self.name, self.target, self.shown.applied, opt, str(oracle), str(product))


def new_pair(name: str, target: str, report: Report) -> Pair | None:
    """Builds the kernel on both sides and compares what they show; None (and a difference) where the product cannot."""
    if name.startswith("random/"):
        return build_pair(name, target, report)
    return stored_pair(name, target, report)


def build_pair(name: str, target: str, report: Report) -> Pair | None:
    ast = document(name)
    oracle = oracle_kernel(ast, target)
    values = assignments(ast)
    try:
        product = product_kernel(ast, target)
    except Exception as error:  # noqa: BLE001 - a kernel that cannot be built is a finding
        report.differ(Difference(f"construct: {type(error).__name__}", name, target, (), None, "built", str(error)))
        return None
    pair = Pair(name, target, oracle, product, values)
    shown = product_shown(product, values)
    if shown != pair.shown:
        report.differ(pair.difference("construct: shape", None, *changes(pair.shown, shown)))
        return None
    return pair


@functools.cache
def _kept_pairs() -> dict[tuple[str, str], Pair]:
    return {}


def stored_pair(name: str, target: str, report: Report) -> Pair | None:
    """As `build_pair`; a pair that was built well is kept for the next walk."""
    kept = _kept_pairs()
    if (name, target) not in kept:
        pair = build_pair(name, target, report)
        if pair is None:
            return None
        kept[name, target] = pair
    return kept[name, target]


def changes(oracle: Shown, product: Shown) -> tuple[str, str]:
    """The fields in which both differ, of each side."""
    names = [name for name in Shown._fields if getattr(oracle, name) != getattr(product, name)]
    return tuple(  # type: ignore[return-value]
        "; ".join(f"{name}={getattr(side, name)}" for name in names) for side in (oracle, product)
    )


def intended(pair: Pair, opt: OptTriple) -> str | None:
    """The name of the reason why the product refuses what the oracle accepts (all in spec/kernel.md, 3 and 4)."""
    op, axis, arg = opt
    if op == "NOLOCALS":
        return None if axis is None and arg is None else "NOLOCALS with an axis or arg"
    if axis is None or arg is None or arg == ():
        return "no axis or no arg"
    if axis < 0 or (not isinstance(arg, tuple) and arg < 0):
        return "negative axis or arg"
    if op == "TC" and same_n_and_m(pair.oracle, axis):
        return "TC triple with N = M"
    return None


def same_n_and_m(kernel: Any, axis: int) -> bool:
    """Whether the (N, M, K) triple that a TC's `axis` counts has N = M, by the strides of the untouched kernel.

    N candidates are the axes along which the first operand does not move, M candidates those of the second.
    """
    product = kernel.reduceops[0].src[0]
    product = product.src[0] if product.op is Ops.CAST else product
    loads = [source.src[0] if source.op is Ops.CAST else source for source in product.src]
    still = [
        [i for i, stride in enumerate(kernel.sts[kernel.bufs.index(load)].real_strides()) if stride == 0]
        for load in loads
    ]
    first_reduce, shape_len = kernel.first_reduce, kernel.shape_len
    ns, ms = ([i for i in axes if i < first_reduce] for axes in still)
    triples = list(itertools.product(ns, ms, range(first_reduce, shape_len)))
    if axis >= len(triples):
        return False
    n, m, _ = triples[-(axis + 1)]
    return n == m


def step(pair: Pair, opt: OptTriple, report: Report) -> Pair | None:
    """Tries one Opt on both sides; the pair after it, the same pair where it was refused, None after a difference."""
    oracle = oracle_try(pair.oracle, opt, tc_mode(pair.target))
    product = product_try(pair.product, opt)
    report.tries += 1
    if product.end in ("changed", "raised"):
        report.differ(pair.difference(f"{product.end} here: {opt[0]}", opt, oracle.end, product.reason))
        return None
    if oracle.end == product.end == "accepted":
        return both_accepted(pair, opt, oracle, product, report)
    if oracle.end == "accepted":
        reason = intended(pair, opt)
        if reason is None:
            report.differ(pair.difference(f"refused here: {opt[0]}: {product.reason}", opt, "accepted", product.reason))
        else:
            report.intended[reason] += 1
    elif product.end == "accepted":
        report.differ(pair.difference(f"accepted here: {opt[0]}: {cut(oracle)}", opt, oracle.reason, "accepted"))
    return pair


def cut(answer: Answer) -> str:
    """A reason without its numbers, to group by."""
    return "".join(c for c in answer.reason if not c.isdigit())[:60]


def both_accepted(pair: Pair, opt: OptTriple, oracle: Answer, product: Answer, report: Report) -> Pair | None:
    after = pair.after(oracle.kernel, product.kernel)
    shown = product_shown(product.kernel, pair.values)  # type: ignore[arg-type]
    report.accepted += 1
    report.counts[f"accepted {opt[0]}"] += 1
    if opt[0] == "TC":
        count_tc(after, opt, report)
    if shown != after.shown:
        report.differ(pair.difference(f"shape after {opt[0]}", opt, *changes(after.shown, shown)))
        return None
    return after


def count_tc(pair: Pair, opt: OptTriple, report: Report) -> None:
    """Counts an accepted TC by select, opt, dtype, padding and batch."""
    select, level = opt[2]
    chosen = pair.oracle.tensor_core
    report.accepted_tc += 1
    report.counts[f"TC select {select}"] += 1
    report.counts[f"TC opt {level}"] += 1
    report.counts[f"TC {chosen.dtype_in.name} to {chosen.dtype_out.name}, {'x'.join(map(str, chosen.dims))}"] += 1
    if pair.oracle.tensor_core_opts.axis_pads:
        report.counts["TC padded"] += 1
    if pair.shown.global_dims > 2:
        report.counts["TC batched"] += 1


def walk(name: str, target: str, seed: int, report: Report, deepest: int = DEEPEST) -> None:
    """One random walk, a function of its arguments alone: up to `TRIES_PER_WALK` tries or `deepest` accepted Opts."""
    pair = new_pair(name, target, report)
    if pair is None:
        return
    rng = random.Random(f"{name}/{target}/{seed}")
    cores = len(oracle_renderer(target).tensor_cores)
    report.walks += 1
    for _ in range(TRIES_PER_WALK):
        after = step(pair, random_opt(rng, pair.shown, cores), report)
        if after is None or len(after.shown.applied) >= deepest:
            pair = after or pair
            break
        pair = after
    report.deep_walks += len(pair.shown.applied) >= DEEP
    compare_printed(pair, report)


def compare_printed(pair: Pair, report: Report) -> None:
    """Compares the coloured shape, where no variable is in it (how one is printed is each side's own)."""
    if pair.values or product_shown(pair.product, pair.values) != pair.shown:
        return
    for arguments in ({}, {"pad": 60}, {"dense": True}):
        printed = [side.colored_shape(**arguments) for side in (pair.oracle, pair.product)]
        if printed[0] != printed[1]:
            report.differ(pair.difference(f"colored_shape {arguments}", None, repr(printed[0]), repr(printed[1])))


def sweep_tc(name: str, target: str, report: Report, share: float = 1.0, seed: int = 0) -> None:
    """Tries TC with every select, opt and axis (or a random `share` of them) on the untouched kernel.

    Only where the oracle accepts any: thousands of tries on kernels without a product would say little.
    """
    cores = len(oracle_renderer(target).tensor_cores)
    pair = new_pair(name, target, report) if cores else None
    if pair is None or all(oracle_try(pair.oracle, ("TC", axis, (-1, 2))).kernel is None for axis in range(3)):
        return
    rng = random.Random(f"{name}/{target}/{seed}")
    for opt in every_tc(cores):
        if rng.random() < share:
            step(pair, opt, report)


def run_walks(count: int, seed: int, sets: Sequence[str], targets: Sequence[str], report: Report) -> None:
    """`count` walks: the sets in turn, each through its names; the targets in turn, a rare one now and then."""
    rng = random.Random(f"walks/{seed}")
    for number in range(count):
        kind = sets[number % len(sets)]
        name = name_of(kind, seed * 1_000_003 + number // len(sets))
        rare = tuple(targets) == TARGETS and rng.random() < 0.08
        target = rng.choice(RARE_TARGETS if rare else targets)
        walk(name, target, seed + number, report)


def run_sweeps(names: Iterable[str], targets: Sequence[str], report: Report, share: float = 1.0, seed: int = 0) -> None:
    for name in names:
        for target in targets:
            sweep_tc(name, target, report, share, seed)
