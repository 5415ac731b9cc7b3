"""Unrolling a reduce loop further than the Opts say, where that makes vectors of what is scalar.

A loop over elements that lie side by side is worth nothing to a target with vector arithmetic until some of its
iterations are lanes. Opts decide the launch and what a work-item does; inside that, this splits up to 16 lanes off.
"""

from __future__ import annotations

from math import prod

from kernels.errors import KernelOptError
from kernels.lowering.dependence import Dependence, dependence_of
from kernels.lowering.lanes import SCALAR, WIDEST, choose_lanes, lane_strides
from kernels.nest import Nest
from kernels.ops import Ops
from kernels.opt import Opt, OptOps
from kernels.shape_opts import shape_opt
from kernels.state import KernelState
from kernels.target import Target

#: The most lanes, upcast and unrolled, that widening leads to: more registers than these only spill.
_LANES_MAX = 256


def widened(state: KernelState, nest: Nest, target: Target) -> KernelState:
    """`state` with lanes split off a reduce loop where that gives vectors, or wider ones; else `state` itself."""
    if state.first_loop == state.first_upcast or state.tc is not None:
        return state
    dependence = dependence_of(state, nest)
    chosen = choose_lanes(dependence, nest, True)
    own = all(any(axis in reduction.unrolls for reduction in dependence.reductions.values()) for axis in chosen.axes)
    if not own or chosen.width >= WIDEST:
        return state
    lanes = prod(dependence.lanes.values())
    masked = frozenset().union(*(location.validity.axes for location in dependence.locations.values()))
    for axis in _contiguous_loops(dependence, nest, chosen.width):
        # two lanes of which one may be invalid are put together from guarded loads: nothing is gained
        for amount in (16, 8, 4) if axis in masked else (16, 8, 4, 2):
            if chosen.width * amount > WIDEST or lanes * amount > _LANES_MAX:
                continue
            candidate = _unrolled(state, nest, target, axis, amount)
            if candidate is not None:
                wider = choose_lanes(dependence_of(candidate, nest), nest, True)
                if wider is not SCALAR and wider.width > chosen.width:
                    return candidate
    return state


def _contiguous_loops(dependence: Dependence, nest: Nest, stride: int) -> list[int]:
    """The loops along which some load takes steps of `stride` elements; any loop that no load depends on."""
    found: list[int] = []
    loads = [node for node in dependence.locations if nest.ast.nodes[node].op is Ops.LOAD]
    for node in loads:
        strides = lane_strides(dependence.locations[node].position, _loops_as_lanes(dependence))
        found += [axis for axis, own in strides.items() if own == stride and axis not in found]
    loaded = frozenset().union(*(dependence.axes[node] for node in loads))
    return found + [axis for axis in dependence.loops if axis not in loaded]


def _loops_as_lanes(dependence: Dependence) -> Dependence:
    loops = {axis: size for axis, size in dependence.loops.items() if isinstance(size, int)}
    return Dependence(dependence.axes, dependence.locations, dependence.reductions, loops, {}, dependence.stored)


def _unrolled(state: KernelState, nest: Nest, target: Target, axis: int, amount: int) -> KernelState | None:
    place = state.ids.index(axis) - state.first_reduce
    try:
        return shape_opt(state, Opt(OptOps.UNROLL, place, amount), nest, target)
    except KernelOptError:
        return None
