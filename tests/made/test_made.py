from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.made import files, made_documents
from tests.made.random_ast import random_ast
from tests.made.scheduled import uop_to_document
from tests.oracle import document_to_uop, oracle_kernel
from tests.parity.subjects import stored

# What the corpus has none of, and the made kernels must have.
WANTED_OPS = (
    "THREEFRY",
    "BITCAST",
    "AND",
    "OR",
    "XOR",
    "SHL",
    "SHR",
    "POW",
    "MULACC",
    "SUB",
    "FDIV",
    "DEFINE_VAR",
    "NEG",
)
WANTED_DTYPES = ("bfloat16", "uint16", "uint32", "int16", "int64", "uint64", "float64")


def test_made_files_are_what_the_makers_make() -> None:
    out_of_date = [file.name for file, text in files().items() if file.read_text() != text]
    assert not out_of_date, "run python -m tests.made --write"


def test_made_kernels_hold_what_the_corpus_lacks() -> None:
    documents = made_documents()
    nodes = [node for document in documents.values() for node in document["nodes"]]
    assert len(documents) >= 90
    assert set(WANTED_OPS) <= {node["op"] for node in nodes}
    assert set(WANTED_DTYPES) <= {node.get("dtype") for node in nodes}
    per_document = [Counter(node["op"] for node in document["nodes"]) for document in documents.values()]
    assert sum(ops["STORE"] > 1 for ops in per_document) >= 10
    assert sum(ops["REDUCE_AXIS"] > 1 for ops in per_document) >= 15
    stacks = Counter(len(node["arg"]["views"]) for node in nodes if node["op"] == "VIEW")
    assert min(stacks[2], stacks[3], stacks[4]) >= 8


@pytest.mark.parametrize("target", ["opencl", "sm_80_tf32"])
def test_made_kernels_are_accepted_by_the_oracle(target: str) -> None:
    for kind in ("made", "scheduled"):
        for document in stored(kind).values():
            oracle_kernel(document, target)


def test_uop_to_document_is_the_inverse_of_document_to_uop() -> None:
    """For static kernels to the letter; nodes come in tinygrad's own order, which the corpus has too."""
    for name, document in stored("corpus").items():
        assert uop_to_document(document_to_uop(document)) == document, name


def test_random_ast_is_a_function_of_its_seed() -> None:
    texts = [json.dumps(random_ast(seed)) for seed in range(40)]
    assert texts == [json.dumps(random_ast(seed)) for seed in range(40)]
    assert len(set(texts)) == 40
