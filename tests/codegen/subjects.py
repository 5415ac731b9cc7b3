"""The kernels that programs are tested on: every AST of tests/data by name."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from kernels import Ast, Kernel, Target, opencl_target, parse_ast

DATA = Path(__file__).parent.parent / "data"
SETS = {
    "corpus": DATA / "corpus" / "tinygrad-0.10.2.jsonl",
    "made": DATA / "made" / "made.jsonl",
    "scheduled": DATA / "made" / "scheduled.jsonl",
}
#: Kernels whose buffers are terabytes or gigabytes, too much for a test machine.
TOO_LARGE = frozenset({"made/elementwise/shape_1048576x262144", "made/reduce/shape_11_MAX_float16"})

_EIGHT = dict.fromkeys(("float32", "int32", "uint32", "int16", "uint16", "int8", "uint8", "bool", "bfloat16"), 8)
#: Processors that compute vectors, graphics processors that load them, and a device without work-groups.
TARGETS = {
    "cpu": opencl_target(fp16=False, vector_widths={**_EIGHT, "float64": 4, "int64": 4, "uint64": 4}),
    "gpu": opencl_target(),
    "no_local": opencl_target(fp16=False, has_local=False),
}


@functools.cache
def documents() -> dict[str, dict[str, Any]]:
    """Every kernel's document by "SET/NAME", in the files' order."""
    found: dict[str, dict[str, Any]] = {}
    for name, path in SETS.items():
        for text in path.read_text().splitlines():
            line = json.loads(text)
            found[f"{name}/{line['name'].removeprefix(f'{name}/')}"] = line["ast"]
    return found


def runnable() -> list[str]:
    """The names of all kernels but those that are too large."""
    return [name for name in documents() if name not in TOO_LARGE]


@functools.lru_cache(maxsize=8)
def ast_of(name: str) -> Ast:
    """The AST of "SET/NAME", or of "random/SEED"."""
    if name.startswith("random/"):
        from tests.made.random_ast import random_ast  # takes the oracle, which is slow to import

        return parse_ast(random_ast(int(name.removeprefix("random/"))))
    return parse_ast(documents()[name])


def kernel_of(name: str, target: Target) -> Kernel:
    """The untouched kernel of a name."""
    return Kernel(ast_of(name), target)


def has_half(name: str) -> bool:
    """Whether any value of a stored kernel is float16, which not every device computes."""
    return any(node.get("dtype") == "float16" for node in documents()[name]["nodes"])
