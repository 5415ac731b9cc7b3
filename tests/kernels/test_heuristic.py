"""The heuristic, step by step: the smallest example on either side of each of its conditions."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kernels import HeuristicSettings, Kernel, cuda_target, opencl_target
from tests.kernels.shown import kernel_of, opts_of, shape_of
from tests.made import dynamic
from tests.made.build import Build, Document
from tests.made.elementwise import outer_sum, shaped, two_stores_same_shape
from tests.made.matmuls import Product, convolution, product
from tests.made.reduces import reduced
from tests.oracle import OptTriple, opt_triple, oracle_kernel, oracle_opt

SM_80 = cuda_target("sm_80")
OTHER_TARGETS = {
    "opencl_no_local": opencl_target(has_local=False),
    "opencl_no_shared": opencl_target(has_shared=False),
}


def matrix_vector(rows: int, length: int, *, transposed: bool = False, swapped: bool = False) -> Document:
    """out[i] = sum over k of A[i, k] * x[k]; with A stored by columns, or x the first factor."""
    b = Build()
    full = (rows, length)
    matrix = b.buffer("float32", full[::-1] if transposed else full)
    vector = b.buffer("float32", (length,))
    factors = [b.spread(matrix, full, (1, 0) if transposed else (0, 1)), b.spread(vector, full, (1,))]
    b.store(b.reduce(b.op("MUL", *(factors[::-1] if swapped else factors)), "ADD", 1))
    return b.document()


def padded(shape: tuple[int, ...], *pads: tuple[int, int]) -> Document:
    """A copy of a buffer, padded on its first axes."""
    b = Build()
    buffer = b.buffer("float32", shape)
    b.store(b.load(buffer, buffer.tracker.pad((*pads, *((0, 0) for _ in shape[len(pads) :])))))
    return b.document()


def plus_a_part(shape: tuple[int, ...], rows: int, start: int) -> Document:
    """x plus `rows` rows of another buffer, from row `start` on."""
    b = Build()
    part = b.buffer("float32", (rows, *shape[1:]))
    tracker = part.tracker.pad(((start, shape[0] - start - rows), *((0, 0) for _ in shape[1:])))
    value = b.load(part, tracker)
    b.store(b.op("ADD", value, b.new("float32", shape)))
    return b.document()


def permuted_sum(shape: tuple[int, ...], order: tuple[int, ...]) -> Document:
    """The sum over the last axis, the others in another order, so that they do not merge."""
    b = Build()
    buffer = b.buffer("float32", shape)
    b.store(b.reduce(b.load(buffer, buffer.tracker.permute(order)), "ADD", len(shape) - 1))
    return b.document()


def of_product(m: int, n: int, k: int, **changes: Any) -> partial[Document]:
    return partial(product, Product(m, n, k, dtype="float32", **changes))


MATRIX_VECTOR = ["GROUP(0, 8)", "LOCAL(0, 4)", "UPCAST(0, 4)"]

# target, document, Opts applied before, the heuristic's own
EXAMPLES: list[tuple[str, Any, list[OptTriple], list[str]]] = [
    # 1. Matrix-vector: an axis of a multiple of 16, a reduced one of a multiple of 8, the first load along it.
    ("opencl", partial(matrix_vector, 64, 128), [], MATRIX_VECTOR),
    ("opencl", partial(matrix_vector, 16, 8), [], MATRIX_VECTOR),
    ("opencl", partial(matrix_vector, 64, 128, swapped=True), [], MATRIX_VECTOR),
    ("opencl", partial(matrix_vector, 24, 128), [], ["GROUPTOP(0, 16)"]),
    ("opencl", partial(matrix_vector, 64, 100), [], ["UNROLL(0, 4)", "LOCAL(0, 32)"]),
    ("opencl", partial(matrix_vector, 64, 128, transposed=True), [], ["GROUPTOP(0, 16)"]),
    ("opencl_no_local", partial(matrix_vector, 64, 128), [], ["UNROLL(0, 4)"]),
    ("opencl_no_shared", partial(matrix_vector, 64, 128), [], ["UNROLL(0, 4)", "LOCAL(0, 32)"]),
    # 2. and 3. Grouping: by 256 up to 32 outputs, by 16 up to 2048, of at most two axes, and then no more.
    ("opencl", partial(reduced, (32, 512), (1,)), [], ["GROUPTOP(0, 256)"]),
    ("opencl", partial(reduced, (33, 512), (1,)), [], ["GROUPTOP(0, 16)"]),
    ("opencl", partial(reduced, (2048, 512), (1,)), [], ["GROUPTOP(0, 16)"]),
    ("opencl", partial(reduced, (2049, 512), (1,)), [], ["UNROLL(0, 4)", "LOCAL(0, 3)"]),
    ("opencl", partial(reduced, (4096,), (0,)), [], ["GROUPTOP(0, 256)"]),
    ("opencl", partial(reduced, (32, 48), (1,)), [], ["GROUPTOP(0, 16)"]),
    ("opencl", partial(reduced, (32, 100), (1,)), [], ["UNROLL(0, 4)", "LOCAL(0, 32)"]),
    ("opencl", partial(permuted_sum, (2, 3, 512), (1, 0, 2)), [], ["GROUPTOP(0, 256)"]),
    (
        "opencl",
        partial(permuted_sum, (2, 3, 4, 512), (2, 1, 0, 3)),
        [],
        ["UNROLL(0, 4)", "LOCAL(0, 4)", "LOCAL(0, 3)", "LOCAL(0, 2)"],
    ),
    ("opencl", partial(reduced, (32, 512), (1,)), [("UPCAST", 0, 4)], ["UNROLL(0, 4)", "LOCAL(0, 8)"]),
    ("opencl", partial(reduced, (32, 512), (1,)), [("UPCAST", 0, 2)], ["GROUPTOP(0, 256)"]),
    # What has a group axis already is left as it is.
    ("opencl", partial(reduced, (32, 512), (1,)), [("GROUP", 0, 2)], []),
    ("opencl", dynamic.reduce_dynamic_rows, [], ["UNROLL(0, 4)"]),
    # 4. Masked axes of at most 7, as many as stay within 49 together, from the last to the first.
    ("opencl", partial(padded, (5, 64), (1, 1)), [], ["UPCAST(0, 0)", "LOCAL(0, 32)"]),
    ("opencl", partial(padded, (6, 64), (1, 1)), [], ["UPCAST(1, 4)", "LOCAL(0, 8)", "LOCAL(0, 16)"]),
    ("opencl", partial(padded, (5, 5, 64), (1, 1), (1, 1)), [], ["UPCAST(1, 0)", "UPCAST(0, 0)", "LOCAL(0, 32)"]),
    (
        "opencl",
        partial(padded, (3, 4, 2, 64), (0, 2), (0, 1), (0, 1)),
        [],
        ["UPCAST(1, 0)", "UPCAST(0, 0)", "LOCAL(0, 3)", "LOCAL(0, 16)"],
    ),
    # 5. Reuse: from 1024 outputs on, axes on which some row does not move, the cheapest first.
    ("opencl", partial(outer_sum, (31, 33)), [], ["LOCAL(1, 3)"]),
    ("opencl", partial(outer_sum, (32, 32)), [], ["UPCAST(1, 4)", "LOCAL(0, 16)", "LOCAL(1, 8)"]),
    ("opencl", partial(outer_sum, (16, 63)), [], ["LOCAL(0, 16)", "LOCAL(0, 3)"]),
    ("opencl", partial(outer_sum, (64, 48)), [], ["UPCAST(1, 3)", "UPCAST(0, 4)", "LOCAL(0, 8)", "LOCAL(1, 16)"]),
    ("opencl", partial(outer_sum, (16, 128)), [], ["UPCAST(1, 4)", "LOCAL(0, 8)", "LOCAL(1, 16)"]),
    (
        "opencl",
        of_product(64, 64, 64),
        [],
        ["UPCAST(1, 4)", "UPCAST(0, 4)", "UNROLL(0, 4)", "LOCAL(0, 8)", "LOCAL(1, 16)"],
    ),
    ("opencl", of_product(63, 65, 67), [], ["UPCAST(0, 3)", "LOCAL(0, 3)"]),
    # A variable counts at its maximum: 12 x 100 outputs.
    ("opencl", dynamic.column_scale, [], ["UPCAST(0, 3)", "LOCAL(0, 4)"]),
    # Of 48 rows in parts of 12 by 4 only one part of the masked load is valid: along it the load does not move.
    (
        "opencl",
        partial(plus_a_part, (48, 20, 24), 4, 28),
        [("UPCAST", 0, 4)],
        ["UPCAST(0, 3)", "LOCAL(0, 4)", "LOCAL(0, 16)"],
    ),
    # 6. Unroll: whole up to 32 (with the next where both are at most 3), else by 4, while little is upcast.
    ("opencl", partial(reduced, (2500, 32), (1,)), [], ["UNROLL(0, 0)", "LOCAL(0, 4)"]),
    ("opencl", partial(reduced, (2500, 36), (1,)), [], ["UNROLL(0, 4)", "LOCAL(0, 4)"]),
    ("opencl", partial(reduced, (2500, 33), (1,)), [], ["LOCAL(0, 4)"]),
    ("opencl", partial(reduced, (2500, 3, 5, 3), (1, 3)), [], ["UNROLL(1, 0)", "UNROLL(0, 0)", "LOCAL(0, 4)"]),
    ("opencl", partial(reduced, (2500, 4, 5, 3), (1, 3)), [], ["UNROLL(1, 0)", "LOCAL(0, 4)"]),
    ("opencl", partial(reduced, (2500, 3, 5, 4), (1, 3)), [], ["UNROLL(1, 0)", "LOCAL(0, 4)"]),
    ("opencl", partial(reduced, (2500, 64), (1,)), [("UNROLL", 0, 8)], ["LOCAL(0, 4)"]),
    ("opencl", partial(reduced, (2500, 64), (1,)), [("UNROLL", 0, 4)], ["UNROLL(0, 0)", "LOCAL(0, 4)"]),
    ("opencl", partial(reduced, (12500, 64), (1,)), [("UPCAST", 0, 5)], ["UNROLL(0, 4)", "LOCAL(0, 4)"]),
    # 7. Something is upcast, if the last axis is a multiple of 4.
    ("opencl", partial(two_stores_same_shape, 64), [], ["UPCAST(0, 4)", "LOCAL(0, 16)"]),
    ("opencl", partial(two_stores_same_shape, 33), [], ["LOCAL(0, 3)"]),
    # 8. Locals: the largest of 16, 8, 4, 3, 2 (and 32 for the first axis) that divide, 128 in all, three at most.
    ("opencl", partial(shaped, (1 << 20,)), [], ["UPCAST(0, 4)", "LOCAL(0, 32)"]),
    ("opencl", partial(shaped, (1000,)), [], ["UPCAST(0, 4)", "LOCAL(0, 2)"]),
    ("opencl", partial(shaped, (2, 2, 2)), [], ["LOCAL(0, 4)", "LOCAL(0, 2)"]),
    ("opencl", partial(outer_sum, (7, 11)), [], []),
    (
        "opencl",
        partial(outer_sum, (2, 2, 2, 128)),
        [],
        ["UPCAST(3, 4)", "LOCAL(1, 2)", "LOCAL(1, 2)", "LOCAL(1, 16)"],
    ),
    ("opencl_no_local", partial(outer_sum, (64, 48)), [], ["UPCAST(1, 3)", "UPCAST(0, 4)"]),
    ("opencl", partial(shaped, (1, 1, 1)), [], []),
    # All together.
    (
        "opencl",
        partial(convolution, 2, 3, 16, 16, 3, 1, 1, "float32"),
        [],
        [
            "UPCAST(3, 4)",
            "UPCAST(1, 4)",
            "UNROLL(2, 0)",
            "UNROLL(1, 0)",
            "LOCAL(1, 2)",
            "LOCAL(2, 16)",
            "LOCAL(2, 4)",
        ],
    ),
]


@pytest.mark.parametrize(("target", "make", "before", "chosen"), EXAMPLES)
def test_hand_coded_optimizations_are_these(target: str, make: Any, before: list[OptTriple], chosen: list[str]) -> None:
    kernel = kernel_of(make(), OTHER_TARGETS.get(target), *before)
    assert kernel.hand_coded_optimizations() is kernel
    assert opts_of(kernel)[len(before) :] == chosen


@pytest.mark.parametrize(("target", "make", "before", "_"), EXAMPLES)
def test_example_is_what_the_oracle_chooses(target: str, make: Any, before: list[OptTriple], _: list[str]) -> None:
    oracle = oracle_kernel(make(), target)
    for triple in before:
        oracle.apply_opt(oracle_opt(triple))
    oracle.hand_coded_optimizations()
    chosen = kernel_of(make(), OTHER_TARGETS.get(target), *before).hand_coded_optimizations()
    assert [opt_triple(opt) for opt in chosen.applied_opts] == [opt_triple(opt) for opt in oracle.applied_opts]


def test_grouping_falls_back_to_16_where_256_does_not_fit_shared_memory() -> None:
    kernel = kernel_of(reduced((32, 512), (1,)), opencl_target(shared_max=512))
    assert opts_of(kernel.hand_coded_optimizations()) == ["GROUPTOP(0, 16)"]


@pytest.mark.parametrize(
    ("settings", "chosen"),
    [
        (HeuristicSettings(), MATRIX_VECTOR),
        (HeuristicSettings(matrix_vector=False), ["GROUPTOP(0, 16)"]),
        (
            HeuristicSettings(block_size=8, threads_per_row=16, rows_per_thread=2),
            ["GROUP(0, 16)", "LOCAL(0, 8)", "UPCAST(0, 2)"],
        ),
        (HeuristicSettings(threads_per_row=1), ["LOCAL(0, 4)", "UPCAST(0, 4)"]),
        (HeuristicSettings(block_size=1), ["GROUP(0, 8)", "UPCAST(0, 4)"]),
        (HeuristicSettings(rows_per_thread=1), ["GROUP(0, 8)", "LOCAL(0, 4)"]),
    ],
)
def test_matrix_vector_step_can_be_set(settings: HeuristicSettings, chosen: list[str]) -> None:
    kernel = kernel_of(matrix_vector(64, 128))
    assert opts_of(kernel.hand_coded_optimizations(settings)) == chosen


def test_no_locals_can_be_asked_for() -> None:
    kernel = kernel_of(outer_sum((64, 48)))
    kernel.hand_coded_optimizations(HeuristicSettings(no_locals=True))
    assert opts_of(kernel) == ["UPCAST(1, 3)", "UPCAST(0, 4)", "NOLOCALS"]
    assert kernel.colors() == ["BLUE", "BLUE", "yellow", "yellow"]


# ---- the whole default path ------------------------------------------------------------------------------------------

HALF = Product(64, 64, 64)
WITH_CORE = ["TC(0, (-1, 0))", "UPCAST(0, 4)", "UPCAST(0, 4)", "LOCAL(0, 2)"]
BY_HAND = ["UPCAST(1, 4)", "UPCAST(0, 4)", "UNROLL(0, 4)", "LOCAL(0, 8)", "LOCAL(1, 16)"]


@pytest.mark.parametrize(
    ("target", "p", "chosen"),
    [
        (SM_80, HALF, WITH_CORE),
        (cuda_target("sm_80", tc_mode=2), HALF, WITH_CORE),
        (cuda_target("sm_80", tc_mode=0), HALF, BY_HAND),
        (cuda_target("sm_70"), HALF, BY_HAND),
        (opencl_target(), HALF, BY_HAND),
        (SM_80, Product(64, 64, 64, dtype="float32"), BY_HAND),
        (cuda_target("sm_80", allow_tf32=True), Product(64, 64, 64, dtype="float32"), WITH_CORE),
        # Neither padding nor loads behind a cast: opt 0.
        (SM_80, Product(63, 64, 64), ["UPCAST(1, 4)", "UNROLL(0, 4)", "LOCAL(0, 3)", "LOCAL(1, 16)"]),
        (SM_80, Product(64, 64, 64, loaded="float32"), BY_HAND),
    ],
)
def test_default_opts_use_a_tensor_core_or_else_the_hand_coded_steps(
    target: Any, p: Product, chosen: list[str]
) -> None:
    kernel = kernel_of(product(p), target)
    assert kernel.default_opts() is kernel
    assert opts_of(kernel) == chosen


def test_required_optimizations_are_none_without_images() -> None:
    kernel: Kernel = kernel_of(product(HALF), SM_80)
    before = kernel.state
    assert kernel.required_optimizations() is kernel
    assert kernel.state is before


def test_heuristic_of_a_copy_leaves_the_kernel_alone() -> None:
    kernel = kernel_of(product(HALF))
    assert shape_of(kernel.copy().hand_coded_optimizations()) == "B2 C8 C16 R16 Y4 Y4 M4"
    assert shape_of(kernel) == "B64 B64 R64"
