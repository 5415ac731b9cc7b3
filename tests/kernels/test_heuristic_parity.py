"""The heuristic's Opts against the oracle's, on a sample of kernels and on every kind of target."""

from __future__ import annotations

import pytest

from tests.parity.heuristic import HEURISTIC_TARGETS, run_heuristic
from tests.parity.known import known_kind
from tests.parity.report import Report, listing
from tests.parity.subjects import STORED, name_of, stored

SEED = 3
EVERY = 7
RANDOM_KERNELS = 25


@pytest.mark.parametrize("target", HEURISTIC_TARGETS)
def test_heuristic_gives_the_oracles_opts(target: str) -> None:
    start = HEURISTIC_TARGETS.index(target)
    names = [name for kind in STORED for name in list(stored(kind))[start % EVERY :: EVERY]]
    names += [name_of("random", SEED * 1000 + start * RANDOM_KERNELS + i) for i in range(RANDOM_KERNELS)]
    report = Report()
    run_heuristic(names, (target,), SEED, report)
    new = [difference for difference in report.differences if known_kind(difference) is None]
    assert not new, f"{report.table()}\n\n{listing(new, 2)}"
    assert report.counts["hand_coded_optimizations"] > 0.9 * len(names)
    assert report.counts["default_opts"] > 0.85 * len(names)
