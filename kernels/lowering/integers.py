"""Index expressions as C, hoisted to the loops that they depend on, and in 64 bits only where 32 can overflow."""

from __future__ import annotations

from kernels.index import Atom, Axis, Expr, FloorDiv, Index, Max, Mod, Monomial, Var, axes_in, lower
from kernels.lowering.scope import Scope
from kernels.validity import VALID, Condition, Validity

_INT_MAX = 2**31 - 1


class Integers:
    """Writes index expressions. `loops`: the ids of the axes that are loops; any other Axis must have been replaced.

    given: what holds wherever the statements that are being written are done, so that it need not be asked again.
    """

    def __init__(self, loops: frozenset[int]) -> None:
        self.loops = loops
        self.given = VALID
        self._count = 0

    def text(self, value: Index, scope: Scope) -> str:
        """The text of `value` for use in `scope`; sums that do not change in it are variables of outer scopes."""
        if isinstance(value, int):
            return str(value)
        parts: dict[int, tuple[Scope, dict[Monomial, int]]] = {}
        for monomial, coefficient in value.terms:
            home = scope.home(self._loops_in(Expr(((monomial, coefficient),), 0)))
            parts.setdefault(id(home), (home, {}))[1][monomial] = coefficient
        names = [self._named(Expr(tuple(terms.items()), 0), home) for home, terms in parts.values()]
        if is_wide(value):
            names[0] = f"(long){names[0]}"
        text = "+".join(names)
        return text if value.constant == 0 else f"{text}{value.constant:+d}"

    def _loops_in(self, value: Index) -> frozenset[int]:
        return frozenset(axis for axis in axes_in(value) if axis in self.loops)

    def _named(self, value: Expr, home: Scope) -> str:
        """A variable of `home` that holds `value`, or the text itself where that is a name."""
        atom = value.atom
        if isinstance(atom, Axis | Var):
            return self.atom_text(atom)
        name = home.sums.get(value)
        if name is None:
            name = f"a{self._count}"
            self._count += 1
            home.lines.append(f"{'long' if is_wide(value) else 'int'} {name} = {self.expression(value)};")
            home.sums[value] = name
        return name

    def expression(self, value: Index) -> str:
        """The text of `value` alone, nothing hoisted."""
        if isinstance(value, int):
            return str(value) if abs(value) <= _INT_MAX else f"{value}L"
        wide = is_wide(value)
        text = ""
        for monomial, coefficient in value.terms:
            factors = [self.atom_text(atom) for atom in monomial]
            if wide:
                factors[0] = f"(long)({factors[0]})"
            size = abs(coefficient)
            if size != 1:
                factors.append(f"{size}L" if size > _INT_MAX else str(size))
            sign = "-" if coefficient < 0 else "+" if text else ""
            text += sign + "*".join(factors)
        if value.constant:
            text += f"{value.constant:+d}" + ("L" if abs(value.constant) > _INT_MAX else "")
        return f"({text})" if len(value.terms) > 1 or value.constant else text

    def atom_text(self, atom: Atom) -> str:
        """The text of a variable, a loop's counter, or a quotient, remainder or maximum."""
        if isinstance(atom, Var):
            return atom.name
        if isinstance(atom, Axis):
            return f"r{atom.number}"
        if isinstance(atom, Max):
            return f"max({self.expression(atom.first)}, {self.expression(atom.second)})"
        assert isinstance(atom, FloorDiv | Mod)
        return self._division(atom)

    def _division(self, atom: FloorDiv | Mod) -> str:
        """Floor division, which by a power of two is a shift or a mask.

        C's division truncates: for others a numerator that can be negative is raised by a multiple first.
        """
        numerator: Index = atom.numerator
        if isinstance(atom.denominator, int) and atom.denominator & (atom.denominator - 1) == 0:
            text, size = self.expression(numerator), atom.denominator
            return f"({text}>>{size.bit_length() - 1})" if isinstance(atom, FloorDiv) else f"({text}&{size - 1})"
        least, divisor_lo = lower(numerator), max(lower(atom.denominator), 1)
        raised = max(0, -(least // divisor_lo)) if least < 0 else 0
        numerator = numerator + atom.denominator * raised
        denominator = self.expression(atom.denominator)
        sign = "/" if isinstance(atom, FloorDiv) else "%"
        text = f"({self.expression(numerator)}{sign}{denominator})"
        return f"({text}-{raised})" if raised and isinstance(atom, FloorDiv) else text

    def condition(self, validity: Validity, scope: Scope) -> str | None:
        """A bool that holds where `validity` does: a text of names, a literal, or None where it always holds.

        Each bound is a variable of the outermost scope that it can be in, and they meet without branches.
        """
        if not validity.possible:
            return "false"
        if not validity.conditions:
            return None
        names = [name for condition in validity.conditions for name in self._bounds(condition, scope)]
        if not names:
            return None
        return names[0] if len(names) == 1 else f"({' & '.join(names)})"

    def _bounds(self, condition: Condition, scope: Scope) -> list[str]:
        """The names of a condition's lower and upper bound."""
        home = scope.home(self._loops_in(condition.expr))
        names = []
        given = next((known for known in self.given.conditions if known.expr == condition.expr), None)
        for sign, bound in ((">=", condition.lo), ("<=", condition.hi)):
            known = None if given is None else given.lo if sign == ">=" else given.hi
            if bound is None or (known is not None and (known >= bound if sign == ">=" else known <= bound)):
                continue
            key = (condition.expr, sign, bound)
            name = home.conditions.get(key)
            if name is None:
                text = self.text(condition.expr, home)
                name = f"c{self._count}"
                self._count += 1
                home.lines.append(f"bool {name} = ({text}) {sign} {self.expression(bound)};")
                home.conditions[key] = name
            names.append(name)
        return names


def is_wide(value: Index) -> bool:
    """True where some partial sum or product of `value` can leave 32 bits."""
    if isinstance(value, int):
        return abs(value) > _INT_MAX
    reach = abs(value.constant)
    for monomial, coefficient in value.terms:
        size = abs(coefficient)
        for atom in monomial:
            size *= max(abs(atom.lo), abs(atom.hi), 1)
            if isinstance(atom, FloorDiv | Mod) and (is_wide(atom.numerator) or is_wide(atom.denominator)):
                return True
            if isinstance(atom, Max) and (is_wide(atom.first) or is_wide(atom.second)):
                return True
        reach += size
    return reach > _INT_MAX
