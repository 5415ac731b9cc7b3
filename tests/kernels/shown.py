"""Kernels of made documents, and a kernel's axes as one line: `B128 C16 R512 Y4`, as the service writes a shape."""

from __future__ import annotations

from typing import Any

from kernels import Kernel, Opt, OptOps, Target, opencl_target, parse_ast
from tests.oracle import OptTriple

#: blue and bright blue: global, cyan: local, green: group, red: reduce loop, magenta: unroll, yellow: upcast.
LETTERS = {"blue": "B", "BLUE": "B", "cyan": "C", "green": "G", "red": "R", "magenta": "M", "yellow": "Y"}


def kernel_of(document: Any, target: Target | None = None, *opts: OptTriple) -> Kernel:
    """The kernel of a document, on OpenCL where no target is given, with `opts` applied."""
    kernel = Kernel(parse_ast(document), target or opencl_target())
    for triple in opts:
        kernel.apply_opt(opt(*triple))
    return kernel


def opt(op: str, axis: Any = None, arg: Any = None) -> Opt:
    return Opt(OptOps[op], axis, arg)


def shape_of(kernel: Kernel) -> str:
    """The sizes of all axes, each after the letter of its role."""
    return " ".join(f"{LETTERS[c]}{size}" for c, size in zip(kernel.colors(), kernel.full_shape, strict=True))


def opts_of(kernel: Kernel) -> list[str]:
    """The Opts applied, as text."""
    return [str(applied) for applied in kernel.applied_opts]
