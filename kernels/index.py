"""Integer index expressions: exact, immutable and always in one canonical form.

An `Index` is a plain `int` or an `Expr`. An `Expr` is a sum of products of atoms with integer coefficients, plus a
constant; like terms are collected and sorted when it is made, so two equal sums are one value however they were
written. Atoms are variables, axes, and what does not distribute over a sum: floor division, remainder and maximum.
`/` and `%` are floor division and its remainder (for operands >= 0 that is C's). Every Expr knows its bounds.

How quotients and remainders are simplified is in index_rules; this file holds the values and their arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import total_ordering
from typing import Any, TypeAlias

# The key of an atom or expression: nested tuples of ints and strings, comparable with any other key of its kind.
Key: TypeAlias = tuple[Any, ...]


@total_ordering
class Atom:
    """What a sum of products is built of. Equal, ordered and hashed by `key`; values lie in [lo, hi]."""

    __slots__ = ("_hash", "hi", "key", "lo")

    def __init__(self, key: Key, lo: int, hi: int, parts: tuple[Index, ...] = ()) -> None:
        self.key = key
        self.lo = lo
        self.hi = hi
        # a composite's by its parts': hashing the nested key would walk what the parts share again and again
        self._hash = hash((key[0], parts)) if parts else hash(key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Atom) and self._hash == other._hash and self.key == other.key)

    def __lt__(self, other: Atom) -> bool:
        return self.key < other.key

    def __repr__(self) -> str:
        return str(self)


class Var(Atom):
    """A variable of a kernel with dynamic sizes: an integer in [lo, hi], given at launch."""

    __slots__ = ("name",)

    def __init__(self, name: str, lo: int, hi: int) -> None:
        self.name = name
        super().__init__((0, name, lo, hi), lo, hi)

    def __str__(self) -> str:
        return self.name


class Axis(Atom):
    """The position on an axis: an integer in [0, size)."""

    __slots__ = ("number", "size")

    def __init__(self, number: int, size: Index) -> None:
        self.number = number
        self.size = size
        super().__init__((1, number, key_of(size)), 0, max(upper(size) - 1, 0))

    def __str__(self) -> str:
        return f"i{self.number}"


class Coordinate(Atom):
    """Stands for `value` where a mask is known to hold that keeps it in [lo, hi]."""

    __slots__ = ("value",)

    def __init__(self, value: Expr, lo: int, hi: int) -> None:
        self.value = value
        super().__init__((2, lo, hi, value.key), lo, hi, (value, lo, hi))

    def __str__(self) -> str:
        return f"({self.value} in {self.lo}..{self.hi})"


class FloorDiv(Atom):
    """floor(numerator / denominator); the denominator is positive."""

    __slots__ = ("denominator", "numerator")

    def __init__(self, numerator: Expr, denominator: Index) -> None:
        self.numerator = numerator
        self.denominator = denominator
        divisors = (max(lower(denominator), 1), upper(denominator))
        corners = [n // d for n in bounds(numerator) for d in divisors]
        super().__init__((3, numerator.key, key_of(denominator)), min(corners), max(corners), (numerator, denominator))

    def __str__(self) -> str:
        return f"({self.numerator})//{_operand(self.denominator)}"


class Mod(Atom):
    """numerator - denominator * floor(numerator / denominator), so it lies in [0, denominator)."""

    __slots__ = ("denominator", "numerator")

    def __init__(self, numerator: Expr, denominator: Index) -> None:
        self.numerator = numerator
        self.denominator = denominator
        hi = upper(denominator) - 1
        greatest = min(hi, numerator.hi) if numerator.lo >= 0 else hi
        super().__init__((4, numerator.key, key_of(denominator)), 0, greatest, (numerator, denominator))

    def __str__(self) -> str:
        return f"({self.numerator})%{_operand(self.denominator)}"


class Max(Atom):
    """The larger of two; `first` sorts before `second`."""

    __slots__ = ("first", "second")

    def __init__(self, first: Index, second: Index) -> None:
        self.first = first
        self.second = second
        key = (5, key_of(first), key_of(second))
        lo, hi = max(lower(first), lower(second)), max(upper(first), upper(second))
        super().__init__(key, lo, hi, (first, second))

    def __str__(self) -> str:
        return f"max({self.first}, {self.second})"


#: A product of atoms, sorted, with repetition.
Monomial: TypeAlias = tuple[Atom, ...]


class Expr:
    """A sum: `terms` (a sorted tuple of (monomial, coefficient), none of them 0) + `constant`, in [lo, hi].

    Made by arithmetic on Index values and by `single`; never has no terms (that is a plain int).
    """

    __slots__ = ("_bounds", "_hash", "_key", "constant", "terms")

    def __init__(self, terms: tuple[tuple[Monomial, int], ...], constant: int) -> None:
        self.terms = terms
        self.constant = constant
        # worked out when they are asked for: most sums are steps on the way to another
        self._bounds: tuple[int, int] | None = None
        self._key: Key | None = None
        self._hash: int | None = None

    @property
    def lo(self) -> int:
        """The least value that it can be known to take."""
        return (self._bounds or self._bounded())[0]

    @property
    def hi(self) -> int:
        """The greatest value that it can be known to take."""
        return (self._bounds or self._bounded())[1]

    def _bounded(self) -> tuple[int, int]:
        lo = hi = self.constant
        for monomial, coefficient in self.terms:
            low = high = coefficient
            for atom in monomial:
                corners = (low * atom.lo, low * atom.hi, high * atom.lo, high * atom.hi)
                low, high = min(corners), max(corners)
            lo += low
            hi += high
        self._bounds = (lo, hi)
        return lo, hi

    @property
    def key(self) -> Key:
        """What makes it equal to others, and orders it among them."""
        if self._key is None:
            self._key = (*((tuple(atom.key for atom in m), c) for m, c in self.terms), ((), self.constant))
        return self._key

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.terms, self.constant))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Expr) and self.constant == other.constant and self.terms == other.terms
        )

    def __add__(self, other: Index) -> Index:
        terms = dict(self.terms)
        if isinstance(other, int):
            return Expr(self.terms, self.constant + other) if other else self
        for monomial, coefficient in other.terms:
            terms[monomial] = terms.get(monomial, 0) + coefficient
        return from_terms(terms, self.constant + other.constant)

    __radd__ = __add__

    def __mul__(self, other: Index) -> Index:
        if isinstance(other, int):
            if other == 0:
                return 0
            return Expr(tuple((m, c * other) for m, c in self.terms), self.constant * other) if other != 1 else self
        product: dict[Monomial, int] = {}
        for left, a in (*self.terms, ((), self.constant)):
            for right, b in (*other.terms, ((), other.constant)):
                monomial = tuple(sorted(left + right))
                product[monomial] = product.get(monomial, 0) + a * b
        return from_terms(product, product.pop((), 0))

    __rmul__ = __mul__

    def __neg__(self) -> Expr:
        return Expr(tuple((m, -c) for m, c in self.terms), -self.constant)

    def __sub__(self, other: Index) -> Index:
        return self + (-other)

    def __rsub__(self, other: Index) -> Index:
        return (-self) + other

    def __str__(self) -> str:
        parts = []
        for monomial, coefficient in self.terms:
            product = "*".join(_factor(atom, place) for place, atom in enumerate(monomial))
            parts.append(product if coefficient == 1 else f"{product}*{coefficient}")
        if self.constant:
            parts.append(str(self.constant))
        return "+".join(parts).replace("+-", "-")

    def __repr__(self) -> str:
        return f"Expr({self})"

    @property
    def atom(self) -> Atom | None:
        """The atom that this expression is, if it is one alone."""
        if len(self.terms) == 1 and self.constant == 0:
            monomial, coefficient = self.terms[0]
            if coefficient == 1 and len(monomial) == 1:
                return monomial[0]
        return None


Index: TypeAlias = int | Expr


def single(atom: Atom) -> Expr:
    """The expression that is `atom` alone."""
    return Expr((((atom,), 1),), 0)


def from_terms(terms: dict[Monomial, int], constant: int) -> Index:
    """The sum of `terms` and `constant`, recombining `x // d * d + x % d` to `x`. Takes the dict over."""
    kept = {monomial: coefficient for monomial, coefficient in terms.items() if coefficient}
    if not kept:
        return constant
    if len(kept) > 1:
        for monomial in kept:
            if any(atom.__class__ is Mod or atom.__class__ is FloorDiv for atom in monomial):
                from kernels.index_rules import recombine

                combined = recombine(kept, constant)
                if combined is not None:
                    return combined
                break
        return Expr(tuple(sorted(kept.items(), key=_term_key)), constant)
    return Expr(tuple(kept.items()), constant)


def _term_key(term: tuple[Monomial, int]) -> Key:
    return tuple(atom.key for atom in term[0])


def _factor(atom: Atom, place: int) -> str:
    """An atom as one factor of a product, from left to right: a later quotient or remainder in parentheses."""
    return f"({atom})" if place and isinstance(atom, FloorDiv | Mod) else str(atom)


def _operand(value: Index) -> str:
    return str(value) if isinstance(value, int) or value.atom else f"({value})"


def key_of(value: Index) -> Key:
    """The key of an Index; a plain int's is that of a sum with no terms."""
    return (((), value),) if isinstance(value, int) else value.key


def lower(value: Index) -> int:
    """The least value that `value` can be known to take."""
    return value if isinstance(value, int) else value.lo


def upper(value: Index) -> int:
    """The greatest value that `value` can be known to take."""
    return value if isinstance(value, int) else value.hi


def bounds(value: Index) -> tuple[int, int]:
    """(lower, upper), both inclusive."""
    return (value, value) if isinstance(value, int) else (value.lo, value.hi)


def product(values: tuple[Index, ...] | list[Index]) -> Index:
    """The product of all values; 1 of none."""
    result: Index = 1
    for value in values:
        result = result * value
    return result


def leaves(value: Index) -> set[Atom]:
    """Every Var, Axis and Coordinate in `value`, at any depth."""
    found: set[Atom] = set()
    seen: set[Atom] = set()
    waiting = [value]
    while waiting:
        following = waiting.pop()
        if isinstance(following, int):
            continue
        for monomial, _ in following.terms:
            for atom in monomial:
                if atom in seen:
                    continue
                seen.add(atom)
                if isinstance(atom, FloorDiv | Mod):
                    waiting += (atom.numerator, atom.denominator)
                elif isinstance(atom, Max):
                    waiting += (atom.first, atom.second)
                else:
                    found.add(atom)
    return found


def axes_in(value: Index) -> set[int]:
    """The numbers of the axes that `value` depends on."""
    return {atom.number for atom in leaves(value) if isinstance(atom, Axis)}


def variables_in(value: Index) -> set[Var]:
    """The variables that `value` depends on."""
    return {atom for atom in leaves(value) if isinstance(atom, Var)}


def evaluate_index(value: Index, values: Mapping[Atom, int]) -> int:
    """The number that `value` is where each of its leaves is as in `values`."""
    result = substitute(value, values)
    if not isinstance(result, int):
        missing = ", ".join(sorted({str(atom) for atom in leaves(result)}))
        raise KeyError(f"no value for {missing}")
    return result


def substitute(value: Index, values: Mapping[Atom, Index]) -> Index:
    """`value` with each Var, Axis or Coordinate in `values` replaced, simplified anew."""
    return _substituted(value, values, {}) if values else value


def _substituted(value: Index, values: Mapping[Atom, Index], known: dict[Atom, Index]) -> Index:
    """As substitute; `known` has what atoms that occur more than once have become."""
    if isinstance(value, int):
        return value
    terms: dict[Monomial, int] = {}
    constant = value.constant
    for monomial, coefficient in value.terms:
        term: Index = coefficient
        for atom in monomial:
            replaced = known.get(atom)
            if replaced is None:
                replaced = known[atom] = _substituted_atom(atom, values, known)
            term = replaced * term
        if isinstance(term, int):
            constant += term
            continue
        constant += term.constant
        for own, times in term.terms:
            terms[own] = terms.get(own, 0) + times
    return from_terms(terms, constant)


def _substituted_atom(atom: Atom, values: Mapping[Atom, Index], known: dict[Atom, Index]) -> Index:
    from kernels.index_rules import floordiv, maximum, mod

    if isinstance(atom, FloorDiv | Mod):
        divide = floordiv if isinstance(atom, FloorDiv) else mod
        return divide(_substituted(atom.numerator, values, known), _substituted(atom.denominator, values, known))
    if isinstance(atom, Max):
        return maximum(_substituted(atom.first, values, known), _substituted(atom.second, values, known))
    found = values.get(atom)
    return single(atom) if found is None else found
