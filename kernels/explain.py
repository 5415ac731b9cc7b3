"""A kernel explained for people: what it computes, and what each Opt makes of its axes.

Everything is text: reading files and printing is __main__'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernels.canonical import ast_key
from kernels.errors import KernelOptError, ProgramError
from kernels.expression import BufferText, expression_of
from kernels.index_text import index_text
from kernels.ir import Ast, BufferArg
from kernels.kernel import Kernel
from kernels.ops import Ops
from kernels.opt import Opt
from kernels.quote import quote
from kernels.target import Target

#: How an axis' role is shown where there are no colours; the letters are those of the Opts' descriptions.
_LETTERS = {"blue": "g", "BLUE": "g", "cyan": "l", "green": "G", "red": "r", "yellow": "u", "magenta": "n"}
_LETTER_LEGEND = "axes: g global, l local, G group, r reduce, u upcast, n unroll"
_COLOUR_LEGEND = "axes: blue global, cyan local, green group, red reduce, yellow upcast, magenta unroll"
_NAME_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Explanation:
    """What to print, and whether an Opt was refused."""

    text: str
    refused: bool


def explain(
    ast: Ast, target: Target, opts: Sequence[Opt] | None, name: str | None, colour: bool, source: bool = False
) -> Explanation:
    """The kernel's name, key, buffers, variables and expression, then its shape after each Opt up to the first refused.

    opts: None asks the heuristic. colour: the roles of axes as terminal colours instead of letters. source: the
    program's launch and source as well, if no Opt was refused.
    """
    kernel = Kernel(ast, target)
    if opts is None:
        opts = kernel.copy().default_opts().applied_opts
    expression = expression_of(kernel.nest)
    lines = [
        *([f"kernel  {_shown_name(name)}"] if name is not None else []),
        f"name    {kernel.name}",
        f"key     {ast_key(ast)}",
        f"target  {target.arch or target.backend}, {target.shared_max} bytes of shared memory",
        "",
        "buffers",
        *_buffer_lines(ast, expression.buffers),
        *(["", "variables"] if ast.variables else []),
        *(f"  {variable.name}  {variable.min} to {variable.max}" for variable in ast.variables),
        "",
        "expression",
        *(f"  {line}" for line in expression.lines),
        "",
        _COLOUR_LEGEND if colour else _LETTER_LEGEND,
    ]
    steps, refused = _steps(kernel, opts, colour)
    program = _program_lines(kernel) if source and not refused else []
    return Explanation("\n".join([*lines, *steps, *program]), refused)


def _program_lines(kernel: Kernel) -> list[str]:
    try:
        program = kernel.to_program()
    except ProgramError as error:
        return ["", f"no program: {error}"]
    groups = " x ".join(index_text(size, {}) for size in program.global_size)
    local = "as the driver likes" if program.local_size is None else " x ".join(map(str, program.local_size))
    return ["", f"launch  {groups} groups of {local}", "", program.source.rstrip()]


def _shown_name(name: str) -> str:
    return name if name.isascii() and name.isprintable() and len(name) <= _NAME_CHARACTERS else quote(name)


def _buffer_lines(ast: Ast, shown: Sequence[BufferText]) -> list[str]:
    buffers = {n: node for n, node in enumerate(ast.nodes) if node.op is Ops.DEFINE_GLOBAL}
    used = {op: {node.src[0] for node in ast.nodes if node.op is op} for op in (Ops.LOAD, Ops.STORE)}
    rows = []
    for number, node in sorted(buffers.items(), key=lambda item: _buffer(item[1].arg).slot):
        arg = _buffer(node.arg)
        name, sizes = shown[arg.slot].name, shown[arg.slot].sizes
        ways = [way for way, op in (("read", Ops.LOAD), ("written", Ops.STORE)) if number in used[op]]
        seen = " x ".join(map(str, sizes)) if len(sizes) > 1 else ""
        elements = f"{arg.size}{f' = {seen}' if seen else ''} element{'s' if arg.size > 1 else ''}"
        needed = ast.reaches[arg.slot]
        if ast.variables and needed != arg.size:
            elements += f", {index_text(needed, {})} needed"
        rows.append((name, str(node.dtype), " and ".join(ways), elements))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return ["  " + "  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[3]]) for row in rows]


def _buffer(arg: object) -> BufferArg:
    assert isinstance(arg, BufferArg)
    return arg


def _steps(kernel: Kernel, opts: Sequence[Opt], colour: bool) -> tuple[list[str], bool]:
    """A line for the start and for each Opt, and whether the last one was refused. Leaves the Opts on `kernel`."""
    width = max([len("start"), *(len(str(opt)) for opt in opts)])
    lines = [f"  {'start':{width}}  {_shape(kernel, colour)}"]
    for opt in opts:
        try:
            kernel.apply_opt(opt)
        except KernelOptError as error:
            return [*lines, f"  {opt!s:{width}}  refused: {error.reason}"], True
        lines.append(f"  {opt!s:{width}}  {_shape(kernel, colour)}")
    return lines, False


def _shape(kernel: Kernel, colour: bool) -> str:
    if not kernel.shape_len:
        return "one element"
    if colour:
        return kernel.colored_shape()
    return " ".join(f"{_LETTERS[role]}[{size}]" for size, role in zip(kernel.full_shape, kernel.colors(), strict=True))
