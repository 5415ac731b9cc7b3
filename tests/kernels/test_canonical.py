"""One computation has one key, and no other computation has it."""

from __future__ import annotations

import itertools
import json
import os
import random
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kernels.canonical import ast_key, canonical_form
from kernels.errors import AstError
from kernels.wire import dump_ast, parse_ast
from tests.kernels.documents import (
    Document,
    buffer,
    changed,
    constant,
    corpus,
    document,
    dynamic_rows,
    hand_made,
    loaded,
    node,
    renamed,
    renumbered,
    scaled_sum,
    stack,
    view,
)
from tests.kernels.golden import KEYS_FILE, keys_text

ROOT = Path(__file__).parent.parent.parent
ALL = corpus() | hand_made()


def key(made: Document) -> str:
    return ast_key(parse_ast(made))


def test_ast_key_is_the_golden_one() -> None:
    assert json.loads(keys_text()) == json.loads(KEYS_FILE.read_text())


def test_ast_key_is_the_same_in_another_process_and_numbering() -> None:
    # Case G5: the same ASTs in a new process, with another hash seed and other node numbers.
    program = (
        "import random\n"
        "from kernels import ast_key, parse_ast\n"
        "from tests.kernels.documents import corpus, hand_made, renumbered\n"
        "rng = random.Random(3)\n"
        "print(*(ast_key(parse_ast(renumbered(d, rng))) for d in (corpus() | hand_made()).values()))"
    )
    here = [key(made) for made in ALL.values()]
    for seed in ("1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        run = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        )
        assert run.stdout.split() == here


def test_ast_key_differs_from_size_to_size() -> None:
    # Case G6: x + 1 of 16 elements and of a million.
    def plus_one(elements: int) -> Document:
        nodes = [buffer(0, elements), stack(view([elements])), buffer(1, elements), node("LOAD", [2, 1])]
        nodes += [stack(view([elements], [0])), node("CONST", [4], arg=1.0), node("ADD", [3, 5])]
        return document([*nodes, node("STORE", [0, 1, 6], None), node("SINK", [7], None)])

    assert len({key(plus_one(elements)) for elements in (16, 17, 10**6)}) == 3


def test_ast_key_differs_between_all_known_documents() -> None:
    assert len({key(made) for made in ALL.values()}) == len(ALL)


def test_ast_key_is_hexadecimal() -> None:
    assert len(key(scaled_sum())) == 64
    assert set(key(scaled_sum())) <= set("0123456789abcdef")


def test_canonical_form_is_canonical_json() -> None:
    for made in ALL.values():
        form = canonical_form(parse_ast(made))
        assert form.isascii()
        assert json.dumps(json.loads(form), sort_keys=True, separators=(",", ":")) == form
        assert form.startswith('{"format":"kernel-ast/1",')


def test_canonical_form_survives_writing_and_reading() -> None:
    for made in ALL.values():
        ast = parse_ast(made)
        assert canonical_form(parse_ast(dump_ast(ast))) == canonical_form(ast)


# ---- what does not matter --------------------------------------------------------------------------------------------


def test_ast_key_does_not_depend_on_the_order_of_nodes_or_on_unused_ones() -> None:
    rng = random.Random(5)
    for made in ALL.values():
        unused = {**made, "nodes": [buffer(63, 9), *shifted(made["nodes"], 1)]}
        assert key(renumbered(unused, rng)) == key(made)


def shifted(nodes: list[Any], by: int) -> list[Any]:
    return [{**n, "src": [s + by for s in n["src"]]} for n in nodes]


def test_ast_key_does_not_depend_on_the_names_of_variables() -> None:
    for made in ALL.values():
        old = list(made.get("vars", {}))
        for new in itertools.permutations([*old, "zz", "A"], len(old)):
            assert key(renamed(made, dict(zip(old, new, strict=True)))) == key(made)


def test_ast_key_does_not_depend_on_how_sizes_are_written() -> None:
    made = dynamic_rows(i=(1, 20), j=(2, 30), k=(-5, 5))
    sizes: list[Any] = ["i", ["+", "i", 0], ["-", ["*", 2, "i"], "i"], ["//", ["*", "i", 3], 3], ["max", "i", 1]]
    for size in sizes:
        for number in (1, 4):
            assert key(changed(made, "nodes", number, "arg", "views", 0, "shape", 0, to=size)) == key(made)


def test_ast_key_does_not_depend_on_the_declared_size_where_there_are_variables() -> None:
    made = dynamic_rows(i=(1, 20), j=(2, 30), k=(-5, 5))
    assert key(changed(made, "nodes", 0, "arg", "size", to=7)) == key(made)
    assert key(changed(scaled_sum(), "nodes", 0, "arg", "size", to=7)) != key(scaled_sum())


def test_ast_key_does_not_depend_on_masks_and_strides_without_effect() -> None:
    plain = loaded(view([1, 5], [0, 1]))
    assert key(loaded(view([1, 5], [77, 1], 0, [[0, 1], [0, 5]]))) == key(plain)


def test_ast_key_merges_constants_that_round_to_the_same() -> None:
    def sum_of(a: float, b: float, dtype: str) -> Document:
        nodes = [stack(view([4], [0])), node("CONST", [0], dtype, a), node("CONST", [0], dtype, b)]
        nodes += [node("ADD", [1, 2], dtype), buffer(0, 4, dtype), stack(view([4]))]
        return document([*nodes, node("STORE", [4, 5, 3], None), node("SINK", [6], None)])

    near = 0.1 + 1e-10
    assert key(sum_of(0.1, near, "float32")) == key(sum_of(near, 0.1, "float32")) == key(sum_of(0.1, 0.1, "float32"))
    assert len({key(sum_of(*pair, "float64")) for pair in ((0.1, near), (near, 0.1), (0.1, 0.1))}) == 3


@pytest.mark.parametrize(
    ("one", "other", "dtype", "same"),
    [
        (0.1, struct.unpack("<f", struct.pack("<f", 0.1))[0], "float32", True),
        (0.1, 0.1000001, "float32", False),
        (0.1, 0.1000001, "float16", True),
        (1 / 3, 0.333984375, "bfloat16", True),
        (0.0, -0.0, "float32", False),
        (1e-10, 0.0, "float16", True),
        (-1e-10, 0.0, "float16", False),
        (1e39, "inf", "float32", True),
        (-70000.0, "-inf", "float16", True),
        (1e39, "inf", "float64", False),
        (1, 1.0, "float32", True),
        ("inf", "-inf", "float32", False),
        ("nan", "inf", "float32", False),
        (9007199254740992, "9007199254740993", "int64", False),
        (-1, 255, "uint8", True),
        (-1, 255, "int8", True),
        (-1, 255, "int16", False),
        (-1, "18446744073709551615", "uint64", True),
    ],
)
def test_ast_key_takes_constants_as_their_dtype_holds_them(one: Any, other: Any, dtype: str, same: bool) -> None:
    assert (key(constant(one, dtype)) == key(constant(other, dtype))) is same


# ---- what does matter ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("nodes", 2, "arg", "size"), 33),
        (("nodes", 3, "arg", "views", 0, "offset"), 1),
        (("nodes", 3, "arg", "views", 0, "strides"), [1, 4]),
        (("nodes", 3, "arg", "views", 0, "mask"), [[0, 4], [0, 7]]),
        (("nodes", 6, "arg"), 0.25),
        (("nodes", 7, "op"), "ADD"),
        (("nodes", 7, "src"), [6, 4]),
        (("nodes", 8, "arg", "op"), "MAX"),
    ],
)
def test_ast_key_differs_where_the_computation_does(path: tuple[Any, ...], value: Any) -> None:
    bigger = changed(scaled_sum(), "nodes", 2, "arg", "size", to=40)
    assert key(changed(bigger, *path, to=value)) != key(bigger)


def test_ast_key_differs_where_bounds_or_parts_of_variables_do() -> None:
    keys = [
        key(loaded(view(["i", "j"]), i=(1, 8), j=(1, 8))),
        key(loaded(view(["i", "j"]), i=(1, 8), j=(1, 9))),
        key(loaded(view(["i", "j"]), i=(1, 9), j=(1, 8))),
        key(loaded(view(["i", "i"]), i=(1, 8))),
        key(loaded(view(["i", "j"], [1, "i"]), i=(1, 8), j=(1, 8))),
    ]
    assert len(set(keys)) == len(keys)


def test_ast_key_differs_between_dtypes() -> None:
    assert len({key(constant(1, dtype)) for dtype in ("int8", "uint8", "int64", "float16", "bfloat16")}) == 5
    assert key(constant(True, "bool")) != key(constant(1, "uint8"))


# ---- variables that nothing tells apart ------------------------------------------------------------------------------


def sum_of_all(names: list[str]) -> Any:
    size: Any = names[0]
    for name in names[1:]:
        size = ["+", size, name]
    return size


@pytest.mark.parametrize("last", ["a", "b", "c", "d"])
def test_ast_key_tries_all_orders_of_variables_that_first_appear_alike(last: str) -> None:
    # In the first size all four play the same part; only a later offset tells one of them apart.
    names = ["a", "b", "c", "d"]
    made = loaded(view([sum_of_all(names)], [1], last), **dict.fromkeys(names, (1, 4)))
    one = loaded(view([sum_of_all(names)], [1], "d"), **dict.fromkeys(names, (1, 4)))
    assert key(made) == key(one)
    other_part = loaded(view([sum_of_all(names)], [1], ["+", "a", "b"]), **dict.fromkeys(names, (1, 4)))
    assert key(other_part) != key(made)


def test_ast_key_refuses_too_many_variables_that_nothing_tells_apart() -> None:
    six = [f"v{n}" for n in range(6)]
    assert key(loaded(view([sum_of_all(six)]), **dict.fromkeys(six, (1, 4))))
    seven = [*six, "v6"]
    with pytest.raises(AstError) as caught:
        key(loaded(view([sum_of_all(seven)]), **dict.fromkeys(seven, (1, 4))))
    assert caught.value.rule == "limit"
    apart = {name: (1, 4 + n) for n, name in enumerate(seven)}
    assert key(loaded(view([sum_of_all(seven)]), **apart))


def test_ast_key_orders_variables_by_their_part_in_a_division() -> None:
    size = ["+", ["//", ["+", "a", 7], ["max", "b", 2]], ["%", ["*", "c", "a"], 5]]
    ranges = dict.fromkeys("abc", (1, 6))
    made = loaded(view([4], [0], size), **ranges)
    for order in itertools.permutations("xyz"):
        names = dict(zip("abc", order, strict=True))
        assert key(renamed(made, names)) == key(made)
