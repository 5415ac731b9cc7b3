"""The one way to apply an Opt: the state after it, or KernelOptError."""

from __future__ import annotations

from kernels.apply_tc import apply_tensor_core
from kernels.nest import Nest
from kernels.opt import Opt, OptOps
from kernels.shape_opts import shape_opt
from kernels.state import KernelState
from kernels.target import Target


def apply_opt(state: KernelState, opt: Opt, nest: Nest, target: Target) -> KernelState:
    """The state after `opt`, which is the last of its `opts` as given. Raises KernelOptError where it is not legal."""
    if opt.op is OptOps.TC:
        return apply_tensor_core(state, opt, nest, target).replaced(opts=(opt,))
    return shape_opt(state, opt, nest, target)
