"""Applying a tensor core as the heuristic does: the TC Opt, then more upcasts and locals where the tile leaves room."""

from __future__ import annotations

from collections.abc import Sequence

from kernels.apply import apply_opt
from kernels.apply_tc import follow
from kernels.errors import KernelOptError
from kernels.nest import Nest
from kernels.opt import Opt, OptOps
from kernels.state import KernelState
from kernels.target import Target


def with_tensor_core(
    state: KernelState,
    nest: Nest,
    target: Target,
    use: int,
    extra_opts: Sequence[Opt] | None,
    axis: int,
    tc_select: int,
    tc_opt: int,
) -> KernelState | None:
    """The state with TC(axis, (tc_select, tc_opt)) and `extra_opts` (or the defaults); None where one is refused."""
    if not use or not target.tensor_cores:
        return None
    try:
        state = apply_opt(state, Opt(OptOps.TC, axis, (tc_select, tc_opt)), nest, target)
        if extra_opts is None:
            return _with_defaults(state, nest, target)
        for opt in extra_opts:
            state = apply_opt(state, opt, nest, target)
    except KernelOptError:
        return None
    return state


def _with_defaults(state: KernelState, nest: Nest, target: Target) -> KernelState:
    """Upcast what is left of M, then of N, by the largest of 5, 4, 3, 2 that divides; then make N local by 4 or 2."""
    assert state.tc is not None
    n, m = (None if axis is None else state.ids.index(axis) for axis in (state.tc.n, state.tc.m))
    for which in ("m", "n"):
        place = m if which == "m" else n
        amount = None if place is None else _largest_divisor(state, place, (5, 4, 3, 2))
        if place is not None and amount is not None:
            whole = state.sizes[place] == amount
            state = apply_opt(state, Opt(OptOps.UPCAST, place, amount), nest, target)
            if whole:
                n, m = follow(n, place), follow(m, place)
    amount = None if n is None else _largest_divisor(state, n, (4, 2))
    if amount is not None:
        state = apply_opt(state, Opt(OptOps.LOCAL, n, amount), nest, target)
    return state


def _largest_divisor(state: KernelState, place: int, amounts: tuple[int, ...]) -> int | None:
    size = state.sizes[place]
    assert isinstance(size, int)
    return next((amount for amount in amounts if size % amount == 0), None)
