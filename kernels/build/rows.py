"""Softmax and layer normalisation of rows: in the kernels that a scheduler cuts them into, and each in one kernel."""

from __future__ import annotations

from kernels.build.elementwise import elementwise
from kernels.build.graph import Graph
from kernels.build.reductions import reduce_rows
from kernels.build.value import Value
from kernels.index import Index
from kernels.ir import Ast


def row_max(rows: Index, cols: Index, dtype: str = "float32") -> Ast:
    """`(rows, 1)`: the greatest of each row of `(rows, cols)`. The first kernel of a softmax."""
    return reduce_rows("max", rows, cols, dtype)


def exp_sum(rows: Index, cols: Index, dtype: str = "float32") -> Ast:
    """`(rows, 1)`: the sum of e^(x - greatest) over each row. The second kernel of a softmax.

    Slots: the sums; x, `(rows, cols)`; the rows' greatest, `(rows, 1)`.
    """
    g = Graph()
    x, greatest = g.load(dtype, (rows, cols)), g.load(dtype, (rows, 1))
    g.store((x - greatest).exp().sum(1))
    return g.build()


def exp_over_sum(rows: Index, cols: Index, dtype: str = "float32") -> Ast:
    """`(rows, cols)`: e^(x - greatest) / sum. The third kernel of a softmax.

    Slots: the result; x, `(rows, cols)`; the rows' greatest and their `exp_sum`, both `(rows, 1)`.
    """
    g = Graph()
    x, greatest, total = g.load(dtype, (rows, cols)), g.load(dtype, (rows, 1)), g.load(dtype, (rows, 1))
    g.store((x - greatest).exp() / total)
    return g.build()


def softmax_rows(rows: Index, cols: Index, dtype: str = "float32") -> Ast:
    """`(rows, cols)`: the softmax of each row in one kernel, as 1 / sum over k of e^(x_k - x_j).

    That needs no maximum: where x_j is far below another, the sum is infinite and the result 0, as it should be. An
    infinite x gives NaN. It costs `rows * cols**2` exponentials: for long rows take row_max, exp_sum and exp_over_sum.
    """
    g = Graph()
    x = g.load(dtype, (rows, cols))
    g.store((x.reshape(rows, 1, cols) - x.reshape(rows, cols, 1)).exp().sum(2).recip())
    return g.build()


def row_mean(rows: Index, cols: int, dtype: str = "float32") -> Ast:
    """`(rows, 1)`: the mean of each row of `(rows, cols)`. The first kernel of a layer normalisation."""
    return elementwise((rows, cols), lambda x: x.sum(1) / cols, dtype)


def row_rstd(rows: Index, cols: int, dtype: str = "float32", *, eps: float = 1e-5) -> Ast:
    """`(rows, 1)`: 1 / sqrt(variance + eps) of each row. The second kernel of a layer normalisation.

    Slots: the result; x, `(rows, cols)`; the rows' means, `(rows, 1)`.
    """
    g = Graph()
    x, mean = g.load(dtype, (rows, cols)), g.load(dtype, (rows, 1))
    g.store((_squared(x - mean).sum(1) / cols + eps).rsqrt())
    return g.build()


def normalise_rows(rows: Index, cols: Index, dtype: str = "float32") -> Ast:
    """`(rows, cols)`: (x - mean) * rstd. The third kernel of a layer normalisation.

    Slots: the result; x, `(rows, cols)`; the rows' means and their `row_rstd`, both `(rows, 1)`.
    """
    g = Graph()
    x, mean, rstd = g.load(dtype, (rows, cols)), g.load(dtype, (rows, 1)), g.load(dtype, (rows, 1))
    g.store((x - mean) * rstd)
    return g.build()


def layernorm(rows: Index, cols: int, dtype: str = "float32", *, eps: float = 1e-5) -> Ast:
    """`(rows, cols)`: (x - mean) / sqrt(variance + eps) of each row in one kernel, with two sums over one axis.

    Both are sums of differences d to the element itself: -mean(d) / sqrt(mean(d * d) - mean(d) * mean(d) + eps). It
    costs `rows * cols**2`: for long rows take row_mean, row_rstd and normalise_rows. Slots: the result and x.
    """
    g = Graph()
    x = g.load(dtype, (rows, cols))
    difference = x.reshape(rows, 1, cols) - x.reshape(rows, cols, 1)
    mean, square = difference.sum(2) / cols, _squared(difference).sum(2) / cols
    g.store(-mean * (square - _squared(mean) + eps).rsqrt())
    return g.build()


def row_variance(rows: Index, cols: int, dtype: str = "float32") -> Ast:
    """`(rows, 1, 1)`: the variance of each row of `(rows, cols)` in one kernel, with two nested reductions.

    It costs `rows * cols**2`, as the mean is computed for each element.
    """
    g = Graph()
    x = g.load(dtype, (rows, cols))
    mean = x.reshape(rows, 1, cols).expand(rows, cols, cols).sum(2) / cols
    g.store(_squared(x.reshape(rows, cols, 1) - mean).sum(1) / cols)
    return g.build()


def _squared(value: Value) -> Value:
    return value * value
