"""`Program`: what a kernel becomes. Source, launch size and arguments, as the service stores and runners build them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kernels.dtypes import DType
from kernels.index import Atom, Index, Var, single, substitute
from kernels.opt import Opt
from kernels.target import Target

#: Raised by one whenever the source generated for some kernel and Opts changes; records name it.
CODEGEN_VERSION = 4


@dataclass(frozen=True, slots=True)
class BufferArgument:
    """A buffer: its slot, element type, whether the program reads and writes it, and what a caller must hand over.

    length: the least number of elements (an expression of the variables where sizes are dynamic). alignment: of the
    first element, in bytes, that the program assumes.
    """

    slot: int
    dtype: DType
    read: bool
    written: bool
    length: Index
    alignment: int


@dataclass(frozen=True, slots=True)
class VariableArgument:
    """A variable: an int32 in [min, max]."""

    name: str
    min: int
    max: int


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel's source for one target, with all that a launch needs.

    name: the entry point, a plain identifier. args: in order, buffers by slot and then variables by name.
    global_size: work-groups per dimension, x first (work-items where local_size is None). local_size: work-items of a
    work-group, None where the driver chooses. operations, bytes: an estimate of the arithmetic operations and of the
    bytes that must be read and written, at the variables' maxima.
    """

    name: str
    source: str
    target: Target
    global_size: tuple[Index, Index, Index]
    local_size: tuple[int, int, int] | None
    args: tuple[BufferArgument | VariableArgument, ...]
    shared_bytes: int
    operations: int
    bytes: int
    opts: tuple[Opt, ...]
    codegen_version: int = CODEGEN_VERSION


def with_names(program: Program, names: Mapping[str, str]) -> Program:
    """`program` with its variables called as `names` says wherever a caller sees them; the source stays as it is."""
    variables = [arg for arg in program.args if isinstance(arg, VariableArgument)]
    values: dict[Atom, Index] = {Var(v.name, v.min, v.max): single(Var(names[v.name], v.min, v.max)) for v in variables}
    x, y, z = (substitute(size, values) for size in program.global_size)
    args = tuple(
        replace(arg, name=names[arg.name])
        if isinstance(arg, VariableArgument)
        else replace(arg, length=substitute(arg.length, values))
        for arg in program.args
    )
    return replace(program, global_size=(x, y, z), args=args)
