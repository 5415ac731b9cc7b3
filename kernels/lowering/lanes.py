"""Which upcast axes become the lanes of vector values.

A candidate is a chain of upcast or unroll axes on which some access is contiguous: strides 1, s1, s1*s2, ..., or one
axis alone. Each is scored by the scalar instructions that it would save over all nodes (and those that gathering lanes
one by one would add), a node inside a loop counting more; the best one wins, if it saves anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from kernels.index import Axis, Expr, Index, axes_in
from kernels.lowering.dependence import Dependence
from kernels.nest import Nest
from kernels.ops import ELEMENTWISE, Ops
from kernels.render.opencl import CALLS
from kernels.state import KernelState

#: The widest vector of OpenCL C.
WIDEST = 16
#: How much more a node inside a reduce loop counts than one outside.
_LOOP_WEIGHT = 16.0
#: What putting one element into a vector of so many lanes costs, against one scalar instruction: measured, not counted.
#: Compilers make long chains of insertions of the wide ones.
_GATHER = {2: 1.0, 4: 1.5, 8: 2.5, 16: 3.0}
#: What a call into the mathematical library costs.
_CALL = 10.0


@dataclass(frozen=True, slots=True)
class Lanes:
    """The axes whose iterations are the lanes of a vector, the fastest first, and how many lanes (1: none)."""

    axes: tuple[int, ...]
    width: int


SCALAR = Lanes((), 1)


def choose_lanes(dependence: Dependence, nest: Nest, vectorised: bool) -> Lanes:
    """The best lanes, or SCALAR where vectors do not pay or the target does not want them."""
    if not vectorised or not dependence.lanes:
        return SCALAR
    strides = {node: lane_strides(location.position, dependence) for node, location in dependence.locations.items()
               if nest.ast.nodes[node].op in (Ops.LOAD, Ops.STORE)}  # fmt: skip
    candidates = {prefix for own in strides.values() for prefix in _chains(own, dependence)}
    candidates |= {Lanes((axis,), size) for axis, size in dependence.lanes.items() if size in (4, 8, WIDEST)}
    best, best_score = SCALAR, 0.0
    for candidate in sorted(candidates, key=lambda lanes: (-lanes.width, lanes.axes)):
        if _fits_reductions(candidate, dependence):
            score = _score(candidate, dependence, nest, strides)
            if score > best_score:
                best, best_score = candidate, score
    return best


def lane_strides(position: Index, dependence: Dependence) -> dict[int, int | None]:
    """By upcast axis, the stride of `position` along it: 0 where it does not change, None where it is not linear."""
    result: dict[int, int | None] = {}
    if isinstance(position, Expr):
        for monomial, coefficient in position.terms:
            alone = len(monomial) == 1 and isinstance(monomial[0], Axis)
            for axis in axes_in(Expr(((monomial, coefficient),), 0)):
                if axis in dependence.lanes:
                    result[axis] = coefficient if alone and axis not in result else None
    return result


def _chains(strides: dict[int, int | None], dependence: Dependence) -> list[Lanes]:
    """All prefixes of the contiguous chain of axes that begins with stride 1."""
    found: list[Lanes] = []
    axes: list[int] = []
    width = 1
    while True:
        following = next((axis for axis, stride in strides.items() if stride == width and axis not in axes), None)
        if following is None or width * dependence.lanes[following] > WIDEST:
            return found
        axes.append(following)
        width *= dependence.lanes[following]
        if width & (width - 1) == 0:
            found.append(Lanes(tuple(axes), width))


def _fits_reductions(lanes: Lanes, dependence: Dependence) -> bool:
    """A reduction must have all of the lanes as its own unrolls, or none."""
    own = (sum(axis in reduction.unrolls for axis in lanes.axes) for reduction in dependence.reductions.values())
    return all(count in (0, len(lanes.axes)) for count in own)


def _score(lanes: Lanes, dependence: Dependence, nest: Nest, strides: dict[int, dict[int, int | None]]) -> float:
    total = 0.0
    chosen = set(lanes.axes)
    nodes = nest.ast.nodes
    # a product that is summed up is one multiply-add with the sum
    products = {nodes[number].src[0] for number in dependence.reductions if nodes[nodes[number].src[0]].op is Ops.MUL}
    for number, node in enumerate(nest.ast.nodes):
        own = dependence.axes[number]
        count, weight = _count(own, dependence), _weight(own, dependence)
        touched = len(chosen & own)
        if touched == 0:
            continue
        saved = count * (1 - 1 / lanes.width)
        if number in strides:
            contiguous = touched == len(chosen) and is_contiguous(lanes, strides[number], dependence)
            total += weight * (saved if contiguous else -_GATHER[lanes.width] * count)
        elif node.op in ELEMENTWISE and number not in products:
            total += weight * saved * (_CALL if node.op in CALLS else 1.0)
    for reduction in dependence.reductions.values():
        source = dependence.axes[nest.ast.nodes[reduction.node].src[0]]
        if source.isdisjoint(chosen):
            continue
        total += _weight(source, dependence) * _count(source, dependence) * (1 - 1 / lanes.width)
        if chosen <= set(reduction.unrolls):
            # each accumulator's own lanes are added up in the end
            total -= lanes.width * _count(dependence.axes[reduction.node], dependence)
    return total


def _count(axes: frozenset[int], dependence: Dependence) -> int:
    """How many upcast positions a value that depends on `axes` has."""
    return prod(dependence.lanes[axis] for axis in axes if axis in dependence.lanes)


def _weight(axes: frozenset[int], dependence: Dependence) -> float:
    return _LOOP_WEIGHT if any(axis in dependence.loops for axis in axes) else 1.0


def is_contiguous(lanes: Lanes, strides: dict[int, int | None], dependence: Dependence) -> bool:
    """True if consecutive lanes are consecutive elements."""
    width = 1
    for axis in lanes.axes:
        if strides.get(axis, 0) != width:
            return False
        width *= dependence.lanes[axis]
    return True


def local_order(state: KernelState, dependence: Dependence, nest: Nest, lanes: Lanes) -> tuple[int, ...]:
    """The places of the local and group axes, the one that becomes the launch's x last.

    A CPU's driver makes vectors of neighbouring work-items along x: for scalar code that is the axis along which most
    accesses are contiguous. Code that has vectors of its own is only disturbed by that: x is then the first local axis.
    """
    places = range(state.n_global, state.first_loop)
    if lanes.width > 1:
        return tuple(reversed(places))
    nearness: dict[int, list[int]] = {place: [] for place in places}
    for node, location in dependence.locations.items():
        if nest.ast.nodes[node].op not in (Ops.LOAD, Ops.STORE) or not isinstance(location.position, Expr):
            continue
        strides = {m[0]: abs(c) for m, c in location.position.terms if len(m) == 1}
        for place in places:
            stride = strides.get(Axis(state.ids[place], state.sizes[place]))
            if stride is not None:
                nearness[place].append(stride)
    # with no loop before the barrier, what comes after it is most of the work: whole rows of x then have nothing to do
    groups_last = not dependence.loops
    outer = {place: groups_last and place >= state.first_reduce for place in places}
    return tuple(sorted(places, key=lambda place: (not outer[place], -min(nearness[place], default=1 << 62), place)))
