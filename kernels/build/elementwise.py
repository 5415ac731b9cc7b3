"""Kernels that compute each element by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kernels.build.graph import Graph
from kernels.build.value import Value
from kernels.index import Index
from kernels.ir import Ast


def elementwise(shape: Sequence[Index], function: Callable[..., Value | Sequence[Value]], *dtypes: str) -> Ast:
    """What `function` computes of one load of `shape` per dtype in `dtypes` (one of float32 if none is given).

    It gives one value, or several, which are stored to one buffer each. `elementwise((64,), lambda x, y: x * y + 1,
    "float32", "float32")` has the slots result, x, y.
    """
    g = Graph()
    results = function(*(g.load(dtype, shape) for dtype in dtypes or ("float32",)))
    for result in (results,) if isinstance(results, Value) else results:
        g.store(result)
    return g.build()


def transpose_add(rows: Index, cols: Index, dtype: str = "float32") -> Ast:
    """`(rows, cols)`: the transpose of a `(cols, rows)` matrix plus a `(rows, cols)` one. Slots in that order."""
    g = Graph()
    g.store(g.load(dtype, (cols, rows)).permute(1, 0) + g.load(dtype, (rows, cols)))
    return g.build()


def gelu(shape: Sequence[Index], dtype: str = "float32") -> Ast:
    """The Gaussian error linear unit of each element, by the usual approximation with tanh."""

    def approximation(x: Value) -> Value:
        return 0.5 * x * (1 + (0.7978845608028654 * (x + 0.044715 * (x * x * x))).tanh())  # sqrt(2 / pi)

    return elementwise(shape, approximation, dtype)
