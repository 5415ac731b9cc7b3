"""What each Opt but TC does to a kernel's axes, and when it is legal.

`shape_opt` derives a new state or raises KernelOptError; nothing is ever changed in place. Checks come first: they are
arithmetic on sizes, so that a refused Opt costs next to nothing.

    role of an axis     what its iterations become
    global              work-groups (work-items where a target or NOLOCALS gives no work-group)
    local               work-items of a work-group
    group               work-items of a work-group that share a reduction, through shared memory
    reduce loop         a loop
    upcast, unroll      registers or vector lanes
"""

from __future__ import annotations

from typing import TypeVar

from kernels.errors import KernelOptError
from kernels.nest import Nest
from kernels.opt import Opt, OptOps
from kernels.state import KernelState, Pad, Rules, Split
from kernels.target import Target

#: The most iterations that UPCAST and UNROLL take out of an axis at once.
UPCAST_MAX = 16
UNROLL_MAX = 32

_USES_LOCALS = frozenset({OptOps.LOCAL, OptOps.GROUP, OptOps.GROUPTOP})
_GROUPS = frozenset({OptOps.GROUP, OptOps.GROUPTOP})


def shape_opt(
    state: KernelState, opt: Opt, nest: Nest, target: Target, applied: tuple[Opt, ...]
) -> KernelState:
    """The state after any Opt but TC, with `applied` as its opts. Raises KernelOptError where it is not legal."""
    op = opt.op
    if op is OptOps.NOLOCALS:
        return _no_locals(state, opt, target, applied)
    if state.no_locals and op in _USES_LOCALS:
        raise KernelOptError("no locals, so no {}", op.name)
    axis, amount = _counted_axis(state, opt), _amount(state, opt)
    if op is OptOps.PADTO:
        return _pad_to(state, axis, amount, nest, applied)
    _check_shared_memory(state, op, amount, nest, target)
    if op is OptOps.UPCAST:
        return _upcast(state, axis, amount, applied)
    if op is OptOps.UNROLL:
        return _unroll(state, axis, amount, applied)
    if op is OptOps.LOCAL:
        return _local(state, axis, amount, target, applied)
    if op in _GROUPS:
        return _group(state, axis, amount, op is OptOps.GROUPTOP, nest, target, applied)
    if op is OptOps.SWAP:
        return _swap(state, axis, amount, applied)
    raise KernelOptError("unknown Opt {!r:.40}", op)


def _counted_axis(state: KernelState, opt: Opt) -> int:
    """The place of the axis that `opt` names, by the way that its op counts."""
    axis = opt.axis
    if type(axis) is not int or axis < 0:
        raise KernelOptError("{} takes an axis >= 0, not {!r:.40}", opt.op.name, axis)
    if opt.op is OptOps.UNROLL:
        axis += state.n_global + state.n_local
    elif opt.op in _GROUPS:
        axis += state.n_global + state.n_local + state.n_group
    if axis >= len(state.sizes):
        raise KernelOptError("{} counts to axis {}, and there are {}", opt.op.name, axis, len(state.sizes))
    return axis


def _amount(state: KernelState, opt: Opt) -> int:
    """How much `opt` takes of its axis (0 is all of it); for SWAP the other axis. Divides the axis but for PADTO."""
    arg = opt.arg
    if type(arg) is not int or arg < 0:
        raise KernelOptError("{} takes an amount >= 0, not {!r:.40}", opt.op.name, arg)
    if opt.op is OptOps.SWAP:
        return arg
    size = state.sizes[_counted_axis(state, opt)]
    if type(size) is not int:
        raise KernelOptError("the size of axis {} is not fixed: {}", opt.axis, size)
    amount = arg or size
    if amount < 2:
        raise KernelOptError("an amount of {} changes nothing", amount)
    if size % amount and opt.op is not OptOps.PADTO:
        raise KernelOptError("{} does not divide the axis' size {}", amount, size)
    return amount


def _check_shared_memory(state: KernelState, op: OptOps, amount: int, nest: Nest, target: Target) -> None:
    """Partial results of a grouped reduction must fit the target's shared memory."""
    if not nest.reduces or not (state.n_group or op in _GROUPS):
        return
    sizes = state.sizes
    needed = amount * nest.reduce_itemsize
    for size in sizes[state.n_global : state.n_global + state.n_local + state.n_group]:
        needed *= size  # type: ignore[assignment]  # only plain integers are ever split off
    for size, unrolled in zip(sizes[state.first_upcast :], state.unrolled, strict=True):
        if not unrolled:
            needed *= size  # type: ignore[assignment]
    if needed > target.shared_max:
        raise KernelOptError("{} bytes of shared memory, and the target has {}", needed, target.shared_max)


def _upcast(state: KernelState, axis: int, amount: int, applied: tuple[Opt, ...]) -> KernelState:
    """Split `axis` by `amount`; the inner part becomes an upcast axis.

    before: g[N]            after: g[N // amount], ..., u[amount]
    legal when: amount divides N and is at most 16, axis is global or local and none of a tensor core's lanes
    also called: vectorize, register tile (Halide: vectorize or unroll of an outer loop)
    """
    if axis >= state.n_global + state.n_local:
        raise KernelOptError("axis {} is reduced, and UPCAST takes one that is not", axis)
    if amount > UPCAST_MAX:
        raise KernelOptError("an upcast by {} is above {}", amount, UPCAST_MAX)
    if state.tc is not None and state.n_global <= axis < state.n_global + state.tc.core.lane_splits:
        raise KernelOptError("axis {} is a lane of the tensor core", axis)
    return _split_off(state, axis, amount, len(state.sizes), applied, _UPCAST)


def _unroll(state: KernelState, axis: int, amount: int, applied: tuple[Opt, ...]) -> KernelState:
    """Split reduced `axis` by `amount`; the inner part becomes an unroll axis.

    before: r[N]            after: r[N // amount], ..., n[amount]
    legal when: amount divides N and is at most 32, axis is a group or reduce-loop axis
    also called: unroll (Halide, TVM)
    """
    if axis >= state.first_upcast:
        raise KernelOptError("axis {} is upcast already", axis)
    if amount > UNROLL_MAX:
        raise KernelOptError("an unroll by {} is above {}", amount, UNROLL_MAX)
    return _split_off(state, axis, amount, len(state.sizes), applied, _UNROLL)


def _local(state: KernelState, axis: int, amount: int, target: Target, applied: tuple[Opt, ...]) -> KernelState:
    """Split `axis` by `amount`; the inner part becomes a local (work-group) axis.

    before: g[N]            after: g[N // amount], l[amount]
    legal when: amount divides N, axis is global, target has local memory
    also called: bind threadIdx (TVM), gpu_threads (Halide)
    """
    if not target.has_local:
        raise KernelOptError("the target has no work-groups")
    if axis >= state.n_global:
        raise KernelOptError("axis {} is not global", axis)
    return _split_off(state, axis, amount, state.first_reduce, applied, _LOCAL)


def _group(
    state: KernelState, axis: int, amount: int, top: bool, nest: Nest, target: Target, applied: tuple[Opt, ...]
) -> KernelState:
    """Split reduce-loop `axis` by `amount`; one part becomes a group axis: the inner one, or for GROUPTOP the outer.

    before: r[N]            after: G[amount], r[N // amount]
    legal when: amount divides N, axis is a reduce loop, target has shared memory, no tensor core, no two reductions
        share an axis
    also called: cross-thread reduction (TVM), split-K inside a work-group
    """
    if not (target.has_local and target.has_shared):
        raise KernelOptError("the target has no shared memory")
    if axis >= state.first_upcast:
        raise KernelOptError("axis {} is no reduce loop", axis)
    if state.tc is not None:
        raise KernelOptError("a tensor core's reduction cannot be grouped")
    if not nest.can_group:
        raise KernelOptError("two reductions share an axis, so neither can be grouped")
    return _split_off(state, axis, amount, state.first_reduce + state.n_group, applied, _GROUP, top)


def _swap(state: KernelState, axis: int, other: int, applied: tuple[Opt, ...]) -> KernelState:
    """Exchange two global axes.

    before: g[N], g[M]      after: g[M], g[N]
    legal when: both are global, the first comes before the second
    also called: reorder (Halide, TVM)
    """
    if not axis < other < state.n_global:
        raise KernelOptError("SWAP takes two global axes in ascending order, not {} and {}", axis, other)
    sizes, ids = list(state.sizes), list(state.ids)
    sizes[axis], sizes[other] = sizes[other], sizes[axis]
    ids[axis], ids[other] = ids[other], ids[axis]
    return state.replaced(sizes=tuple(sizes), ids=tuple(ids), opts=applied)


def _pad_to(state: KernelState, axis: int, amount: int, nest: Nest, applied: tuple[Opt, ...]) -> KernelState:
    """Grow `axis` to the next multiple of `amount`; what is beyond counts for nothing.

    before: g[N]            after: g[ceil(N / amount) * amount]
    legal when: no variables in the kernel, axis is not upcast, N > amount // 4, N is no multiple of amount; for a
        reduced axis: the first reduction is a sum and nothing below it makes something of 0
    also called: pad_einsum (TVM), predicated or masked tail
    """
    if nest.has_variables:
        raise KernelOptError("a kernel with dynamic sizes cannot be padded")
    if axis >= state.first_upcast:
        raise KernelOptError("axis {} is upcast already", axis)
    if axis >= state.first_reduce and not nest.can_pad_reduce:
        raise KernelOptError("padding axis {} would change what is reduced", axis)
    size = state.sizes[axis]
    assert isinstance(size, int)
    if size <= amount // 4:
        raise KernelOptError("padding {} to {} would more than quadruple it", size, amount)
    padded = -(-size // amount) * amount
    if padded == size:
        raise KernelOptError("{} is a multiple of {} already", size, amount)
    number = state.next_id
    rules: Rules = (Pad(state.ids[axis], number, size, padded), state.rules)
    return state.replaced(
        sizes=(*state.sizes[:axis], padded, *state.sizes[axis + 1 :]),
        ids=(*state.ids[:axis], number, *state.ids[axis + 1 :]),
        rules=rules,
        next_id=number + 1,
        opts=applied,
    )


def _no_locals(state: KernelState, opt: Opt, target: Target, applied: tuple[Opt, ...]) -> KernelState:
    """Leave the size of work-groups to the driver.

    before: g[N]            after: the same, with no local size at the launch
    legal when: target has local memory, not applied yet, no local and no group axes
    """
    if opt.axis is not None or opt.arg is not None:
        raise KernelOptError("NOLOCALS takes neither axis nor arg")
    if not target.has_local:
        raise KernelOptError("the target has no work-groups")
    if state.no_locals:
        raise KernelOptError("no locals already")
    if state.n_local or state.n_group:
        raise KernelOptError("there are local or group axes already")
    return state.replaced(no_locals=True, opts=applied)


# The roles that axes are split off to, as their place in the counts.
_LOCAL, _GROUP, _UPCAST, _UNROLL = 1, 2, 4, 5


def _split_off(
    state: KernelState, axis: int, amount: int, place: int, applied: tuple[Opt, ...], role: int, top: bool = False
) -> KernelState:
    """Split `amount` off `axis` to `role`, as the axis before `place`. Taken whole, the axis itself changes its role."""
    sizes, ids = state.sizes, state.ids
    n_global, n_local, n_group, n_reduce = state.n_global, state.n_local, state.n_group, state.n_reduce
    rules, next_id = state.rules, state.next_id
    size = sizes[axis]
    if size == amount:
        sizes = _moved(sizes, axis, (), place, amount)
        ids = _moved(ids, axis, (), place, ids[axis])
        if axis < n_global:
            n_global -= 1
        elif axis < n_global + n_local:
            n_local -= 1
        elif axis < n_global + n_local + n_group:
            n_group -= 1
        else:
            n_reduce -= 1
    else:
        rest = size // amount  # type: ignore[operator]  # checked to be an integer by _amount
        outer, inner = next_id, next_id + 1
        stays, moves = (inner, outer) if top else (outer, inner)
        sizes = _moved(sizes, axis, (rest,), place, amount)
        outer_size, inner_size = (amount, rest) if top else (rest, amount)
        rule = Split(ids[axis], outer, inner, outer_size, inner_size, ids)
        ids = _moved(ids, axis, (stays,), place, moves)
        rules = (rule, rules)
        next_id += 2
    unrolled = state.unrolled
    if role == _UPCAST:
        unrolled = (*unrolled, False)
    elif role == _UNROLL:
        unrolled = (*unrolled, True)
    elif role == _LOCAL:
        n_local += 1
    else:
        n_group += 1
    return KernelState(
        sizes, ids, n_global, n_local, n_group, n_reduce, unrolled, rules, next_id, state.no_locals, state.tc, applied
    )


_T = TypeVar("_T")


def _moved(values: tuple[_T, ...], axis: int, stays: tuple[_T, ...], place: int, moves: _T) -> tuple[_T, ...]:
    """`values` with `stays` in place of the one at `axis`, and `moves` put before the one at `place`."""
    if place <= axis:
        return (*values[:place], moves, *values[place:axis], *stays, *values[axis + 1 :])
    return (*values[:axis], *stays, *values[axis + 1 : place], moves, *values[place:])
