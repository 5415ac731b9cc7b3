"""TC: shape a kernel for a tensor core, where its first reduction is a matrix product that one can do.

before: g[M], g[N], r[K]    after: g[M / 16], g[N / 8], l[2] x 5, r[K / k], n[2] x log2(k), u[2] x 2
legal when: it is the first Opt and the sum of products has axes that one core's tile fits (see match)
also called: tensorize (TVM), warp matrix multiply
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from kernels.errors import KernelOptError
from kernels.ir import Ast, Node, ReduceArg
from kernels.nest import Nest
from kernels.ops import Ops
from kernels.opt import Opt, OptOps, is_integer
from kernels.rows import row_strides
from kernels.shape_opts import shape_opt
from kernels.state import KernelState, MatrixProduct, TensorCoreUse
from kernels.target import Target
from kernels.tensor_cores import TensorCore


@dataclass(frozen=True, slots=True)
class Match:
    """A way to use a core: the places of N, M and K, and which of them must be padded to what."""

    axes: tuple[int, int, int]
    pads: tuple[tuple[int, int], ...]


def apply_tensor_core(state: KernelState, opt: Opt, nest: Nest, target: Target) -> KernelState:
    """The state shaped for the first core that fits (or the one named). Raises KernelOptError where none does."""
    if state.opts:
        raise KernelOptError("TC must be the first Opt")
    select, level = _arguments(opt, target)
    if not nest.reduces or _reduce_op(nest.ast, nest.reduces[0]) is not Ops.ADD:
        raise KernelOptError("a tensor core needs a sum of products")
    axis = opt.axis
    assert axis is not None
    for core in target.tensor_cores if select == -1 else (target.tensor_cores[select],):
        found = {_match(state, nest, node, core, axis, level) for node in nest.reduces}
        if len(found) != 1:
            raise KernelOptError("the reductions do not agree on one use of {}", core.name)
        match = found.pop()
        if match is None:
            continue
        try:
            for pad_axis, size in match.pads:
                axis = pad_axis
                state = shape_opt(state, Opt(OptOps.PADTO, pad_axis, size), nest, target)
        except KernelOptError:
            # As in tinygrad 0.10.2: the next core is tried on the axes as they are now, counted by the refused axis.
            continue
        if match.axes[0] == match.axes[1]:
            raise KernelOptError("axis {} would be both N and M", match.axes[0])
        products = tuple(MatrixProduct(node, *_found_operands(nest.ast, node, core, level)) for node in nest.reduces)
        return _shape(state, match, core, products, nest, target)
    raise KernelOptError("no tensor core fits")


def _arguments(opt: Opt, target: Target) -> tuple[int, int]:
    """(select, level), checked. A core's number must be the target's; the axis counts triples of axes from the last."""
    if not is_integer(opt.axis) or opt.axis is None or opt.axis < 0:
        raise KernelOptError("TC takes an axis >= 0, not {}", opt.axis)
    arg: object = opt.arg
    if not (isinstance(arg, tuple) and len(arg) == 2 and all(is_integer(part) for part in arg)):
        raise KernelOptError("TC takes a pair (core, option), not {}", arg)
    select, level = arg
    if not target.tensor_cores or not -1 <= select < len(target.tensor_cores):
        raise KernelOptError("the target has {} tensor cores, so no number {}", len(target.tensor_cores), select)
    if not 0 <= level <= 2:
        raise KernelOptError("TC's option is 0, 1 or 2, not {}", level)
    if target.tc_mode == 0:
        raise KernelOptError("tensor cores are switched off (tc_mode 0)")
    return select, level


def _reduce_op(ast: Ast, node: int) -> Ops:
    arg = ast.nodes[node].arg
    assert isinstance(arg, ReduceArg)
    return arg.op


def _match(state: KernelState, nest: Nest, reduce: int, core: TensorCore, axis: int, level: int) -> Match | None:
    """How reduction number `reduce` can use `core`, or None.

    N is an axis on which A has stride 0, M one on which B has, K a reduced one. Of all (N, M, K) in lexicographic
    order, `axis` counts from the last. level 0 takes exact sizes and one reduced axis, 1 several and loads behind a
    cast, 2 pads as well.
    """
    loads = _operands(nest.ast, reduce, core, level)
    if loads is None:
        return None
    strides_a, strides_b = (row_strides(state, nest, nest.access_of(load).row) for load in loads)
    first_reduce, end = state.first_reduce, len(state.sizes)
    n_axes = [i for i in range(first_reduce) if strides_a[i] == 0]
    m_axes = [i for i in range(first_reduce) if strides_b[i] == 0]
    if not n_axes or not m_axes or (level == 0 and end - first_reduce != 1):
        return None
    triples = list(product(n_axes, m_axes, range(first_reduce, end)))
    if axis >= len(triples):
        return None
    axes = triples[-1 - axis]
    sizes = [state.sizes[place] for place in axes]
    pads = tuple(
        (place, dim) for place, size, dim in zip(axes, sizes, core.dims, strict=True)
        if not isinstance(size, int) or size % dim
    )  # fmt: skip
    return Match(axes, pads) if level == 2 or not pads else None


def _found_operands(ast: Ast, reduce: int, core: TensorCore, level: int) -> tuple[int, int]:
    loads = _operands(ast, reduce, core, level)
    assert loads is not None
    return loads


def _operands(ast: Ast, reduce: int, core: TensorCore, level: int) -> tuple[int, int] | None:
    """The node numbers of the two loads that are multiplied, if the reduction is the sum that `core` computes."""
    node = ast.nodes[reduce]
    if _reduce_op(ast, reduce) is not Ops.ADD:
        return None
    value = ast.nodes[node.src[0]]
    if core.dtype_in is not core.dtype_out:
        if value.op is not Ops.CAST or value.dtype is not core.dtype_out:
            return None
        value = ast.nodes[value.src[0]]
    if value.op is not Ops.MUL:
        return None
    loads = tuple(_operand(ast, source, core, level) for source in value.src)
    return (loads[0], loads[1]) if loads[0] is not None and loads[1] is not None else None


def _operand(ast: Ast, number: int, core: TensorCore, level: int) -> int | None:
    node: Node = ast.nodes[number]
    if node.dtype is not core.dtype_in:
        return None
    if node.op is Ops.CAST and level >= 1:
        number = node.src[0]
        node = ast.nodes[number]
    return number if node.op is Ops.LOAD else None


def _shape(
    state: KernelState,
    match: Match,
    core: TensorCore,
    products: tuple[MatrixProduct, ...],
    nest: Nest,
    target: Target,
) -> KernelState:
    """Split the tile off: K first, then what the core's table says. N and M are followed as axes vanish."""
    n, m, k = match.axes
    places: list[int | None] = [n, m]
    unrolls: list[int] = []
    upcasts: list[int] = []
    for _ in range(core.k_splits):
        state = shape_opt(state, Opt(OptOps.UNROLL, k - state.first_reduce, 2), nest, target)
        unrolls.append(state.ids[-1])
    for split in core.splits:
        place = places[int(split[1])]
        assert place is not None
        whole = state.sizes[place] == 2
        op = OptOps.LOCAL if split[0] == "l" else OptOps.UPCAST
        state = shape_opt(state, Opt(op, place, 2), nest, target)
        if op is OptOps.UPCAST:
            upcasts.append(state.ids[-1])
        if whole:
            places = [follow(p, place) for p in places]
    lanes = state.ids[state.n_global : state.n_global + core.lane_splits]
    left = tuple(None if place is None else state.ids[place] for place in places)
    use = TensorCoreUse(core, products, left[0], left[1], lanes, tuple(unrolls), tuple(upcasts))
    return state.replaced(tc=use)


def follow(place: int | None, removed: int) -> int | None:
    """Where an axis at `place` is after the one at `removed` has gone; None if it was that one."""
    if place is None or place == removed:
        return None
    return place - (place > removed)
