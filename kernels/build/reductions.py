"""Kernels that reduce: over rows, columns, everything, windows; and those that count or pick by adding up."""

from __future__ import annotations

from collections.abc import Sequence

from kernels.build.errors import BuildError
from kernels.build.graph import Graph, valid
from kernels.build.products import accumulator
from kernels.build.terms import dtype_of
from kernels.build.value import Value
from kernels.index import Index
from kernels.ir import Ast
from kernels.quote import quote


def reduce_rows(op: str, rows: Index, cols: Index, dtype: str = "float32", *, accumulate: str | None = None) -> Ast:
    """`(rows, 1)` from `(rows, cols)`: each row's sum, max or prod, as `op` says.

    A sum or a product is computed in `accumulate` (else `accumulator(dtype)`) and stored as `dtype`.
    """
    return _reduction(op, (rows, cols), (1,), dtype, accumulate)


def reduce_columns(op: str, rows: Index, cols: Index, dtype: str = "float32", *, accumulate: str | None = None) -> Ast:
    """`(1, cols)` from `(rows, cols)`: each column's sum, max or prod. Dtypes are as of `reduce_rows`."""
    return _reduction(op, (rows, cols), (0,), dtype, accumulate)


def reduce_all(op: str, shape: Sequence[Index], dtype: str = "float32", *, accumulate: str | None = None) -> Ast:
    """One element from `shape`: the sum, max or prod of everything. Dtypes are as of `reduce_rows`."""
    return _reduction(op, shape, range(len(shape)), dtype, accumulate)


def _reduction(op: str, shape: Sequence[Index], axes: Sequence[int], dtype: str, accumulate: str | None) -> Ast:
    g = Graph()
    value = g.load(dtype, shape)
    if op == "max":
        g.store(value.max(*axes))
    elif op in ("sum", "prod"):
        wide = value.cast(accumulate or accumulator(dtype))
        g.store((wide.sum(*axes) if op == "sum" else wide.prod(*axes)).cast(dtype))
    else:
        raise BuildError(f"a reduction is sum, max or prod, not {quote(op)}")
    return g.build()


def max_pool2d(
    n: int,
    c: int,
    h: int,
    w: int,
    kernel: int | tuple[int, int] = 2,
    stride: int | None = None,
    padding: int = 0,
    *,
    dtype: str = "float32",
) -> Ast:
    """`(n, c, oh, ow)` from `(n, c, h, w)`: the greatest element of each window; `stride` is `kernel` unless given.

    Padding has the dtype's least value, so that it never is the greatest.
    """
    kh, kw = (kernel, kernel) if isinstance(kernel, int) else kernel
    side = (padding, padding)
    g = Graph()
    images = g.load(dtype, (n, c, h, w)).pad((0, 0), (0, 0), side, side, fill=least(dtype))
    seen = images.windows(2, kh, stride or kh).windows(3, kw, stride or kw)
    g.store(seen.max(-2, -1))
    return g.build()


def least(dtype: str) -> int | float | bool:
    """The dtype's least value: -inf for floats."""
    found = dtype_of(dtype)
    return False if found.is_bool else found.min


def arange(count: int, dtype: str = "int32") -> Ast:
    """`(count, 1)` with 0, 1, ..., count - 1: the elements up to each place are counted, less one."""
    g = Graph()
    g.store((up_to(count).cast("int32").sum(1) - 1).cast(dtype))
    return g.build()


def up_to(count: int) -> Value:
    """A bool of `(count, count)` that holds on and below the diagonal."""
    # Row i of the windows over count - 1 times false and count times true begins with count - 1 - i times false.
    return valid((count,)).pad((count - 1, 0)).windows(0, count).flip(1)


def gather(rows: int, cols: int, count: int, dtype: str = "float32") -> Ast:
    """`(count, 1, cols)`: the rows of a table `(rows, cols)` that `count` int32 indices name; zeros beyond the table.

    Slots: the result; the int32 positions 0 to rows - 1, as `arange(rows)` computes them; the indices; the table.
    """
    g = Graph()
    positions = g.load("int32", (rows,)).reshape(1, rows, 1)
    indices = g.load("int32", (count,)).reshape(count, 1, 1)
    table = g.load(dtype, (rows, cols)).reshape(1, rows, cols)
    g.store(positions.eq(indices).where(table, 0).sum(1))
    return g.build()
