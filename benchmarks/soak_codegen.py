"""Random candidates by the thousand, run on PoCL against the reference: `python -m benchmarks.soak_codegen`.

Kernels are the corpus', those made for the tests and random ones, small ones for the most part; each is tried without
Opts, with the heuristic's and after several random walks, all on the same inputs. Every candidate's end is a line of
benchmarks/results/soak_codegen.jsonl as soon as it is known: killed at any point, a soak goes on where it was (its
rounds are numbered, and a round's kernel and walks follow from the number). `--fresh` begins anew.

Exits 1 where a program was wrong, where anything of ours raised what is no ProgramError, where a device child crashed
or could not build a source, or where memory grew.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.report import RESULTS, save, table
from kernels import Kernel, ProgramError
from tests.codegen.subjects import kernel_of, runnable
from tests.codegen.walks import random_walk
from tests.devices.check import Case, complaints, contents_before, make_case
from tests.devices.child import resident_bytes
from tests.devices.opencl import DeviceError, OpenCL

PROGRESS = RESULTS / "soak_codegen.jsonl"
DEFAULT_COUNT = 20_000
#: Candidates of one kernel in a round: without Opts, the heuristic's, and walks.
WALKS = 8
DEADLINE_S = 20.0
#: Kernels of more operations come up in one round of so many.
LARGE_OPERATIONS, LARGE_EVERY = 300_000, 20
#: Memory is looked at from the candidate on at which caches are full; it may grow by so much until the last one.
WARM, GROWTH_MB = 1_000, 100.0
#: A child is replaced after so many programs, as drivers keep what they have built; its growth is seen within.
PROGRAMS_PER_CHILD = 500
WRONG_ENDS = ("wrong", "raised", "crash", "error")


def rounds(first: int) -> Iterator[tuple[int, str]]:
    """(number, kernel) of every round from `first` on: a third of them random kernels, the others stored ones."""
    names = runnable()
    number = first
    while True:
        rng = random.Random(f"soak/{number}")
        yield number, f"random/{number}" if rng.random() < 0.34 else rng.choice(names)
        number += 1


class Soak:
    """A soak on its way: the device, the file of ends, and what has been seen so far."""

    def __init__(self, path: Path, count: int) -> None:
        self.path = path
        self.count = count
        self.device = OpenCL()
        self.done: list[dict[str, Any]] = []
        self.programs_of_child = 0
        if path.exists():
            self.done = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]

    def go(self) -> None:
        """Rounds until there are `count` ends. A round that was cut off is done again from its first missing one."""
        first = max((row["round"] for row in self.done), default=0)
        known = {row["candidate"] for row in self.done if row["round"] == first}
        for number, name in rounds(first):
            for candidate, row in self._round(number, name, known):
                self._append({"round": number, "candidate": candidate, "kernel": name, **row})
                if len(self.done) >= self.count:
                    return
            known = set()

    def _append(self, row: dict[str, Any]) -> None:
        self.done.append(row)
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        if len(self.done) % 200 == 0:
            ends = Counter(done["end"] for done in self.done)
            print(f"{len(self.done)}: {dict(ends)}", flush=True)

    def _round(self, number: int, name: str, known: set[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        """(candidate's number, end) of each candidate of a round but the `known` ones."""
        try:
            kernel = kernel_of(name, self.device.target())
            operations = kernel.to_program().operations
            large = operations > LARGE_OPERATIONS
            if large and number % LARGE_EVERY:
                return
            case = make_case(kernel.ast, operations, seed=number)
        except ProgramError as error:
            if 0 not in known:
                yield 0, {"end": f"refused for {error.limit}"}
            return
        except Exception:  # noqa: BLE001 - what is no ProgramError is what a soak looks for
            if 0 not in known:
                yield 0, {"end": "raised", "about": traceback.format_exc()[-1500:]}
            return
        for candidate in range(2 + (2 if large else WALKS)):
            if candidate not in known:
                yield candidate, self._tried(kernel, case, candidate, f"soak/{number}/{candidate}")

    def _tried(self, kernel: Kernel, case: Case, candidate: int, seed: str) -> dict[str, Any]:
        """What became of one candidate, and the memory held after it."""
        started = time.perf_counter()
        opts: list[str] = []
        try:
            shaped = random_walk(kernel, seed) if candidate > 1 else kernel.copy()
            shaped = shaped.default_opts() if candidate == 1 else shaped
            opts = [str(opt) for opt in shaped.applied_opts]
            program = shaped.to_program()
            before = contents_before(case, program)
            ran = self.device.run(program, before, case.variables, deadline_s=DEADLINE_S)
            found = complaints(case, program, ran, before)
            end: dict[str, Any] = {"end": "wrong" if found else "ok", "child_mb": ran.resident_bytes / 1e6}
            if found:
                end["about"] = found[:3]
        except ProgramError as error:
            end = {"end": f"refused for {error.limit}"}
        except DeviceError as error:
            end = {"end": error.kind, "about": str(error)[:1500]}
        except Exception:  # noqa: BLE001 - what is no ProgramError is what a soak looks for
            end = {"end": "raised", "about": traceback.format_exc()[-1500:]}
        self._count_program()
        return {**end, "opts": opts, "s": round(time.perf_counter() - started, 3), "parent_mb": resident_bytes() / 1e6}

    def _count_program(self) -> None:
        self.programs_of_child += 1
        if self.programs_of_child >= PROGRAMS_PER_CHILD:
            self.device.close()
            self.programs_of_child = 0


def growth(done: list[dict[str, Any]], field: str) -> tuple[float, float] | None:
    """(MB at candidate WARM, MB at the last one) of a process; None where the soak was shorter than that."""
    values = [row[field] for row in done if field in row]
    return (values[WARM], values[-1]) if len(values) > WARM else None


def report(done: list[dict[str, Any]]) -> bool:
    """Print and keep what was found; whether all is well."""
    ends = Counter(row["end"] for row in done)
    found = [row for row in done if row["end"] in WRONG_ENDS]
    for row in found[:20]:
        print(f"{row['end']}: {row['kernel']} {' '.join(row.get('opts', []))}\n  {row.get('about')}")
    seconds = sum(row.get("s", 0.0) for row in done)
    parent, child = growth(done, "parent_mb"), growth(done, "child_mb")
    rows: list[tuple[str, object]] = [("candidates", len(done)), *sorted(ends.items())]
    rows += [("kernels", len({row["kernel"] for row in done})), ("seconds", f"{seconds:.0f}")]
    for name, grown in (("parent", parent), ("child", child)):
        rows.append((f"MB of the {name}, warm to last", "-" if grown is None else f"{grown[0]:.0f} to {grown[1]:.0f}"))
    print(table(("figure", "value"), rows))
    grew = parent is not None and parent[1] - parent[0] > GROWTH_MB
    figures = {"candidates": len(done), "ends": dict(ends), "seconds": seconds, "parent_mb": parent, "child_mb": child}
    print(f"written to {save('soak_codegen', figures).name}")
    return not found and not grew


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak_codegen", description=__doc__)
    parser.add_argument("--count", type=int, default=DEFAULT_COUNT, help="candidates in all, those before a resume too")
    parser.add_argument("--fresh", action="store_true", help="forget what was done before")
    options = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    if options.fresh:
        PROGRESS.unlink(missing_ok=True)
    soak = Soak(PROGRESS, options.count)
    if len(soak.done) < options.count:
        soak.go()
    return 0 if report(soak.done) else 1


if __name__ == "__main__":
    sys.exit(main())
