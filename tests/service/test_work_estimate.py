"""The estimate keeps out what takes minutes, and lets all real and made kernels in."""

from __future__ import annotations

import json
import time

import pytest

from kernels import Kernel, opencl_target, parse_ast
from service.errors import TooComplexError
from service.work_estimate import MAX_NAMING_WORK, MAX_VIEW_WORK, check_work, view_work
from tests.kernels.documents import DATA, corpus
from tests.service.test_refusals_http import stacked_views


def test_real_kernels_are_far_below_the_limit() -> None:
    greatest = max(view_work(parse_ast(document)) for document in corpus().values())
    assert 0 < 20 * greatest <= MAX_VIEW_WORK


@pytest.mark.parametrize("name", ["made.jsonl", "scheduled.jsonl"])
def test_made_kernels_are_below_the_limit(name: str) -> None:
    for line in (DATA / "made" / name).read_text().splitlines():
        check_work(parse_ast(json.loads(line)["ast"]))


@pytest.mark.parametrize(("axes", "views"), [(16, 8), (12, 8), (8, 8)])
def test_stacked_views_are_refused(axes: int, views: int) -> None:
    ast = parse_ast(stacked_views(axes, views))
    began = time.perf_counter()
    with pytest.raises(TooComplexError):
        check_work(ast)
    assert time.perf_counter() - began < 0.5


@pytest.mark.parametrize(("axes", "views"), [(2, 8), (4, 3), (8, 4), (16, 4)])
def test_what_is_let_in_is_soon_a_kernel(axes: int, views: int) -> None:
    ast = parse_ast(stacked_views(axes, views))
    check_work(ast)
    began = time.perf_counter()
    Kernel(ast, opencl_target()).default_opts()
    assert time.perf_counter() - began < 5


def test_many_variables_in_many_nodes_are_refused() -> None:
    names = [f"v{number}" for number in range(8)]
    size: object = names[0]
    for name in names[1:]:
        size = ["+", size, name]
    view = {"shape": [size], "strides": [1], "offset": 0, "mask": None}
    nodes: list[dict[str, object]] = [
        {"op": "DEFINE_GLOBAL", "src": [], "dtype": "float32", "arg": {"slot": 0, "size": 64}},
        {"op": "VIEW", "src": [], "arg": {"views": [view]}},
        {"op": "DEFINE_GLOBAL", "src": [], "dtype": "float32", "arg": {"slot": 1, "size": 64}},
        {"op": "LOAD", "src": [2, 1], "dtype": "float32"},
        {"op": "STORE", "src": [0, 1, 3]},
        {"op": "SINK", "src": [4]},
    ]
    bounds = {name: {"min": 1, "max": 8} for name in names}
    ast = parse_ast({"format": "kernel-ast/1", "nodes": nodes, "vars": bounds})
    assert 40320 * len(ast.nodes) > MAX_NAMING_WORK
    with pytest.raises(TooComplexError, match="8 variables"):
        check_work(ast)
