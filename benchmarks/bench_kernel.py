"""How fast Opts are tried, side by side with tinygrad 0.10.2 in one run: `python -m benchmarks.bench_kernel`.

For each corpus kernel, after 0 to 3 Opts (the same on both sides): every one of tinygrad's BEAM actions is tried on a
copy, and the full shape and the colours are read after each try. Beside it: memory over 100,000 candidates, and parsing
plus ast_key of the median AST. Exits 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tinygrad.codegen.kernel import KernelOptError as OracleOptError
from tinygrad.engine.search import actions as oracle_actions

from benchmarks.report import geometric_mean, save, table
from kernels import Kernel, KernelOptError, Opt, OptOps, ast_key, opencl_target, parse_ast
from tests.oracle import oracle_kernel

CORPUS = Path(__file__).parent.parent / "tests/data/corpus/tinygrad-0.10.2.jsonl"
ACTIONS = [Opt(OptOps[action.op.name], action.axis, action.arg) for action in oracle_actions]

SPEED_BAR = 8.0
MEMORY_BAR_MB = 20.0
PARSE_BAR_MS = 1.0


def try_ours(kernel: Kernel) -> int:
    """Try every action; how many are legal."""
    legal = 0
    for action in ACTIONS:
        copy = kernel.copy()
        try:
            copy.apply_opt(action)
            legal += 1
        except KernelOptError:
            pass
        _ = copy.full_shape, copy.colors()
    return legal


def try_oracle(kernel: Any) -> int:
    """The same on the oracle's side."""
    legal = 0
    for action in oracle_actions:
        copy = kernel.copy()
        try:
            copy.apply_opt(action)
            legal += 1
        except OracleOptError:
            pass
        _ = copy.full_shape, copy.colors()
    return legal


def timed(function: Callable[[], int], repeats: int) -> tuple[float, int]:
    """(seconds of the median run, what the function returned)."""
    times = []
    result = 0
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return statistics.median(times), result


def prepared(document: dict[str, Any], depth: int, seed: int) -> tuple[Kernel, Any]:
    """Both sides' kernel after `depth` random legal actions (fewer where there are none)."""
    ours, oracle = Kernel(parse_ast(document), opencl_target()), oracle_kernel(document, "opencl")
    order = list(range(len(ACTIONS)))
    random.Random(seed).shuffle(order)
    for number in order:
        if len(ours.applied_opts) == depth:
            break
        try:
            ours.apply_opt(ACTIONS[number])
        except KernelOptError:
            continue
        oracle.apply_opt(oracle_actions[number])
    return ours, oracle


def compare_speed(corpus: list[dict[str, Any]], repeats: int) -> list[dict[str, Any]]:
    """Per kernel: seconds a try on both sides, over all depths."""
    rows = []
    for number, line in enumerate(corpus):
        ours_s = oracle_s = 0.0
        legal = 0
        for depth in range(4):
            ours, oracle = prepared(line["ast"], depth, 1000 * number + depth)
            time_s, legal_ours = timed(lambda: try_ours(ours), repeats)  # noqa: B023
            ours_s += time_s
            time_s, legal_oracle = timed(lambda: try_oracle(oracle), repeats)  # noqa: B023
            oracle_s += time_s
            if legal_ours != legal_oracle:
                raise SystemExit(f"{line['name']} after {ours.applied_opts}: {legal_ours} legal, oracle {legal_oracle}")
            legal += legal_ours
        tries = 4 * len(ACTIONS)
        rows.append(
            {"name": line["name"], "ours_us": 1e6 * ours_s / tries, "oracle_us": 1e6 * oracle_s / tries,
             "ratio": oracle_s / ours_s, "legal": legal, "tries": tries}
        )  # fmt: skip
    return rows


def memory_growth_mb(corpus: list[dict[str, Any]]) -> float:
    """Growth of the process' largest resident size between the 10,000th and the 100,000th candidate, in MB."""
    kernels = [Kernel(parse_ast(line["ast"]), opencl_target()) for line in corpus]
    candidates = 0
    at_start = 0
    rng = random.Random(0)
    while candidates < 100_000:
        kernel = rng.choice(kernels).copy()
        for _ in range(6):
            try:
                kernel.apply_opt(rng.choice(ACTIONS))
            except KernelOptError:
                continue
            _ = kernel.full_shape, kernel.colors()
            candidates += 1
            if candidates == 10_000:
                gc.collect()
                at_start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - at_start) / 1024


def parse_ms(corpus: list[dict[str, Any]]) -> tuple[float, float]:
    """Milliseconds of parse_ast plus ast_key: of the AST with the median number of nodes, and the greatest of all."""
    times = []
    for line in corpus:
        document = json.loads(json.dumps(line["ast"]))
        time_s, _ = timed(lambda: len(ast_key(parse_ast(document))), 7)  # noqa: B023
        times.append((len(document["nodes"]), 1e3 * time_s))
    times.sort()
    middle = [ms for nodes, ms in times if nodes == times[len(times) // 2][0]]
    return statistics.median(middle), max(ms for _, ms in times)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_kernel", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="runs of each kernel; the median counts")
    parser.add_argument("--every", type=int, default=1, help="take every n-th corpus kernel only")
    options = parser.parse_args()
    corpus = [json.loads(line) for line in CORPUS.read_text().splitlines()][:: options.every]
    growth = memory_growth_mb(corpus)
    median_ms, greatest_ms = parse_ms(corpus)
    rows = compare_speed(corpus, options.repeats)
    ratio = geometric_mean(row["ratio"] for row in rows)
    shown = sorted(rows, key=lambda row: row["ratio"])
    picked = shown if len(shown) <= 12 else [*shown[:6], *shown[-6:]]
    cells = [
        (r["name"], f"{r['ours_us']:.2f}", f"{r['oracle_us']:.1f}", f"{r['ratio']:.1f}", r["legal"]) for r in picked
    ]
    print(f"{len(ACTIONS)} actions on {len(rows)} kernels after 0 to 3 Opts; the slowest and fastest ratios:")
    print(table(("kernel", "ours us/try", "tinygrad us/try", "ratio", "legal"), cells))
    print(f"tries: geometric mean {ratio:.1f} times as fast (bar {SPEED_BAR}), least {shown[0]['ratio']:.1f}")
    print(f"memory: {growth:.1f} MB more from the 10,000th to the 100,000th candidate (bar {MEMORY_BAR_MB})")
    print(
        f"parse_ast + ast_key: {median_ms:.3f} ms for the median AST (bar {PARSE_BAR_MS}), {greatest_ms:.2f} ms at most"
    )
    figures = {"ratio_geometric_mean": ratio, "memory_growth_mb": growth, "parse_and_key_median_ms": median_ms,
               "parse_and_key_max_ms": greatest_ms, "kernels": rows}  # fmt: skip
    print(f"written to {save('bench_kernel', figures)}")
    return 0 if ratio >= SPEED_BAR and growth < MEMORY_BAR_MB and median_ms < PARSE_BAR_MS else 1


if __name__ == "__main__":
    sys.exit(main())
