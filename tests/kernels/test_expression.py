"""Readable expressions: they are run as Python and must compute what the kernel does; and what some look like."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from kernels import Ast, build, parse_ast
from kernels.build import Graph, Value, variable, variable_value
from kernels.expression import Expression, expression_of
from kernels.nest import build_nest
from kernels.ops import Ops
from tests.kernels.build.test_cases import CASES
from tests.kernels.build.values import buffers_of, stored
from tests.kernels.documents import corpus

LOOPS = re.compile(r" for ((?:\w+ < [^,()]+(?:, )?)+)(?=[:)])")


def shown(ast: Ast) -> Expression:
    return expression_of(build_nest(ast))


def lines_of(expression: Expression) -> list[str]:
    """The lines as they were before wrapping, without the loops around them."""
    whole: list[str] = []
    base = "    " if expression.lines[0].startswith("for ") else ""
    for line in expression.lines[1:] if base else expression.lines:
        if line.startswith(base + "    "):
            whole[-1] += " " + line.strip()
        else:
            whole.append(line.removeprefix(base))
    return whole


# ---- running an expression -------------------------------------------------------------------------------------------


class Dimensions:
    """A flat buffer with the dimensions that it is shown with. What is outside raises."""

    def __init__(self, values: list[Any], sizes: tuple[int, ...]) -> None:
        self.values = values
        self.sizes = sizes

    def place(self, subscripts: Any) -> int:
        inside = subscripts if isinstance(subscripts, tuple) else (subscripts,)
        assert len(inside) == len(self.sizes)
        assert all(0 <= i < size for i, size in zip(inside, self.sizes, strict=True)), (inside, self.sizes)
        return int(np.ravel_multi_index(inside, self.sizes))

    def __getitem__(self, subscripts: Any) -> Any:
        return self.values[self.place(subscripts)]

    def __setitem__(self, subscripts: Any, value: Any) -> None:
        self.values[self.place(subscripts)] = value


class Dtype:
    """A dtype's name as a function: a conversion of numbers."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, value: Any) -> Any:
        return float(value) if "float" in self.name else int(value)

    def of_bits(self, value: Any) -> Any:
        return np.array([value], np.float32 if isinstance(value, float) else np.int32).view(self.name)[0]


FUNCTIONS: dict[str, Any] = {
    "prod": math.prod,
    "exp2": np.exp2,
    "sqrt": math.sqrt,
    "where": lambda condition, then, otherwise: then if condition else otherwise,
    "idiv": lambda a, b: int(abs(a) // abs(b)) * (1 if a * b > 0 else -1),
    "mod": math.fmod,
    "mulacc": lambda a, b, c: a * b + c,
    "inf": math.inf,
    "bitcast": lambda value, dtype: dtype.of_bits(value),
    **{name: Dtype(name) for name in ("int32", "uint32", "float16", "float32")},
}


def run(ast: Ast, *loaded: Any, variables: Mapping[str, int] | None = None) -> list[Any]:
    """The first stored buffer after the expression's lines were run as Python; -99 where nothing was stored."""
    expression = shown(ast)
    first = len(buffers_of(ast)) - len(loaded)
    names: dict[str, Any] = {**FUNCTIONS, **(variables or {})}
    for slot, (buffer, arg) in enumerate(zip(expression.buffers, buffers_of(ast), strict=True)):
        values = np.ravel(loaded[slot - first]).tolist() if slot >= first else [-99] * arg.size
        names[buffer.name] = Dimensions(values, buffer.sizes)
    loops = expression.lines[0] if expression.lines[0].startswith("for ") else "for _ < 1:"
    clauses = ranges(loops.removeprefix("for ").removesuffix(":")).strip().replace(" for ", ":\nfor ")
    nested = "".join(" " * depth + line + "\n" for depth, line in enumerate(f"{clauses}:".split("\n")))
    indent = " " * nested.count("\n")
    body = "\n".join(indent + statement for statement in statements_of(expression))
    exec(nested + body, names)  # noqa: S102 - the product's own text, which is what this tests
    stored_values: list[Any] = names[expression.buffers[0].name].values
    return stored_values


def statements_of(expression: Expression) -> list[str]:
    """The stores in Python: named parts put in, loops as generators."""
    parts: dict[str, str] = {}
    statements = []
    for line in lines_of(expression):
        name, text = line.split(" = ", 1)
        for part, meaning in reversed(parts.items()):
            text = text.replace(part, f"({meaning})")
        if re.match(r"t\d+\b", name):
            parts[name] = text
        else:
            statements.append(LOOPS.sub(lambda found: ranges(found[1]), f"{name} = {text}"))
    return statements


def ranges(loops: str) -> str:
    """`i < 8, j < 3` as the clauses of a generator."""
    return "".join(f" for {name} in range({size})" for name, size in (loop.split(" < ") for loop in loops.split(", ")))


@pytest.mark.parametrize("name", [name for name in CASES if "nan" not in name])
def test_expression_of_a_case_computes_the_right_answer(name: str) -> None:
    function, loaded, expected = CASES[name]
    g = Graph()
    g.store(function(g))
    np.testing.assert_allclose(run(g.build(), *loaded), np.ravel(expected), rtol=1e-6)


N = variable("n", 1, 9)
RNG = np.random.default_rng(1)
BUILT: dict[str, tuple[Callable[[], Ast], tuple[tuple[int, ...], ...], dict[str, int]]] = {
    "matmul": (lambda: build.matmul(3, 4, 5, batch=(2,)), ((2, 3, 4), (2, 4, 5)), {}),
    "dynamic matmul": (lambda: build.matmul(N, 3, 2), ((4, 3), (3, 2)), {"n": 4}),
    "convolution": (
        lambda: build.conv2d(1, 4, 6, 5, 4, (3, 2), 2, 1, dilation=2, groups=2),
        ((1, 4, 6, 5), (4, 2, 3, 2)),
        {},
    ),
    "max pool": (lambda: build.max_pool2d(1, 2, 7, 7, 3, 2, 1), ((1, 2, 7, 7),), {}),
    "softmax": (lambda: build.softmax_rows(3, 4), ((3, 4),), {}),
    "layer norm": (lambda: build.layernorm(2, 5), ((2, 5),), {}),
    "variance": (lambda: build.row_variance(3, 4), ((3, 4),), {}),
    "gelu": (lambda: build.gelu((3, 5)), ((3, 5),), {}),
    "flipped and padded": (
        lambda: build.elementwise((4, 5), lambda x: x.pad((1, 1), (0, 2), fill=4).flip(0, 1).step(1, 2)),
        ((4, 5),),
        {},
    ),
}


@pytest.mark.parametrize("name", BUILT)
def test_expression_of_a_built_kernel_computes_what_it_does(name: str) -> None:
    built, shapes, variables = BUILT[name]
    loaded = [RNG.uniform(-1, 1, shape) for shape in shapes]
    wanted = stored(built(), *loaded, variables=variables)
    np.testing.assert_allclose(run(built(), *loaded, variables=variables)[: len(wanted)], wanted, rtol=1e-4, atol=1e-6)


OPERATORS: list[Callable[[Value, Value], Value]] = [
    lambda x, y: x - (y - (x - 1)) - -y,
    lambda x, y: x * (y * x) + (x + y) * 3,
    lambda x, y: (x & (y | 3)) ^ ((x ^ y) & (y << 1)) | ((x >> 1) + y),
    lambda x, y: ((x < y) & (x.eq(y).logical_not() | (y > 2))).cast("int32"),
    lambda x, y: (x.ne(y) ^ (x < y)).logical_not().cast("int32"),
    lambda x, y: (-(x + y)).apply(Ops.NEG) - x.apply(Ops.NEG) * -1,
    lambda x, y: x.maximum(y).minimum(3) + x.idiv(y) * x.mod(y),
    lambda x, y: x.apply(Ops.SUB, y.apply(Ops.SUB, x)) + x.apply(Ops.MULACC, y, x),
    lambda x, y: (x < (y < x).cast("int32")).where(x, y),
    lambda x, y: x.eq((x < y).cast("int32")).eq(y > x).cast("int32"),
]


@pytest.mark.parametrize("function", OPERATORS)
def test_expression_has_parentheses_where_python_needs_them(function: Callable[[Value, Value], Value]) -> None:
    ast = build.elementwise((40,), function, "int32", "int32")
    x, y = RNG.integers(-9, 9, 40), RNG.integers(1, 9, 40)
    assert run(ast, x, y) == stored(ast, x, y).tolist()


# ---- what they look like ---------------------------------------------------------------------------------------------


def test_matmul_is_shown_with_its_dimensions() -> None:
    assert shown(parse_ast(corpus()["gemm/01"])).lines == (
        "for i < 512, j < 512:",
        "    out0[i, j] = sum(a1[i, k] * a2[k, j] for k < 512)",
    )


def test_padded_convolution_says_where_its_images_are_valid() -> None:
    expression = shown(build.conv2d(2, 16, 14, 14, 8, padding=1))
    assert expression.lines == (
        "for i < 2, j < 8, k < 14, m < 14:",
        "    out0[i, j, k, m] = sum((a1[i, n, k + p - 1, m + q - 1] if 1 <= k + p < 15 and 1 <= m + q < 15",
        "        else 0) * a2[j, n, p, q] for n < 16, p < 3, q < 3)",
    )
    assert [buffer.sizes for buffer in expression.buffers] == [(2, 8, 14, 14), (2, 16, 14, 14), (8, 16, 3, 3)]


def test_parts_that_are_used_again_are_named_with_their_axes() -> None:
    assert shown(build.row_variance(4, 64)).lines == (
        "for i < 4:",
        "    t0[i, j] = a1[i, j] - sum(a1[i, k] for k < 64) * 0.015625",
        "    out0[i] = sum(t0[i, j] * t0[i, j] for j < 64) * 0.015625",
    )


def test_names_of_axes_and_parts_stay_clear_of_variables() -> None:
    g = Graph()
    x = g.load("int32", (variable("i", 1, 4), variable("t0", 1, 4))) + variable_value(variable("a1", 1, 4), (1, 1))
    g.store(x * x)
    assert shown(g.build()).lines == (
        "for j < i, k < t0:",
        "    t0_[j, k] = a1_[t0*j + k] + a1",
        "    out0[t0*j + k] = t0_[j, k] * t0_[j, k]",
    )


def test_kernel_of_one_element_has_no_loop() -> None:
    g = Graph()
    g.store(g.load("float32", (1, 1)) + 1)
    assert shown(g.build()).lines == ("out0[0] = a1[0] + 1.0",)


def test_masked_store_says_where_it_writes() -> None:
    g = Graph()
    g.store(g.load("float32", (4,)), at=g.load("float32", (2,)).pad((1, 1)))
    assert shown(g.build()).lines == ("for i < 4:", "    if 1 <= i < 3: out0[i - 1] = a1[i]")


def test_load_that_is_never_valid_is_zero() -> None:
    g = Graph()
    g.store(g.load("float32", (4,)).pad((4, 0)).shrink((0, 4)))
    assert shown(g.build()).lines == ("for i < 4:", "    out0[i] = 0")


def test_buffer_that_is_seen_in_ways_that_do_not_agree_is_flat() -> None:
    g = Graph()
    x = g.load("float32", (12,))
    g.store(x.reshape(3, 4) + x.reshape(4, 3).permute(1, 0))
    expression = shown(g.build())
    assert expression.lines[-1] == "    out0[i, j] = a1[4*i + j] + a1[3*j + i]"
    assert [buffer.sizes for buffer in expression.buffers] == [(3, 4), (12,)]


def test_long_chains_are_shown_in_lines_of_bounded_length() -> None:
    g = Graph()
    value = g.load("float32", (8,))
    for number in range(3000):
        value = value + number % 7 if number % 2 else value * (number % 5)
    g.store(value)
    lines = shown(g.build()).lines
    assert 3000 * 5 / 100 < len(lines) < 3000
    assert max(map(len, lines)) <= 100


def test_shared_chains_are_shown_once_a_part() -> None:
    g = Graph()
    value = g.load("float32", (16,))
    for _ in range(24):
        value = value.maximum(value * value)
    g.store(value)
    assert len(shown(g.build()).lines) == 1 + 24
    assert shown(g.build()).lines[-1] == "    out0[i] = max(t22[i], t22[i] * t22[i])"


def test_every_real_kernel_has_an_expression_of_short_lines() -> None:
    for name, document in corpus().items():
        ast = parse_ast(document)
        expression = shown(ast)
        stores = sum(node.op is Ops.STORE for node in ast.nodes)
        assert max(map(len, expression.lines)) <= 100, name
        assert sum(line.strip().startswith("out") for line in expression.lines) == stores, name
