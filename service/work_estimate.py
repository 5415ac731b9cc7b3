"""What an AST costs to work with, estimated before anything is made of it.

A valid AST of a few kilobytes can keep `Kernel(ast, target)` busy for minutes: views of many axes stacked so that no
axis of one fits an axis of the next, with masks on all of them. Real kernels are far from that, so an AST that is much
further out than any of them is refused.
"""

from __future__ import annotations

import math

from kernels import Ast
from kernels.index import Index
from kernels.ir import View, Views
from kernels.nest import views_of
from kernels.ops import ACCESSES
from service.errors import TooComplexError

#: 20 times the greatest estimate of a real kernel in tests/data/corpus (360); up to 0.3 ms each here.
MAX_VIEW_WORK = 7200
#: Of nodes, each time they are written for one numbering of the variables: up to 50 us each.
MAX_NAMING_WORK = 20_000


def check_work(ast: Ast) -> None:
    """Raise TooComplexError for an AST that would take far longer than any real one."""
    naming = len(ast.nodes) * math.factorial(min(len(ast.variables), 8))
    if len(ast.variables) > 1 and naming > MAX_NAMING_WORK:
        raise TooComplexError(f"{len(ast.variables)} variables in {len(ast.nodes)} nodes are too many", "ast")
    views = view_work(ast)
    if views > MAX_VIEW_WORK:
        raise TooComplexError(f"the views are too complex: about {views} steps, more than {MAX_VIEW_WORK}", "ast")


def view_work(ast: Ast) -> int:
    """How many parts the index expressions of all accesses have, about, before they are simplified."""
    return sum(_stack_work(views_of(ast, n)) for n, node in enumerate(ast.nodes) if node.op in ACCESSES)


def _stack_work(views: Views) -> int:
    work, parts = 0, 1
    for depth in range(len(views) - 1, -1, -1):
        view = views[depth]
        if depth < len(views) - 1:
            # each coordinate is a quotient and remainder of all terms that do not fit
            parts *= 1 + _misfits(views[depth + 1], view)
        masked = 0 if view.mask is None else sum(m != (0, size) for m, size in zip(view.mask, view.shape, strict=True))
        work += (len(view.shape) + 1) * parts * (1 + masked)
    return work


def _misfits(above: View, below: View) -> int:
    """How many terms of a position in `above` do not lie within one axis of `below`, its offset included."""
    spans: list[tuple[int, int]] = []
    step = 1
    for size in reversed(below.shape):
        if not isinstance(size, int):
            break  # beyond a dynamic axis nothing is known
        spans.append((step, step * size))
        step *= size
    misfits = int(above.offset != 0)
    for size, stride in zip(above.shape, above.strides, strict=True):
        if size != 1 and stride != 0 and not _fits(size, stride, spans):
            misfits += 1
    return misfits


def _fits(size: Index, stride: Index, spans: list[tuple[int, int]]) -> bool:
    """True where an axis lies within one of the axes that span so many elements each."""
    if not (isinstance(size, int) and isinstance(stride, int) and stride > 0):
        return False
    return any(stride % low == 0 and stride * size <= high for low, high in spans)
