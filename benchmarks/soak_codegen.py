"""Random candidates by the thousand, run on PoCL against the reference: `python -m benchmarks.soak_codegen`.

Kernels are the corpus', those made for the tests and random ones, small ones for the most part. A round is one kernel
without Opts, with the heuristic's and after several random walks, all on the same inputs. Every candidate's end is a
line of benchmarks/results/soak_codegen.jsonl as soon as it is known: killed at any point, a soak goes on where it was
(a round's kernel and walks follow from its number). `--fresh` begins anew.

Exits 1 where a program was wrong, where anything of ours raised what is no ProgramError, where a device child crashed
or could not build a source, or where memory grew.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import statistics
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from typing import Any

from benchmarks.report import RESULTS, save, table
from kernels import Kernel, Program, ProgramError
from tests.codegen.subjects import kernel_of, runnable
from tests.codegen.walks import random_walk
from tests.devices.batch import batched
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
#: Kernels of more bytes are left out: inputs, expectations and their bounds take a dozen times as much.
MOST_BYTES = 500_000_000
#: Memory is looked at from the candidate on at which caches are full; it may grow by so much until the last one.
WARM, SEVERAL, GROWTH_MB = 1_000, 200, 100.0
#: A child is replaced after so many programs, as drivers keep what they have built; its growth is seen within.
PROGRAMS_PER_CHILD = 500
WRONG_ENDS = ("wrong", "raised", "crash", "error")


class Soak:
    """One worker's part of a soak: every `workers`-th round, one device, and what it has been through so far."""

    def __init__(self, worker: int, workers: int) -> None:
        self.worker, self.workers = worker, workers
        self.device = OpenCL()
        self.done = [row for row in progress() if row["round"] % workers == worker]
        self.programs_of_child = 0
        self.started_by = os.getppid()

    def go(self, count: int) -> None:
        """Rounds until there are `count` ends. A round that was cut off is gone on with."""
        first = max((row["round"] for row in self.done), default=self.worker)
        known = {row["candidate"] for row in self.done if row["round"] == first}
        number = first
        while len(self.done) < count:
            for candidate, row in self._round(number, kernel_name(number), known):
                self._append({"round": number, "candidate": candidate, "kernel": kernel_name(number), **row})
                if len(self.done) >= count or os.getppid() != self.started_by:
                    return
            known = set()
            number += self.workers

    def _append(self, row: dict[str, Any]) -> None:
        self.done.append(row)
        with PROGRESS.open("a") as file:
            file.write(json.dumps(row) + "\n")
        if len(self.done) % 200 == 0:
            print(
                f"worker {self.worker}: {len(self.done)}, {dict(Counter(done['end'] for done in self.done))}",
                flush=True,
            )

    def _round(self, number: int, name: str, known: set[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        """(candidate's number, end) of each candidate of a round but the `known` ones."""
        started = time.perf_counter()
        ends: dict[int, dict[str, Any]] = {}
        programs: dict[int, Program] = {}
        try:
            kernel = kernel_of(name, self.device.target())
            plain = kernel.to_program()
            operations = plain.operations
            large = operations > LARGE_OPERATIONS
            if plain.bytes > MOST_BYTES or (large and number // self.workers % LARGE_EVERY):
                return
            case = make_case(kernel.ast, operations, seed=number)
            for candidate in range(2 + (2 if large else WALKS)):
                ends[candidate] = self._lowered(kernel, number, candidate, programs)
        except ProgramError as error:
            ends[0] = {"end": f"refused for {error.limit}"}
        except Exception:  # noqa: BLE001 - what is no ProgramError is what a soak looks for
            ends[len(ends)] = {"end": "raised", "about": traceback.format_exc()[-1500:]}
        in_batch = dict(zip(programs, batched(list(programs.values())), strict=True))
        for candidate in sorted(ends.keys() - known):
            if candidate in programs:
                ends[candidate] |= self._ran(case, programs[candidate], in_batch[candidate])
            now = time.perf_counter()
            yield candidate, {**ends[candidate], "s": round(now - started, 3), "parent_mb": resident_bytes() / 1e6}
            started = now

    def _lowered(self, kernel: Kernel, number: int, candidate: int, programs: dict[int, Program]) -> dict[str, Any]:
        """What a candidate's line begins with; its program goes into `programs`."""
        shaped = random_walk(kernel, f"soak/{number}/{candidate}") if candidate > 1 else kernel.copy()
        shaped = shaped.default_opts() if candidate == 1 else shaped
        opts = {"opts": [str(opt) for opt in shaped.applied_opts]}
        try:
            programs[candidate] = shaped.to_program()
        except ProgramError as error:
            return {"end": f"refused for {error.limit}", **opts}
        except Exception:  # noqa: BLE001 - the other candidates go on
            return {"end": "raised", "about": traceback.format_exc()[-1500:], **opts}
        return opts

    def _ran(self, case: Case, program: Program, in_batch: Program) -> dict[str, Any]:
        """How a program ended as a part of its batch; where that does not run, the program alone decides."""
        self.programs_of_child += 1
        if self.programs_of_child >= PROGRAMS_PER_CHILD:
            self.device.close()
            self.programs_of_child = 0
        before = contents_before(case, program)
        try:
            try:
                ran = self.device.run(in_batch, before, case.variables, deadline_s=DEADLINE_S)
            except DeviceError:
                ran = self.device.run(program, before, case.variables, deadline_s=DEADLINE_S)
            found = complaints(case, program, ran, before)
        except DeviceError as error:
            return {"end": error.kind, "about": str(error)[:1500]}
        except Exception:  # noqa: BLE001 - what is no ProgramError is what a soak looks for
            return {"end": "raised", "about": traceback.format_exc()[-1500:]}
        end = {"end": "wrong", "about": found[:3]} if found else {"end": "ok"}
        return {**end, "child_mb": ran.resident_bytes / 1e6}


def kernel_name(number: int) -> str:
    """The kernel of a round: a third of them random, the others stored ones."""
    rng = random.Random(f"soak/{number}")
    return f"random/{number}" if rng.random() < 0.34 else rng.choice(runnable())


def progress() -> list[dict[str, Any]]:
    """The ends that are known. A last line that was cut off by a kill is removed."""
    if not PROGRESS.exists():
        return []
    text = PROGRESS.read_text()
    if not text.endswith("\n") and text:
        text = text[: text.rfind("\n") + 1]
        PROGRESS.write_text(text)
    return [json.loads(line) for line in text.splitlines()]


def work(worker: int, workers: int, count: int) -> None:
    """A worker's process."""
    Soak(worker, workers).go(count // workers + (worker < count % workers))


def growth(done: list[dict[str, Any]], field: str) -> tuple[float, float] | None:
    """(MB around candidate WARM, MB at the end) of a kind of process; None where the soak was shorter than that."""
    values = [row[field] for row in done if field in row]
    if len(values) < 2 * WARM:
        return None
    return statistics.median(values[WARM - SEVERAL : WARM + SEVERAL]), statistics.median(values[-2 * SEVERAL :])


def report(done: list[dict[str, Any]]) -> bool:
    """Print and keep what was found; whether all is well."""
    ends = Counter(row["end"] for row in done)
    found = [row for row in done if row["end"] in WRONG_ENDS]
    for row in found[:20]:
        print(f"{row['end']}: {row['kernel']} {' '.join(row.get('opts', []))}\n  {row.get('about')}")
    seconds = sum(row.get("s", 0.0) for row in done)
    parent, child = growth(done, "parent_mb"), growth(done, "child_mb")
    rows: list[tuple[str, object]] = [("candidates", len(done)), *sorted(ends.items())]
    rows += [("kernels", len({row["kernel"] for row in done})), ("seconds, all workers", f"{seconds:.0f}")]
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
    parser.add_argument("--workers", type=int, default=2, help="processes, each with a device child")
    parser.add_argument("--fresh", action="store_true", help="forget what was done before")
    options = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    if options.fresh:
        PROGRESS.unlink(missing_ok=True)
    progress()
    context = multiprocessing.get_context("spawn")
    started = time.perf_counter()
    workers = [
        context.Process(target=work, args=(number, options.workers, options.count)) for number in range(options.workers)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(f"{time.perf_counter() - started:.0f} s in this run")
    for number, worker in enumerate(workers):
        if worker.exitcode:
            print(f"worker {number} ended with exit code {worker.exitcode}; run this again to go on")
    well = report(progress())
    return 0 if well and not any(worker.exitcode for worker in workers) else 1


if __name__ == "__main__":
    sys.exit(main())
