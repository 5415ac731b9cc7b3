"""What each node of a kernel depends on: which of the axes that Opts have made change its value.

A load depends on the axes in its position and its validity, an elementwise node on those of its sources, a reduction on
those of its source but for the ones that it reduces. A value is computed once for each combination of the upcast axes
that it depends on, inside the loops that it depends on and outside of all others.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.index import Atom, Index, axes_in, product, substitute
from kernels.index_rules import floordiv
from kernels.ir import ReduceArg
from kernels.nest import Nest, Row
from kernels.ops import Ops
from kernels.state import KernelState, Padding, carried, nest_axes
from kernels.validity import Validity
from kernels.view_stack import Location


@dataclass(frozen=True, slots=True)
class Reduction:
    """A REDUCE_AXIS on the state's axes, by id: its reduce loops, group axes and unroll axes.

    Axes that it reduces but on which its source does not change are none of these: `repeats` says how many times each
    value counts for them. paddings: what must hold for an element to count.
    """

    node: int
    op: Ops
    loops: tuple[int, ...]
    groups: tuple[int, ...]
    unrolls: tuple[int, ...]
    paddings: Validity
    repeats: Index


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
    values, paddings = nest_axes(state, nest.sizes)
    roots = carried(state, tuple(range(len(nest.sizes))))
    nodes = nest.ast.nodes
    axes: list[frozenset[int]] = []
    locations: dict[int, Location] = {}
    reductions: dict[int, Reduction] = {}
    stored: dict[int, frozenset[int]] = {}
    rows = {access.node: access.row for access in nest.accesses}
    for number, node in enumerate(nodes):
        if number in rows:
            location = _located(rows[number], node.op, values, paddings)
            locations[number] = location
            own = frozenset(axes_in(location.position)) | frozenset(location.validity.axes)
            if node.op is Ops.STORE:
                stored[number] = frozenset(axis for axis in state.ids if rows[number].spans[roots[axis]])
                own |= axes[node.src[2]] | stored[number]
            elif node.op is not Ops.LOAD and node.op is not Ops.VALID:
                own = frozenset()
            axes.append(own)
        elif node.op is Ops.REDUCE_AXIS:
            reduced = _reduced(state, nest, number, roots, axes[node.src[0]])
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


def _located(row: Row, op: Ops, values: dict[Atom, Index], paddings: tuple[Padding, ...]) -> Location:
    """Where `row` goes over the state's axes. Padding is not valid, but on axes along which the row does not move.

    A store is not done in any padding; a VALID tells of its view alone.
    """
    validity = row.location.validity.substitute(values)
    if paddings and op is not Ops.VALID:
        moving = axes_in(row.location.position) | row.location.validity.axes
        for padding in paddings:
            if row.spans[padding.axis] and (op is Ops.STORE or padding.axis in moving):
                validity = validity.restrict(padding.position, 0, padding.size - 1)
    return Location(substitute(row.location.position, values), validity)


def _reduced(
    state: KernelState, nest: Nest, node: int, roots: dict[int, int], source: frozenset[int]
) -> frozenset[int]:
    """The ids of the axes that reduction number `node` reduces, those left out on which its source does not change."""
    spans = nest.spans[nest.ast.nodes[node].src[0]]
    assert spans is not None
    changing = {roots[axis] for axis in source}
    own = {axis for axis in nest.reduced_axes[nest.reduces.index(node)] if spans[axis] and axis in changing}
    return frozenset(axis for axis in state.ids if roots[axis] in own)


def _repeats(nest: Nest, node: int, own_roots: set[int]) -> Index:
    """How many elements of the AST's reduction there are for each one of `own_roots`' (the nest's) axes."""
    shape = nest.ast.shapes[nest.ast.nodes[node].src[0]]
    arg = nest.ast.nodes[node].arg
    assert shape is not None and isinstance(arg, ReduceArg)
    whole = product([shape[axis] for axis in arg.axes])
    return floordiv(whole, product([nest.sizes[axis] for axis in sorted(own_roots)]))


def _reduction(
    state: KernelState,
    nest: Nest,
    node: int,
    reduced: frozenset[int],
    roots: dict[int, int],
    paddings: tuple[Padding, ...],
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
        loops=tuple(
            axis for place, axis in places if axis in reduced and state.first_loop <= place < state.first_upcast
        ),
        groups=tuple(axis for place, axis in places if axis in reduced and place < state.first_loop),
        unrolls=tuple(axis for place, axis in places if axis in reduced and place >= state.first_upcast),
        paddings=real,
        repeats=_repeats(nest, node, own_roots),
    )
