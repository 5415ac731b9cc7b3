"""What holds for every value that the variables of a kernel can take.

Intervals answer most questions. Where they are too coarse, as for `i - i // 2 * 2`, expressions of few values are tried
in full, and a polynomial that is linear in each of its variables at the corners of their ranges, which decides it. All
proofs of one document share one budget of evaluations, so that no document can take long.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from math import prod

from kernels.index import Atom, Expr, Index, Var, evaluate_index, lower, variables_in

MAX_ASSIGNMENTS = 256


class Prover:
    """Proves bounds, with at most `steps` evaluations in its whole life."""

    def __init__(self, steps: int) -> None:
        self.steps_left = steps
        self._known: dict[Expr, bool] = {}

    def at_least_zero(self, value: Index) -> bool:
        """True if `value` is certainly never negative; False if it can be, or if that cannot be decided."""
        if lower(value) >= 0:
            return True
        if isinstance(value, int) or value.hi < 0:
            return False
        known = self._known.get(value)
        if known is None:
            known = self._known[value] = self._try_values(value)
        return known

    def _try_values(self, value: Expr) -> bool:
        variables = sorted(variables_in(value))
        ranges: list[Iterable[int]] = [range(variable.lo, variable.hi + 1) for variable in variables]
        count = prod(variable.hi - variable.lo + 1 for variable in variables)
        if count > MAX_ASSIGNMENTS:
            if not _is_multilinear(value):
                return False
            ranges = [sorted({variable.lo, variable.hi}) for variable in variables]
            count = 2 ** len(variables)
        self.steps_left -= count
        if self.steps_left < 0:
            return False
        assignments: Iterable[dict[Atom, int]] = (dict(zip(variables, row, strict=True)) for row in product(*ranges))
        return all(evaluate_index(value, assignment) >= 0 for assignment in assignments)


def _is_multilinear(value: Expr) -> bool:
    """True if every term is a product of different variables: the least value is then at a corner of the ranges."""
    return all(
        all(isinstance(atom, Var) for atom in monomial) and len(set(monomial)) == len(monomial)
        for monomial, _ in value.terms
    )
