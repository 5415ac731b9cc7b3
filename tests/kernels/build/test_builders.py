"""The ready-made kernels: what they compute, that tinygrad sends the same, and that the oracle takes them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kernels import Ast, build, dump_ast
from kernels.build import BuildError, variable
from kernels.canonical import ast_key
from kernels.errors import ViewError
from kernels.wire import parse_ast
from tests.kernels.build.values import stored
from tests.kernels.documents import corpus
from tests.oracle import assignments, opt_triple, oracle_kernel, oracle_shown
from tests.parity.product import product_kernel, product_shown

RNG = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return RNG.uniform(-2, 2, shape).astype(np.float32)


def close(values: Any, expected: Any, within: float = 1e-5) -> None:
    np.testing.assert_allclose(values, np.ravel(expected), rtol=within, atol=within)


# ---- the same kernels as a training job sends ------------------------------------------------------------------------

AS_SENT: dict[str, Callable[[], Ast]] = {
    "gemm/01": lambda: build.matmul(512, 512, 512),
    "gemm/04": lambda: build.matmul(1, 4096, 4096),
    "gemm/06": lambda: build.matmul(256, 256, 256, "float16"),
    "gemm/07": lambda: build.matmul(96, 64, 48, "float16", out="float16"),
    "gemm/08": lambda: build.matmul(64, 128, 64, "int8"),
    "attention/05": lambda: build.matmul(128, 128, 64, batch=(2, 8)),
    "symbolic/07": lambda: build.matmul(variable("rows", 1, 256), 64, 32),
    "conv/02": lambda: build.conv2d(2, 16, 28, 28, 32, 5, 2),
    "conv/06": lambda: build.max_pool2d(4, 32, 113, 113, 3, 2),
    "reduce/01": lambda: build.reduce_rows("sum", 2048, 2048),
    "reduce/02": lambda: build.reduce_columns("sum", 2048, 2048),
    "reduce/06": lambda: build.reduce_rows("prod", 1000, 13),
    "softmax_norm/01": lambda: build.row_max(2048, 1024),
    "softmax_norm/02": lambda: build.exp_sum(2048, 1024),
    "softmax_norm/03": lambda: build.exp_over_sum(2048, 1024),
    "softmax_norm/04": lambda: build.row_mean(2048, 1024),
    "softmax_norm/05": lambda: build.row_rstd(2048, 1024),
    "softmax_norm/06": lambda: build.normalise_rows(2048, 1024),
    "elementwise/01": lambda: build.gelu((2048, 2048)),
    "elementwise/03": lambda: build.transpose_add(2048, 2048),
    "elementwise/02": lambda: build.elementwise((1000, 37), lambda x: x * x.sigmoid()),
    "elementwise/09": lambda: build.elementwise((100, 100), lambda x: x.cast("float32") * (1 / 255), "uint8"),
}


@pytest.mark.parametrize("name", AS_SENT)
def test_builder_gives_the_key_of_the_kernel_that_tinygrad_sends(name: str) -> None:
    assert ast_key(AS_SENT[name]()) == ast_key(parse_ast(corpus()[name]))


# ---- what the oracle makes of them -----------------------------------------------------------------------------------

OTHERS: dict[str, Callable[[], Ast]] = {
    "padded convolution": lambda: build.conv2d(2, 8, 14, 14, 6, (3, 5), 2, 1, dilation=2, groups=2),
    "half convolution": lambda: build.conv2d(1, 16, 8, 8, 16, 1, dtype="float16", out="float16"),
    "padded max pool": lambda: build.max_pool2d(2, 3, 9, 9, 3, 2, 1),
    "softmax": lambda: build.softmax_rows(16, 32),
    "layer norm": lambda: build.layernorm(16, 32),
    "variance": lambda: build.row_variance(4, 1024),
    "arange": lambda: build.arange(2560),
    "gather": lambda: build.gather(256, 64, 40),
    "everything": lambda: build.reduce_all("max", (8, 16, 4), "int32"),
    "half sum": lambda: build.reduce_rows("sum", 32, 64, "float16"),
    "two stores": lambda: build.elementwise((10,), lambda x, y: (x + y, x * y), "float32", "float32"),
    "dynamic softmax": lambda: build.softmax_rows(4, variable("n", 1, 32)),
}


@pytest.mark.parametrize("name", [*AS_SENT, *OTHERS])
@pytest.mark.parametrize("target", ["opencl", "sm_80"])
def test_the_oracles_kernel_of_what_is_built_has_the_same_axes_and_heuristic(name: str, target: str) -> None:
    document = dump_ast({**AS_SENT, **OTHERS}[name]())
    ours, oracles = product_kernel(document, target), oracle_kernel(document, target)
    assert product_shown(ours, assignments(document)) == oracle_shown(oracles, assignments(document))
    assert [opt_triple(opt) for opt in ours.hand_coded_optimizations().applied_opts] == [
        opt_triple(opt) for opt in oracles.hand_coded_optimizations().applied_opts
    ]


@pytest.mark.parametrize("name", OTHERS)
def test_builder_gives_an_ast_that_parses_to_itself(name: str) -> None:
    ast = OTHERS[name]()
    assert parse_ast(dump_ast(ast)) == ast == OTHERS[name]()


# ---- what they compute -----------------------------------------------------------------------------------------------


def test_matmul_multiplies_batches_of_matrices() -> None:
    left, right = floats(2, 3, 5), floats(2, 5, 4)
    close(stored(build.matmul(3, 5, 4, batch=(2,)), left, right), left @ right)


def test_matmul_of_a_dynamic_size_uses_that_many_rows() -> None:
    left, right = floats(3, 5), floats(5, 4)
    ast = build.matmul(variable("m", 1, 6), 5, 4)
    close(stored(ast, left, right, variables={"m": 3}), left @ right)


def test_matmul_of_int8_accumulates_in_int32() -> None:
    left = np.full((1, 3), 100, np.int8)
    ast = build.matmul(1, 3, 1, "int8", accumulate="int32")
    # The products themselves are int8, as tinygrad 0.10.2 sends them: 100 * 1.
    assert stored(ast, left, np.ones((3, 1), np.int8)).tolist() == [300]


@pytest.mark.parametrize(
    ("groups", "stride", "padding", "dilation"), [(1, 1, 0, 1), (1, 2, 1, 1), (2, 1, 2, 1), (2, 2, 1, 2)]
)
def test_conv2d_convolves(groups: int, stride: int, padding: int, dilation: int) -> None:
    images, weights = floats(2, 4, 5, 6), floats(4, 4 // groups, 3, 2)
    ast = build.conv2d(2, 4, 5, 6, 4, (3, 2), stride, padding, dilation=dilation, groups=groups)
    padded = np.pad(images, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    oh, ow = ((size + 2 * padding - dilation * (k - 1) - 1) // stride + 1 for size, k in ((5, 3), (6, 2)))
    expected = np.zeros((2, 4, oh, ow))
    for o, y, x in np.ndindex(4, oh, ow):
        channels = slice(o // (4 // groups) * (4 // groups), (o // (4 // groups) + 1) * (4 // groups))
        seen = padded[:, channels, y * stride :: dilation, x * stride :: dilation][:, :, :3, :2]
        expected[:, o, y, x] = (seen * weights[o]).sum((1, 2, 3))
    close(stored(ast, images, weights), expected)


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
def test_max_pool2d_never_takes_a_padded_element(dtype: str) -> None:
    image = -np.arange(1, 26) if dtype != "uint8" else np.arange(25)
    ast = build.max_pool2d(1, 1, 5, 5, 3, 1, 1, dtype=dtype)
    least = -(10**6)
    padded = np.pad(image.reshape(5, 5), 1, constant_values=least)
    expected = np.lib.stride_tricks.sliding_window_view(padded, (3, 3)).max((2, 3))
    assert stored(ast, image).tolist() == np.ravel(expected).tolist()


@pytest.mark.parametrize(("op", "numpy"), [("sum", np.sum), ("max", np.max), ("prod", np.prod)])
def test_reductions_go_over_rows_columns_and_everything(op: str, numpy: Callable[..., Any]) -> None:
    x = floats(3, 4)
    close(stored(build.reduce_rows(op, 3, 4), x), numpy(x, 1))
    close(stored(build.reduce_columns(op, 3, 4), x), numpy(x, 0))
    close(stored(build.reduce_all(op, (3, 2, 2)), x), numpy(x))


def test_reductions_of_small_integers_do_not_wrap_until_they_are_stored() -> None:
    ast = build.reduce_rows("sum", 1, 1000, "uint8", accumulate="uint32")
    assert stored(ast, np.full(1000, 255)).tolist() == [255_000 % 256]
    assert [str(node.dtype) for node in ast.nodes if node.op == "REDUCE_AXIS"] == ["uint32"]


def test_softmax_in_one_kernel_and_in_three_agree_with_numpy() -> None:
    x = floats(3, 5) * 40
    powers = np.exp(x - x.max(1, keepdims=True))
    greatest, total = x.max(1), powers.sum(1)
    expected = powers / total[:, None]
    close(stored(build.softmax_rows(3, 5), x), expected)
    close(stored(build.row_max(3, 5), x), greatest)
    close(stored(build.exp_sum(3, 5), x, greatest), total)
    close(stored(build.exp_over_sum(3, 5), x, greatest, total), expected)


def test_softmax_of_far_apart_values_is_zero_and_one() -> None:
    assert stored(build.softmax_rows(1, 3), np.array([0.0, 300.0, -300.0])).tolist() == [0, 1, 0]


def test_layernorm_in_one_kernel_and_in_three_agree_with_numpy() -> None:
    x = floats(3, 6) + 100
    mean, variance = x.astype(np.float64).mean(1), x.astype(np.float64).var(1)
    rstd = 1 / np.sqrt(variance + 1e-5)
    expected = (x - mean[:, None]) * rstd[:, None]
    close(stored(build.layernorm(3, 6), x), expected, 1e-4)
    close(stored(build.row_variance(3, 6), x), variance, 1e-4)
    close(stored(build.row_mean(3, 6), x), mean)
    close(stored(build.row_rstd(3, 6), x, mean), rstd, 1e-4)
    close(stored(build.normalise_rows(3, 6), x, mean, rstd), expected, 1e-3)


def test_arange_counts() -> None:
    assert stored(build.arange(9)).tolist() == list(range(9))
    assert stored(build.arange(3, "float32")).tolist() == [0, 1, 2]


def test_gather_takes_rows_and_gives_zeros_beyond_the_table() -> None:
    table = floats(4, 3)
    table[1, 1] = np.nan  # in a row that nobody asks for
    indices = np.array([2, -1, 0, 4, -19238, 10982377, 3])
    rows = stored(build.gather(4, 3, 7), np.arange(4), indices, table).reshape(7, 3)
    for row, index in zip(rows, indices, strict=True):
        close(row, table[index] if 0 <= index < 4 else np.zeros(3))


def test_transpose_add_and_gelu_agree_with_numpy() -> None:
    x, y = floats(4, 3), floats(3, 4)
    close(stored(build.transpose_add(3, 4), x, y), x.T + y)
    expected = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    close(stored(build.gelu((4, 3)), x), expected)


def test_elementwise_stores_each_of_several_results() -> None:
    ast = build.elementwise((6,), lambda x, y: (x + y, x * y), "int32", "int32")
    x, y = np.arange(6), np.arange(6) * 3
    assert stored(ast, x, y, slot=0).tolist() == (x + y).tolist()
    assert stored(ast, x, y, slot=1).tolist() == (x * y).tolist()


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("built", "message"),
    [
        (lambda: build.matmul(2, 2, 2, "float31"), "'float31' is no dtype: there are bool int8"),
        (lambda: build.conv2d(1, 3, 8, 8, 4, groups=2), "2 groups do not divide 3 input and 4 output channels"),
        (lambda: build.reduce_rows("min", 2, 2), "a reduction is sum, max or prod, not 'min'"),
        (lambda: build.elementwise((2,), lambda x: x & 1), "AND computes with integers and bool, not float32"),
    ],
)
def test_builder_says_what_it_cannot_build(built: Callable[[], Ast], message: str) -> None:
    with pytest.raises(BuildError) as error:
        built()
    assert error.value.code == "invalid_expression"
    assert str(error.value).startswith(message)


def test_builder_says_which_window_does_not_fit() -> None:
    with pytest.raises(ViewError, match=r"a window of 3, elements 1 apart, does not fit axis 2: 2"):
        build.conv2d(1, 1, 2, 2, 1)
