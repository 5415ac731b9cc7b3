"""What hand-chosen Opts reach on PoCL, beside hand-written OpenCL and NumPy: `python -m benchmarks.bench_reach`.

For each kernel some sequences of Opts chosen by hand, and some hand-written kernels of the same work; each one's values
are checked once. All run in turn on the same buffers, then the fastest of each side many times more, in turn with
NumPy. The best of each side counts, by its fastest round: what else runs on the machine only ever adds time, and adds
most to NumPy, whose threads wait for each other.
Exits 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import handwritten
from benchmarks.bench_kernel import CORPUS
from benchmarks.handwritten import Handwritten
from benchmarks.numpy_child import NumpyMatmul
from benchmarks.report import save, table
from kernels import Ast, Kernel, Opt, OptOps, Program, compare, expect, make_inputs, parse_ast
from kernels.ir import BufferArg
from tests.devices.opencl import DeviceError, OpenCL

#: NumPy's time over ours for the matrix product, at least; ours over the best hand-written one's, at most.
NUMPY_BAR, HANDWRITTEN_BAR = 0.75, 1.5
OURS, BY_HAND, NUMPY = "Opts", "by hand", "NumPy"
#: Elements of the output that are compared with the reference.
_SAMPLE = 512
_ROUNDS_MOST = 1000
#: How many of each side go on after the first turn, to be timed often enough.
_FINALISTS = 3
_DEADLINE_S = 300.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A program of one side that is timed: sizes in work-items."""

    side: str
    label: str
    source: str
    name: str
    items: tuple[int, ...]
    local: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Work:
    """A corpus kernel, the Opts tried on it and the hand-written kernels beside it.

    size: of the square matrices, where NumPy's product is timed as well. bar: NUMPY, BY_HAND or None, the side whose
    bar counts.
    """

    title: str
    kernel: str
    opts: tuple[str, ...]
    by_hand: tuple[Handwritten, ...]
    bar: str | None
    size: int = 0


def _matmul(size: int, kernel: str, bar: str | None) -> Work:
    tile = "UPCAST(0, 4) UPCAST(1, 16)"
    opts = (
        tile,
        f"{tile} LOCAL(0, 16)",
        f"{tile} LOCAL(0, 8) UNROLL(0, 4)",
        f"{tile} LOCAL(0, 16) UNROLL(0, 4)",
        f"{tile} SWAP(0, 1) UNROLL(0, 4)",
        "UPCAST(0, 8) UPCAST(1, 8) LOCAL(0, 16) UNROLL(0, 4)",
        "PADTO(0, 48) UPCAST(0, 6) UPCAST(1, 16) LOCAL(0, 8)",
        "PADTO(0, 48) UPCAST(0, 6) UPCAST(1, 16) LOCAL(0, 8) UNROLL(0, 4)",
    )
    # rows, float vectors, their width, steps: 32 registers of 512 bits want 4 x 4 x 16, 16 of 256 bits 6 x 2 x 8
    tiles = ((4, 4, 16, 1), (4, 1, 16, 4), (6, 1, 16, 4), (6, 2, 8, 4), (8, 1, 8, 4), (8, 2, 16, 2))
    by_hand = tuple(handwritten.matmul(size, *each) for each in tiles)
    return Work(f"matmul {size}", kernel, opts, by_hand, bar, size)


WORKS = (
    _matmul(512, "gemm/01", NUMPY),
    _matmul(1024, "gemm/02", None),
    Work(
        "exp-sum 2048 x 1024",
        "softmax_norm/02",
        ("", "LOCAL(0, 16)", "UNROLL(0, 16) UNROLL(0, 2)", "UPCAST(0, 2) UNROLL(0, 16)", "UPCAST(0, 4) UNROLL(0, 16)"),
        tuple(handwritten.exp_sum(2048, 1024, *each) for each in ((1, 1), (1, 16), (2, 16), (4, 1), (4, 16))),
        BY_HAND,
    ),
    Work(
        "gelu 2048 x 2048",
        "elementwise/01",
        (
            "UPCAST(0, 16)",
            "UPCAST(0, 8) LOCAL(0, 32)",
            "UPCAST(0, 16) LOCAL(0, 16)",
            "UPCAST(0, 16) LOCAL(0, 32) LOCAL(0, 32)",
            "UPCAST(0, 16) UPCAST(0, 4) LOCAL(0, 16)",
        ),
        tuple(handwritten.gelu(2048 * 2048, *each) for each in ((1, 1), (1, 64), (4, 16), (64, 1))),
        BY_HAND,
    ),
)


def parsed(opts: str) -> list[Opt]:
    """The Opts of their text: "UPCAST(0, 4) LOCAL(0, 16)"."""
    found = []
    for text in opts.replace(", ", ",").split():
        name, _, numbers = text.rstrip(")").partition("(")
        axis, arg = numbers.split(",")
        found.append(Opt(OptOps[name], int(axis), int(arg)))
    return found


def candidates(work: Work, ast: Ast, device: OpenCL) -> list[Candidate]:
    """Both sides' programs."""
    result = []
    for opts in work.opts:
        kernel = Kernel(ast, device.target())
        for opt in parsed(opts):
            kernel.apply_opt(opt)
        program = kernel.to_program()
        label, items = opts or "none", _items(program)
        result.append(Candidate(OURS, label, program.source, program.name, items, program.local_size))
    for each in work.by_hand:
        result.append(Candidate(BY_HAND, each.label, each.source, each.name, each.items, each.local))
    return result


def _items(program: Program) -> tuple[int, ...]:
    sizes = [size for size in program.global_size if isinstance(size, int)]
    assert program.local_size is not None and len(sizes) == 3
    return tuple(size * own for size, own in zip(sizes, program.local_size, strict=True))


def right(
    found: list[Candidate], ast: Ast, device: OpenCL, inputs: dict[int, np.ndarray], buffers: list[np.ndarray]
) -> list[Candidate]:
    """Those that run; raises SystemExit where one of them writes a wrong value (a sample of the output is compared)."""
    length = buffers[0].size
    edges = np.concatenate([np.arange(32), np.arange(length - 32, length)])
    sample = np.unique(np.concatenate([edges, np.random.default_rng(0).integers(0, length, _SAMPLE)]))
    expected = expect(ast, inputs, outputs={0: sample})[0]
    result = []
    for each in found:
        try:
            ran = device.run_source(each.source, each.name, each.items, each.local, buffers, deadline_s=_DEADLINE_S)
        except DeviceError as error:
            print(f"  {each.side} {each.label}: does not run: {str(error)[:100]}", flush=True)
            continue
        mismatch = compare(expected, ran.outputs[0])
        if mismatch is not None or ran.broken:
            raise SystemExit(f"{each.side} {each.label}: {mismatch or 'wrote around its buffers'}")
        result.append(each)
    return result


def measured(work: Work, ast: Ast, device: OpenCL, turns: int, turn_s: float) -> list[dict[str, Any]]:
    """A row for each candidate, and for NumPy where it is timed. One turn for all, the others for the finalists."""
    inputs = make_inputs(ast, 0)
    output = np.full(_declared(ast, 0), np.nan, np.float32)
    buffers = [output, *(inputs[slot] for slot in sorted(inputs))]
    found = right(candidates(work, ast, device), ast, device, inputs, buffers)
    times = dict(zip(found, _in_turn(found, device, buffers, turn_s), strict=True))
    finalists = [each for side in (OURS, BY_HAND) for each in _fastest(times, side)]
    numpy_times: list[float] = []
    with ExitStack() as children:
        product = None
        if work.size:
            a, b = (buffer.reshape(work.size, work.size) for buffer in buffers[1:])
            product = children.enter_context(NumpyMatmul(a, b))
        for _ in range(turns):
            answers = _in_turn(finalists, device, buffers, turn_s)
            for each, more in zip(finalists, answers, strict=True):
                times[each] += more
            if product is not None:
                numpy_times += product.times_s(len(answers[0]))
    rows = [_row(each.side, each.label, own) for each, own in times.items()]
    return rows if product is None else [*rows, _row(NUMPY, f"OpenBLAS, {product.core_name}", numpy_times)]


def _in_turn(
    some: list[Candidate], device: OpenCL, buffers: list[np.ndarray], turn_s: float
) -> list[tuple[float, ...]]:
    """Seconds of each run of each of them, for about `turn_s` seconds in all."""
    programs = [(each.source, each.name, each.items, each.local) for each in some]
    return device.run_pair(programs, buffers, _ROUNDS_MOST, _DEADLINE_S, turn_s)


def _fastest(times: dict[Candidate, tuple[float, ...]], side: str) -> list[Candidate]:
    """The finalists of a side."""
    own = [each for each in times if each.side == side]
    return sorted(own, key=lambda each: min(times[each]))[:_FINALISTS]


def _declared(ast: Ast, slot: int) -> int:
    """The number of elements of a buffer."""
    return next(node.arg.size for node in ast.nodes if isinstance(node.arg, BufferArg) and node.arg.slot == slot)


def _row(side: str, label: str, times: Sequence[float]) -> dict[str, Any]:
    median_s = statistics.median(times)
    return {"side": side, "label": label, "best_s": min(times), "median_s": median_s, "rounds": len(times)}


def judged(work: Work, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The best of each side, and whether the bar is met."""
    best = {side: min(row["best_s"] for row in rows if row["side"] == side) for side in {row["side"] for row in rows}}
    figures: dict[str, Any] = {
        "title": work.title,
        "times_of_hand_written": best[OURS] / best[BY_HAND],
        "share_of_numpy": best[NUMPY] / best[OURS] if NUMPY in best else None,
        "bar": work.bar,
        "rows": rows,
    }
    figures["met"] = {
        NUMPY: figures["share_of_numpy"] is not None and figures["share_of_numpy"] >= NUMPY_BAR,
        BY_HAND: figures["times_of_hand_written"] <= HANDWRITTEN_BAR,
        None: True,
    }[work.bar]
    return figures


def shown(figures: dict[str, Any]) -> None:
    """Print one kernel's rows, the fastest first, and what comes of them."""
    rows = sorted(figures["rows"], key=lambda row: row["best_s"])
    cells = [(row["label"], row["side"], f"{1e3 * row['best_s']:.3f}", f"{1e3 * row['median_s']:.3f}") for row in rows]
    print(table((figures["title"], "side", "best ms", "median ms"), cells))
    bars = {NUMPY: f"at least {NUMPY_BAR} of NumPy", BY_HAND: f"at most {HANDWRITTEN_BAR} times", None: "none"}
    share = figures["share_of_numpy"]
    print(f"{figures['times_of_hand_written']:.2f} times the best hand-written one's time"
          + ("" if share is None else f", {share:.2f} of NumPy's speed")
          + f" (bar: {bars[figures['bar']]}): {'met' if figures['met'] else 'MISSED'}\n", flush=True)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_reach", description=__doc__)
    parser.add_argument("--turns", type=int, default=6, help="turns of the finalists, and of NumPy after each")
    parser.add_argument("--seconds", type=float, default=2.0, help="that a turn lasts")
    options = parser.parse_args()
    device = OpenCL()
    lines = [json.loads(line) for line in CORPUS.read_text().splitlines()]
    documents = {line["name"]: line["ast"] for line in lines}
    results = []
    for work in WORKS:
        rows = measured(work, parse_ast(documents[work.kernel]), device, options.turns, options.seconds)
        results.append(judged(work, rows))
        shown(results[-1])
    print(f"written to {save('bench_reach', {'works': results})}")
    return 0 if all(figures["met"] for figures in results) else 1


if __name__ == "__main__":
    sys.exit(main())
