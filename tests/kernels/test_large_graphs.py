"""Long chains and graphs with exponentially many paths take linear time, from document to key."""

from __future__ import annotations

import json
import time
import tracemalloc
from typing import Any

import pytest

from kernels.canonical import ast_key
from kernels.errors import AstError
from kernels.wire import dump_ast, parse_ast, parse_ast_json
from tests.kernels.documents import Document, buffer, chain, document, node, refused, stack, view

SECONDS = 5  # what a slow machine may take; it is a fraction of a second on a quiet one
MEMORY_BYTES = 200 * 2**20


def on_loads(made: list[dict[str, Any]]) -> Document:
    """`made` nodes, from number 3 on, after a buffer, a view and a load, then a store."""
    nodes = [buffer(1, 16), stack(view([16])), node("LOAD", [0, 1]), *made]
    nodes += [buffer(0, 16), node("STORE", [len(nodes), 1, len(nodes) - 1], None)]
    return document([*nodes, node("SINK", [len(nodes) - 1], None)])


def squares(times: int) -> list[dict[str, Any]]:
    """y = max(y, y * y), again and again: twice as many paths with each step."""
    made = []
    for number in range(3, 3 + 2 * times, 2):
        made += [node("MUL", [number - 1, number - 1]), node("MAX", [number - 1, number])]
    return made


@pytest.mark.parametrize("made", [list(chain(3000)), squares(24), squares(2000)], ids=["C9", "C10", "2000 squares"])
def test_large_graphs_are_read_written_and_keyed(made: list[dict[str, Any]]) -> None:
    # Cases C9 (a chain of 3000 ADDs) and C10 (y = max(y, y * y) 24 times).
    whole = on_loads(made)
    started = time.perf_counter()
    ast = parse_ast(whole)
    assert len(ast.nodes) == len(whole["nodes"])
    key = ast_key(ast)
    again = parse_ast(dump_ast(ast))
    assert time.perf_counter() - started < SECONDS
    assert again == ast
    assert ast_key(again) == key


def test_equal_subgraphs_of_a_large_document_become_one() -> None:
    # Two chains node by node the same: half of the nodes go.
    made = list(chain(1000))
    second = [{**n, "src": [s + 1000 if s > 2 else s for s in n["src"]]} for n in made]
    both = [*made, *second, node("MUL", [1002, 2002])]
    ast = parse_ast(on_loads(both))
    assert len(ast.nodes) == 1000 + 3 + 4
    assert ast.nodes[-3].src == (ast.nodes[-3].src[0],) * 2


def test_more_nodes_than_the_limit_are_refused_at_once() -> None:
    started = time.perf_counter()
    assert refused(on_loads(list(chain(200_000)))).rule == "limit"
    assert time.perf_counter() - started < SECONDS


def test_a_mebibyte_of_views_stays_small_in_memory() -> None:
    stacked = [stack(*[view([2] * 16)] * 7, view([2] * 16, [0] * 15 + [1], n)) for n in range(700)]
    text = json.dumps(document([*stacked, buffer(0, 1), node("SINK", [0], None)]))
    assert 0.9 * 2**20 < len(text) < 2**20
    tracemalloc.start()
    with pytest.raises(AstError) as caught:
        parse_ast_json(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert caught.value.rule == "source-kind"
    assert peak < MEMORY_BYTES
