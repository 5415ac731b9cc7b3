"""Whether a program does what its AST says: values, guard bytes, inputs left as they were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kernels import Ast, BufferArgument, Program, compare, expect, make_inputs
from kernels.index import Var, evaluate_index
from kernels.ir import BufferArg
from kernels.ops import Ops
from kernels.reference import Expected
from kernels.reference.formats import storage_type
from tests.devices.opencl import OpenCL, Ran

#: Above so many operations the reference evaluates a sample of the outputs only.
WHOLE_OPERATIONS = 30_000_000
SAMPLE = 256


@dataclass(frozen=True, slots=True)
class Case:
    """An AST with inputs, the values of its variables, and what must come out of it (per stored slot)."""

    ast: Ast
    variables: dict[str, int]
    inputs: dict[int, np.ndarray]
    expected: dict[int, Expected]


def middle(ast: Ast) -> dict[str, int]:
    """Each variable between its bounds."""
    return {variable.name: (variable.min + variable.max) // 2 for variable in ast.variables}


def make_case(
    ast: Ast,
    operations: int,
    seed: int = 0,
    variables: dict[str, int] | None = None,
    kind: Literal["normal", "extremes"] = "normal",
) -> Case:
    """Inputs and expectations; `operations` (as a program of the kernel estimates them) tells how much work it is."""
    values = middle(ast) if variables is None else variables
    inputs = make_inputs(ast, seed, values, kind)
    outputs = None if operations <= WHOLE_OPERATIONS else _sample(ast, values, seed)
    return Case(ast, values, inputs, expect(ast, inputs, values, outputs))


def _sample(ast: Ast, values: Mapping[str, int], seed: int) -> dict[int, np.ndarray]:
    """Elements of each stored slot: the first and last ones, and some between."""
    at = {Var(variable.name, variable.min, variable.max): values[variable.name] for variable in ast.variables}
    chosen: dict[int, np.ndarray] = {}
    for node, shape in zip(ast.nodes, ast.shapes, strict=True):
        if node.op is Ops.STORE and shape is not None:
            arg = ast.nodes[node.src[0]].arg
            assert isinstance(arg, BufferArg)
            count = int(np.prod([evaluate_index(size, at) for size in shape], dtype=np.int64))
            inner = np.random.default_rng(seed).integers(0, count, SAMPLE)
            edges = np.concatenate([np.arange(min(16, count)), np.arange(max(count - 16, 0), count)])
            chosen[arg.slot] = np.unique(np.concatenate([edges, inner]))
    return chosen


def check(device: OpenCL, case: Case, program: Program, deadline_s: float = 60.0) -> list[str]:
    """What is wrong after running `program` on the case with poisoned outputs; empty where nothing is.

    Raises DeviceError where it does not run.
    """
    before = contents_before(case, program)
    return complaints(case, program, device.run(program, before, case.variables, deadline_s=deadline_s), before)


def contents_before(case: Case, program: Program) -> dict[int, np.ndarray]:
    """What is in each buffer before the run: its input, or poison."""
    arguments = [arg for arg in program.args if isinstance(arg, BufferArgument)]
    return {arg.slot: case.inputs[arg.slot] if arg.slot in case.inputs else poison(case, arg) for arg in arguments}


def complaints(case: Case, program: Program, ran: Ran, before: Mapping[int, np.ndarray]) -> list[str]:
    """What is wrong with a run of `program`; empty where nothing is."""
    found = [f"slot {slot}: memory around the buffer was written" for slot in ran.broken]
    for arg in program.args:
        if not isinstance(arg, BufferArgument):
            continue
        after = ran.outputs[arg.slot]
        if not arg.written and after.tobytes() != before[arg.slot].tobytes():
            found.append(f"slot {arg.slot}: an input was changed")
        if arg.written:
            mismatch = compare(case.expected[arg.slot], after, before[arg.slot])
            if mismatch is not None:
                found.append(str(mismatch))
    return found


def poison(case: Case, arg: BufferArgument) -> np.ndarray:
    """What an output holds before the run: values that no kernel writes by accident. As long as the AST declares it."""
    expected = case.expected.get(arg.slot)
    length = expected.values.size if expected is not None and expected.positions is None else 0
    declared = next(
        node.arg.size for node in case.ast.nodes if isinstance(node.arg, BufferArg) and node.arg.slot == arg.slot
    )
    kind = storage_type(arg.dtype)
    return np.full(max(length, declared) * kind.itemsize, 0x5A, np.uint8).view(kind)
