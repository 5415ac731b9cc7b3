"""Whatever is done to a document, it ends in an AstError or in a valid AST."""

from __future__ import annotations

import copy
import json
import random
import time
import tracemalloc
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernels.canonical import ast_key
from kernels.errors import AstError
from kernels.schema import json_schema
from kernels.wire import dump_ast, parse_ast, parse_ast_json
from tests.kernels.documents import Document, corpus, hand_made, renumbered

VALIDATOR = jsonschema.Draft202012Validator(json_schema())
SECONDS = 20  # for one document, on a slow machine
MEMORY_BYTES = 200 * 2**20

#: Documents of few nodes, so that one change is a large part of them; some of each family, and all with variables.
STARTS: list[Document] = [
    *hand_made().values(),
    *[made for name, made in corpus().items() if len(made["nodes"]) < 9 or name.startswith("symbolic")][::2],
]

INTEGERS = [-1, 0, 1, 2, 3, 4, 7, 8, 16, 63, 64, 65, 2**31 - 1, 2**31, 2**40, 2**53, 2**53 + 1, 2**63, -(2**63), 10**30]
WORDS = [
    "",
    "i",
    "j",
    "k",
    "nan",
    "inf",
    "-inf",
    "+",
    "//",
    "max",
    "ADD",
    "MUL",
    "LOAD",
    "STORE",
    "SINK",
    "VIEW",
    "CONST",
]
WORDS += ["VALID", "WHERE", "CAST", "BITCAST", "REDUCE_AXIS", "DEFINE_VAR", "DEFINE_GLOBAL", "THREEFRY", "CMPLT", "NEG"]
WORDS += [
    "float32",
    "float16",
    "bfloat16",
    "int32",
    "int64",
    "uint64",
    "bool",
    "op",
    "src",
    "arg",
    "dtype",
    "\x00",
    "é",
]


def sizes() -> st.SearchStrategy[Any]:
    leaves = st.sampled_from([*INTEGERS, "i", "j", "k"])
    ops = st.sampled_from(["+", "-", "*", "//", "%", "max"])
    return st.recursive(leaves, lambda size: st.tuples(ops, size, size).map(list), max_leaves=8)


def values() -> st.SearchStrategy[Any]:
    plain = st.one_of(
        st.none(),
        st.booleans(),
        st.sampled_from(INTEGERS),
        st.sampled_from(WORDS),
        st.floats(),
        sizes(),
        st.text(max_size=5),
    )
    return st.recursive(
        plain, lambda v: st.lists(v, max_size=4) | st.dictionaries(st.sampled_from(WORDS), v, max_size=4)
    )


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in a document."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        container = waiting.pop()
        keys = list(container) if isinstance(container, dict) else range(len(container))
        for key in keys:
            found.append((container, key))
            if isinstance(container[key], dict | list):
                waiting.append(container[key])
    return found


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """A document with one to three changes: a value replaced, taken from elsewhere, removed, doubled or nudged."""
    made = copy.deepcopy(draw(st.sampled_from(STARTS)))
    for _ in range(draw(st.integers(1, 3))):
        found = places(made)
        if not found:
            return made
        container, key = found[draw(st.integers(0, len(found) - 1))]
        change = draw(st.sampled_from(["replace", "nudge", "nudge", "other", "remove", "double", "grow", "renumber"]))
        if change == "replace":
            container[key] = draw(values())
        elif change == "nudge" and type(container[key]) is int:
            container[key] += draw(st.sampled_from([-2, -1, 1, 2, 8]))
        elif change == "other":
            other, place = found[draw(st.integers(0, len(found) - 1))]
            container[key] = copy.deepcopy(other[place])
        elif change == "remove":
            del container[key]
        elif change == "double" and isinstance(container, list):
            container.insert(key, copy.deepcopy(container[key]))
        elif change == "grow" and isinstance(container, dict):
            container[draw(st.sampled_from(WORDS))] = draw(values())
        elif change == "renumber" and well_ordered(made):
            made = renumbered(made, random.Random(draw(st.integers(0, 99))))
    return made


def well_ordered(made: Any) -> bool:
    """True if it has nodes with earlier sources and one SINK, as `renumbered` needs them."""
    try:
        nodes = made["nodes"]
        ordered = all(type(s) is int and 0 <= s < n for n, node in enumerate(nodes) for s in node["src"])
        return ordered and [node["op"] for node in nodes].count("SINK") == 1 == (nodes[-1]["op"] == "SINK")
    except (KeyError, TypeError, IndexError, AttributeError):
        return False


def judge(made: Any) -> None:
    """Read `made`, and hold what has to hold of the end."""
    started = time.perf_counter()
    try:
        ast = parse_ast(made)
    except AstError as error:
        assert len(str(error)) < 300
        assert str(error).isprintable()
        assert time.perf_counter() - started < SECONDS
        return
    assert time.perf_counter() - started < SECONDS
    written = dump_ast(ast)
    assert parse_ast(written) == ast
    try:
        assert ast_key(parse_ast(written)) == ast_key(ast)
    except AstError as error:
        assert error.rule == "limit"
    VALIDATOR.validate(written)
    VALIDATOR.validate(made)


@given(mutated())
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_mutated_documents_end_in_an_error_or_a_valid_ast(made: Any) -> None:
    judge(made)


@given(values())
@settings(max_examples=200, deadline=None)
def test_any_json_value_ends_in_an_error(made: Any) -> None:
    judge(made)


@given(st.sampled_from(STARTS), st.data())
@settings(max_examples=200, deadline=None)
def test_mutated_text_ends_in_an_error_or_a_valid_ast(made: Document, data: st.DataObject) -> None:
    text = json.dumps(made)
    for _ in range(data.draw(st.integers(1, 3))):
        at, length = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 6))
        text = (
            text[:at]
            + data.draw(st.text(alphabet='0123456789eE+-.,:[]{}"\\aiNu \ud800é', max_size=4))
            + text[at + length :]
        )
    try:
        ast = parse_ast_json(text)
    except AstError as error:
        assert str(error).isprintable()
    else:
        assert parse_ast(dump_ast(ast)) == ast


def test_mutations_reach_valid_documents_too() -> None:
    """The fuzz test would say nothing if everything it makes were refused."""
    ends = {"valid": 0, "refused": 0}

    @given(mutated())
    @settings(max_examples=150, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def count(made: Any) -> None:
        try:
            parse_ast(made)
            ends["valid"] += 1
        except AstError:
            ends["refused"] += 1

    count()
    assert min(ends.values()) > 10


HOSTILE_SIZES = [
    ["%", ["*", ["+", "i", "j"], ["%", ["*", "i", 7], ["+", "j", 1]]], ["+", "i", ["%", "j", "k"]]],
    [
        "*",
        ["*", ["%", ["*", "i", ["+", "j", 3]], ["+", "k", 2]], ["%", "j", ["+", "i", 5]]],
        ["+", ["%", "k", "i"], "j"],
    ],
    ["//", ["-", ["*", ["*", "i", "j"], "k"], ["*", "i", ["*", "j", ["max", "k", 1]]]], 3],
    ["max", ["max", ["-", "i", "j"], ["-", "j", "k"]], ["max", ["-", "k", "i"], ["//", "i", "j"]]],
]


def hostile_document(size: Any) -> str:
    """Almost a mebibyte of views whose every size is another expression around `size`."""
    variables = {name: {"min": 1, "max": 200} for name in "ijk"}
    nodes = []
    length = 0
    while length < 900_000:
        n = len(nodes)
        seen = {
            "shape": [2, 2],
            "strides": [["*", ["+", size, n], n + 1], ["%", ["+", size, n], ["+", "i", n + 7]]],
            "offset": ["//", ["+", ["*", size, "j"], n], ["+", "k", n + 1]],
            "mask": None,
        }
        nodes.append({"op": "VIEW", "src": [], "arg": {"views": [seen]}})
        length += len(json.dumps(nodes[-1]))
    return json.dumps({"format": "kernel-ast/1", "nodes": nodes, "vars": variables})


@pytest.mark.parametrize("size", HOSTILE_SIZES)
def test_a_mebibyte_of_hostile_sizes_ends_in_time_and_memory(size: Any) -> None:
    text = hostile_document(size)
    started = time.perf_counter()
    tracemalloc.start()
    with pytest.raises(AstError):
        parse_ast_json(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert time.perf_counter() - started < SECONDS
    assert peak < MEMORY_BYTES
