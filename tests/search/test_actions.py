"""Action sets: what they hold, and that they fit the kernels that they are tried on."""

from __future__ import annotations

import pytest

from kernels import Kernel, KernelOptError, Opt, OptOps, build, cuda_target, opencl_target
from kernels.build import variable
from search import UnknownActionSetError, action_set
from tests.search.fake_device import device_info
from tests.search.running import MATMUL, corpus_ast

KERNELS = ("gemm/01", "conv/03", "reduce/05", "softmax_norm/02", "elementwise/04", "attention/02")


def axes_1(kernel: Kernel) -> list[Opt]:
    return list(action_set("axes-1").opts_for(kernel))


def of(opts: list[Opt], op: OptOps) -> set[tuple[int | None, object]]:
    return {(opt.axis, opt.arg) for opt in opts if opt.op is op}


def test_tinygrad_set_is_what_the_oracle_has():
    from tinygrad.engine.search import actions

    expected = [Opt(OptOps[action.op.name], action.axis, action.arg) for action in actions]
    assert list(action_set("tinygrad-0.10.2").opts_for(Kernel(MATMUL, opencl_target()))) == expected


def test_action_set_of_an_unknown_name_is_refused_with_those_that_there_are():
    with pytest.raises(UnknownActionSetError) as refused:
        action_set("axes-0")
    assert (refused.value.code, refused.value.known) == ("unknown_action_set", ("axes-1", "tinygrad-0.10.2"))


@pytest.mark.parametrize("name", KERNELS)
def test_axes_1_opts_are_distinct_and_mostly_legal(name):
    kernel = Kernel(corpus_ast(name), device_info().target)
    for start in (kernel, kernel.copy().default_opts()):
        opts = axes_1(start)
        legal = 0
        for opt in opts:
            try:
                start.copy().apply_opt(opt)
                legal += 1
            except KernelOptError:
                continue
        assert len(set(opts)) == len(opts) and legal >= 0.8 * len(opts) > 0


def test_axes_1_offers_divisors_of_the_axes():
    opts = axes_1(Kernel(build.matmul(12, 32, 512), opencl_target()))
    assert {arg for axis, arg in of(opts, OptOps.UPCAST) if axis == 0} == {2, 3, 4, 6, 12}
    assert {arg for axis, arg in of(opts, OptOps.UPCAST) if axis == 1} == {2, 4, 8, 16}
    assert of(opts, OptOps.UNROLL) == {(0, 2), (0, 4), (0, 8), (0, 16), (0, 32)}
    assert {arg for axis, arg in of(opts, OptOps.LOCAL) if axis == 1} >= {16, 64, 256}
    assert of(opts, OptOps.GROUP) == of(opts, OptOps.GROUPTOP) == {(0, 2), (0, 4), (0, 8), (0, 16), (0, 32)}
    assert of(opts, OptOps.SWAP) == {(0, 1)}


def test_axes_1_pads_axes_without_a_useful_divisor_only_a_little():
    opts = axes_1(Kernel(build.elementwise((7, 1031), lambda x: x + 1), opencl_target()))
    assert of(opts, OptOps.UPCAST) == {(0, 7)}  # one axis of 7217
    assert of(opts, OptOps.PADTO) == {(0, 4), (0, 8), (0, 16), (0, 32)}
    opts = axes_1(Kernel(build.matmul(7, 13, 64), opencl_target()))
    assert of(opts, OptOps.PADTO) == {(0, 4), (0, 8), (2, 4), (2, 8), (2, 16)}


def test_axes_1_offers_no_locals_once_and_only_before_locals():
    kernel = Kernel(MATMUL, opencl_target())
    assert of(axes_1(kernel), OptOps.NOLOCALS) == {(None, None)}
    for opt in (Opt(OptOps.NOLOCALS), Opt(OptOps.LOCAL, 0, 4), Opt(OptOps.GROUP, 0, 4)):
        after = kernel.copy()
        after.apply_opt(opt)
        assert not of(axes_1(after), OptOps.NOLOCALS)
    after = kernel.copy()
    after.apply_opt(Opt(OptOps.NOLOCALS))
    assert not {opt.op for opt in axes_1(after)} & {OptOps.LOCAL, OptOps.GROUP, OptOps.GROUPTOP}


def test_axes_1_keeps_work_groups_and_lanes_within_bounds():
    kernel = Kernel(build.matmul(512, 512, 512), opencl_target(work_group_max=64))
    kernel.apply_opt(Opt(OptOps.LOCAL, 0, 16))
    opts = axes_1(kernel)
    assert {arg for _, arg in of(opts, OptOps.LOCAL) | of(opts, OptOps.GROUP)} == {2, 4}
    for axis in (0, 1):
        kernel.apply_opt(Opt(OptOps.UPCAST, axis, 16))
    assert {arg for _, arg in of(axes_1(kernel), OptOps.UPCAST) | of(axes_1(kernel), OptOps.UNROLL)} == {2}


def test_axes_1_offers_tensor_cores_first_where_the_target_has_them():
    ast = build.matmul(64, 64, 64, "float16")
    kernel = Kernel(ast, cuda_target("sm_80"))
    opts = axes_1(kernel)
    assert opts[0] == Opt(OptOps.TC, 0, (-1, 0))
    kernel.apply_opt(opts[0])
    assert not of(axes_1(kernel), OptOps.TC)
    assert not of(axes_1(Kernel(ast, opencl_target())), OptOps.TC)


def test_axes_1_leaves_axes_of_variable_size_alone():
    opts = axes_1(Kernel(build.matmul(variable("rows", 1, 64), 32, 48), opencl_target()))
    assert opts and all(opt.axis != 0 for opt in opts if opt.op in (OptOps.UPCAST, OptOps.LOCAL, OptOps.PADTO))
