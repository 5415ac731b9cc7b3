"""What holds wherever a program stores anything: a work-group for which it does not has nothing to do.

Padding makes whole work-groups of it. Asking once, around everything, spares them the work, and the others the question
at every load. Only what is the same for all work-items of a group is asked there: a branch that they take apart keeps
drivers from making vectors of neighbouring work-items.
"""

from __future__ import annotations

from kernels.index import Axis, Index, Var, leaves
from kernels.lowering.context import Context
from kernels.ops import Ops
from kernels.validity import VALID, Condition, Validity


def common_to_stores(context: Context) -> Validity:
    """The bounds that every store of the kernel has at every position, on what a work-group's items have in common."""
    apart = {variable for variable, kind, _ in context.launch.ids if kind != "group"}
    common: Validity | None = None
    for number, node in enumerate(context.nest.ast.nodes):
        if node.op is not Ops.STORE:
            continue
        own = [c for c in context.locations[number].validity.conditions if _in_common(c.expr, apart)]
        if common is None:
            common = Validity(tuple(own))
        else:
            common = Validity(tuple(kept for c in common.conditions if (kept := _in_both(c, own)) is not None))
    return VALID if common is None else common


def _in_common(value: Index, apart: set[Var]) -> bool:
    return all(not isinstance(leaf, Axis) and leaf not in apart for leaf in leaves(value))


def _in_both(condition: Condition, others: list[Condition]) -> Condition | None:
    """What of `condition` also holds by `others`; None where that is nothing."""
    for other in others:
        if other.expr == condition.expr:
            lo = condition.lo if condition.lo == other.lo else None
            hi = condition.hi if condition.hi == other.hi else None
            return None if lo is None and hi is None else Condition(condition.expr, lo, hi)
    return None
