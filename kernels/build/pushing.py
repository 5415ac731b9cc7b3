"""Movements of computed values: there is no such node, so they are pushed down to the accesses.

An elementwise operation moves by moving its sources. A reduction does not: its axes are the kernel's, and what follows
it is computed on the same axes. Padding is where a movement makes elements of its own: those have a value of their own
choice, whatever the expression would compute from the zeros that padded loads give.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from kernels import movement
from kernels.build.errors import BuildError
from kernels.build.terms import Scalar, Term, apply, constant, post_order, valid
from kernels.ir import Views
from kernels.ops import Ops
from kernels.quote import quote_shape

Movement = Callable[[Views], Views]

_DIVISIONS = frozenset({Ops.IDIV, Ops.MOD})


def moved(term: Term, move: Movement) -> Term:
    """`term` on the axes that `move` makes. Raises ViewError where it does not fit, BuildError for a reduced value."""
    return _pushed(term, move, None)


def padded(term: Term, amounts: movement.Pairs, fill: Scalar) -> Term:
    """`term` with each axis longer by (before, after) elements that are `fill`. Raises as `moved` does."""
    move = partial(movement.pad, amounts=amounts)
    inside = valid(move(movement.broadcast(term.shape)))
    if inside.shape == term.shape:
        return term
    outside = constant(fill, term.dtype, inside.shape)
    if term.op in (Ops.LOAD, Ops.VALID) and fill == 0 and math.copysign(1, fill) > 0:
        return _moved_access(term, move)
    return apply(Ops.WHERE, inside, _pushed(term, move, inside), outside)


def aligned(terms: Sequence[Term]) -> list[Term]:
    """The terms on one shape, as numpy broadcasts: axes are counted from the last, size 1 or none is repeated.

    Raises BuildError where shapes do not fit, or where a reduced value would have to be repeated.
    """
    rank = max(len(term.shape) for term in terms)
    shapes = [(1,) * (rank - len(term.shape)) + term.shape for term in terms]
    sizes = [{size for size in along if size != 1} or {1} for along in zip(*shapes, strict=True)]
    if any(len(found) > 1 for found in sizes):
        raise BuildError(f"shapes that do not fit together: {', '.join(quote_shape(term.shape) for term in terms)}")
    full = tuple(found.pop() for found in sizes)
    result = []
    for term, shape in zip(terms, shapes, strict=True):
        if term.shape != full:
            ranked = term if term.shape == shape else moved(term, partial(movement.reshape, shape=shape))
            term = ranked if shape == full else moved(ranked, partial(movement.expand, shape=full))
        result.append(term)
    return result


def _pushed(term: Term, move: Movement, inside: Term | None) -> Term:
    """`term` with `move` applied to its accesses. inside: where a padded value is meant; outside, nothing may fail."""
    done: dict[int, Term] = {}
    for part in post_order([term]):
        if part.op is Ops.REDUCE_AXIS:
            shape = quote_shape(part.shape)
            raise BuildError(f"a reduced value {shape} cannot be moved or repeated: move what it is made of")
        if part.views:
            done[id(part)] = _moved_access(part, move)
            continue
        sources = [done[id(source)] for source in part.sources]
        if inside is not None and part.op in _DIVISIONS:
            # Division by a padded 0 is undefined, and stops a CPU.
            sources[1] = apply(Ops.WHERE, inside, sources[1], constant(1, sources[1].dtype, inside.shape))
        done[id(part)] = Term(part.op, part.dtype, sources[0].shape, tuple(sources))
    return done[id(term)]


def _moved_access(term: Term, move: Movement) -> Term:
    views = move(term.views)
    if term.op in (Ops.LOAD, Ops.VALID):
        return Term(term.op, term.dtype, views[-1].shape, (), views, term.arg)
    shape = views[-1].shape
    return Term(term.op, term.dtype, shape, (), movement.broadcast(shape), term.arg)
