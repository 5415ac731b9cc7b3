"""`python -m tests.parity`: the product's Kernel against the oracle's, at full length.

Prints what was tried and every kind of difference; exits 1 when differences exceed one in 2,000 tries.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.parity.heuristic import HEURISTIC_TARGETS, run_heuristic
from tests.parity.known import known_kind
from tests.parity.report import TRIES_PER_DIFFERENCE, Difference, Report, listing
from tests.parity.subjects import SETS, name_of, stored
from tests.parity.walks import TARGETS, run_sweeps, run_walks, walk

# Walks on the kernel that `--only` names.
WALKS_OF_ONE = 200
# What `make parity` has to reach, by the counters of `Report`.
FULL_BAR = {"accepted": 20_000, "deep_walks": 2_000, "accepted_tc": 2_000}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.parity", description=__doc__)
    parser.add_argument("--walks", type=int, default=4500, help="random walks of Opts (default 4500: the full bar)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sets", default=",".join(SETS), help=f"default: {','.join(SETS)}")
    parser.add_argument("--targets", default=",".join(TARGETS), help=f"default: {','.join(TARGETS)} and rare ones")
    parser.add_argument("--heuristic", action="store_true", help="compare the heuristic's Opts only")
    parser.add_argument("--only", help="one kernel by name, in place of the sets")
    parser.add_argument("--each", type=int, default=1, help="reproducers shown for each kind of difference")
    return parser.parse_args()


def subjects(sets: list[str], seed: int, randoms: int) -> list[str]:
    """Every name of the stored sets, and so many random ones."""
    names = [name for kind in sets if kind != "random" for name in stored(kind)]
    return names + [name_of("random", seed * 1_000_003 + i) for i in range(randoms if "random" in sets else 0)]


def main() -> int:
    options = arguments()
    sets, targets = options.sets.split(","), tuple(options.targets.split(","))
    report = Report()
    started = time.monotonic()
    names = [options.only] if options.only else subjects(sets, options.seed, options.walks // 5)
    every = targets if targets != TARGETS else HEURISTIC_TARGETS
    if not options.heuristic:
        run_sweeps(names, [target for target in targets if target.startswith("sm_")], report, 1.0, options.seed)
        if options.only:
            for number in range(WALKS_OF_ONE):
                walk(options.only, targets[number % len(targets)], options.seed + number, report)
        else:
            run_walks(options.walks, options.seed, sets, targets, report)
    # A random kernel costs all of its building: half of them will do for seven targets each.
    heuristics = [name for i, name in enumerate(names) if i % 2 == 0 or not name.startswith("random/")]
    run_heuristic(heuristics, every, options.seed, report)
    print(report.table())
    print(f"{time.monotonic() - started:.0f} s")
    by_reason: dict[str, list[Difference]] = {}
    for difference in report.differences:
        by_reason.setdefault(known_kind(difference) or "not known", []).append(difference)
    for reason, found in by_reason.items():
        print(f"\n=== {len(found)} x {reason}\n\n{listing(found, options.each)}")
    missed = {name: bar for name, bar in FULL_BAR.items() if getattr(report, name) < bar}
    if missed and not options.heuristic and not options.only:
        print(f"below the full bar: {missed}")
    print(f"bar: one difference in {TRIES_PER_DIFFERENCE} tries: {'met' if report.within_bar else 'MISSED'}")
    return 0 if report.within_bar else 1


if __name__ == "__main__":
    sys.exit(main())
