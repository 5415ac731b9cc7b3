"""`Launch`: a program at its variables' values, in plain numbers, as a device's child is told it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from kernels import BufferArgument, Program, VariableArgument
from kernels.index import Atom, Index, Var, evaluate_index


@dataclass(frozen=True, slots=True)
class Launch:
    """What to compile, and how to start it.

    key: the artifact's. items: work-items per dimension, x first. local_size: of a work-group, None where the driver
    chooses. slots: of the buffer arguments, in order, with the elements that each must have at least. values: of the
    variables, which come after the buffers.
    """

    key: str
    name: str
    source: str
    items: tuple[int, int, int]
    local_size: tuple[int, int, int] | None
    shared_bytes: int
    slots: tuple[tuple[int, int], ...]
    values: tuple[int, ...]

    @property
    def work_group(self) -> int:
        """Work-items of a work-group; 1 where the driver chooses."""
        return prod(self.local_size or (1,))


def launch_of(program: Program, variables: Mapping[str, int]) -> Launch:
    """`program` at these values of all its variables."""
    named = [arg for arg in program.args if isinstance(arg, VariableArgument)]
    values: dict[Atom, int] = {Var(arg.name, arg.min, arg.max): variables[arg.name] for arg in named}

    def number(size: Index) -> int:
        return evaluate_index(size, values)

    x, y, z = (
        number(size) * own for size, own in zip(program.global_size, program.local_size or (1, 1, 1), strict=True)
    )
    return Launch(
        key=artifact_key(program),
        name=program.name,
        source=program.source,
        items=(x, y, z),
        local_size=program.local_size,
        shared_bytes=program.shared_bytes,
        slots=tuple((arg.slot, number(arg.length)) for arg in program.args if isinstance(arg, BufferArgument)),
        values=tuple(variables[arg.name] for arg in named),
    )


def lowest_values(program: Program) -> dict[str, int]:
    """Values for a program that is only compiled."""
    return {arg.name: arg.min for arg in program.args if isinstance(arg, VariableArgument)}


def artifact_key(program: Program) -> str:
    """SHA-256 (hex) of what is compiled: source, entry point, work-group size, and the target it was written for."""
    target = program.target
    document = [program.source, program.name, program.local_size, target.backend, target.arch]
    return hashlib.sha256(json.dumps(document).encode()).hexdigest()
