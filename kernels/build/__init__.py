"""The builder: ASTs in a line or two, and what they are written with.

    ast = matmul(512, 512, 512)

    g = Graph()
    a, b = g.load("float32", (64, 64)), g.load("float32", (64,))
    g.store((a + b).relu().sum(1))
    ast = g.build()

Sizes are integers, or expressions of variables where a function takes an `Index`. Everything ends in `parse_ast`, so a
built AST is verified and normalised as one that was sent.
"""

from kernels.build.elementwise import elementwise, gelu, transpose_add
from kernels.build.errors import BuildError
from kernels.build.graph import Graph, constant, valid, variable_value
from kernels.build.products import accumulator, conv2d, matmul
from kernels.build.reductions import arange, gather, least, max_pool2d, reduce_all, reduce_columns, reduce_rows, up_to
from kernels.build.rows import (
    exp_over_sum,
    exp_sum,
    layernorm,
    normalise_rows,
    row_max,
    row_mean,
    row_rstd,
    row_variance,
    softmax_rows,
)
from kernels.build.terms import variable
from kernels.build.value import Value

__all__ = [
    "BuildError",
    "Graph",
    "Value",
    "accumulator",
    "arange",
    "constant",
    "conv2d",
    "elementwise",
    "exp_over_sum",
    "exp_sum",
    "gather",
    "gelu",
    "layernorm",
    "least",
    "matmul",
    "max_pool2d",
    "normalise_rows",
    "reduce_all",
    "reduce_columns",
    "reduce_rows",
    "row_max",
    "row_mean",
    "row_rstd",
    "row_variance",
    "softmax_rows",
    "transpose_add",
    "up_to",
    "valid",
    "variable",
    "variable_value",
]
