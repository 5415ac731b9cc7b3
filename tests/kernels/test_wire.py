"""Documents are read strictly and written back the same."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from kernels.errors import AstError
from kernels.ir import Ast
from kernels.limits import Limits
from kernels.wire import dump_ast, parse_ast, parse_ast_json
from tests.kernels.documents import (
    REMOVED,
    Document,
    buffer,
    changed,
    constant,
    corpus,
    corpus_names,
    document,
    dynamic_rows,
    hand_made,
    loaded,
    node,
    refused,
    scaled_sum,
    stack,
    view,
)

CORPUS = corpus()


@pytest.mark.parametrize("name", corpus_names(dynamic=False))
def test_dump_ast_gives_a_static_corpus_document_back(name: str) -> None:
    assert dump_ast(parse_ast(CORPUS[name])) == CORPUS[name]


@pytest.mark.parametrize("made", [CORPUS[name] for name in corpus_names(dynamic=True)] + list(hand_made().values()))
def test_dump_ast_gives_a_document_that_parses_to_the_same(made: Document) -> None:
    ast = parse_ast(made)
    written = dump_ast(ast)
    assert parse_ast(written) == ast
    assert dump_ast(parse_ast(written)) == written
    assert parse_ast_json(json.dumps(written, allow_nan=False)) == ast


def test_dump_ast_writes_sizes_as_sums_of_products() -> None:
    written: Any = dump_ast(parse_ast(CORPUS["symbolic/01"]))
    assert written["nodes"][6]["arg"]["views"][0]["strides"] == [0, ["*", 64, "i"], 0, 64, 1]
    assert written["vars"] == {"i": {"min": 1, "max": 256}}


def test_parse_ast_does_not_change_the_document() -> None:
    made = dynamic_rows(i=(1, 20), j=(2, 30), k=(-5, 5))
    before = json.dumps(made)
    written: Any = dump_ast(parse_ast(made))
    written["nodes"][1]["arg"]["views"][0]["shape"].append(7)
    assert json.dumps(made) == before


# ---- what the AST is -------------------------------------------------------------------------------------------------


def test_parse_ast_numbers_nodes_in_post_order() -> None:
    moved = document(
        [
            stack(view([4])),
            buffer(1, 4),
            buffer(0, 4),
            node("LOAD", [1, 0]),
            node("STORE", [2, 0, 3], None),
            node("SINK", [4], None),
        ]
    )
    ast = parse_ast(moved)
    assert [str(n.op) for n in ast.nodes] == ["DEFINE_GLOBAL", "VIEW", "DEFINE_GLOBAL", "LOAD", "STORE", "SINK"]
    assert [n.src for n in ast.nodes] == [(), (), (), (2, 1), (0, 1, 3), (4,)]
    assert ast.shapes == (None, (4,), None, (4,), (4,), None)


def test_parse_ast_merges_equal_nodes_and_drops_unused_ones() -> None:
    nodes: list[Any] = scaled_sum()["nodes"]
    again = [*nodes[:5], stack(view([4, 8])), node("LOAD", [2, 5]), node("SIN", [6]), node("ADD", [4, 6])]
    again += [node("REDUCE_AXIS", [8], arg={"op": "ADD", "axes": [1]}), node("STORE", [0, 1, 9], None)]
    ast = parse_ast(document([*again, node("SINK", [10], None)]))
    assert [str(n.op) for n in ast.nodes[3:]] == ["VIEW", "LOAD", "ADD", "REDUCE_AXIS", "STORE", "SINK"]
    assert ast.nodes[5].src == (4, 4)


def test_parse_ast_checks_unused_nodes() -> None:
    nodes = scaled_sum()["nodes"]
    unused = node("IDIV", [4, 4])
    error = refused(document([*nodes[:-1], unused, nodes[-1]]))
    assert (error.rule, error.node) == ("dtype", 10)


def test_parse_ast_drops_masks_and_strides_without_effect() -> None:
    plain = loaded(view([1, 5], [0, 1]))
    assert parse_ast(loaded(view([1, 5], [77, 1], 0, [[0, 1], [0, 5]]))) == parse_ast(plain)


def test_parse_ast_keeps_zeros_of_both_signs_apart() -> None:
    nodes = [stack(view([4], [0])), node("CONST", [0], arg=0.0), node("CONST", [0], arg=-0.0), node("ADD", [1, 2])]
    nodes += [buffer(0, 4), stack(view([4])), node("STORE", [4, 5, 3], None), node("SINK", [6], None)]
    ast = parse_ast(document(nodes))
    signs = [math.copysign(1.0, n.arg) for n in ast.nodes if isinstance(n.arg, float)]
    assert signs == [1.0, -1.0]


@pytest.mark.parametrize(
    ("sent", "dtype", "value"),
    [
        (3, "float32", 3.0),
        (0.1, "float32", 0.1),
        (1e39, "float32", 1e39),
        ("inf", "float16", math.inf),
        ("-inf", "bfloat16", -math.inf),
        (2**53, "int64", 2**53),
        (str(-(2**63)), "int64", -(2**63)),
        (-1, "uint32", -1),
        (300, "int8", 300),
        (False, "bool", False),
    ],
)
def test_parse_ast_reads_constants_as_their_dtype(sent: Any, dtype: str, value: float) -> None:
    ast = parse_ast(constant(sent, dtype))
    (found,) = [n.arg for n in ast.nodes if n.op == "CONST"]
    assert found == value
    assert type(found) is type(value)


def test_parse_ast_reads_not_a_number() -> None:
    ast = parse_ast(constant("nan", "float64"))
    assert any(isinstance(n.arg, float) and math.isnan(n.arg) for n in ast.nodes)
    assert ast == parse_ast(constant("nan", "float64"))


def test_parse_ast_lists_the_variables_that_are_used() -> None:
    ast = parse_ast(dynamic_rows(i=(1, 20), j=(2, 30), k=(-5, 5)))
    assert [(v.name, v.min, v.max) for v in ast.variables] == [("i", 1, 20), ("j", 2, 30), ("k", -5, 5)]


def test_parse_ast_takes_an_empty_object_of_variables() -> None:
    assert parse_ast({**scaled_sum(), "vars": {}}) == parse_ast(scaled_sum())


# ---- what is refused -------------------------------------------------------------------------------------------------

VIEW = ("nodes", 3, "arg", "views", 0)
REFUSED: list[tuple[str, Document, int | None]] = [
    ("format", changed(scaled_sum(), "format", to="kernel-ast/2"), None),
    ("format", changed(scaled_sum(), "format", to=["kernel-ast/1"]), None),
    ("field", changed(scaled_sum(), "format", to=REMOVED), None),
    ("field", changed(scaled_sum(), "name", to="x"), None),
    ("field", changed(scaled_sum(), "nodes", to={}), None),
    ("field", changed(scaled_sum(), "nodes", 4, to=[]), 4),
    ("field", changed(scaled_sum(), "nodes", 4, "op", to=REMOVED), 4),
    ("field", changed(scaled_sum(), "nodes", 4, "src", to=REMOVED), 4),
    ("field", changed(scaled_sum(), "nodes", 4, "dtype", to=REMOVED), 4),
    ("field", changed(scaled_sum(), "nodes", 4, "arg", to=None), 4),
    ("field", changed(scaled_sum(), "nodes", 3, "dtype", to="float32"), 3),
    ("field", changed(scaled_sum(), "nodes", 4, "src", to=(2, 3)), 4),
    ("field", changed(scaled_sum(), "nodes", 4, "src", 0, to=2.0), 4),
    ("field", changed(scaled_sum(), "nodes", 4, "src", 0, to=True), 4),
    ("field", changed(scaled_sum(), "nodes", 0, "arg", to=[0, 4]), 0),
    ("field", changed(scaled_sum(), "nodes", 0, "arg", "name", to="x"), 0),
    ("field", changed(scaled_sum(), "nodes", 0, "arg", "slot", to="0"), 0),
    ("field", changed(scaled_sum(), "nodes", 0, "arg", "size", to=4.0), 0),
    ("field", changed(scaled_sum(), *VIEW, "mask", to=REMOVED), 3),
    ("field", changed(scaled_sum(), *VIEW, "contiguous", to=True), 3),
    ("field", changed(scaled_sum(), *VIEW, "shape", to=32), 3),
    ("field", changed(scaled_sum(), *VIEW, "mask", to=[[0, 4], [0, 8, 1]]), 3),
    ("field", changed(scaled_sum(), "nodes", 8, "arg", "axes", to=1), 8),
    ("field", changed(scaled_sum(), "nodes", 8, "arg", "axes", to=["1"]), 8),
    ("unknown-op", changed(scaled_sum(), "nodes", 4, "op", to="load"), 4),
    ("unknown-op", changed(scaled_sum(), "nodes", 4, "op", to=["LOAD"]), 4),
    ("unknown-op", changed(scaled_sum(), "nodes", 8, "arg", "op", to="SUB"), 8),
    ("unknown-dtype", changed(scaled_sum(), "nodes", 4, "dtype", to="float"), 4),
    ("unknown-dtype", changed(scaled_sum(), "nodes", 4, "dtype", to={}), 4),
    ("source-order", changed(scaled_sum(), "nodes", 4, "src", 0, to=4), 4),
    ("source-order", changed(scaled_sum(), "nodes", 4, "src", 0, to=-1), 4),
    ("source-order", changed(scaled_sum(), "nodes", 4, "src", 0, to=10**30), 4),
    ("sink", document([]), None),
    ("sink", document(scaled_sum()["nodes"][:-1]), None),
    ("sink", document([*scaled_sum()["nodes"], node("SINK", [9], None)]), 10),
    ("number", changed(scaled_sum(), "nodes", 0, "arg", "size", to=0), 0),
    ("number", changed(scaled_sum(), "nodes", 0, "arg", "slot", to=64), 0),
    ("size", changed(scaled_sum(), *VIEW, "strides", 0, to=8.0), 3),
    ("size", changed(scaled_sum(), *VIEW, "offset", to=False), 3),
    ("size", changed(scaled_sum(), *VIEW, "offset", to=None), 3),
    ("size", changed(scaled_sum(), *VIEW, "offset", to=["/", 4, 2]), 3),
    ("size", changed(scaled_sum(), *VIEW, "offset", to=["+", 4]), 3),
    ("variables", changed(scaled_sum(), *VIEW, "offset", to="i"), 3),
    ("limit", changed(scaled_sum(), *VIEW, "offset", to=2**63), 3),
    ("limit", changed(scaled_sum(), *VIEW, "offset", to=["-", -(2**63), 1]), 3),
    ("limit", changed(scaled_sum(), "nodes", 0, "arg", "size", to=2**40 + 1), 0),
    ("field", {**scaled_sum(), "vars": []}, None),
    ("field", {**scaled_sum(), "vars": {"i": {"min": 1}}}, None),
    ("field", {**scaled_sum(), "vars": {"i": {"min": 1, "max": 2.0}}}, None),
    ("number", {**scaled_sum(), "vars": {"i": {"min": 1, "max": 2**31}}}, None),
    ("variables", {**scaled_sum(), "vars": {"i": {"min": 1, "max": 2}}}, None),
    ("variables", {**scaled_sum(), "vars": {"i": {"min": 2, "max": 1}}}, None),
    ("variables", {**scaled_sum(), "vars": {"1": {"min": 1, "max": 2}}}, None),
    ("variables", {**scaled_sum(), "vars": {"i\n": {"min": 1, "max": 2}}}, None),
    ("variables", {**scaled_sum(), "vars": {"ä": {"min": 1, "max": 2}}}, None),
    ("variables", {**scaled_sum(), "vars": {"i" * 65: {"min": 1, "max": 2}}}, None),
    ("limit", {**scaled_sum(), "vars": {f"i{n}": {"min": 1, "max": 2} for n in range(9)}}, None),
    ("variables", changed(dynamic_rows(i=(1, 2), j=(1, 2), k=(1, 2)), "nodes", 5, "arg", "max", to=3), 5),
    ("variables", changed(dynamic_rows(i=(1, 2), j=(1, 2), k=(1, 2)), "nodes", 5, "arg", "name", to="l"), 5),
]


@pytest.mark.parametrize(("rule", "bad", "number"), REFUSED)
def test_parse_ast_refuses_with_rule_and_node(rule: str, bad: Document, number: int | None) -> None:
    error = refused(bad)
    assert (error.rule, error.node) == (rule, number)
    assert error.code == "invalid_ast"


@pytest.mark.parametrize("bad", [None, [], "kernel-ast/1", 7, {"format": "kernel-ast/1"}, {1: 2}])
def test_parse_ast_refuses_what_is_no_document(bad: object) -> None:
    assert refused(bad).rule == "field"


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1, "bool"),
        ("true", "bool"),
        (True, "int32"),
        (True, "float32"),
        (1.0, "int32"),
        (2**53 + 1, "int64"),
        ("9007199254740992", "int64"),
        ("12", "int64"),
        ("1_000_000_000_000_000_000", "int64"),
        (" 9007199254740993", "int64"),
        ("9007199254740993\n", "int64"),
        (str(2**64), "uint64"),
        (str(-(2**63) - 1), "int64"),
        ("٩٠٠٧١٩٩٢٥٤٧٤٠٩٩٣", "int64"),
        ("inf", "int32"),
        ("Infinity", "float32"),
        ("1.5", "float32"),
        (math.nan, "float32"),
        (math.inf, "float64"),
        (10**400, "float64"),
        (None, "float32"),
        ([1.0], "float32"),
    ],
)
def test_parse_ast_refuses_constants_of_another_form(value: Any, dtype: str) -> None:
    error = refused(constant(value, dtype))
    assert (error.rule, error.node) == ("number", 3)


@pytest.mark.parametrize(
    ("limits", "bad"),
    [
        (Limits(nodes=10), scaled_sum()),
        (Limits(axes=1), scaled_sum()),
        (Limits(views=1), loaded(view([4, 4]), view([16]))),
        (Limits(buffers=1), scaled_sum()),
        (Limits(elements=31), scaled_sum()),
        (Limits(variables=2), dynamic_rows(i=(1, 2), j=(1, 2), k=(1, 2))),
    ],
)
def test_parse_ast_keeps_the_limits_it_is_given(limits: Limits, bad: Document) -> None:
    assert isinstance(parse_ast(bad), Ast)
    with pytest.raises(AstError) as caught:
        parse_ast(bad, limits)
    assert caught.value.rule in ("limit", "number")


def test_errors_are_short_and_printable_whatever_was_sent() -> None:
    hostile = "\x1b[31m\n" + "x" * 1_000_000
    long_list = [0] * 100_000
    values: list[Any] = [hostile, 10**5000, -1e308, long_list, {hostile: 1}, [hostile, hostile, hostile], object()]
    for path in [(), ("format",), ("nodes",), ("nodes", 3), ("nodes", 3, "op"), ("nodes", 3, "src"), VIEW[:-1], VIEW]:
        for value in values:
            message = str(refused(changed(scaled_sum(), *path, to=value) if path else value))
            assert len(message) < 300
            assert message.isprintable()
            assert message.isascii()


# ---- JSON text -------------------------------------------------------------------------------------------------------


def test_parse_ast_json_reads_text_and_bytes() -> None:
    text = json.dumps(scaled_sum())
    assert parse_ast_json(text) == parse_ast_json(text.encode()) == parse_ast(scaled_sum())


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("json", ""),
        ("json", "{"),
        ("json", b"\xff\xfe{}"),
        ("json", json.dumps(scaled_sum()).encode("utf-16")),
        ("json", '{"format": "kernel-ast/1", "format": "kernel-ast/1", "nodes": []}'),
        ("json", "[" * 100_000),
        ("json", '{"format": ' + "1" * 5000 + "}"),
        ("number", json.dumps(constant(math.nan, "float32"))),
        ("number", json.dumps(constant(-math.inf, "float32"))),
        ("number", json.dumps(constant(12345.5, "float32")).replace("12345.5", "1e400")),
        ("field", "null"),
        ("limit", json.dumps(scaled_sum()) + " " * 2**20),
    ],
)
def test_parse_ast_json_refuses(rule: str, text: str | bytes) -> None:
    with pytest.raises(AstError) as caught:
        parse_ast_json(text)
    assert caught.value.rule == rule


def test_the_documentation_lists_every_rule() -> None:
    root = Path(__file__).parent.parent.parent
    sources = "".join(path.read_text() for path in (root / "kernels").glob("*.py"))
    raised = set(re.findall(r'AstError\(\s*"([a-z-]+)"', sources))
    documented = re.findall(r"^\| `([a-z-]+)` \|", (root / "docs" / "ast.md").read_text(), re.MULTILINE)
    assert sorted(raised) == sorted(documented)


def test_the_documentation_shows_a_valid_document() -> None:
    text = (Path(__file__).parent.parent.parent / "docs" / "ast.md").read_text()
    (example,) = re.findall(r"^```json\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert dump_ast(parse_ast_json(example)) == json.loads(example)
