"""Where an access is valid: bounds on index expressions that all hold, simplified from the ranges of what is in them.

A `Validity` is a set of conditions `lo <= expr <= hi`, each on an expression without a constant, or the value `NEVER`.
No condition that always holds is kept, so the axes that a validity mentions are the axes that are really masked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

from kernels.index import (
    Atom,
    Coordinate,
    Expr,
    FloorDiv,
    Index,
    Mod,
    axes_in,
    key_of,
    leaves,
    lower,
    single,
    substitute,
    upper,
)
from kernels.index_rules import floordiv, mod, split_by_factor


@dataclass(frozen=True, slots=True)
class Condition:
    """lo <= expr <= hi, both inclusive; None leaves that side open.

    `expr` has no constant, and its first coefficient is positive.
    """

    expr: Expr
    lo: int | None
    hi: int | None

    def __str__(self) -> str:
        if self.lo is None or self.hi is None:
            return f"{self.expr} >= {self.lo}" if self.hi is None else f"{self.expr} <= {self.hi}"
        return f"{self.lo} <= {self.expr} <= {self.hi}"


@dataclass(frozen=True, slots=True)
class Validity:
    """All of `conditions` hold, and `possible`: False where no point is valid."""

    conditions: tuple[Condition, ...] = ()
    possible: bool = True

    @property
    def axes(self) -> set[int]:
        """The numbers of the axes that are masked."""
        return {number for condition in self.conditions for number in axes_in(condition.expr)}

    def restrict(self, value: Index, lo: Index, hi: Index) -> Validity:
        """This and lo <= value <= hi."""
        if isinstance(lo, int) and isinstance(hi, int):
            return self._restrict(value, lo, hi)
        return self._restrict(value - lo, 0, None)._restrict(value - hi, None, 0)

    def substitute(self, values: Mapping[Atom, Index]) -> Validity:
        """The same with leaves replaced, simplified anew."""
        result = VALID if self.possible else NEVER
        for condition in self.conditions:
            result = result._restrict(substitute(condition.expr, values), condition.lo, condition.hi)
        return result

    def simplified(self) -> Validity:
        """The same with each condition simplified by the others, until nothing changes (or too long for that)."""
        result = self
        for _ in range(4 * len(self.conditions)):
            for condition in result.conditions:
                others = tuple(c for c in result.conditions if c.expr != condition.expr)
                simpler = assuming(condition.expr, others)
                if simpler != condition.expr:
                    result = Validity(others)._restrict(simpler, condition.lo, condition.hi)
                    break
            else:
                break
        return result

    def _restrict(self, value: Index, lo: int | None, hi: int | None) -> Validity:
        if not self.possible:
            return self
        found = [*_at_least(value, lo), *_at_most(value, hi)]
        kept: dict[Expr, Condition] = {condition.expr: condition for condition in self.conditions}
        for condition in found:
            if condition is None:
                return NEVER
            merged = merged_conditions(kept.get(condition.expr), condition)
            if merged.lo is not None and merged.hi is not None and merged.lo > merged.hi:
                return NEVER
            kept[condition.expr] = merged
        return Validity(tuple(kept[expr] for expr in sorted(kept, key=key_of))) if found else self


_WIDEST = 1 << 62

VALID = Validity()
NEVER = Validity((), False)


def merged_conditions(a: Condition | None, b: Condition) -> Condition:
    """Both bounds on one expression as one condition."""
    if a is None:
        return b
    lo = b.lo if a.lo is None else a.lo if b.lo is None else max(a.lo, b.lo)
    hi = b.hi if a.hi is None else a.hi if b.hi is None else min(a.hi, b.hi)
    return Condition(a.expr, lo, hi)


def _at_most(value: Index, hi: int | None) -> list[Condition | None]:
    """value <= hi as no condition (it always holds), one, or None in the list (it never does)."""
    if hi is None or upper(value) <= hi:
        return []
    if lower(value) > hi:
        return [None]
    assert isinstance(value, Expr)
    expr, limit = Expr(value.terms, 0), hi - value.constant
    divisor = gcd(*(c for _, c in expr.terms))
    if divisor > 1:
        return _at_most(_divided(expr, divisor), limit // divisor)
    for factor in _factors(expr):
        # factor*u + v <= factor*q + s is u <= q for every v in [0, factor) exactly where v never exceeds s
        u, v = split_by_factor(expr, factor)
        if lower(v) >= 0 and upper(v) < factor and limit % factor >= upper(v):
            return _at_most(u, limit // factor)
    whole = _multiplied_out(expr)
    if whole is not None:
        numerator, d = whole
        return _at_most(numerator, limit * d + d - 1)
    return _at_least(-expr, -limit) if expr.terms[0][1] < 0 else [Condition(expr, None, limit)]


def _at_least(value: Index, lo: int | None) -> list[Condition | None]:
    """value >= lo, as _at_most."""
    if lo is None or lower(value) >= lo:
        return []
    if upper(value) < lo:
        return [None]
    assert isinstance(value, Expr)
    expr, limit = Expr(value.terms, 0), lo - value.constant
    divisor = gcd(*(c for _, c in expr.terms))
    if divisor > 1:
        return _at_least(_divided(expr, divisor), -(-limit // divisor))
    for factor in _factors(expr):
        # factor*u + v >= factor*q + s is u >= q for every v in [0, factor) where s is 0, u > q where v never reaches s
        u, v = split_by_factor(expr, factor)
        if lower(v) >= 0 and upper(v) < factor and (limit % factor == 0 or limit % factor > upper(v)):
            return _at_least(u, -(-limit // factor))
    whole = _multiplied_out(expr)
    if whole is not None:
        numerator, d = whole
        return _at_least(numerator, limit * d)
    return _at_most(-expr, -limit) if expr.terms[0][1] < 0 else [Condition(expr, limit, None)]


def _multiplied_out(expr: Expr) -> tuple[Index, int] | None:
    """(n, d) with expr = n // d, where the sum has one quotient by a number in it, once, and n fits into 64 bits."""
    quotients = [(atom, c) for monomial, c in expr.terms for atom in monomial if isinstance(atom, FloorDiv)]
    if len(quotients) != 1:
        return None
    atom, coefficient = quotients[0]
    if coefficient != 1 or not isinstance(atom.denominator, int) or ((atom,), 1) not in expr.terms:
        return None
    whole = (expr - single(atom)) * atom.denominator + atom.numerator
    return (whole, atom.denominator) if max(-lower(whole), upper(whole)) < _WIDEST else None


def _factors(expr: Expr) -> list[int]:
    """What is worth trying with split_by_factor: the coefficients' sizes, largest first."""
    return sorted({abs(c) for _, c in expr.terms if abs(c) > 1}, reverse=True)


def _divided(expr: Expr, divisor: int) -> Expr:
    return Expr(tuple((m, c // divisor) for m, c in expr.terms), 0)


def narrowed(value: Index, lo: int, hi: int) -> Index:
    """`value` where it is known to lie in [lo, hi]: a number, a Coordinate for it, or itself if that is no news."""
    least, greatest = max(lo, lower(value)), min(hi, upper(value))
    if isinstance(value, int) or (least, greatest) == (value.lo, value.hi):
        return value
    if least == greatest:
        return least
    return single(Coordinate(value, least, greatest))


def without_coordinates(value: Index) -> Index:
    """`value` with what its Coordinates stand for put back."""
    while True:
        found: dict[Atom, Index] = {a: a.value for a in leaves(value) if isinstance(a, Coordinate)}
        if not found:
            return value
        value = substitute(value, found)


def assuming(value: Index, conditions: tuple[Condition, ...]) -> Index:
    """`value` simplified where all `conditions` hold; elsewhere it may differ."""
    for condition in conditions:
        if isinstance(value, int):
            return value
        value = without_coordinates(_replace_sum(value, condition.expr, _known(condition)))
    return value


def _known(condition: Condition) -> Index:
    """The condition's expression, known to lie in its bounds."""
    expr, lo, hi = condition.expr, condition.lo, condition.hi
    return narrowed(expr, expr.lo if lo is None else lo, expr.hi if hi is None else hi)


def _replace_sum(value: Index, expr: Expr, known: Index) -> Index:
    """`value` with `expr` replaced by `known`: as a leaf anywhere, as a longer sum where it is a whole numerator."""
    if isinstance(value, int):
        return value
    result: Index = value.constant
    for monomial, coefficient in value.terms:
        term: Index = coefficient
        for atom in monomial:
            term = term * _replace_in_atom(atom, expr, known)
        result = result + term
    return result


def _replace_in_atom(atom: Atom, expr: Expr, known: Index) -> Index:
    if expr.atom == atom:
        return known
    if isinstance(atom, FloorDiv | Mod):
        numerator: Index = atom.numerator
        if len(expr.terms) > 1 and atom.numerator.terms == expr.terms:
            numerator = known + atom.numerator.constant
        else:
            numerator = _replace_sum(numerator, expr, known)
        divide = floordiv if isinstance(atom, FloorDiv) else mod
        return divide(numerator, atom.denominator)
    return single(atom)


def contains(value: Index, expr: Expr) -> bool:
    """Whether `expr` stands in `value`: as a factor if it is one atom, as part of a sum if it is longer."""
    if isinstance(value, int):
        return False
    atoms = [atom for monomial, _ in value.terms for atom in monomial]
    terms = dict(value.terms)
    if expr.atom in atoms or all(terms.get(monomial) == coefficient for monomial, coefficient in expr.terms):
        return True
    return any(isinstance(atom, FloorDiv | Mod) and contains(atom.numerator, expr) for atom in atoms)


def assuming_in_steps(value: Index, conditions: tuple[Condition, ...]) -> Index:
    """As `assuming`, but as tinygrad 0.10.2 sees it: quotients are taken in steps, part of a sum is found as well.

    A step divides by the smallest coefficient that divides the denominator. A sum that stands in no step is not found.
    """
    for condition in conditions:
        value = without_coordinates(_replace_in_steps(value, condition.expr, _known(condition)))
    return value


def _replace_in_steps(value: Index, expr: Expr, known: Index) -> Index:
    if isinstance(value, int):
        return value
    terms = dict(value.terms)
    if len(expr.terms) > 1 and all(terms.get(monomial) == coefficient for monomial, coefficient in expr.terms):
        return value - expr + known
    result: Index = value.constant
    for monomial, coefficient in value.terms:
        term: Index = coefficient
        for atom in monomial:
            term = term * _atom_in_steps(atom, expr, known)
        result = result + term
    return result


def _atom_in_steps(atom: Atom, expr: Expr, known: Index) -> Index:
    if expr.atom == atom:
        return known
    if isinstance(atom, FloorDiv) and isinstance(atom.denominator, int):
        return _divide_in_steps(atom.numerator, atom.denominator, expr, known)
    if isinstance(atom, FloorDiv | Mod):
        divide = floordiv if isinstance(atom, FloorDiv) else mod
        return divide(_replace_in_steps(atom.numerator, expr, known), atom.denominator)
    return single(atom)


def _divide_in_steps(numerator: Index, d: int, expr: Expr, known: Index) -> Index:
    """numerator // d with `expr` replaced: (c*u + v) // d is (u + v//c) // (d/c)."""
    factors = [] if isinstance(numerator, int) else [f for f in _factors(numerator) if f < d and d % f == 0]
    if isinstance(numerator, int) or not factors:
        return floordiv(_replace_in_steps(numerator, expr, known), d)
    factor = factors[-1]
    u, v = split_by_factor(numerator, factor)
    return _divide_in_steps(u + _divide_in_steps(v, factor, expr, known), d // factor, expr, known)
