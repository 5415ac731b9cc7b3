"""Kernel's surface: sizes, colours, names and copies, and that none of it depends on the process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import kernels
from kernels import Kernel, Opt, OptOps, cuda_target, opencl_target, parse_ast
from kernels.index import Var, single
from tests.kernels.shown import kernel_of, opt, shape_of
from tests.made import dynamic
from tests.made.build import Build, Document
from tests.made.elementwise import outer_sum, three_stores_chain, two_stores_same_shape
from tests.made.matmuls import Product, product
from tests.made.reduces import mean_of_max, parallel_two_stores, reduced
from tests.oracle import oracle_kernel, oracle_try
from tests.parity.subjects import stored

ROOT = Path(__file__).parents[2]
SHEET = partial(outer_sum, (6, 20, 32))
SURFACE = (
    "apply_opt", "apply_tensor_cores", "applied_opts", "ast", "colored_shape", "colors", "copy", "default_opts",
    "first_reduce", "first_upcast", "full_shape", "global_dims", "hand_coded_optimizations", "name", "output_shape",
    "required_optimizations", "shape_len",
)  # fmt: skip


def test_kernel_has_its_public_surface() -> None:
    assert [name for name in SURFACE if not hasattr(Kernel, name)] == []
    for name in ("parse_ast", "dump_ast", "ast_key", "AstError", "Kernel", "KernelOptError", "Opt", "OptOps"):
        assert hasattr(kernels, name), name
    assert [name for name in kernels.__all__ if not hasattr(kernels, name)] == []


@pytest.mark.parametrize(
    ("make", "opts", "full", "output", "counts"),
    [
        # counts: first_reduce, first_upcast, global_dims, shape_len
        (SHEET, [], (6, 20, 32), (6, 20, 32), (3, 3, 3, 3)),
        (SHEET, [("LOCAL", 0, 2), ("UPCAST", 1, 4)], (3, 5, 32, 2, 4), (3, 5, 32, 2, 4), (4, 4, 3, 5)),
        (partial(reduced, (24, 64), (1,)), [], (24, 64), (24, 1), (1, 2, 1, 2)),
        (
            partial(reduced, (24, 64), (1,)),
            [("LOCAL", 0, 8), ("GROUP", 0, 4), ("UNROLL", 1, 2), ("UPCAST", 0, 3)],
            (8, 4, 8, 2, 3),
            (8, 1, 1, 1, 3),
            (1, 3, 0, 5),
        ),
        (partial(reduced, (24, 64), (0, 1)), [], (1536,), (1,), (0, 1, 0, 1)),
        (partial(reduced, (1, 1), (1,)), [], (), (), (0, 0, 0, 0)),
        (partial(mean_of_max, (6, 8, 16)), [], (6, 8, 16), (6, 1, 1), (1, 3, 1, 3)),
    ],
)
def test_kernel_shows_its_sizes_and_where_each_role_begins(
    make: Any, opts: list[Any], full: tuple[int, ...], output: tuple[int, ...], counts: tuple[int, ...]
) -> None:
    kernel = kernel_of(make(), None, *opts)
    assert kernel.full_shape == full
    assert kernel.output_shape == output
    assert (kernel.first_reduce, kernel.first_upcast, kernel.global_dims, kernel.shape_len) == counts


def test_colors_are_those_of_the_roles() -> None:
    kernel = kernel_of(
        reduced((24, 64), (1,)), None, ("LOCAL", 0, 4), ("GROUP", 0, 4), ("UNROLL", 1, 2), ("UPCAST", 0, 2)
    )
    assert kernel.colors() == ["blue", "cyan", "green", "red", "magenta", "yellow"]
    assert kernel_of(SHEET(), None, ("NOLOCALS", None, None), ("UPCAST", 0, 3)).colors() == ["BLUE"] * 3 + ["yellow"]


def test_colors_are_a_new_list_each_time() -> None:
    kernel = kernel_of(SHEET())
    kernel.colors().append("red")
    assert kernel.colors() == ["blue"] * 3


def test_colored_shape_shows_sizes_in_terminal_colours() -> None:
    kernel = kernel_of(SHEET(), None, ("LOCAL", 1, 4), ("UPCAST", 2, 16))
    blue, cyan, yellow = ("\x1b[34m", "\x1b[36m", "\x1b[33m")
    end = "\x1b[0m"
    parts = [f"{blue}   6{end}", f"{blue}   5{end}", f"{blue}   2{end}", f"{cyan}   4{end}", f"{yellow}  16{end}"]
    assert kernel.colored_shape() == " ".join(parts)
    # Five sizes of four places and four spaces between them are 24 characters.
    assert kernel.colored_shape(pad=30) == " ".join(parts) + " " * 6
    assert kernel.colored_shape(pad=10) == " ".join(parts)
    dense = [f"{blue}6{end}", f"{blue}5{end}", f"{blue}2{end}", f"{cyan}4{end}", f"{yellow}16{end}"]
    assert kernel.colored_shape(dense=True) == " ".join(dense)
    assert kernel.colored_shape(pad=12, dense=True) == " ".join(dense) + " " * 2


def test_colored_shape_uses_bright_blue_without_locals() -> None:
    kernel = kernel_of(SHEET(), None, ("NOLOCALS", None, None))
    assert kernel.colored_shape(dense=True) == "\x1b[94m6\x1b[0m \x1b[94m20\x1b[0m \x1b[94m32\x1b[0m"


@pytest.mark.parametrize("arguments", [{}, {"pad": 50}, {"dense": True}, {"pad": 3, "dense": True}])
def test_colored_shape_is_the_oracles(arguments: dict[str, Any]) -> None:
    document = reduced((24, 64), (1,))
    opts: list[Any] = [("LOCAL", 0, 4), ("GROUP", 0, 4), ("UNROLL", 1, 2), ("UPCAST", 0, 2)]
    oracle = oracle_kernel(document, "opencl")
    for triple in opts:
        oracle = oracle_try(oracle, triple).kernel
    assert kernel_of(document, None, *opts).colored_shape(**arguments) == oracle.colored_shape(**arguments)


# ---- names -----------------------------------------------------------------------------------------------------------


def negated(shape: tuple[int, ...]) -> Document:
    b = Build()
    b.store(b.op("NEG", b.new("float32", shape)))
    return b.document()


@pytest.mark.parametrize(
    ("make", "opts", "name"),
    [
        (partial(negated, (12, 8)), [], "E_96"),
        (SHEET, [("LOCAL", 1, 4)], "E_6_5_32_4"),
        (partial(negated, (1, 1)), [], "E"),
        (partial(reduced, (24, 64), (1,)), [("UNROLL", 0, 4)], "r_24_16_4"),
        (two_stores_same_shape, [], "E2_10"),
        (parallel_two_stores, [], "r2_18_64"),
        (three_stores_chain, [], "E3_672"),
    ],
)
def test_name_is_made_of_the_kind_and_the_sizes(make: Any, opts: list[Any], name: str) -> None:
    assert kernel_of(make(), None, *opts).name == name


@pytest.mark.parametrize("kind", ["corpus", "made"])
def test_names_are_plain_identifiers(kind: str) -> None:
    for name, document in stored(kind).items():
        kernel = kernel_of(document).hand_coded_optimizations()
        assert kernel.name.isidentifier() and kernel.name.isascii(), name


def test_name_of_a_dynamic_kernel_does_not_depend_on_what_its_variables_are_called() -> None:
    names = set()
    for variable in ("i", "start_pos", "E"):
        b = Build()
        size = b.variable(variable, 2, 64)
        b.store(b.op("NEG", b.new("float32", (3, size * 2 - 1))))
        names.add(kernel_of(b.document()).name)
    (name,) = names
    assert name.isidentifier() and name.isascii() and name.startswith("E_3_")


NAMES_SCRIPT = """
import json, sys
from kernels import Kernel, cuda_target, parse_ast
documents = [json.loads(line)["ast"] for line in sys.stdin]
made = [Kernel(parse_ast(document), cuda_target("sm_80")).default_opts() for document in documents]
print(json.dumps([[k.name, [str(opt) for opt in k.applied_opts], k.colored_shape()] for k in made]))
"""


def test_names_and_opts_are_the_same_in_another_process_with_another_hash_seed() -> None:
    documents = list(stored("corpus").values())[::6] + list(stored("made").values())[::6]
    lines = "".join(json.dumps({"ast": document}) + "\n" for document in documents)
    answers = []
    for seed in ("0", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        ran = subprocess.run(
            [sys.executable, "-c", NAMES_SCRIPT],
            input=lines,
            text=True,
            capture_output=True,
            env=environment,
            check=True,
        )
        answers.append(json.loads(ran.stdout))
    made = [Kernel(parse_ast(document), cuda_target("sm_80")).default_opts() for document in documents]
    here = [[k.name, [str(opt) for opt in k.applied_opts], k.colored_shape()] for k in made]
    assert answers == [here, here]


# ---- copies, and dynamic sizes ---------------------------------------------------------------------------------------


def test_copy_is_independent_and_shares_what_never_changes() -> None:
    kernel = kernel_of(SHEET(), None, ("LOCAL", 1, 4))
    copy = kernel.copy()
    assert type(copy) is Kernel
    assert (copy.nest, copy.target, copy.state) == (kernel.nest, kernel.target, kernel.state)
    copy.apply_opt(opt("UPCAST", 0, 2))
    assert (shape_of(kernel), shape_of(copy)) == ("B6 B5 B32 C4", "B3 B5 B32 C4 Y2")
    assert kernel.applied_opts == (Opt(OptOps.LOCAL, 1, 4),)
    assert copy.ast is kernel.ast


def test_copy_costs_no_more_for_a_large_kernel() -> None:
    large = kernel_of(stored("made")["elementwise/long_chain"])
    started = time.perf_counter()
    for _ in range(10_000):
        large.copy()
    assert time.perf_counter() - started < 0.5


def test_kernels_of_one_ast_do_not_influence_each_other() -> None:
    ast = parse_ast(product(Product(64, 64, 64)))
    one, other = Kernel(ast, cuda_target("sm_80")), Kernel(ast, opencl_target())
    one.default_opts()
    assert shape_of(other) == "B64 B64 R64"
    assert other.applied_opts == ()


def test_dynamic_sizes_are_shown_as_expressions() -> None:
    kernel = kernel_of(dynamic.column_scale(), None, ("UPCAST", 0, 4))
    i = single(Var("i", 2, 100))
    assert kernel.full_shape == (3, i, 4)
    assert kernel.output_shape == (3, i, 4)
    assert kernel.colored_shape(dense=True) == "\x1b[34m3\x1b[0m \x1b[34mi\x1b[0m \x1b[33m4\x1b[0m"
    dynamic_reduce = kernel_of(dynamic.reduce_length("ADD"))
    assert dynamic_reduce.full_shape == (40, single(Var("i", 1, 32)))
    assert dynamic_reduce.output_shape == (40, 1)
