"""Documents for the tests of the wire form: the corpus, small ones made by hand, and ways to change them."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernels.errors import AstError
from kernels.wire import parse_ast

Document = dict[str, Any]
DATA = Path(__file__).parent.parent / "data"
REMOVED = object()


def corpus() -> dict[str, Document]:
    """The real ASTs, by name."""
    lines = (DATA / "corpus" / "tinygrad-0.10.2.jsonl").read_text().splitlines()
    return {line["name"]: line["ast"] for line in map(json.loads, lines)}


def corpus_names(*, dynamic: bool) -> list[str]:
    """The names of the real ASTs with, or without, variables."""
    return [name for name, document in corpus().items() if ("vars" in document) is dynamic]


# ---- parts -----------------------------------------------------------------------------------------------------------


def row_major(shape: list[Any]) -> list[Any]:
    """The strides of a contiguous buffer of this shape, with sizes as on the wire."""
    strides: list[Any] = []
    inner: Any = 1
    for size in reversed(shape):
        strides.append(0 if size == 1 else inner)
        inner = inner * size if isinstance(inner, int) and isinstance(size, int) else ["*", inner, size]
    return strides[::-1]


def view(shape: list[Any], strides: list[Any] | None = None, offset: Any = 0, mask: Any = None) -> dict[str, Any]:
    """A view, contiguous where no strides are given."""
    return {
        "shape": shape,
        "strides": row_major(shape) if strides is None else strides,
        "offset": offset,
        "mask": mask,
    }


def stack(*views: dict[str, Any]) -> dict[str, Any]:
    """A VIEW node."""
    return {"op": "VIEW", "src": [], "arg": {"views": list(views)}}


def node(op: str, src: list[int], dtype: str | None = "float32", arg: Any = None) -> dict[str, Any]:
    """A node; `dtype` and `arg` are left out where they are None."""
    made: dict[str, Any] = {"op": op, "src": src}
    if dtype is not None:
        made["dtype"] = dtype
    if arg is not None:
        made["arg"] = arg
    return made


def buffer(slot: int, size: int, dtype: str = "float32") -> dict[str, Any]:
    """A DEFINE_GLOBAL node."""
    return node("DEFINE_GLOBAL", [], dtype, {"slot": slot, "size": size})


def document(nodes: list[dict[str, Any]], **variables: tuple[int, int]) -> Document:
    """A document of these nodes; variables are given as name=(min, max)."""
    made: Document = {"format": "kernel-ast/1", "nodes": nodes}
    if variables:
        made["vars"] = {name: {"min": least, "max": greatest} for name, (least, greatest) in variables.items()}
    return made


# ---- whole documents -------------------------------------------------------------------------------------------------


def scaled_sum() -> Document:
    """out[i] = sum over j of x[i, j] * 0.5, for 4 rows of 8."""
    return document(
        [
            buffer(0, 4),
            stack(view([4, 1])),
            buffer(1, 32),
            stack(view([4, 8])),
            node("LOAD", [2, 3]),
            stack(view([4, 8], [0, 0])),
            node("CONST", [5], arg=0.5),
            node("MUL", [4, 6]),
            node("REDUCE_AXIS", [7], arg={"op": "ADD", "axes": [1]}),
            node("STORE", [0, 1, 8], None),
            node("SINK", [9], None),
        ]
    )


def loaded(*views: dict[str, Any], size: int = 1000, **variables: tuple[int, int]) -> Document:
    """A copy of `size` elements seen through a stack of views, the outermost last, to a contiguous output."""
    shape = views[-1]["shape"]
    out = stack(view(shape))
    load = [buffer(1, size), stack(*views), node("LOAD", [2, 3])]
    store = [node("STORE", [0, 1, 4], None), node("SINK", [5], None)]
    return document([buffer(0, 1_000_000), out, *load, *store], **variables)


def computed(op: str, dtype: str, *sources: str) -> Document:
    """One op on loads of these dtypes, over 4 elements."""
    nodes = [stack(view([4]))]
    loads = []
    for slot, source in enumerate(sources):
        nodes += [buffer(slot + 1, 4, source), node("LOAD", [len(nodes), 0], source)]
        loads.append(len(nodes) - 1)
    nodes += [node(op, loads, dtype), buffer(0, 4, dtype)]
    nodes.append(node("STORE", [len(nodes) - 1, 0, len(nodes) - 2], None))
    return document([*nodes, node("SINK", [len(nodes) - 1], None)])


def constant(value: Any, dtype: str) -> Document:
    """A constant stored to 4 elements."""
    nodes = [buffer(0, 4, dtype), stack(view([4])), stack(view([4], [0])), node("CONST", [2], dtype)]
    nodes[3]["arg"] = value
    return document([*nodes, node("STORE", [0, 1, 3], None), node("SINK", [4], None)])


def dynamic_rows(**variables: tuple[int, int]) -> Document:
    """`i` rows of `j` elements, plus the value of `k`; the names may be others."""
    i, j, k = variables
    return document(
        [
            buffer(0, 600),
            stack(view([i, j])),
            buffer(1, 600),
            node("LOAD", [2, 1]),
            stack(view([i, j], [0, 0])),
            node("DEFINE_VAR", [4], "int32", {"name": k, "min": variables[k][0], "max": variables[k][1]}),
            node("CAST", [5], "float32"),
            node("ADD", [3, 6]),
            node("STORE", [0, 1, 7], None),
            node("SINK", [8], None),
        ],
        **variables,
    )


def hand_made() -> dict[str, Document]:
    """The documents by hand that have golden keys."""
    return {
        "scaled_sum": scaled_sum(),
        "masked_stack": loaded(view([10, 10], mask=[[2, 9], [0, 10]]), view([25, 4], [4, 1])),
        "flipped": loaded(view([6, 5], [-5, -1], 29)),
        "dynamic_rows": dynamic_rows(i=(1, 20), j=(2, 30), k=(-5, 5)),
        "dynamic_division": loaded(view([["//", ["+", "i", 7], 4], 4], [4, 1], ["max", "i", 3]), i=(1, 64)),
        "not_a_number": constant("nan", "float32"),
        "negative_zero": constant(-0.0, "float32"),
        "half_third": constant(1 / 3, "float16"),
        "bfloat16_third": constant(1 / 3, "bfloat16"),
        "large_integer": constant(str(2**64 - 1), "uint64"),
        "true": constant(True, "bool"),
        "threefry": computed("THREEFRY", "uint64", "uint64", "uint64"),
        "shift": computed("SHL", "int64", "int64", "uint32"),
    }


# ---- changes ---------------------------------------------------------------------------------------------------------


def changed(original: Document, *path: str | int, to: Any) -> Document:
    """A copy with the value at `path` replaced (or REMOVED)."""
    made = copy.deepcopy(original)
    place: Any = made
    for step in path[:-1]:
        place = place[step]
    if to is REMOVED:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return made


def renumbered(original: Document, rng: random.Random) -> Document:
    """The same graph with its nodes in another topological order."""
    nodes = original["nodes"]
    places: dict[int, int] = {}
    while len(places) < len(nodes):
        ready = [n for n in range(len(nodes)) if n not in places and all(s in places for s in nodes[n]["src"])]
        ready = [n for n in ready if nodes[n]["op"] != "SINK" or len(places) == len(nodes) - 1]
        places[rng.choice(ready)] = len(places)
    moved = [{**nodes[n], "src": [places[s] for s in nodes[n]["src"]]} for n in sorted(places, key=places.__getitem__)]
    return {**original, "nodes": moved}


def renamed(value: Any, names: dict[str, str]) -> Any:
    """A part of a document with variables renamed: wherever one of the names is a string or a field's name."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, list):
        return [renamed(part, names) for part in value]
    if isinstance(value, dict):
        return {names.get(name, name): renamed(part, names) for name, part in value.items()}
    return value


def refused(bad: object) -> AstError:
    """The error that `parse_ast` refuses `bad` with."""
    try:
        parse_ast(bad)
    except AstError as error:
        return error
    raise AssertionError("the document was accepted")


def chain(length: int, op: str = "ADD") -> Iterator[dict[str, Any]]:
    """The nodes of x op x op ... op x from node 3 on, where nodes 0 to 2 are a buffer, a view and a load of it."""
    for number in range(3, 3 + length):
        yield node(op, [number - 1, 2])
