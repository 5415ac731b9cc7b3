"""The reference is a second opinion only as long as it shares nothing with what it judges."""

from __future__ import annotations

import ast
from pathlib import Path

import kernels

HERE = Path(kernels.__file__).parent
FILES = [*(HERE / "reference").glob("*.py"), *(HERE / f"{name}.py" for name in ("compare", "inputs", "input_needs"))]
#: Values and names alone: no index arithmetic, no views, no Opts, no lowering.
SHARED = {"kernels.dtypes", "kernels.errors", "kernels.index", "kernels.ir", "kernels.ops"}
OWN = {"kernels.reference", "kernels.compare", "kernels.inputs", "kernels.input_needs", "kernels.tolerance"}
#: Of kernels.index, the terms that a size is made of.
TERMS = {"Atom", "FloorDiv", "Index", "Max", "Mod", "Var"}


def imported(path: Path) -> list[ast.ImportFrom]:
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom) and node.module]


def test_reference_imports_no_code_that_makes_programs() -> None:
    assert len(FILES) > 10
    for path in FILES:
        modules = {node.module for node in imported(path) if (node.module or "").startswith("kernels")}
        foreign = {module for module in modules if module and not module.startswith(tuple(OWN))} - SHARED
        assert not foreign, (path.name, foreign)


def test_reference_takes_only_terms_from_index() -> None:
    for path in FILES:
        names = {alias.name for node in imported(path) if node.module == "kernels.index" for alias in node.names}
        assert names <= TERMS, path.name
