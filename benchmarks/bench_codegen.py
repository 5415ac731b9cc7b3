"""Our programs against tinygrad 0.10.2's for the same kernel and Opts on PoCL: `python -m benchmarks.bench_codegen`.

The corpus' heaviest kernels by the oracle's heuristic time in this run, with the heuristic's Opts and random walks,
timed in turn in one process; a pair of which one side cannot be built and run within the cap is dropped and counted.
Beside it, how long making the program takes on both sides, and what hand-chosen Opts of ours reach (bench_reach).
Exits 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from dataclasses import dataclass
from typing import Any

from benchmarks.bench_kernel import ACTIONS, CORPUS
from benchmarks.programs import OracleProgram, buffers_for, oracle_program, random_walk, time_pair
from benchmarks.report import geometric_mean, save, table
from kernels import Kernel, parse_ast
from kernels.errors import ProgramError
from kernels.program import Program
from tests.devices.opencl import DeviceError, OpenCL

MEAN_BAR, KERNEL_BAR, PROGRAM_BAR = 1.3, 0.8, 0.5
LOWER_BAR, LOWER_MEDIAN_MS, LOWER_MOST_S = 6.0, 5.0, 1.0


@dataclass(frozen=True, slots=True)
class Pair:
    """One kernel with one sequence of Opts, on both sides; seconds that making the programs took."""

    name: str
    walk: int
    opts: tuple[str, ...]
    ours: Program
    oracle: OracleProgram
    lower_s: float
    oracle_lower_s: float


def made_pair(line: dict[str, Any], kernel: Kernel, walk: int) -> Pair:
    """Both sides' programs, each made once to warm up and once timed."""
    kernel.to_program()
    started = time.perf_counter()
    ours = kernel.to_program()
    lower_s = time.perf_counter() - started
    started = time.perf_counter()
    oracle = oracle_program(line["ast"], kernel.applied_opts)
    oracle_s = time.perf_counter() - started
    opts = tuple(str(opt) for opt in kernel.applied_opts)
    return Pair(line["name"], walk, opts, ours, oracle, lower_s, oracle_s)


def heaviest(corpus: list[dict[str, Any]], device: OpenCL, count: int) -> list[dict[str, Any]]:
    """The kernels on which the oracle's heuristic takes longest, measured now."""
    target = device.target()
    times: list[tuple[float, dict[str, Any]]] = []
    for line in corpus:
        ast = parse_ast(line["ast"])
        if ast.variables:
            continue
        try:
            pair = made_pair(line, Kernel(ast, target).hand_coded_optimizations(), 0)
            timed = time_pair(device, pair.ours, pair.oracle, buffers_for(pair.ours), 3, 60.0)
        except (ProgramError, DeviceError):
            continue
        times.append((statistics.median(timed.oracle_s), line))
    times.sort(key=lambda item: -item[0])
    return [line for _, line in times[:count]]


def measured(line: dict[str, Any], device: OpenCL, walks: int, cap_s: float) -> tuple[list[dict[str, Any]], int]:
    """(a row for each sequence of Opts, how many were dropped) of one kernel."""
    kernel = Kernel(parse_ast(line["ast"]), device.target())
    rows: list[dict[str, Any]] = []
    dropped = 0
    for walk in range(walks + 1):
        shaped = kernel.copy().hand_coded_optimizations() if walk == 0 else random_walk(kernel, ACTIONS, walk, 5)
        try:
            pair = made_pair(line, shaped, walk)
            timed = time_pair(device, pair.ours, pair.oracle, buffers_for(pair.ours), 11, cap_s)
        except (ProgramError, DeviceError) as error:
            dropped += 1
            print(
                f"  dropped {line['name']} {[str(opt) for opt in shaped.applied_opts]}: {str(error)[:100]}", flush=True
            )
            continue
        ours_s, oracle_s = statistics.median(timed.ours_s), statistics.median(timed.oracle_s)
        rows.append(
            {"name": line["name"], "walk": walk, "opts": pair.opts, "ours_s": ours_s, "oracle_s": oracle_s,
             "ratio": oracle_s / ours_s, "lower_s": pair.lower_s, "oracle_lower_s": pair.oracle_lower_s}
        )  # fmt: skip
    return rows, dropped


def summary(rows: list[dict[str, Any]], dropped: int) -> tuple[dict[str, Any], bool]:
    """The figures that the bars are about, and whether all are met."""
    by_kernel = {
        name: geometric_mean(row["ratio"] for row in rows if row["name"] == name)
        for name in {row["name"] for row in rows}
    }
    least = min(rows, key=lambda row: row["ratio"])
    lower = [row["lower_s"] for row in rows]
    figures = {
        "pairs": len(rows),
        "dropped": dropped,
        "ratio_geometric_mean": geometric_mean(row["ratio"] for row in rows),
        "ratio_least_kernel": min(by_kernel.values()),
        "ratio_least_program": least["ratio"],
        "least_program": f"{least['name']} {' '.join(least['opts'])}",
        "lower_ratio_geometric_mean": geometric_mean(row["oracle_lower_s"] / row["lower_s"] for row in rows),
        "lower_median_ms": 1e3 * statistics.median(lower),
        "lower_most_s": max(lower),
        "kernels": by_kernel,
    }
    met = (
        figures["ratio_geometric_mean"] >= MEAN_BAR
        and figures["ratio_least_kernel"] >= KERNEL_BAR
        and figures["ratio_least_program"] >= PROGRAM_BAR
        and figures["lower_ratio_geometric_mean"] >= LOWER_BAR
        and figures["lower_median_ms"] < LOWER_MEDIAN_MS
        and figures["lower_most_s"] < LOWER_MOST_S
    )
    return figures, met


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_codegen", description=__doc__)
    parser.add_argument("--kernels", type=int, default=40, help="how many of the heaviest")
    parser.add_argument("--walks", type=int, default=10, help="random walks a kernel, beside the heuristic")
    parser.add_argument("--cap", type=float, default=20.0, help="seconds for building and running one pair")
    options = parser.parse_args()
    device = OpenCL()
    corpus = [json.loads(line) for line in CORPUS.read_text().splitlines()]
    rows: list[dict[str, Any]] = []
    dropped = 0
    for line in heaviest(corpus, device, options.kernels):
        own, lost = measured(line, device, options.walks, options.cap)
        rows += own
        dropped += lost
        if own:
            mean, least = geometric_mean(row["ratio"] for row in own), min(row["ratio"] for row in own)
            ours_ms, oracle_ms = 1e3 * own[0]["ours_s"], 1e3 * own[0]["oracle_s"]
            times = f"{line['name']:16s} heuristic {ours_ms:9.3f} ms, tinygrad {oracle_ms:9.3f} ms"
            print(f"{times}; {len(own)} programs: mean ratio {mean:.2f}, least {least:.2f}", flush=True)
    figures, met = summary(rows, dropped)
    print(table(("figure", "value", "bar"), [
        ("times as fast (geometric mean)", f"{figures['ratio_geometric_mean']:.2f}", MEAN_BAR),
        ("least mean of a kernel", f"{figures['ratio_least_kernel']:.2f}", KERNEL_BAR),
        ("least program", f"{figures['ratio_least_program']:.2f}", PROGRAM_BAR),
        ("to_program, times as fast", f"{figures['lower_ratio_geometric_mean']:.1f}", LOWER_BAR),
        ("to_program, median ms", f"{figures['lower_median_ms']:.2f}", LOWER_MEDIAN_MS),
        ("to_program, most s", f"{figures['lower_most_s']:.3f}", LOWER_MOST_S),
    ]))  # fmt: skip
    print(f"{figures['pairs']} pairs, {dropped} dropped; least: {figures['least_program']}")
    print(f"written to {save('bench_codegen', {**figures, 'rows': rows})}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
