"""What a built AST computes, by the tests' own interpreter of documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kernels.ir import Ast, BufferArg
from kernels.wire import dump_ast
from tests.scalar import Interpreter

Array = np.ndarray[Any, Any]


def stored(ast: Ast, *loaded: Any, variables: Mapping[str, int] | None = None, slot: int = 0) -> Array:
    """The flat values of one stored slot, -99 where nothing is stored. `loaded` are the buffers behind the stored ones;
    a slot that is loaded and stored is given in its place.
    """
    first = len(buffers_of(ast)) - len(loaded)
    flat = {first + place: np.ravel(array).tolist() for place, array in enumerate(loaded)}
    interpreter = Interpreter(dump_ast(ast), flat, variables or {})
    values = dict(interpreter.outputs(slot))
    values.pop(None, None)
    return np.array([values.get(place, -99) for place in range(max(values) + 1)])


def buffers_of(ast: Ast) -> list[BufferArg]:
    """The buffers by slot."""
    found = [node.arg for node in ast.nodes if isinstance(node.arg, BufferArg)]
    return sorted(found, key=lambda arg: arg.slot)
