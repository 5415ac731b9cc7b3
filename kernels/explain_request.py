"""What a request to explain holds: the kernel in a file's text, Opts, and a target. Texts in, values out.

Opts are written as JSON, or short: `UPCAST(0, 4) LOCAL(1, 8) NOLOCALS TC(0, (-1, 2))`, as str(Opt) shows them.
"""

from __future__ import annotations

import json
import re
from typing import Any, ClassVar

from kernels.errors import KernelOptError, KernelsError
from kernels.ir import Ast
from kernels.opt import Opt, OptOps
from kernels.quote import quote
from kernels.target import Target, cuda_target, opencl_target
from kernels.wire import parse_ast

_HEURISTIC = "heuristic"
_OPT = re.compile(r"\s*,?\s*([A-Za-z]+)\s*(?:\(([^()]*(?:\([^()]*\)[^()]*)?)\))?")
_INTEGER = re.compile("-?[0-9]{1,18}", re.ASCII)
_NAMES_SHOWN = 3


class RequestError(KernelsError):
    """A request cannot be read: a file without such a kernel, or Opts of no known form."""

    code: ClassVar[str] = "invalid_request"


def read_kernel(text: str, name: str | None) -> tuple[str | None, Ast]:
    """(name, AST) of the kernel in a file: one AST, one `{"name": ..., "ast": ...}`, or lines of those.

    `name` picks one of several. Raises RequestError, or AstError for what is wrong with the AST.
    """
    found = [(entry_name, document) for entry_name, document in _entries(text) if name in (None, entry_name)]
    if len(found) == 1:
        return found[0][0], parse_ast(found[0][1])
    if name is not None:
        raise RequestError(f"the file holds {'several kernels' if found else 'no kernel'} called {quote(name)}")
    names = ", ".join(quote(entry_name) for entry_name, _ in found[:_NAMES_SHOWN])
    raise RequestError(f"the file holds {len(found)} kernels: choose one with --name ({names}, ...)")


def _entries(text: str) -> list[tuple[str | None, object]]:
    """All (name, document) in a file's text."""
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        return [_entry(_decoded(text))]
    except RequestError:
        if len(lines) < 2 or not _is_json(lines[0]):
            raise
    entries = []
    for number, line in enumerate(lines, 1):
        try:
            entries.append(_entry(_decoded(line)))
        except RequestError as error:
            raise RequestError(f"line {number}: {error}") from error
    return entries


def _is_json(text: str) -> bool:
    try:
        _decoded(text)
    except RequestError:
        return False
    return True


def _decoded(text: str) -> Any:
    """The JSON value of `text`. Raises RequestError."""
    try:
        return json.loads(text, object_pairs_hook=_object_of, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise RequestError(f"no JSON: {error.msg} at line {error.lineno}, column {error.colno}") from error
    except RecursionError:
        raise RequestError("the JSON nests too deep") from None
    except ValueError as error:
        raise RequestError("a number has too many digits") from error


def _object_of(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise RequestError("an object has the same field twice")
    return fields


def _refuse_constant(name: str) -> object:
    raise RequestError(f"{name} is no JSON number")


def _entry(value: object) -> tuple[str | None, object]:
    if isinstance(value, dict) and "ast" in value and "nodes" not in value:
        name = value.get("name")
        return name if isinstance(name, str) else None, value["ast"]
    return None, value


def read_opts(text: str) -> tuple[Opt, ...] | None:
    """Opts as JSON or as `UPCAST(0, 4) LOCAL(1, 8)`; None for `heuristic`. Raises RequestError."""
    if text.strip() == _HEURISTIC:
        return None
    try:
        if text.lstrip().startswith("["):
            return tuple(Opt.from_wire(document) for document in _decoded(text))
        return _short_opts(text)
    except (KernelOptError, RequestError) as error:
        raise RequestError(f"opts: {error}") from error


def _short_opts(text: str) -> tuple[Opt, ...]:
    opts = []
    position = 0
    while text[position:].strip():
        found = _OPT.match(text, position)
        numbers = None if found is None else [part for part in re.split(r"[\s,()]+", found[2] or "") if part]
        if found is None or numbers is None or not all(_INTEGER.fullmatch(part) for part in numbers):
            raise RequestError(f"expected NAME(axis, arg), not {quote(text[position:].strip())}")
        position = found.end()
        opts.append(_opt(found[1].upper(), [int(part) for part in numbers]))
    return tuple(opts)


def _opt(name: str, numbers: list[int]) -> Opt:
    """The Opt of a name and its numbers: an axis and an arg; for TC an axis and two."""
    if name not in OptOps.__members__:
        known = " ".join(OptOps.__members__)
        raise RequestError(f"{quote(name)} is no Opt: there are {known}")
    op = OptOps[name]
    wanted = {OptOps.NOLOCALS: 0, OptOps.TC: 3}.get(op, 2)
    if len(numbers) != wanted:
        raise RequestError(f"{name} has {wanted} numbers, not {len(numbers)}")
    if op is OptOps.TC:
        return Opt(op, numbers[0], (numbers[1], numbers[2]))
    return Opt(op, *numbers)


def read_target(name: str, shared_max: int | None) -> Target:
    """`opencl`, or a CUDA architecture such as `sm_80`. Raises TargetError."""
    if name == "opencl":
        return opencl_target() if shared_max is None else opencl_target(shared_max=shared_max)
    return cuda_target(name) if shared_max is None else cuda_target(name, shared_max=shared_max)
