"""Which children of a kernel are tried first. A few rules of thumb, to be replaced by a model of the device.

Kinds of Opt take turns in a pattern; within a kind, amounts near a preferred one come first, and axes along which
memory is contiguous before others. Where a device profits from vectors, upcasts by their width come first of all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log2
from typing import TypeAlias

from kernels import Opt, OptOps
from kernels.ops import Ops
from kernels.rows import row_strides
from search.candidate import Candidate

#: Puts a kernel's children in the order in which they are tried. Must be a function of its arguments alone.
Ranking: TypeAlias = Callable[[Candidate, Sequence[Candidate]], list[Candidate]]

_UPCAST, _UNROLL, _LOCAL, _GROUP, _GROUPTOP, _PADTO = (
    OptOps.UPCAST, OptOps.UNROLL, OptOps.LOCAL, OptOps.GROUP, OptOps.GROUPTOP, OptOps.PADTO,
)  # fmt: skip
#: The turns of the kinds: where arithmetic profits from vectors, and where work-groups are what counts.
_VECTOR_TURNS = (
    OptOps.TC, _UPCAST, _LOCAL, _UPCAST, _UNROLL, _PADTO, _UPCAST, _GROUP, _LOCAL, OptOps.SWAP, _UNROLL, _GROUPTOP,
    OptOps.NOLOCALS,
)  # fmt: skip
_SCALAR_TURNS = (
    OptOps.TC, _LOCAL, _UPCAST, _GROUP, _UNROLL, _LOCAL, _PADTO, _GROUPTOP, _UPCAST, OptOps.SWAP, OptOps.NOLOCALS,
)  # fmt: skip
_PREFERRED = {_UPCAST: 4, _UNROLL: 4, _LOCAL: 16, _GROUP: 16, _GROUPTOP: 16, _PADTO: 16}
#: How far an axis without contiguous memory stands back: as much as half an octave of the amount.
_STEP_BACK = 0.5


def ranked(parent: Candidate, children: Sequence[Candidate]) -> list[Candidate]:
    """The children, what is most likely to pay first; each has one Opt more than the parent."""
    target = parent.kernel.target
    contiguous = _contiguous_axes(parent)
    width = max((width for _, width in target.vector_widths), default=1)
    queues: dict[OptOps, list[Candidate]] = {}
    for child in sorted(children, key=lambda child: (_distance(child.opts[-1], parent, contiguous, width),
                                                     child.opts[-1])):  # fmt: skip
        queues.setdefault(child.opts[-1].op, []).append(child)
    turns = _VECTOR_TURNS if width > 1 else _SCALAR_TURNS
    order: list[Candidate] = []
    places = dict.fromkeys(queues, 0)
    while len(order) < len(children):
        for kind in turns:
            place = places.get(kind, 0)
            if place < len(queues.get(kind, ())):
                order.append(queues[kind][place])
                places[kind] = place + 1
    return order


def _contiguous_axes(parent: Candidate) -> frozenset[int]:
    """Places of axes along which some load or store goes from element to element."""
    kernel = parent.kernel
    nodes = kernel.ast.nodes
    rows = [access.row for access in kernel.nest.accesses if nodes[access.node].op in (Ops.LOAD, Ops.STORE)]
    strides = [row_strides(kernel.state, kernel.nest, row) for row in rows]
    return frozenset(axis for own in strides for axis, stride in enumerate(own) if stride == 1)


def _distance(opt: Opt, parent: Candidate, contiguous: frozenset[int], width: int) -> float:
    """How far an Opt is from what its kind's best is thought to be."""
    state = parent.kernel.state
    preferred = _PREFERRED.get(opt.op)
    if preferred is None or opt.axis is None or not isinstance(opt.arg, int):
        return 0.0
    counted_from = {_UNROLL: state.first_reduce, _GROUP: state.first_loop, _GROUPTOP: state.first_loop}.get(opt.op, 0)
    axis = opt.axis + counted_from
    size = state.sizes[axis]
    assert isinstance(size, int)  # others cannot be split, so no child came of it
    beside = axis in contiguous
    if opt.op is _UPCAST and beside and width > 1:
        preferred = width
    return abs(log2((opt.arg or size) / preferred)) + (0.0 if beside else _STEP_BACK)
