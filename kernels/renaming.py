"""An AST with its variables under other names: programs are made with canonical ones, so that names change nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kernels.canonical import variable_numbers
from kernels.index import Atom, Index, Var, single, substitute
from kernels.ir import Ast, Node, VariableArg, View


def canonical_names(ast: Ast) -> dict[str, str]:
    """What each variable is called in a program: n0, n1, ... by its part in the computation."""
    return {name: f"n{number}" for name, number in variable_numbers(ast).items()} if ast.variables else {}


def renaming(variables: tuple[VariableArg, ...], names: Mapping[str, str]) -> dict[Atom, Index]:
    """The substitution that gives `variables` their new `names`."""
    return {Var(v.name, v.min, v.max): single(Var(names[v.name], v.min, v.max)) for v in variables}


def renamed_ast(ast: Ast, names: Mapping[str, str]) -> Ast:
    """`ast` with its variables called as `names` says."""
    values = renaming(ast.variables, names)
    return replace(
        ast,
        nodes=tuple(_renamed_node(node, names, values) for node in ast.nodes),
        shapes=tuple(None if shape is None else _all(shape, values) for shape in ast.shapes),
        variables=tuple(replace(variable, name=names[variable.name]) for variable in ast.variables),
        reaches=_all(ast.reaches, values),
    )


def _all(sizes: tuple[Index, ...], values: Mapping[Atom, Index]) -> tuple[Index, ...]:
    return tuple(substitute(size, values) for size in sizes)


def _renamed_node(node: Node, names: Mapping[str, str], values: Mapping[Atom, Index]) -> Node:
    if isinstance(node.arg, VariableArg):
        return replace(node, arg=replace(node.arg, name=names[node.arg.name]))
    if isinstance(node.arg, tuple):
        return replace(node, arg=tuple(_renamed_view(view, values) for view in node.arg))
    return node


def _renamed_view(view: View, values: Mapping[Atom, Index]) -> View:
    mask = view.mask
    return View(
        _all(view.shape, values),
        _all(view.strides, values),
        substitute(view.offset, values),
        None if mask is None else tuple((substitute(lo, values), substitute(hi, values)) for lo, hi in mask),
    )
