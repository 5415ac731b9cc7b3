"""How quotients, remainders and maxima of index expressions are simplified, from the ranges of what is in them.

Each rule is an identity of floor division that holds for all integers in the stated ranges:

    multiples      (d*u + v) // d = u + v // d              (d*u + v) % d = v % d
    congruence     x // d = (x - r) / d                     x % d = r                where 0 <= r < d, d | x - r
    ranges         v // d = k                               v % d = v - d*k          where d*k <= v < d*(k+1)
    common factor  (g*u + v) // d = u // (d/g)              (g*u + k) % d = g*(u % (d/g)) + k
                                                            where g | d, 0 <= v < g, and k is a constant in [0, g)
    two values     v // d and v % d are linear in an atom that takes only two values
    nesting        (x // a) // d = x // (a*d)               (x % m) // d = (x // d) % (m/d)      where d | m
                                                            (c*(x % m) + v) % d = (c*x + v) % d  where d | c*m
    recombination  k*d*(x // d) + k*(x % d) = k*x           k*d*((x // d) % e) + k*(x % d) = k*(x % (d*e))
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd

from kernels.index import (
    Atom,
    Axis,
    Expr,
    FloorDiv,
    Index,
    Max,
    Mod,
    Monomial,
    from_terms,
    key_of,
    lower,
    single,
    upper,
)

#: Results kept: recombination asks for the same quotients and remainders again and again.
_CACHED = 1 << 13


def floordiv(numerator: Index, denominator: Index) -> Index:
    """floor(numerator / denominator), simplified.

    A denominator that is never positive raises ZeroDivisionError. That one with variables is always positive is the
    caller's to know: bounds alone cannot tell it of 2*n*n - n, say.
    """
    if isinstance(denominator, int):
        if denominator <= 0:
            raise ZeroDivisionError("a denominator must be positive")
        if isinstance(numerator, int):
            return numerator // denominator
        return numerator if denominator == 1 else _floordiv_int(numerator, denominator)
    if denominator.hi <= 0:
        raise ZeroDivisionError(f"a denominator must be positive, and {denominator} never is")
    quotient, rest = _split_symbolic(numerator, denominator)
    if _fits_below(rest, denominator):
        return quotient
    return quotient + (rest // denominator.hi if isinstance(rest, int) and rest < 0 and denominator.lo == denominator.hi
                       else single(FloorDiv(_as_expr(rest, denominator), denominator)))  # fmt: skip


def mod(numerator: Index, denominator: Index) -> Index:
    """numerator - denominator * floordiv(numerator, denominator), simplified. Raises as floordiv does."""
    if isinstance(denominator, int):
        if denominator <= 0:
            raise ZeroDivisionError("a denominator must be positive")
        if isinstance(numerator, int):
            return numerator % denominator
        return 0 if denominator == 1 else _mod_int(numerator, denominator)
    if denominator.hi <= 0:
        raise ZeroDivisionError(f"a denominator must be positive, and {denominator} never is")
    _, rest = _split_symbolic(numerator, denominator)
    return rest if _fits_below(rest, denominator) else single(Mod(_as_expr(rest, denominator), denominator))


def maximum(a: Index, b: Index) -> Index:
    """The larger of both."""
    if lower(a) >= upper(b):
        return a
    if lower(b) >= upper(a):
        return b
    difference = a - b
    if lower(difference) >= 0:
        return a
    if upper(difference) <= 0:
        return b
    first, second = (a, b) if key_of(a) < key_of(b) else (b, a)
    return single(Max(first, second))


@lru_cache(maxsize=_CACHED)
def _floordiv_int(numerator: Expr, d: int) -> Index:
    if numerator.lo // d == numerator.hi // d:
        return numerator.lo // d
    quotient, rest = _split_multiples(numerator, d)
    return quotient + _quotient_of_rest(rest, d)


def _split_multiples(value: Expr, d: int) -> tuple[Index, Index]:
    """(q, r) with value = d*q + r, each coefficient of r smaller than d in size, its constant in [0, d)."""
    quotient: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, coefficient in value.terms:
        multiple = coefficient // d if coefficient > 0 else -(-coefficient // d)
        quotient[monomial] = multiple
        rest[monomial] = coefficient - d * multiple
    return from_terms(quotient, value.constant // d), from_terms(rest, value.constant % d)


def _quotient_of_rest(rest: Index, d: int) -> Index:
    """rest // d where `rest` is as _split_multiples leaves it."""
    if isinstance(rest, int):
        return rest // d
    if rest.lo // d == rest.hi // d:
        return rest.lo // d
    for factor in _common_factors(rest, d):
        u, v = split_by_factor(rest, factor)
        if lower(v) >= 0 and upper(v) < factor:
            return floordiv(u, d // factor)
    atom = rest.atom
    if isinstance(atom, FloorDiv) and isinstance(atom.denominator, int):
        return floordiv(atom.numerator, atom.denominator * d)
    if isinstance(atom, Mod) and isinstance(atom.denominator, int) and atom.denominator % d == 0:
        return mod(floordiv(atom.numerator, d), atom.denominator // d)
    congruent = _congruent(rest, d)
    if congruent is not None:
        multiple = rest - congruent
        return multiple // d if isinstance(multiple, int) else split_by_factor(multiple, d)[0]
    pair = _two_values(rest)
    if pair is not None:
        leaf, at_lo, at_hi = pair
        return at_lo // d + (at_hi // d - at_lo // d) * (single(leaf) - leaf.lo)
    return single(FloorDiv(rest, d))


def _two_values(value: Expr) -> tuple[Atom, int, int] | None:
    """(atom, value at its lower bound, value at its upper) where one atom that takes two values is all there is."""
    if len(value.terms) == 1:
        ((monomial, _),) = value.terms
        if len(monomial) == 1 and monomial[0].hi - monomial[0].lo == 1:
            ends = (value.lo, value.hi) if value.terms[0][1] > 0 else (value.hi, value.lo)
            return monomial[0], *ends
    return None


@lru_cache(maxsize=_CACHED)
def _mod_int(numerator: Expr, d: int) -> Index:
    if numerator.lo // d == numerator.hi // d:
        return numerator - d * (numerator.lo // d)
    unwrapped = _unwrap_mods(numerator, d)
    rest = unwrapped if isinstance(unwrapped, int) else _split_multiples(unwrapped, d)[1]
    if isinstance(rest, int):
        return rest % d
    if rest.lo // d == rest.hi // d:
        return rest - d * (rest.lo // d)
    congruent = _congruent(rest, d)
    if congruent is not None:
        return congruent
    for factor in _common_factors(rest, d):
        u, v = split_by_factor(rest, factor)
        if isinstance(v, int):
            return factor * mod(u, d // factor) + v
    pair = _two_values(rest)
    if pair is not None:
        leaf, at_lo, at_hi = pair
        return at_lo % d + (at_hi % d - at_lo % d) * (single(leaf) - leaf.lo)
    return single(Mod(rest, d))


def _congruent(value: Expr, d: int) -> Index | None:
    """The expression in [0, d) that is `value` modulo d with coefficients of the least size, if that fits."""
    nearest: dict[Monomial, int] = {}
    for monomial, coefficient in value.terms:
        reduced = coefficient % d
        nearest[monomial] = reduced - d if 2 * reduced > d else reduced
    result = from_terms(nearest, value.constant)
    first = lower(result) // d
    return result - d * first if first == upper(result) // d else None


def _unwrap_mods(value: Expr, d: int) -> Index:
    """`value` without remainders that `% d` makes needless; equal to it modulo d."""
    for monomial, coefficient in value.terms:
        if len(monomial) == 1 and isinstance(monomial[0], Mod):
            inner = monomial[0]
            if isinstance(inner.denominator, int) and coefficient * inner.denominator % d == 0:
                replaced = value - coefficient * single(inner) + coefficient * inner.numerator
                return replaced if isinstance(replaced, int) else _unwrap_mods(replaced, d)
    return value


def _common_factors(value: Expr, d: int) -> list[int]:
    """The factors > 1 that d shares with some coefficient, largest first: what split_by_factor is worth trying with."""
    return sorted({g for _, c in value.terms if (g := gcd(c, d)) > 1}, reverse=True)


def split_by_factor(value: Expr, factor: int) -> tuple[Index, Index]:
    """(u, v) with value = factor * u + v, where u takes every term that is a multiple of `factor`."""
    u = from_terms({m: c // factor for m, c in value.terms if c % factor == 0}, value.constant // factor)
    v = from_terms({m: c for m, c in value.terms if c % factor}, value.constant % factor)
    return u, v


def _split_symbolic(numerator: Index, denominator: Expr) -> tuple[Index, Index]:
    """(q, r) with numerator = q * denominator + r, by polynomial division where the denominator is one product."""
    if isinstance(numerator, int):
        return 0, numerator
    if len(denominator.terms) != 1 or denominator.constant:
        difference = numerator - denominator
        return (1, 0) if difference == 0 else (0, numerator)
    ((divisor, scale),) = denominator.terms
    quotient: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, coefficient in numerator.terms:
        remaining = _remove(monomial, divisor)
        if remaining is None or coefficient % scale:
            rest[monomial] = coefficient
        else:
            quotient[remaining] = quotient.get(remaining, 0) + coefficient // scale
    return from_terms(quotient, quotient.pop((), 0)), from_terms(rest, numerator.constant)


def _remove(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    """`monomial` without the atoms of `divisor`; None where it does not hold them all."""
    remaining = list(monomial)
    for atom in divisor:
        if atom not in remaining:
            return None
        remaining.remove(atom)
    return tuple(remaining)


def _fits_below(value: Index, limit: Expr) -> bool:
    """True if 0 <= value < limit for certain, also where the axes' own sizes depend on the limit's variables."""
    if lower(value) < 0:
        return False
    greatest = value
    if isinstance(value, Expr):
        terms: Index = value.constant
        for monomial, coefficient in value.terms:
            term: Index = coefficient
            for atom in monomial:
                term = term * (atom.size - 1 if isinstance(atom, Axis) and coefficient > 0 else single(atom))
            terms = terms + term
        greatest = terms
    return lower(limit - 1 - greatest) >= 0


def _as_expr(value: Index, like: Expr) -> Expr:
    """`value` as an Expr: a constant numerator under a symbolic denominator needs the form of a sum."""
    return value if isinstance(value, Expr) else Expr((), value)


def recombine(terms: dict[Monomial, int], constant: int) -> Index | None:
    """The sum with one quotient and its remainder put together again, or None where there is no such pair."""
    for monomial, coefficient in terms.items():
        for position, atom in enumerate(monomial):
            if isinstance(atom, FloorDiv | Mod):
                others = monomial[:position] + monomial[position + 1 :]
                replaced = _recombine_with(terms, constant, atom, others, coefficient)
                if replaced is not None:
                    return replaced
    return None


def _recombine_with(
    terms: dict[Monomial, int], constant: int, atom: FloorDiv | Mod, others: Monomial, coefficient: int
) -> Index | None:
    """Look for the partner of others * coefficient * atom, as the last rule of this file's map says."""
    x, d = atom.numerator, atom.denominator
    if isinstance(atom, FloorDiv):
        if not isinstance(d, int) or coefficient % d:
            return None
        factor = from_terms({others: coefficient // d}, 0) if others else coefficient // d
        return _replace_pair(terms, constant, (single(atom) * d * factor, mod(x, d) * factor), x * factor)
    factor = from_terms({others: coefficient}, 0) if others else coefficient
    quotient = floordiv(x, d)
    whole = _replace_pair(terms, constant, (single(atom) * factor, quotient * d * factor), x * factor)
    if whole is not None or not isinstance(d, int):
        return whole
    for other in terms:
        for outer in other:
            if isinstance(outer, Mod) and isinstance(outer.denominator, int) and outer.numerator == quotient:
                pair = (single(atom) * factor, single(outer) * d * factor)
                whole = _replace_pair(terms, constant, pair, mod(x, d * outer.denominator) * factor)
                if whole is not None:
                    return whole
    return None


def _replace_pair(terms: dict[Monomial, int], constant: int, pair: tuple[Index, Index], whole: Index) -> Index | None:
    """terms + constant with `whole` in place of `pair`, if all terms of `pair` are there and `whole` is no longer."""
    paired: dict[Monomial, int] = {}
    for part in pair:
        if isinstance(part, int):
            constant -= part
            continue
        constant -= part.constant
        for monomial, coefficient in part.terms:
            paired[monomial] = paired.get(monomial, 0) + coefficient
    if any(terms.get(m) != c for m, c in paired.items()):
        return None
    if not isinstance(whole, int) and len(whole.terms) > len(paired):
        return None
    return from_terms({m: c for m, c in terms.items() if m not in paired}, constant) + whole
