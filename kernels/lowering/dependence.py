"""What each node of a kernel depends on: which of the axes that Opts have made change its value.

A load depends on the axes in its position and its validity, an elementwise node on those of its sources, a reduction on
those of its source but for the ones that it reduces. A value is computed once for each combination of the upcast axes
that it depends on, inside the loops that it depends on and outside of all others.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.index import Axis, Index, axes_in
from kernels.ir import ReduceArg
from kernels.nest import Nest
from kernels.ops import ACCESSES, Ops
from kernels.rows import row_location
from kernels.state import KernelState, Padding, carried, nest_axes
from kernels.validity import Validity
from kernels.view_stack import Location


@dataclass(frozen=True, slots=True)
class Reduction:
    """A REDUCE_AXIS on the state's axes, by id: its reduce loops, group axes and unroll axes; padding of any of them.

    paddings: (position, real size) pairs that must hold for an element to count.
    """

    node: int
    op: Ops
    loops: tuple[int, ...]
    groups: tuple[int, ...]
    unrolls: tuple[int, ...]
    paddings: Validity


@dataclass(frozen=True, slots=True)
class Dependence:
    """axes: per node, the ids of the axes that its value depends on. locations: per access node. reductions: by node.

    lanes: the ids of all upcast and unroll axes, in order, with their sizes. loops: likewise of the reduce loops.
    stored: per STORE node, the axes that it has (it is done once, at position 0, of those that it does not have).
    """

    axes: tuple[frozenset[int], ...]
    locations: dict[int, Location]
    reductions: dict[int, Reduction]
    lanes: dict[int, int]
    loops: dict[int, Index]
    stored: dict[int, frozenset[int]]


def dependence_of(state: KernelState, nest: Nest) -> Dependence:
    """The dependences of a kernel's nodes."""
    _, paddings = nest_axes(state, nest.sizes) if state.rules is not None else ({}, ())
    roots = carried(state, tuple(range(len(nest.sizes))))
    nodes = nest.ast.nodes
    axes: list[frozenset[int]] = []
    locations: dict[int, Location] = {}
    reductions: dict[int, Reduction] = {}
    stored: dict[int, frozenset[int]] = {}
    rows = {access.node: access.row for access in nest.accesses}
    for number, node in enumerate(nodes):
        if node.op in ACCESSES and number in rows:
            location = _needed(row_location(state, nest, rows[number]), state, nest, number, paddings)
            locations[number] = location
            own = frozenset(axes_in(location.position)) | frozenset(location.validity.axes)
            if node.op is Ops.STORE:
                stored[number] = frozenset(axis for axis in state.ids if rows[number].spans[roots[axis]])
                own |= axes[node.src[2]] | stored[number]
            elif node.op is not Ops.LOAD and node.op is not Ops.VALID:
                own = frozenset()
            axes.append(own)
        elif node.op is Ops.REDUCE_AXIS:
            reduced = _reduced(state, nest, number, roots)
            reductions[number] = _reduction(state, nest, number, reduced, roots, paddings)
            axes.append(axes[node.src[0]] - reduced)
        else:
            axes.append(frozenset().union(*(axes[source] for source in node.src)))
    lanes = {axis: _plain(size) for axis, size in list(zip(state.ids, state.sizes, strict=True))[state.first_upcast :]}
    loops = dict(list(zip(state.ids, state.sizes, strict=True))[state.first_loop : state.first_upcast])
    return Dependence(tuple(axes), locations, reductions, lanes, loops, stored)


def _plain(size: Index) -> int:
    assert isinstance(size, int)
    return size


def _needed(
    location: Location, state: KernelState, nest: Nest, node: int, paddings: tuple[Padding, ...]
) -> Location:
    """The location with the padding of an axis left out where the access does not move along it: it is the same there."""
    op = nest.ast.nodes[node].op
    if not paddings or op is Ops.STORE:
        return location
    row = nest.access_of(node).row
    moving = axes_in(row.location.position) | row.location.validity.axes
    if op is Ops.VALID:
        moving = set()
    dropped = [padding for padding in paddings if padding.axis not in moving and row.spans[padding.axis]]
    if not dropped:
        return location
    values, _ = nest_axes(state, nest.sizes)
    validity = row.location.validity.substitute(values)
    for padding in paddings:
        if padding.axis in moving and row.spans[padding.axis]:
            validity = validity.restrict(padding.position, 0, padding.size - 1)
    return Location(location.position, validity)


def _reduced(state: KernelState, nest: Nest, node: int, roots: dict[int, int]) -> frozenset[int]:
    """The ids of the axes that reduction number `node` reduces and its source has."""
    nest_node = nest.reduces.index(node)
    spans = nest.spans[nest.ast.nodes[node].src[0]]
    assert spans is not None
    own = {axis for axis in nest.reduced_axes[nest_node] if spans[axis]}
    return frozenset(axis for axis in state.ids if roots[axis] in own)


def _reduction(
    state: KernelState, nest: Nest, node: int, reduced: frozenset[int], roots: dict[int, int], paddings: tuple[Padding, ...]
) -> Reduction:
    arg = nest.ast.nodes[node].arg
    assert isinstance(arg, ReduceArg)
    own_roots = {roots[axis] for axis in reduced}
    real = Validity()
    for padding in paddings:
        if padding.axis in own_roots:
            real = real.restrict(padding.position, 0, padding.size - 1)
    places = list(enumerate(state.ids))
    return Reduction(
        node=node,
        op=arg.op,
        loops=tuple(axis for place, axis in places if axis in reduced and state.first_loop <= place < state.first_upcast),
        groups=tuple(axis for place, axis in places if axis in reduced and place < state.first_loop),
        unrolls=tuple(axis for place, axis in places if axis in reduced and place >= state.first_upcast),
        paddings=real,
    )


def axis_atoms(state: KernelState) -> dict[int, Axis]:
    """The state's axes as index atoms, by id."""
    return {axis: Axis(axis, size) for axis, size in zip(state.ids, state.sizes, strict=True)}
