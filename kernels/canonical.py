"""The canonical form of an AST, and its key.

The form is one canonical JSON text (ASCII, no spaces, sorted fields), put together node by node:

    {"format":"kernel-ast/1","nodes":[[op,sources,dtype,arg],...],"variables":[[min,max],...]}

Constants are as their dtype holds them; floats are written exactly, as hexadecimal. Variables are numbers, in order of
appearance. A size is an integer or `["+",constant,[coefficient,factor,...],...]` with its terms sorted; a factor is a
variable `"v0"` or `[op,size,size]`. Nodes that became equal are one: the order is the post-order of the merged graph.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from itertools import permutations, product

from kernels.constants import constant_in
from kernels.errors import AstError
from kernels.graph_rules import symbolic_sizes
from kernels.index import Atom, Expr, FloorDiv, Index, Max, Mod, Var, single, variables_in
from kernels.ir import Ast, BufferArg, Node, ReduceArg, VariableArg, View
from kernels.wire import FORMAT

#: How many ways of numbering variables that nothing tells apart are compared.
MAX_NUMBERINGS = 720


def ast_key(ast: Ast) -> str:
    """The identity of `ast`: 64 hexadecimal digits, the SHA-256 of its canonical form.

    It does not depend on how nodes were numbered, on what variables are called, or on the process. Raises AstError with
    the rule `limit` where too many variables play the same part.
    """
    return hashlib.sha256(canonical_form(ast).encode("ascii")).hexdigest()


def canonical_form(ast: Ast) -> str:
    """The text that `ast_key` hashes. Raises as it does."""
    return min(_text(ast, numbering) for numbering in _numberings(ast))


def variable_numbers(ast: Ast) -> dict[str, int]:
    """The canonical number of each variable, by name: the same part in the computation has the same number."""
    return min(_numberings(ast), key=lambda numbering: _text(ast, numbering))


# ---- text ------------------------------------------------------------------------------------------------------------

_Numbering = Mapping[str, int]


def _text(ast: Ast, numbering: _Numbering) -> str:
    known: dict[str, int] = {}
    places: list[int] = []
    for node in ast.nodes:
        sources = ",".join([str(places[source]) for source in node.src])
        dtype = "null" if node.dtype is None else f'"{node.dtype.name}"'
        text = f'["{node.op.value}",[{sources}],{dtype},{_arg_text(node, numbering)}]'
        places.append(known.setdefault(text, len(known)))
    bounds = sorted((numbering[v.name], v.min, v.max) for v in ast.variables)
    variables = ",".join(f"[{least},{greatest}]" for _, least, greatest in bounds)
    return f'{{"format":"{FORMAT}","nodes":[{",".join(known)}],"variables":[{variables}]}}'


def _arg_text(node: Node, numbering: _Numbering) -> str:
    arg = node.arg
    if arg is None:
        return "null"
    if isinstance(arg, tuple):
        return f"[{','.join([_view_text(view, numbering) for view in arg])}]"
    if isinstance(arg, BufferArg):
        # With variables, the declared size is only what one run used.
        return f"[{arg.slot},{'null' if numbering else arg.size}]"
    if isinstance(arg, ReduceArg):
        return f'["{arg.op.value}",[{",".join(map(str, arg.axes))}]]'
    if isinstance(arg, VariableArg):
        return str(numbering[arg.name])
    assert node.dtype is not None
    return _constant_text(constant_in(arg, node.dtype))


def _constant_text(value: int | float | bool) -> str:
    if isinstance(value, float):
        return f'"{value.hex()}"'
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _view_text(view: View, numbering: _Numbering) -> str:
    shape = ",".join([_size_text(size, numbering) for size in view.shape])
    strides = ",".join([_size_text(stride, numbering) for stride in view.strides])
    mask = "null"
    if view.mask is not None:
        pairs = [f"[{_size_text(a, numbering)},{_size_text(b, numbering)}]" for a, b in view.mask]
        mask = f"[{','.join(pairs)}]"
    return f"[[{shape}],[{strides}],{_size_text(view.offset, numbering)},{mask}]"


def _size_text(size: Index, numbering: _Numbering) -> str:
    if isinstance(size, int):
        return str(size)
    return _sum_text(size, lambda variable: f'"v{numbering[variable.name]}"')


def _sum_text(size: Index, name: Callable[[Var], str]) -> str:
    """The text of a size, variables called by `name`. The order of terms and factors depends on nothing else."""
    if isinstance(size, int):
        return str(size)
    terms = []
    for monomial, coefficient in size.terms:
        factors = sorted([_atom_text(atom, name) for atom in monomial])
        terms.append(f"[{','.join([str(coefficient), *factors])}]")
    return f'["+",{size.constant},{",".join(sorted(terms))}]'


def _atom_text(atom: Atom, name: Callable[[Var], str]) -> str:
    if isinstance(atom, Var):
        return name(atom)
    if isinstance(atom, Max):
        first, second = sorted((_sum_text(atom.first, name), _sum_text(atom.second, name)))
        return f'["max",{first},{second}]'
    assert isinstance(atom, FloorDiv | Mod)
    op = "//" if isinstance(atom, FloorDiv) else "%"
    return f'["{op}",{_sum_text(atom.numerator, name)},{_sum_text(atom.denominator, name)}]'


# ---- the numbers of variables ----------------------------------------------------------------------------------------


def _numberings(ast: Ast) -> list[dict[str, int]]:
    """Numberings of the variables in order of appearance: several where names alone tell variables apart.

    Variables that appear first in the same size are ordered by what they do there. Where that is the same too, all
    orders are tried, and the least text is the form: so the names never matter.
    """
    candidates: list[dict[str, int]] = [{}]
    if len(ast.variables) < 2:
        return [{variable.name: 0 for variable in ast.variables}]
    for size in _appearances(ast):
        new = sorted(v for v in variables_in(size) if v.name not in candidates[0])
        if len(new) == 1:
            for numbering in candidates:
                numbering[new[0].name] = len(numbering)
        elif new:
            candidates = [
                numbering | {v.name: len(numbering) + place for place, v in enumerate(order)}
                for numbering in candidates
                for order in _orders(size, new, numbering, MAX_NUMBERINGS // len(candidates))
            ]
            if len(candidates) > MAX_NUMBERINGS:
                raise AstError("limit", "too many variables play the same part")
    return candidates


def _appearances(ast: Ast) -> Iterator[Expr]:
    """Every size with variables, and every variable that is a value, in order."""
    for node in ast.nodes:
        if isinstance(node.arg, VariableArg):
            yield single(Var(node.arg.name, node.arg.min, node.arg.max))
        elif isinstance(node.arg, tuple):
            for view in node.arg:
                yield from (size for size in symbolic_sizes(view) if isinstance(size, Expr))


def _orders(size: Expr, new: list[Var], numbering: _Numbering, allowed: int) -> Iterator[tuple[Var, ...]]:
    """The orders of the `new` variables of `size` by the part they play in it; at most `allowed`."""
    groups: dict[tuple[int, int, str], list[Var]] = {}
    for variable in new:
        groups.setdefault((variable.lo, variable.hi, _part(size, variable, numbering)), []).append(variable)
    ordered = [groups[part] for part in sorted(groups)]
    if math.prod(math.factorial(len(group)) for group in ordered) > allowed:
        raise AstError("limit", "too many variables play the same part")
    for choice in product(*(permutations(group) for group in ordered)):
        yield tuple(variable for group in choice for variable in group)


def _part(size: Expr, variable: Var, numbering: _Numbering) -> str:
    """`size` with `variable` marked, and the others that have no number yet known by their bounds alone."""

    def name(other: Var) -> str:
        if other == variable:
            return '"self"'
        number = numbering.get(other.name)
        return f"[{other.lo},{other.hi}]" if number is None else f'"v{number}"'

    return _sum_text(size, name)
