"""Sizes on the wire and as index expressions: `64`, `"i"`, `["*", 64, "i"]`.

Reading brings an expression to its canonical sum of products, and writing gives that sum back, so that what is written
reads as the same value. Nothing in between may grow: every intermediate result has to fit the limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kernels.errors import AstError
from kernels.index import Atom, Expr, FloorDiv, Index, Max, Mod, Var, lower, single, upper
from kernels.index_rules import floordiv, maximum, mod
from kernels.limits import Limits
from kernels.proof import Prover
from kernels.quote import quote

SIZE_OPS = ("+", "-", "*", "//", "%", "max")
DIVISIONS = ("//", "%", "max")


class DocumentSizes:
    """Reads the sizes of one document and computes with them, within its limits.

    `variables` are the document's, `used` the names of those met so far.
    """

    def __init__(self, variables: Mapping[str, Var], limits: Limits, prover: Prover) -> None:
        self.variables = {name: single(variable) for name, variable in variables.items()}
        self.limits = limits
        self.prover = prover
        self.used: set[str] = set()
        self._known: dict[tuple[str, Index, Index], Index] = {}
        self._nodes_left = 0
        self._work_left = limits.size_work

    def read(self, value: object, node: int) -> Index:
        """The canonical form of `value`, which stands in the document's node `node`."""
        limit = self.limits.integer
        if type(value) is int and -limit <= value <= limit:
            return value
        self._nodes_left = self.limits.size_nodes
        return self._read(value, node, self.limits.size_depth)

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
        return self.apply(value[0], left, right, node)

    def apply(self, op: str, left: Index, right: Index, node: int) -> Index:
        """`left` op `right`. Raises AstError for the document's node `node` where that exceeds a limit."""
        step = (op, left, right)
        result = self._known.get(step)
        if result is None:
            result = self._known[step] = self._compute(op, left, right, node)
        return result

    def _compute(self, op: str, left: Index, right: Index, node: int) -> Index:
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
            raise AstError("limit", f"a size can go beyond {self.limits.integer}", node)
        self._check_extent(result, node)
        return result

    def _check_growth(self, op: str, left: Index, right: Index, node: int) -> None:
        """Refuse what would be far too large before it is worked out."""
        if op == "*" and isinstance(left, Expr) and isinstance(right, Expr):
            grown = size_extent(left).nodes * _count_terms(right) + size_extent(right).nodes * _count_terms(left)
            if grown > 2 * self.limits.size_nodes:
                raise AstError("limit", "a size has too many parts when it is multiplied out", node)

    def _check_extent(self, size: Index, node: int) -> None:
        """Refuse what is too large in its canonical form, and so bound the work for the whole document.

        Sums with divisions are what takes long: each of their terms is compared with each division.
        """
        limits = self.limits
        nodes, depth, divisions = size_extent(size)
        if nodes > limits.size_nodes or depth > limits.size_depth or divisions > limits.size_divisions:
            raise AstError("limit", "a size is too large in its canonical form", node)
        self._work_left -= nodes * (1 + divisions) ** 2
        if self._work_left < 0:
            raise AstError("limit", "the document's sizes take too long to work out", node)

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


class Extent(NamedTuple):
    """How large a size is on the wire: its integers, names and operators, how deep they nest, how many divide."""

    nodes: int
    depth: int
    divisions: int  # or take a maximum: what does not distribute over a sum


def size_extent(value: Index) -> Extent:
    """The extent of the wire form of `value`."""
    return _extent(size_to_wire(value))


def _extent(size: object) -> Extent:
    if not isinstance(size, list):
        return Extent(1, 0, 0)
    left, right = _extent(size[1]), _extent(size[2])
    return Extent(
        left.nodes + right.nodes + 1,
        max(left.depth, right.depth) + 1,
        left.divisions + right.divisions + (size[0] in DIVISIONS),
    )
