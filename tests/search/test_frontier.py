"""Drawing candidates: each kernel once, in the parents' turn."""

from __future__ import annotations

from kernels import Kernel, Opt, OptOps, ProgramError, build, opencl_target
from search import action_set
from search.candidate import Candidate, Origin
from search.frontier import Frontier
from search.ranking import ranked
from tests.search.fake_device import device_info
from tests.search.running import MATMUL


def frontier(depth: int = 12) -> Frontier:
    return Frontier(action_set("axes-1"), ranked, depth)


def parent(*opts: Opt, ast=MATMUL, target=None) -> Candidate:
    kernel = Kernel(ast, target or device_info().target)
    for opt in opts:
        kernel.apply_opt(opt)
    return Candidate(kernel, Origin.UNOPTIMISED)


def test_draw_takes_turns_between_parents():
    parents = [parent(), parent(Opt(OptOps.UNROLL, 0, 4))]
    drawn = frontier().draw(parents, 6)
    assert [len(child.opts) for child in drawn] == [1, 2, 1, 2, 1, 2]


def test_draw_never_gives_a_kernel_twice():
    one = frontier()
    parents = [parent(Opt(OptOps.UPCAST, 0, 4)), parent(Opt(OptOps.UPCAST, 1, 16))]
    count = one.count(parents)
    drawn = one.draw(parents, 1000)
    assert len({child.state_key for child in drawn}) == len({child.key for child in drawn}) == len(drawn) <= count
    assert one.count(parents) == 0 and not any(map(one.is_open, parents)) and not one.draw(parents, 10)


def test_draw_leaves_out_what_was_claimed():
    one = frontier()
    taken = parent(Opt(OptOps.UPCAST, 1, 16))
    assert one.claim(taken) and not one.claim(parent(Opt(OptOps.UPCAST, 1, 16)))
    assert taken.state_key not in {child.state_key for child in one.draw([parent()], 1000)}


def test_claim_refuses_another_kernel_with_the_same_program():
    ast = build.matmul(17, 32, 32)
    twice = parent(Opt(OptOps.PADTO, 0, 4), Opt(OptOps.PADTO, 0, 8), ast=ast)
    once = parent(Opt(OptOps.PADTO, 0, 8), ast=ast)
    assert twice.state_key != once.state_key and twice.key == once.key
    one = frontier()
    assert one.claim(twice) and not one.claim(once)


def test_draw_ends_at_the_depth():
    assert not frontier(depth=1).draw([parent(Opt(OptOps.UPCAST, 0, 4))], 10)
    assert frontier(depth=2).draw([parent(Opt(OptOps.UPCAST, 0, 4))], 10)


def test_draw_counts_only_candidates_with_a_program_as_builds():
    target = opencl_target(shared_max=512, vector_widths=None)
    drawn = frontier().draw([parent(ast=build.reduce_rows("sum", 64, 64), target=target)], 5)
    assert sum(not isinstance(child.lowered, ProgramError) for child in drawn) == 5


def test_draw_of_no_builds_is_empty():
    assert frontier().draw([parent()], 0) == []


def test_draw_lowers_no_more_than_it_gives(monkeypatch):
    calls = []
    to_program = Kernel.to_program
    monkeypatch.setattr(Kernel, "to_program", lambda self: calls.append(1) or to_program(self))
    assert len(frontier().draw([parent()], 4)) == len(calls) == 4
