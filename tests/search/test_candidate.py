"""When two candidates are one: by their kernels, and by their programs."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import pytest

from kernels import Kernel, KernelOptError, Opt, OptOps, Program, ProgramError, Target, build, opencl_target
from search import action_set
from search.candidate import Candidate, Origin
from tests.search.fake_device import device_info
from tests.search.running import MATMUL, corpus_ast

U, N, L, G, P = OptOps.UPCAST, OptOps.UNROLL, OptOps.LOCAL, OptOps.GROUP, OptOps.PADTO
CPU = device_info().target


def candidate(ast, *opts: Opt, target: Target = CPU) -> Candidate:
    kernel = Kernel(ast, target)
    for opt in opts:
        kernel.apply_opt(opt)
    return Candidate(kernel, Origin.HEURISTIC)


def program_of(one: Candidate) -> Program:
    assert isinstance(one.lowered, Program)
    return one.lowered


def test_candidate_of_a_whole_axis_by_number_and_by_zero_is_one():
    """Case F2."""
    ast = build.reduce_rows("sum", 4, 3)
    by_number, by_zero = candidate(ast, Opt(U, 0, 4)), candidate(ast, Opt(U, 0, 0))
    assert by_number.state_key == by_zero.state_key
    assert by_number.key == by_zero.key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((Opt(U, 0, 4), Opt(U, 1, 16)), (Opt(U, 1, 16), Opt(U, 0, 4))),
        ((Opt(U, 0, 4), Opt(N, 0, 4)), (Opt(N, 0, 4), Opt(U, 0, 4))),
        ((Opt(L, 0, 4), Opt(U, 1, 4)), (Opt(U, 1, 4), Opt(L, 0, 4))),
        ((Opt(G, 0, 4), Opt(L, 0, 4)), (Opt(L, 0, 4), Opt(G, 0, 4))),
        ((Opt(P, 0, 48), Opt(U, 1, 8)), (Opt(U, 1, 8), Opt(P, 0, 48))),
    ],
)
def test_candidate_does_not_depend_on_the_order_of_independent_opts(one, other):
    first, second = candidate(MATMUL, *one), candidate(MATMUL, *other)
    assert first.opts != second.opts and first.state_key == second.state_key
    assert normalised(program_of(first)) == normalised(program_of(second))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((Opt(L, 0, 4), Opt(L, 1, 16)), (Opt(L, 1, 16), Opt(L, 0, 4))),  # another x
        ((Opt(U, 0, 4), Opt(U, 0, 2)), (Opt(U, 0, 2), Opt(U, 0, 4))),  # other neighbours in one axis
        ((Opt(U, 0, 4),), (Opt(L, 0, 4),)),
        ((Opt(U, 0, 4),), (Opt(U, 1, 4),)),
        ((Opt(G, 0, 4),), (Opt(OptOps.GROUPTOP, 0, 4),)),
        ((Opt(P, 0, 48),), (Opt(P, 0, 24),)),
        ((Opt(OptOps.NOLOCALS),), ()),
    ],
)
def test_candidate_of_another_kernel_is_another(one, other):
    first, second = candidate(MATMUL, *one), candidate(MATMUL, *other)
    assert first.state_key != second.state_key and first.key != second.key


@pytest.mark.parametrize("name", ["conv/03", "reduce/05", "softmax_norm/05", "attention/02", "gemm/03"])
@pytest.mark.parametrize("target", [CPU, opencl_target()], ids=["cpu", "gpu"])
def test_state_key_is_equal_only_for_equal_programs(name, target):
    """Random Opts in random orders: whatever has one key has one program, but for the names in it."""
    merged = 0
    for seed in range(24):
        found: dict[object, Candidate] = {}
        for opts in reordered(name, target, random.Random(seed)):
            one = candidate(corpus_ast(name), *opts, target=target)
            before = found.setdefault(one.state_key, one)
            if before is not one and before.opts != one.opts and isinstance(before.lowered, Program):
                assert normalised(before.lowered) == normalised(program_of(one)), (before.opts, one.opts)
                merged += 1
    assert merged >= 3


def reordered(name: str, target: Target, rng: random.Random) -> list[tuple[Opt, ...]]:
    """A random walk, and those of its reorderings that are legal."""
    kernel = Kernel(corpus_ast(name), target)
    for _ in range(3):
        choices = [opt for opt in action_set("axes-1").opts_for(kernel) if not isinstance(opt.arg, int) or opt.arg <= 8]
        try:
            kernel.apply_opt(rng.choice(choices))
        except (KernelOptError, IndexError):
            break
    walks = [kernel.applied_opts]
    for _ in range(3):
        opts = list(kernel.applied_opts)
        rng.shuffle(opts)
        if legal(Kernel(corpus_ast(name), target), opts):
            walks.append(tuple(opts))
    return walks


def legal(kernel: Kernel, opts: Sequence[Opt]) -> bool:
    try:
        for opt in opts:
            kernel.apply_opt(opt)
    except KernelOptError:
        return False
    return True


def normalised(program: Program) -> tuple[object, ...]:
    """All that decides what is run: names, the numbers in them and the order of independent statements do not."""
    source = re.sub(r"\b([a-z]+)\d+\b", r"\1", program.source.replace(program.name, "kernel"))
    return sorted(re.findall(r"\w+|\S", source)), program.global_size, program.local_size, program.shared_bytes


def test_candidate_key_is_the_same_in_every_process():
    one = candidate(build.elementwise((64,), lambda x: x + 1), Opt(U, 0, 4))
    again = candidate(build.elementwise((64,), lambda x: x + 1), Opt(U, 0, 4))
    assert one.key == again.key and re.fullmatch("[0-9a-f]{64}", one.key)


def test_candidate_key_without_a_program_is_of_the_opts():
    small = opencl_target(work_group_max=8)
    ones = [candidate(MATMUL, Opt(L, axis, 16), target=small) for axis in (0, 1)]
    assert all(isinstance(one.lowered, ProgramError) and one.lowered.limit == "work_group_max" for one in ones)
    assert ones[0].key == candidate(MATMUL, Opt(L, 0, 16), target=small).key != ones[1].key


def test_candidate_is_lowered_once_and_only_when_asked(monkeypatch):
    calls = []
    to_program = Kernel.to_program
    monkeypatch.setattr(Kernel, "to_program", lambda self: calls.append(1) or to_program(self))
    one = candidate(MATMUL, Opt(U, 0, 4))
    assert one.state_key and not calls
    assert one.key == one.key and one.lowered is one.lowered and len(calls) == 1
