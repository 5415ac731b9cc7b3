"""Sizes on the wire and as index expressions: `64`, `"i"`, `["*", 64, "i"]`.

Reading brings an expression to its canonical sum of products, and writing gives that sum back, so that what is written
reads as the same value. Nothing in between may grow: every intermediate result has to fit the limits.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernels.errors import AstError
from kernels.index import Atom, Expr, FloorDiv, Index, Max, Mod, Var, lower, single, upper
from kernels.index_rules import floordiv, maximum, mod
from kernels.limits import Limits
from kernels.proof import Prover
from kernels.quote import quote

SIZE_OPS = ("+", "-", "*", "//", "%", "max")


class SizeReader:
    """Reads the sizes of one document, whose variables are `variables`; `used` are the names met so far."""

    def __init__(self, variables: Mapping[str, Var], limits: Limits, prover: Prover) -> None:
        self.variables = {name: single(variable) for name, variable in variables.items()}
        self.limits = limits
        self.prover = prover
        self.used: set[str] = set()
        self._nodes_left = 0
        self._work_left = limits.size_work

    def read(self, value: object, node: int) -> Index:
        """The canonical form of `value`, which stands in the document's node `node`."""
        limit = self.limits.integer
        if type(value) is int and -limit <= value <= limit:
            return value
        self._nodes_left = self.limits.size_nodes
        result = self._read(value, node, self.limits.size_depth)
        if size_extent(result)[1] > self.limits.size_depth:
            raise AstError("limit", f"a size nests more than {self.limits.size_depth} operators", node)
        return result

    def _read(self, value: object, node: int, depth_left: int) -> Index:
        self._nodes_left -= 1
        if self._nodes_left < 0:
            raise AstError("limit", f"a size has more than {self.limits.size_nodes} parts", node)
        if type(value) is int:
            if abs(value) > self.limits.integer:
                raise AstError("limit", f"{quote(value)} is beyond {self.limits.integer}", node)
            return value
        if type(value) is str:
            variable = self.variables.get(value)
            if variable is None:
                raise AstError("variables", f"a size names {quote(value)}, which is not among the vars", node)
            self.used.add(value)
            return variable
        if type(value) is not list or len(value) != 3 or type(value[0]) is not str or value[0] not in SIZE_OPS:
            expected = "an integer, a variable's name or [op, a, b] with op one of " + " ".join(SIZE_OPS)
            raise AstError("size", f"a size is {expected}, not {quote(value)}", node)
        if depth_left == 0:
            raise AstError("limit", f"a size nests more than {self.limits.size_depth} operators", node)
        left = self._read(value[1], node, depth_left - 1)
        right = self._read(value[2], node, depth_left - 1)
        return self._apply(value[0], left, right, node)

    def _apply(self, op: str, left: Index, right: Index, node: int) -> Index:
        self._check_growth(op, left, right, node)
        result: Index
        if op == "+":
            result = left + right
        elif op == "-":
            result = left - right
        elif op == "*":
            result = left * right
        elif op == "max":
            result = maximum(left, right)
        else:
            result = self._divide(op, left, right, node)
        if max(abs(lower(result)), abs(upper(result))) > self.limits.integer:
            raise AstError("limit", f"a size expression can go beyond {self.limits.integer}", node)
        weight = size_extent(result)[0]
        self._work_left -= weight
        if weight > self.limits.size_nodes or self._work_left < 0:
            raise AstError("limit", "the document's size expressions are too large", node)
        return result

    def _check_growth(self, op: str, left: Index, right: Index, node: int) -> None:
        """Refuse what would be too large before it is worked out."""
        if isinstance(left, int) or isinstance(right, int):
            return
        grown = size_extent(left)[0] + size_extent(right)[0] + 1
        if op == "*":
            grown = size_extent(left)[0] * _count_terms(right) + size_extent(right)[0] * _count_terms(left)
        if grown > 2 * self.limits.size_nodes:
            message = f"a size has more than {self.limits.size_nodes} parts when it is multiplied out"
            raise AstError("limit", message, node)

    def _divide(self, op: str, left: Index, right: Index, node: int) -> Index:
        if lower(right) <= 0:
            raise AstError("size", f"the second operand of {op} in a size may be 0 or less", node)
        if self.prover.at_least_zero(left):
            result = floordiv(left, right) if op == "//" else mod(left, right)
            if isinstance(result, int) or not any(map(_is_unsure, (a for m, _ in result.terms for a in m))):
                return result
        raise AstError("size", f"the first operand of {op} in a size may be negative", node)


def _is_unsure(atom: Atom) -> bool:
    """True for a division by variables whose numerator may be negative for all that its bounds say.

    Adding a multiple of such a denominator changes the form of the numerator, so it could not be written to read as the
    same value again.
    """
    return isinstance(atom, FloorDiv | Mod) and isinstance(atom.denominator, Expr) and atom.numerator.lo < 0


def _count_terms(value: Expr) -> int:
    return len(value.terms) + (value.constant != 0)


def size_to_wire(value: Index) -> object:
    """The wire form of a size: of a sum of products, as balanced `+` and `*`, coefficients first, constants last."""
    if isinstance(value, int):
        return value
    terms: list[object] = []
    for monomial, coefficient in value.terms:
        factors: list[object] = [] if coefficient == 1 else [coefficient]
        terms.append(_balanced("*", factors + [_atom_to_wire(atom) for atom in monomial]))
    if value.constant or not terms:
        terms.append(value.constant)
    return _balanced("+", terms)


def _balanced(op: str, operands: list[object]) -> object:
    if len(operands) == 1:
        return operands[0]
    middle = (len(operands) + 1) // 2
    return [op, _balanced(op, operands[:middle]), _balanced(op, operands[middle:])]


def _atom_to_wire(atom: Atom) -> object:
    if isinstance(atom, Var):
        return atom.name
    if isinstance(atom, Max):
        return ["max", size_to_wire(atom.first), size_to_wire(atom.second)]
    if isinstance(atom, FloorDiv | Mod):
        return _division_to_wire(atom)
    raise TypeError(f"{atom} has no wire form: sizes depend on variables alone")


def _division_to_wire(atom: FloorDiv | Mod) -> object:
    """A division whose operands are not negative on the wire: whole denominators are added where they might be."""
    denominator = size_to_wire(atom.denominator)
    added = -(min(atom.numerator.lo, 0) // lower(atom.denominator))
    numerator = size_to_wire(atom.numerator + added * atom.denominator)
    if isinstance(atom, Mod):
        return ["%", numerator, denominator]
    quotient = ["//", numerator, denominator]
    return ["-", quotient, added] if added else quotient


def size_extent(value: Index) -> tuple[int, int]:
    """(nodes, depth) of the wire form of `value`: its integers, names and operators, and how deep operators nest."""
    return _extent(size_to_wire(value))


def _extent(size: object) -> tuple[int, int]:
    if not isinstance(size, list):
        return 1, 0
    left, right = _extent(size[1]), _extent(size[2])
    return left[0] + right[0] + 1, max(left[1], right[1]) + 1
