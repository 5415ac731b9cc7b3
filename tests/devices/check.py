"""Whether a program does what its AST says: values, guard bytes, inputs left as they were."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernels import Ast, BufferArgument, Program, compare, expect, make_inputs
from kernels.ir import BufferArg
from kernels.ops import Ops
from kernels.reference import Expected
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
    ast: Ast, program: Program, seed: int = 0, variables: dict[str, int] | None = None, kind: str = "normal"
) -> Case:
    """Inputs and expectations; `program` (any of the kernel's) tells sizes and what the work is."""
    values = middle(ast) if variables is None else variables
    inputs = make_inputs(ast, seed, values, "extremes" if kind == "extremes" else "normal")
    outputs = None if program.operations <= WHOLE_OPERATIONS else _sample(ast, seed)
    return Case(ast, values, inputs, expect(ast, inputs, values, outputs))


def _sample(ast: Ast, seed: int) -> dict[int, np.ndarray]:
    """Elements of each stored slot: the first and last ones, and some between."""
    chosen: dict[int, np.ndarray] = {}
    for node, shape in zip(ast.nodes, ast.shapes, strict=True):
        if node.op is Ops.STORE and shape is not None:
            arg = ast.nodes[node.src[0]].arg
            assert isinstance(arg, BufferArg)
            count = int(np.prod([size for size in shape if isinstance(size, int)]))
            inner = np.random.default_rng(seed).integers(0, count, SAMPLE)
            edges = np.concatenate([np.arange(min(16, count)), np.arange(max(count - 16, 0), count)])
            chosen[arg.slot] = np.unique(np.concatenate([edges, inner]))
    return chosen


def complaints(case: Case, program: Program, ran: Ran, before: dict[int, np.ndarray]) -> list[str]:
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


def check(device: OpenCL, case: Case, program: Program, deadline_s: float = 60.0) -> list[str]:
    """Run `program` on the case with poisoned outputs; what is wrong. Raises DeviceError where it does not run."""
    before: dict[int, np.ndarray] = {}
    for arg in program.args:
        if isinstance(arg, BufferArgument):
            given = case.inputs.get(arg.slot)
            before[arg.slot] = poison(case, arg) if given is None else given
    ran = device.run(program, before, case.variables, deadline_s=deadline_s)
    return complaints(case, program, ran, before)


def poison(case: Case, arg: BufferArgument) -> np.ndarray:
    """What an output holds before the run: values that no kernel writes by accident."""
    from kernels.reference.formats import storage_type

    length = case.expected[arg.slot].values.size
    declared = next(
        node.arg.size for node in case.ast.nodes if isinstance(node.arg, BufferArg) and node.arg.slot == arg.slot
    )
    kind = storage_type(arg.dtype)
    filled = np.full(max(length, declared) * np.dtype(kind).itemsize, 0x5A, np.uint8)
    return filled.view(kind) if arg.dtype.name != "bool" else filled.view(np.bool_)
