"""The JSON forms of the values that are stored and answered: opts, shapes, programs, variables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kernels import BufferArgument, Kernel, Opt, Program, VariableArgument
from kernels.index import Index
from kernels.sizes import size_to_wire
from runners.api import Verification

#: An axis's role by its colour.
_ROLES = {"blue": "B", "BLUE": "B", "cyan": "C", "green": "G", "red": "R", "magenta": "M", "yellow": "Y"}


def plain_text(text: str, most: int | None = None) -> str:
    """`text` as every database takes it, cut to `most` characters: compilers' logs hold what is no Unicode."""
    return text[:most].replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def opts_to_wire(opts: Iterable[Opt]) -> list[dict[str, Any]]:
    """The wire form of a sequence of Opts."""
    return [opt.to_wire() for opt in opts]


def opts_from_wire(documents: Iterable[object]) -> tuple[Opt, ...]:
    """The Opts of their wire form."""
    return tuple(Opt.from_wire(document) for document in documents)


def shape_of(kernel: Kernel) -> str:
    """The full shape with each axis's role, like "B128 C16 R512 Y4".

    B: global, C: local, G: group, R: reduce, M: unrolled, Y: upcast. A dynamic size stands in parentheses.
    """
    return " ".join(
        _ROLES[colour] + _size_text(size) for colour, size in zip(kernel.colors(), kernel.full_shape, strict=True)
    )


def _size_text(size: Index) -> str:
    return str(size) if isinstance(size, int) else f"({size})".replace(" ", "")


def variables_to_text(values: Mapping[str, int]) -> str:
    """The canonical JSON of variables' values: what rows are found by."""
    return json.dumps(dict(values), sort_keys=True, separators=(",", ":"))


def variables_from_text(text: str) -> dict[str, int]:
    """The values of their canonical JSON."""
    values: dict[str, int] = json.loads(text)
    return values


def program_to_wire(program: Program) -> dict[str, Any]:
    """All that a caller needs to launch a program. Sizes are integers or size expressions of kernel-ast/1."""
    return {
        "name": program.name,
        "source": program.source,
        "global_size": [size_to_wire(size) for size in program.global_size],
        "local_size": None if program.local_size is None else list(program.local_size),
        "args": [_argument_to_wire(argument) for argument in program.args],
        "shared_bytes": program.shared_bytes,
        "codegen_version": program.codegen_version,
    }


def _argument_to_wire(argument: BufferArgument | VariableArgument) -> dict[str, Any]:
    if isinstance(argument, VariableArgument):
        return {
            "kind": "variable",
            "name": argument.name,
            "dtype": "int32",
            "min": argument.min,
            "max": argument.max,
        }
    return {
        "kind": "buffer",
        "slot": argument.slot,
        "dtype": argument.dtype.name,
        "read": argument.read,
        "written": argument.written,
        "length": size_to_wire(argument.length),
        "alignment": argument.alignment,
    }


def verification_to_wire(verification: Verification) -> dict[str, Any]:
    """What an answer was compared with."""
    return {
        "yardstick": verification.yardstick,
        "elements": verification.elements,
        "sampled": verification.sampled,
        "numerics": str(verification.numerics),
    }


def beam_to_wire(beam: Sequence[tuple[tuple[Opt, ...], float]]) -> list[dict[str, Any]]:
    """A generation's beam, best first."""
    return [{"opts": opts_to_wire(opts), "time_s": time_s} for opts, time_s in beam]
