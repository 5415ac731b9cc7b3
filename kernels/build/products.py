"""Kernels that sum products: matrix products and convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from kernels.build.errors import BuildError
from kernels.build.graph import Graph
from kernels.build.terms import dtype_of
from kernels.dtypes import BFLOAT16, FLOAT16, Kind
from kernels.index import Index
from kernels.ir import Ast


def accumulator(dtype: str) -> str:
    """What a sum of `dtype` is computed in unless asked otherwise: float32 or 32-bit integers, if not wider."""
    given = dtype_of(dtype)
    if given in (FLOAT16, BFLOAT16):
        return "float32"
    if given.is_float or given.itemsize >= 4:
        return dtype
    return "uint32" if given.kind is Kind.UNSIGNED else "int32"


def matmul(
    m: Index,
    k: Index,
    n: Index,
    dtype: str = "float32",
    *,
    batch: Sequence[Index] = (),
    accumulate: str | None = None,
    out: str | None = None,
) -> Ast:
    """`(*batch, m, n) = (*batch, m, k) @ (*batch, k, n)`.

    Products are computed in `dtype`, summed in `accumulate` (else `accumulator(dtype)`) and stored as `out` (else
    `accumulate`). Slots: the product, then the left and the right matrix.
    """
    accumulate = accumulate or accumulator(dtype)
    g = Graph()
    left, right = g.load(dtype, (*batch, m, k)), g.load(dtype, (*batch, k, n))
    last = len(batch)
    columns = right.permute(*range(last), last + 1, last).reshape(*batch, 1, n, k)
    products = left.reshape(*batch, m, 1, k) * columns
    g.store(products.cast(accumulate).sum(-1).cast(out or accumulate))
    return g.build()


def conv2d(
    n: int,
    cin: int,
    h: int,
    w: int,
    cout: int,
    kernel: int | tuple[int, int] = 3,
    stride: int = 1,
    padding: int = 0,
    *,
    dilation: int = 1,
    groups: int = 1,
    dtype: str = "float32",
    accumulate: str | None = None,
    out: str | None = None,
) -> Ast:
    """`(n, cout, oh, ow)` from images `(n, cin, h, w)` and weights `(cout, cin // groups, kh, kw)`.

    Images are padded with zeros on all four sides; oh = (h + 2 * padding - dilation * (kh - 1) - 1) // stride + 1.
    Dtypes and slots are as of `matmul`: output, images, weights. Raises BuildError where groups do not divide channels.
    """
    if cin % groups or cout % groups:
        raise BuildError(f"{groups} groups do not divide {cin} input and {cout} output channels")
    accumulate = accumulate or accumulator(dtype)
    kh, kw = (kernel, kernel) if isinstance(kernel, int) else kernel
    side = (padding, padding)
    g = Graph()
    images = g.load(dtype, (n, cin, h, w)).pad((0, 0), (0, 0), side, side)
    seen = images.windows(2, kh, stride, dilation).windows(3, kw, stride, dilation)
    oh, ow = seen.shape[2:4]
    seen = seen.reshape(n, groups, 1, cin // groups, oh, ow, kh, kw).permute(0, 1, 2, 4, 5, 3, 6, 7)
    weights = g.load(dtype, (cout, cin // groups, kh, kw))
    weights = weights.reshape(1, groups, cout // groups, 1, 1, cin // groups, kh, kw)
    g.store((seen * weights).cast(accumulate).sum(-3, -2, -1).cast(out or accumulate))
    return g.build()
