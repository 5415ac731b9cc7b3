"""The reference and the scalar interpreter on the same kernel and inputs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np

from kernels import Ast, parse_ast
from kernels.compare import Mismatch, compare
from kernels.inputs import Kind, make_inputs
from kernels.reference import Expected, expect
from kernels.reference.concrete import ConcreteAst, concrete_ast
from kernels.reference.formats import storage_type
from tests.made import MADE_FILE
from tests.scalar import Interpreter, Manner, to_bits

Document = Mapping[str, Any]
CORPUS_FILE = MADE_FILE.parent.parent / "corpus" / "tinygrad-0.10.2.jsonl"
PLAIN = Manner()
MOST_INPUT = 1 << 22  # elements of all buffers of one kernel
MOST_ELEMENTS = 64  # compared of one slot


def stored_documents() -> Iterator[tuple[str, Document]]:
    """The corpus and the made kernels, by name."""
    for file in (CORPUS_FILE, MADE_FILE):
        for line in file.read_text().splitlines():
            row = json.loads(line)
            yield row["name"], row["ast"]


def middle_values(ast: Ast) -> dict[str, int]:
    """For each variable a value between its bounds."""
    return {variable.name: (variable.min + variable.max) // 2 for variable in ast.variables}


def cost_of_element(kernel: ConcreteAst, slot: int) -> int:
    """Roughly how many values the interpreter computes for one element."""
    shape = kernel.shapes[kernel.stores[slot]]
    return len(kernel.nodes) * prod(full for full, size in zip(kernel.sizes, shape, strict=True) if size != full)


def is_affordable(kernel: ConcreteAst, budget: int) -> bool:
    """True if the inputs are small enough, and one element of each slot costs less than `budget`."""
    held = sum(max(slot.declared, slot.reach) for slot in kernel.slots)
    return held <= MOST_INPUT and all(cost_of_element(kernel, slot) <= budget for slot in kernel.stores)


def chosen_outputs(kernel: ConcreteAst, budget: int, seed: int) -> dict[int, Any]:
    """The first and the last element of each slot, and as many others as `budget` allows."""
    chosen = {}
    for slot, store in kernel.stores.items():
        count = prod(kernel.shapes[store])
        more = min(count, budget // cost_of_element(kernel, slot), MOST_ELEMENTS)
        random = np.random.default_rng(seed).integers(0, count, max(more, 1))
        chosen[slot] = np.unique(np.concatenate([[0, count - 1], random]))
    return chosen


def interpreted(
    document: Document,
    kernel: ConcreteAst,
    inputs: Mapping[int, Any],
    outputs: Mapping[int, Any],
    manner: Manner = PLAIN,
) -> dict[int, tuple[Any, list[int | None]]]:
    """Per slot: a buffer with what the interpreter stored, and where it put each of the chosen elements."""
    interpreter = Interpreter(document, inputs, kernel.variables, manner)
    found = {}
    for slot, numbers in outputs.items():
        facts = kernel.slots[slot]
        buffer = np.zeros(max(facts.declared, facts.reach), storage_type(facts.dtype))
        positions = []
        for number in numbers:
            position, value = interpreter.output(slot, int(number))
            positions.append(position)
            if position is not None:
                buffer[position] = to_bits(value, "bfloat16") if facts.dtype.name == "bfloat16" else value
        found[slot] = buffer, positions
    return found


def disagreement(
    document: Document, kind: Kind = "normal", budget: int = 20_000, manner: Manner = PLAIN, seed: int = 0
) -> str | Mismatch | None:
    """None where reference and interpreter agree on chosen elements, else how they differ. Raises if too costly."""
    ast = parse_ast(document)
    kernel = concrete_ast(ast, middle_values(ast))
    assert is_affordable(kernel, budget)
    inputs = make_inputs(ast, seed, kernel.variables, kind)
    outputs = chosen_outputs(kernel, budget, seed)
    expected = expect(ast, inputs, kernel.variables, outputs)
    for slot, (buffer, positions) in interpreted(document, kernel, inputs, outputs, manner).items():
        wanted = positions_of(expected[slot])
        if wanted != positions:
            return f"slot {slot}: positions {wanted} and {positions}"
        mismatch = compare(expected[slot], buffer)
        if mismatch is not None:
            return mismatch
    return None


def positions_of(expected: Expected) -> list[int | None]:
    """Where each element goes; None where it is not written."""
    assert expected.positions is not None
    return [
        int(position) if written else None
        for position, written in zip(expected.positions, expected.written, strict=True)
    ]
