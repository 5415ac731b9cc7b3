"""Which children are tried first."""

from __future__ import annotations

import random

from kernels import Kernel, OptOps, build, opencl_target
from search import action_set
from search.candidate import Candidate, Origin
from search.frontier import Frontier
from search.ranking import ranked
from tests.search.fake_device import device_info
from tests.search.running import corpus_ast


def children(parent: Candidate) -> list[Candidate]:
    found = []
    Frontier(action_set("axes-1"), lambda _, all_of_them: found.extend(all_of_them) or [], 12).count([parent])
    return found


def shown(ast, target) -> list[str]:
    parent = Candidate(Kernel(ast, target), Origin.UNOPTIMISED)
    return [str(child.opts[-1]) for child in ranked(parent, children(parent))]


def test_ranked_puts_the_vector_width_on_the_contiguous_axis_first_on_a_cpu():
    assert shown(build.matmul(512, 512, 512), device_info(float_width=16).target)[0] == "UPCAST(1, 16)"
    assert shown(build.matmul(512, 512, 512), device_info(float_width=8).target)[0] == "UPCAST(1, 8)"


def test_ranked_puts_work_groups_first_on_a_gpu():
    assert shown(build.matmul(512, 512, 512), opencl_target())[0] == "LOCAL(1, 16)"


def test_ranked_lets_the_kinds_take_turns():
    first = shown(build.matmul(512, 512, 512), device_info().target)[:8]
    assert {text.partition("(")[0] for text in first} >= {"UPCAST", "LOCAL", "UNROLL", "GROUP"}


def test_ranked_keeps_every_child_and_does_not_depend_on_their_order():
    for name in ("conv/03", "softmax_norm/02", "reduce/05"):
        kernel = Kernel(corpus_ast(name), device_info().target)
        parent = Candidate(kernel.copy().default_opts(), Origin.HEURISTIC)
        all_of_them = children(parent)
        order = ranked(parent, all_of_them)
        assert sorted(map(id, order)) == sorted(map(id, all_of_them))
        mixed = list(all_of_them)
        random.Random(3).shuffle(mixed)
        assert ranked(parent, mixed) == order


def test_ranked_takes_the_fixed_list_of_tinygrad_as_well():
    parent = Candidate(Kernel(build.matmul(64, 64, 64), device_info().target), Origin.UNOPTIMISED)
    frontier = Frontier(action_set("tinygrad-0.10.2"), ranked, 12)
    drawn = frontier.draw([parent], 100)
    assert 10 < len(drawn) == len({child.key for child in drawn})
    assert all(child.opts[-1].op is not OptOps.TC for child in drawn)
