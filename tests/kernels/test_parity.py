"""A sample of the parity run of `make parity`: small enough for every change, other walks for other seeds."""

from __future__ import annotations

import pytest

from tests.parity.known import known_kind
from tests.parity.report import Report, listing
from tests.parity.subjects import SETS, STORED, stored
from tests.parity.walks import RARE_TARGETS, TARGETS, new_pair, run_sweeps, run_walks, walk

SEED = 20_000
SHARDS = 6
WALKS_EACH = 150
# Every stored kernel that some tensor core takes is in one of these groups of names.
CONTRACTIONS = ("gemm/", "attention/", "gpt_train/", "matmul/", "conv/", "dynamic/", "scheduled/")


def check(report: Report) -> None:
    """Nothing but known kinds of difference, and few of them."""
    new = [difference for difference in report.differences if known_kind(difference) is None]
    assert not new, f"{report.table()}\n\n{listing(new)}"
    assert report.within_bar, f"{report.table()}\n\n{listing(report.differences)}"


@pytest.mark.parametrize("target", ["opencl", "sm_80"])
def test_kernel_shows_the_oracles_axes_at_construction(target: str) -> None:
    report = Report()
    built = [new_pair(name, target, report) for kind in STORED for name in stored(kind)]
    assert len(built) >= 184 + 90 + 90
    check(report)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_apply_opt_follows_the_oracle_on_random_walks(shard: int) -> None:
    report = Report()
    run_walks(WALKS_EACH, SEED + shard, SETS, TARGETS, report)
    check(report)
    # A run that accepts little shows little.
    assert report.accepted > 4 * WALKS_EACH and report.deep_walks > WALKS_EACH // 2


@pytest.mark.parametrize("target", RARE_TARGETS)
def test_apply_opt_follows_the_oracle_on_rare_targets(target: str) -> None:
    report = Report()
    for kind in STORED:
        for number, name in enumerate(list(stored(kind))[::16]):
            walk(name, target, SEED + number, report)
    check(report)
    assert report.accepted > 50


@pytest.mark.parametrize("target", ["sm_80", "sm_75", "sm_80_tf32"])
def test_tensor_core_opts_follow_the_oracle(target: str) -> None:
    report = Report()
    names = [name for kind in STORED for name in stored(kind) if name.startswith(CONTRACTIONS)]
    run_sweeps(names, (target,), report, share=0.4, seed=SEED)
    check(report)
    assert report.accepted_tc > 60
    assert report.counts["TC padded"] > 10 and report.counts["TC batched"] > 10
