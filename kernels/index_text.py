"""Index expressions for people: `a1[i, k + m - 1]` where the buffer can be seen in several dimensions.

The wire form knows flat buffers only. Where the positions of all accesses to one buffer are digits of a mixed radix,
none of them carrying over, the buffer is shown with those dimensions; else flat, as `a1[14*i + k]`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernels.index import Atom, Axis, Expr, FloorDiv, Index, Max, Mod, Var, leaves
from kernels.validity import Condition, Validity
from kernels.view_stack import Location

_LETTERS = "ijkmnpqrstuvwxyz"  # without l and o, which look like digits

Names = Mapping[Atom, str]


def axis_names(axes: Sequence[Axis], taken: set[str]) -> dict[Atom, str]:
    """A name for each axis: i, j, k and so on, but for those that are `taken`."""
    free = [letter for letter in _LETTERS if letter not in taken]
    free += [name for name in (f"i{number}" for number in range(len(axes) + len(taken))) if name not in taken]
    return dict(zip(axes, free, strict=False))


# ---- expressions and conditions --------------------------------------------------------------------------------------


def index_text(value: Index, names: Names) -> str:
    """`value` with its axes called by `names`: `64*i + j // 4 - 1`, the largest coefficients first."""
    if isinstance(value, int):
        return str(value)
    terms = sorted(value.terms, key=lambda term: (term[1] < 0, -abs(term[1])))
    constant = value.constant
    text = ""
    if terms[0][1] < 0 and constant > 0:  # 2 - i rather than -i + 2
        text, constant = str(constant), 0
    for monomial, coefficient in terms:
        alone = abs(coefficient) == 1 and len(monomial) == 1
        factors = [_atom_text(atom, names, alone) for atom in monomial]
        if abs(coefficient) != 1:
            factors.insert(0, str(abs(coefficient)))
        text += _signed("*".join(factors), coefficient < 0, bool(text))
    return text + _signed(str(abs(constant)), constant < 0, True) if constant else text


def _signed(text: str, negative: bool, follows: bool) -> str:
    if follows:
        return f" - {text}" if negative else f" + {text}"
    return f"-{text}" if negative else text


def _atom_text(atom: Atom, names: Names, alone: bool) -> str:
    if isinstance(atom, FloorDiv | Mod):
        sign = "//" if isinstance(atom, FloorDiv) else "%"
        text = f"{_operand(atom.numerator, names)} {sign} {_operand(atom.denominator, names)}"
        return text if alone else f"({text})"
    if isinstance(atom, Max):
        return f"max({index_text(atom.first, names)}, {index_text(atom.second, names)})"
    return names.get(atom, str(atom))


def _operand(value: Index, names: Names) -> str:
    text = index_text(value, names)
    return f"({text})" if " " in text else text


def condition_text(condition: Condition, names: Names) -> str:
    """A condition with half-open bounds: `1 <= i + k < 15`."""
    expr, lo, hi = condition.expr, condition.lo, condition.hi
    text = index_text(expr, names)
    if (expr.lo if lo is None else lo) == (expr.hi if hi is None else hi):
        return f"{text} == {expr.lo if lo is None else lo}"
    if lo is None or hi is None:
        return f"{text} < {(hi or 0) + 1}" if lo is None else f"{text} >= {lo}"
    return f"{lo} <= {text} < {hi + 1}"


def validity_text(validity: Validity, names: Names) -> str:
    """All conditions of `validity`, or True or False where it is always or never valid."""
    if not validity.possible:
        return "False"
    return " and ".join(condition_text(condition, names) for condition in validity.conditions) or "True"


# ---- dimensions ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Dimensions:
    """A way to see a flat buffer: `sizes`, and by location of an access its subscripts, outermost first."""

    sizes: tuple[int, ...]
    subscripts: tuple[tuple[Index, ...], ...]


def dimensions(locations: Sequence[Location], elements: int) -> Dimensions:
    """How to see a buffer of `elements` elements that is accessed at `locations`; flat if there is no other way."""
    flat = Dimensions((elements,), tuple((location.position,) for location in locations))
    coefficients = [_coefficients(location.position) for location in locations]
    if any(found is None for found in coefficients):
        return flat
    strides = sorted({abs(c) for found in coefficients for c in found or ()})
    if not strides or strides[0] != 1:
        return flat
    splits = [_Split(location) for location in locations]
    sizes: list[int] = []
    below = 1  # the stride of the dimension that is being filled
    for stride in strides[1:]:
        ratio = stride // below
        digits = [split.digit(below, stride, ratio) for split in splits] if stride % below == 0 else [None]
        if elements % stride == 0 and all(digit is not None for digit in digits):
            for split in splits:
                split.close(below, stride, ratio)
            sizes.append(ratio)
            below = stride
    tops = [split.rest(below) for split in splits]
    if not sizes or any(top is None for top in tops):
        return flat
    subscripts = tuple(
        (top, *reversed(split.digits)) for split, top in zip(splits, tops, strict=True) if top is not None
    )
    return Dimensions((elements // below, *reversed(sizes)), subscripts)


def _coefficients(position: Index) -> list[int] | None:
    """The coefficients of `position`; None where variables are in it, or products, whose strides are not known."""
    if isinstance(position, int):
        return []
    if any(len(m) > 1 for m, _ in position.terms) or any(isinstance(leaf, Var) for leaf in leaves(position)):
        return None
    return [coefficient for _, coefficient in position.terms]


class _Split:
    """One position on its way into digits, the innermost first. carried: the constant that is left, in strides."""

    def __init__(self, location: Location) -> None:
        self.terms = location.position.terms if isinstance(location.position, Expr) else ()
        self.carried = location.position.constant if isinstance(location.position, Expr) else location.position
        self.conditions = location.validity.conditions
        self.digits: list[Index] = []

    def _between(self, below: int, stride: int | None) -> Expr | None:
        """The sum of the terms with coefficients in [below, stride), counted in `below`; None where that is no sum."""
        found = [(m, c) for m, c in self.terms if below <= abs(c) and (stride is None or abs(c) < stride)]
        return Expr(tuple((m, c // below) for m, c in found), 0) if all(c % below == 0 for _, c in found) else None

    def digit(self, below: int, stride: int, ratio: int) -> Index | None:
        """The digit in [0, ratio) between two strides, if the terms there make one."""
        terms = self._between(below, stride)
        if terms is None:
            return None
        least, greatest = _narrowed(terms, self.conditions)
        for constant in (self.carried % ratio, self.carried % ratio - ratio):
            if least + constant >= 0 and greatest + constant < ratio:
                return _plain(terms, constant)
        return None

    def close(self, below: int, stride: int, ratio: int) -> None:
        """Take the digit, and carry the rest of the constant."""
        digit = self.digit(below, stride, ratio)
        assert digit is not None
        self.digits.append(digit)
        self.carried = (self.carried - (digit if isinstance(digit, int) else digit.constant)) // ratio

    def rest(self, below: int) -> Index | None:
        """What is left for the outermost dimension."""
        terms = self._between(below, None)
        return None if terms is None else _plain(terms, self.carried)


def _plain(terms: Expr, constant: int) -> Index:
    return Expr(terms.terms, constant) if terms.terms else constant


def _narrowed(value: Expr, conditions: Sequence[Condition]) -> tuple[int, int]:
    """The bounds of a sum without constant, also by the conditions on that very sum or on its negative."""
    least, greatest = (value.lo, value.hi) if value.terms else (0, 0)
    for condition in conditions:
        lo, hi = condition.lo, condition.hi
        if value.terms and condition.expr == -value:
            lo, hi = None if hi is None else -hi, None if lo is None else -lo
        elif condition.expr != value:
            continue
        least, greatest = least if lo is None else max(least, lo), greatest if hi is None else min(greatest, hi)
    return least, greatest
