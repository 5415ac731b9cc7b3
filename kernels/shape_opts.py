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

_PADTO, _SWAP, _UNROLL, _GROUP, _GROUPTOP, _LOCAL, _UPCAST = (
    OptOps.PADTO, OptOps.SWAP, OptOps.UNROLL, OptOps.GROUP, OptOps.GROUPTOP, OptOps.LOCAL, OptOps.UPCAST,
)  # fmt: skip


def shape_opt(state: KernelState, opt: Opt, nest: Nest, target: Target) -> KernelState:
    """The state after any Opt but TC, appended to its opts. Raises KernelOptError where it is not legal."""
    op, axis, arg = opt.op, opt.axis, opt.arg
    if op is OptOps.NOLOCALS:
        return _no_locals(state, opt, target)
    if type(axis) is not int or axis < 0 or type(arg) is not int or arg < 0:
        raise KernelOptError("{} takes an axis and an amount >= 0, not {} and {}", op, axis, arg)
    if op is _UNROLL:
        axis += state.first_reduce
    elif op is _GROUP or op is _GROUPTOP:
        axis += state.first_loop
    if axis >= len(state.sizes):
        raise KernelOptError("axis {} is counted, and there are {}", axis, len(state.sizes))
    if op is _SWAP:
        return _swap(state, opt, axis, arg, nest, target)
    size = state.sizes[axis]
    if type(size) is not int:
        raise KernelOptError("the size of axis {} is not fixed: {}", axis, size)
    amount = arg or size
    if amount < 2:
        raise KernelOptError("an amount of {} changes nothing", amount)
    if op is _PADTO:
        return _pad_to(state, opt, axis, amount, nest)
    if size % amount:
        raise KernelOptError("{} does not divide the size {} of axis {}", amount, size, axis)
    if not nest.can_split:
        raise KernelOptError("a mask may or may not end where its dynamic axis does")
    if op is _UPCAST:
        return _upcast(state, opt, axis, amount, nest, target)
    if op is _UNROLL:
        return _unroll(state, opt, axis, amount, nest, target)
    if op is _LOCAL:
        return _local(state, opt, axis, amount, nest, target)
    if op is _GROUP or op is _GROUPTOP:
        return _group(state, opt, axis, amount, nest, target)
    raise KernelOptError("unknown Opt {}", op)


def _check_shared_memory(state: KernelState, amount: int, nest: Nest, target: Target) -> None:
    """Partial results of a grouped reduction must fit the target's shared memory."""
    sizes = state.sizes
    needed = amount * nest.reduce_itemsize
    for size in sizes[state.n_global : state.first_loop]:
        needed *= size  # type: ignore[assignment]  # only plain integers are ever split off
    for size, unrolled in zip(sizes[state.first_upcast :], state.unrolled, strict=True):
        if not unrolled:
            needed *= size  # type: ignore[assignment]
    if needed > target.shared_max:
        raise KernelOptError("{} bytes of shared memory, and the target has {}", needed, target.shared_max)


def _check_shared_memory_of_groups(state: KernelState, amount: int, nest: Nest, target: Target) -> None:
    """Once there is a group axis, any further split counts against the shared memory."""
    if state.first_loop > state.first_reduce:
        _check_shared_memory(state, amount, nest, target)


def _upcast(state: KernelState, opt: Opt, axis: int, amount: int, nest: Nest, target: Target) -> KernelState:
    """Split `axis` by `amount`; the inner part becomes an upcast axis.

    before: g[N]            after: g[N // amount], ..., u[amount]
    legal when: amount divides N and is at most 16, axis is global or local and none of a tensor core's lanes
    also called: vectorize, register tile (Halide: vectorize or unroll of an outer loop)
    """
    if axis >= state.first_reduce:
        raise KernelOptError("axis {} is reduced, and UPCAST takes one that is not", axis)
    if amount > UPCAST_MAX:
        raise KernelOptError("an upcast by {} is above {}", amount, UPCAST_MAX)
    if state.tc is not None and state.n_global <= axis < state.n_global + state.tc.core.lane_splits:
        raise KernelOptError("axis {} is a lane of the tensor core", axis)
    _check_shared_memory_of_groups(state, amount, nest, target)
    return _split_off(state, opt, axis, amount, len(state.sizes))


def _unroll(state: KernelState, opt: Opt, axis: int, amount: int, nest: Nest, target: Target) -> KernelState:
    """Split reduced `axis` by `amount`; the inner part becomes an unroll axis.

    before: r[N]            after: r[N // amount], ..., n[amount]
    legal when: amount divides N and is at most 32, axis is a group or reduce-loop axis
    also called: unroll (Halide, TVM)
    """
    if axis >= state.first_upcast:
        raise KernelOptError("axis {} is upcast already", axis)
    if amount > UNROLL_MAX:
        raise KernelOptError("an unroll by {} is above {}", amount, UNROLL_MAX)
    _check_shared_memory_of_groups(state, amount, nest, target)
    return _split_off(state, opt, axis, amount, len(state.sizes))


def _local(state: KernelState, opt: Opt, axis: int, amount: int, nest: Nest, target: Target) -> KernelState:
    """Split `axis` by `amount`; the inner part becomes a local (work-group) axis.

    before: g[N]            after: g[N // amount], l[amount]
    legal when: amount divides N, axis is global, target has local memory
    also called: bind threadIdx (TVM), gpu_threads (Halide)
    """
    if state.no_locals:
        raise KernelOptError("after NOLOCALS there are no local axes")
    if not target.has_local:
        raise KernelOptError("the target has no work-groups")
    if axis >= state.n_global:
        raise KernelOptError("axis {} is not global", axis)
    _check_shared_memory_of_groups(state, amount, nest, target)
    return _split_off(state, opt, axis, amount, state.first_reduce)


def _group(state: KernelState, opt: Opt, axis: int, amount: int, nest: Nest, target: Target) -> KernelState:
    """Split reduce-loop `axis` by `amount`; one part becomes a group axis: the inner one, or for GROUPTOP the outer.

    before: r[N]            after: G[amount], r[N // amount]
    legal when: amount divides N, axis is a reduce loop, target has shared memory, no tensor core, no two reductions
        share an axis
    also called: cross-thread reduction (TVM), split-K inside a work-group
    """
    if state.no_locals:
        raise KernelOptError("after NOLOCALS there are no group axes")
    if not (target.has_local and target.has_shared):
        raise KernelOptError("the target has no shared memory")
    if axis >= state.first_upcast:
        raise KernelOptError("axis {} is no reduce loop", axis)
    if state.tc is not None:
        raise KernelOptError("a tensor core's reduction cannot be grouped")
    if not nest.can_group:
        raise KernelOptError("two reductions share an axis, so neither can be grouped")
    _check_shared_memory(state, amount, nest, target)
    return _split_off(state, opt, axis, amount, state.first_loop)


def _swap(state: KernelState, opt: Opt, axis: int, other: int, nest: Nest, target: Target) -> KernelState:
    """Exchange two global axes.

    before: g[N], g[M]      after: g[M], g[N]
    legal when: both are global, the first comes before the second
    also called: reorder (Halide, TVM)
    """
    if not axis < other < state.n_global:
        raise KernelOptError("SWAP takes two global axes in ascending order, not {} and {}", axis, other)
    _check_shared_memory_of_groups(state, other, nest, target)
    sizes, ids = list(state.sizes), list(state.ids)
    sizes[axis], sizes[other] = sizes[other], sizes[axis]
    ids[axis], ids[other] = ids[other], ids[axis]
    return state.replaced(sizes=tuple(sizes), ids=tuple(ids), opts=(*state.opts, opt))


def _pad_to(state: KernelState, opt: Opt, axis: int, amount: int, nest: Nest) -> KernelState:
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
        opts=(*state.opts, opt),
    )


def _no_locals(state: KernelState, opt: Opt, target: Target) -> KernelState:
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
    return state.replaced(no_locals=True, opts=(*state.opts, opt))


def _split_off(state: KernelState, opt: Opt, axis: int, amount: int, place: int) -> KernelState:
    """Split `amount` off `axis`, as the axis before `place`. Taken whole, the axis itself changes its role."""
    op, sizes, ids = opt.op, state.sizes, state.ids
    n_global, first_reduce, first_loop, first_upcast = (
        state.n_global, state.first_reduce, state.first_loop, state.first_upcast,
    )  # fmt: skip
    rules, next_id, unrolled = state.rules, state.next_id, state.unrolled
    size = sizes[axis]
    if size == amount:
        sizes = _moved(sizes, axis, (), place, amount)
        ids = _moved(ids, axis, (), place, ids[axis])
        # one axis less in the run that it was in, so every later run begins one earlier
        n_global -= axis < n_global
        first_reduce -= axis < first_reduce
        first_loop -= axis < first_loop
        first_upcast -= 1
    else:
        rest = size // amount  # type: ignore[operator]  # checked to be an integer by shape_opt
        outer, inner = next_id, next_id + 1
        if op is _GROUPTOP:
            rule = Split(ids[axis], outer, inner, amount, rest, ids)
            ids = _moved(ids, axis, (inner,), place, outer)
        else:
            rule = Split(ids[axis], outer, inner, rest, amount, ids)
            ids = _moved(ids, axis, (outer,), place, inner)
        sizes = _moved(sizes, axis, (rest,), place, amount)
        rules = (rule, rules)
        next_id += 2
    if op is _UPCAST:
        unrolled = (*unrolled, False)
    elif op is _UNROLL:
        unrolled = (*unrolled, True)
    else:
        first_reduce += op is _LOCAL
        first_loop += 1
        first_upcast += 1
    return KernelState(
        sizes, ids, n_global, first_reduce, first_loop, first_upcast, unrolled, rules, next_id, state.no_locals,
        state.tc, (*state.opts, opt),
    )  # fmt: skip


_T = TypeVar("_T")


def _moved(values: tuple[_T, ...], axis: int, stays: tuple[_T, ...], place: int, moves: _T) -> tuple[_T, ...]:
    """`values` with `stays` in place of the one at `axis`, and `moves` put before the one at `place`."""
    if place <= axis:
        return (*values[:place], moves, *values[place:axis], *stays, *values[axis + 1 :])
    return (*values[:axis], *stays, *values[axis + 1 : place], moves, *values[place:])
