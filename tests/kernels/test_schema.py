"""The published schema is current, takes every valid document, and refuses nothing that is read."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from kernels.limits import Limits
from kernels.schema import json_schema
from tests.kernels.documents import changed, constant, corpus, dynamic_rows, hand_made, refused, scaled_sum
from tests.kernels.golden import SCHEMA_FILE, schema_text

VALIDATOR = jsonschema.Draft202012Validator(json_schema())
VIEW = ("nodes", 3, "arg", "views", 0)


def test_json_schema_is_the_published_one() -> None:
    assert SCHEMA_FILE.read_text() == schema_text(), "run python -m tests.kernels.golden --write"


def test_json_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())


def test_json_schema_takes_the_corpus_and_documents_by_hand() -> None:
    for made in [*list(corpus().values())[::4], *hand_made().values()]:
        VALIDATOR.validate(made)


@pytest.mark.parametrize(
    "bad",
    [
        changed(scaled_sum(), "format", to="kernel-ast/2"),
        changed(scaled_sum(), "extra", to=1),
        changed(scaled_sum(), "nodes", to=[]),
        changed(scaled_sum(), "nodes", 4, "arg", to=None),
        changed(scaled_sum(), "nodes", 4, "dtype", to="float"),
        changed(scaled_sum(), "nodes", 4, "src", to=[2]),
        changed(scaled_sum(), "nodes", 4, "op", to="FETCH"),
        changed(scaled_sum(), "nodes", 0, "arg", "size", to=0),
        changed(scaled_sum(), "nodes", 0, "arg", "size", to=True),
        changed(scaled_sum(), "nodes", 8, "arg", "axes", to=[1, 1]),
        changed(scaled_sum(), "nodes", 10, "src", to=[]),
        changed(scaled_sum(), *VIEW, "shape", 0, to=0),
        changed(scaled_sum(), *VIEW, "offset", to=["^", 1, 2]),
        changed(scaled_sum(), *VIEW, "offset", to=["+", 1, 2, 3]),
        changed(scaled_sum(), *VIEW, "mask", to=[[0, 4, 1], [0, 8]]),
        changed(scaled_sum(), *VIEW, "strides", to=[1] * 17),
        changed(dynamic_rows(i=(1, 2), j=(1, 2), k=(1, 2)), "vars", "i", "max", to=2**31),
        changed(dynamic_rows(i=(1, 2), j=(1, 2), k=(1, 2)), "vars", to={"1": {"min": 1, "max": 2}}),
        constant(1.5, "int32"),
        constant("12", "int64"),
        constant(1, "bool"),
        constant(True, "float32"),
        constant("Infinity", "float32"),
    ],
)
def test_json_schema_refuses_what_parse_ast_refuses(bad: Any) -> None:
    assert not VALIDATOR.is_valid(bad)
    assert refused(bad)


def test_json_schema_follows_the_limits() -> None:
    small = jsonschema.Draft202012Validator(json_schema(Limits(nodes=10)))
    assert not small.is_valid(scaled_sum())
    assert VALIDATOR.is_valid(scaled_sum())
