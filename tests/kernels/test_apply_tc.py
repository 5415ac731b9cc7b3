"""TC: which sums of products a tensor core takes, which axes, how they are padded, and how the tile is split off."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from kernels import Kernel, KernelOptError, Opt, OptOps, Target, cuda_target, opencl_target
from kernels.index import Atom, Axis
from kernels.state import nest_axes
from tests.kernels.expressions import meaning
from tests.kernels.shown import kernel_of, opt, opts_of, shape_of
from tests.made.build import Build, Document
from tests.made.dynamic import half_product
from tests.made.matmuls import Product, convolution, product, product_and_sum, square_of_one_load, two_products
from tests.oracle import oracle_kernel, oracle_shown, oracle_try
from tests.parity.product import product_shown

SM_80 = cuda_target("sm_80")
TF32 = cuda_target("sm_80", allow_tf32=True)
TARGETS = {"sm_80": SM_80, "sm_80_tf32": TF32, "sm_75": cuda_target("sm_75"), "sm_70": cuda_target("sm_70")}
WARP = "C2 C2 C2 C2 C2"


def of_product(m: int, n: int, k: int, **changes: Any) -> partial[Document]:
    return partial(product, Product(m, n, k, **changes))


HALF = of_product(64, 64, 64)
# 3x3 windows of 16 channels: B16 (out) B16 B16 (places), R16 R3 R3.
CONVOLUTION = partial(convolution, 1, 16, 16, 18, 3, 1, 0, "float16")

# target, document, axis, (select, opt), the axes after
ACCEPTED: list[tuple[str, Any, int, tuple[int, int], str]] = [
    # Any core that fits, or one by its number. K is split first, then N, then M.
    ("sm_80", HALF, 0, (-1, 0), f"B4 B8 {WARP} R4 M2 M2 M2 M2 Y2 Y2"),
    ("sm_80", HALF, 0, (0, 0), f"B4 B8 {WARP} R4 M2 M2 M2 M2 Y2 Y2"),
    ("sm_80", HALF, 0, (3, 0), f"B4 B8 {WARP} R8 M2 M2 M2 Y2 Y2"),
    ("sm_75", HALF, 0, (0, 0), f"B4 B8 {WARP} R8 M2 M2 M2 Y2 Y2"),
    ("sm_80", of_product(16, 8, 16), 0, (0, 0), f"{WARP} M2 M2 M2 M2 Y2 Y2"),
    ("sm_80", of_product(16, 8, 16), 0, (3, 0), f"{WARP} R2 M2 M2 M2 Y2 Y2"),
    # The dtypes of each core.
    ("sm_80", of_product(64, 64, 64, dtype="bfloat16"), 0, (1, 0), f"B4 B8 {WARP} R4 M2 M2 M2 M2 Y2 Y2"),
    ("sm_80", of_product(64, 64, 64, accumulator="float16"), 0, (2, 0), f"B4 B8 {WARP} R4 M2 M2 M2 M2 Y2 Y2"),
    ("sm_80", of_product(64, 64, 64, accumulator="float16"), 0, (4, 0), f"B4 B8 {WARP} R8 M2 M2 M2 Y2 Y2"),
    ("sm_80_tf32", of_product(64, 64, 64, dtype="float32"), 0, (5, 0), f"B4 B8 {WARP} R8 M2 M2 M2 Y2 Y2"),
    # opt 1: loads behind a cast, and several reduced axes (the third triple from the last has the channels as K).
    ("sm_80", of_product(64, 64, 64, loaded="float32"), 0, (0, 1), f"B4 B8 {WARP} R4 M2 M2 M2 M2 Y2 Y2"),
    ("sm_80", CONVOLUTION, 2, (0, 1), f"B2 B16 {WARP} R3 R3 M2 M2 M2 M2 Y2 Y2"),
    # opt 2: padded.
    ("sm_80", of_product(100, 77, 300), 0, (0, 2), f"B7 B10 {WARP} R19 M2 M2 M2 M2 Y2 Y2"),
    ("sm_80", of_product(64, 3, 64), 0, (0, 2), f"B4 {WARP} R4 M2 M2 M2 M2 Y2 Y2"),
    ("sm_80", of_product(64, 64, 4), 0, (3, 2), f"B4 B8 {WARP} M2 M2 M2 Y2 Y2"),
    # Swapped operands make N of what was M.
    ("sm_80", of_product(32, 80, 64, swapped=True), 0, (0, 0), f"B4 B5 {WARP} R4 M2 M2 M2 M2 Y2 Y2"),
    # Batched. Where both operands are broadcast along the batch axis, it is a candidate for N and for M.
    ("sm_80", of_product(32, 16, 32, batch=(6,)), 0, (0, 0), f"B6 B2 B2 {WARP} R2 M2 M2 M2 M2 Y2 Y2"),
    (
        "sm_80",
        of_product(32, 16, 32, batch=(16,), shared_batch=True),
        0,
        (0, 0),
        f"B16 B2 B2 {WARP} R2 M2 M2 M2 M2 Y2 Y2",
    ),
    ("sm_80", of_product(32, 16, 32, batch=(16,), shared_batch=True), 1, (0, 0), f"B32 B2 {WARP} R2 M2 M2 M2 M2 Y2 Y2"),
    (
        "sm_80",
        of_product(32, 16, 32, batch=(16,), shared_batch=True),
        2,
        (0, 0),
        f"B2 B2 B16 {WARP} R2 M2 M2 M2 M2 Y2 Y2",
    ),
    # Two reduces of the same axes.
    ("sm_80", partial(two_products, True), 0, (0, 0), f"B2 B6 {WARP} R4 M2 M2 M2 M2 Y2 Y2"),
    # A pad that is refused (45 to 48 is done, then there is nothing to pad for M) stays done, and the next core is
    # tried with the refused axis' number as the triple's.
    (
        "sm_80",
        of_product(20, 12, 30, batch=(5, 9), shared_batch=True),
        3,
        (-1, 2),
        f"B48 B2 B2 {WARP} R4 M2 M2 M2 Y2 Y2",
    ),
]

# target, document, axis, (select, opt), what the reason says
REFUSED: list[tuple[str, Any, int, tuple[int, int], str]] = [
    ("sm_70", HALF, 0, (-1, 0), "0 tensor cores"),
    ("sm_80", HALF, 0, (5, 0), "no number 5"),
    ("sm_80", HALF, 0, (-2, 0), "no number -2"),
    ("sm_80", HALF, 0, (0, -1), "0, 1 or 2"),
    ("sm_80", HALF, 0, (0, 3), "0, 1 or 2"),
    ("sm_80", HALF, 1, (0, 0), "no tensor core fits"),
    # Another core's dtypes.
    ("sm_80", HALF, 0, (1, 0), "no tensor core fits"),
    ("sm_80", HALF, 0, (2, 0), "no tensor core fits"),
    ("sm_80", of_product(64, 64, 64, dtype="float32"), 0, (-1, 2), "no tensor core fits"),
    ("sm_80_tf32", of_product(64, 64, 64, dtype="float32"), 0, (3, 0), "no tensor core fits"),
    ("sm_80", of_product(64, 64, 64, dtype="bfloat16", accumulator="bfloat16"), 0, (-1, 2), "no tensor core fits"),
    ("sm_80", of_product(64, 64, 64, accumulator="float64"), 0, (-1, 2), "no tensor core fits"),
    ("sm_80", of_product(64, 64, 64, dtype="int8", accumulator="int32"), 0, (-1, 2), "no tensor core fits"),
    # opt 0 takes neither a cast load nor several reduced axes, and neither opt 0 nor 1 pads.
    ("sm_80", of_product(64, 64, 64, loaded="float32"), 0, (0, 0), "no tensor core fits"),
    ("sm_80", CONVOLUTION, 2, (0, 0), "no tensor core fits"),
    ("sm_80", of_product(60, 64, 64), 0, (0, 1), "no tensor core fits"),
    ("sm_80", of_product(64, 60, 64), 0, (0, 1), "no tensor core fits"),
    ("sm_80", of_product(64, 64, 60), 0, (0, 1), "no tensor core fits"),
    # What PADTO would refuse: K = 4 is no more than a quarter of 16, N = 2 of 8.
    ("sm_80", of_product(64, 64, 4), 0, (0, 2), "no tensor core fits"),
    ("sm_80", of_product(64, 2, 64), 0, (-1, 2), "no tensor core fits"),
    # One axis for N and M.
    ("sm_80", of_product(32, 16, 32, batch=(16,), shared_batch=True), 3, (0, 0), "both N and M"),
    ("sm_80", square_of_one_load, 0, (0, 0), "both N and M"),
    # Reduces that do not agree.
    ("sm_80", partial(two_products, False), 0, (0, 2), "do not agree"),
    ("sm_80", product_and_sum, 0, (0, 2), "do not agree"),
    # A vector has no M.
    ("sm_80", of_product(1, 64, 64), 0, (-1, 2), "no tensor core fits"),
]


@pytest.mark.parametrize(("target", "make", "axis", "arg", "after"), ACCEPTED)
def test_tensor_core_splits_its_tile_off(target: str, make: Any, axis: int, arg: tuple[int, int], after: str) -> None:
    kernel = kernel_of(make(), TARGETS[target], ("TC", axis, arg))
    assert shape_of(kernel) == after
    assert kernel.applied_opts == (Opt(OptOps.TC, axis, arg),)
    copy = kernel.copy()
    assert (copy.state.tc, shape_of(copy)) == (kernel.state.tc, after)


@pytest.mark.parametrize(("target", "make", "axis", "arg", "reason"), REFUSED)
def test_tensor_core_that_does_not_fit_is_refused(
    target: str, make: Any, axis: int, arg: tuple[int, int], reason: str
) -> None:
    kernel = kernel_of(make(), TARGETS[target])
    before = kernel.state
    with pytest.raises(KernelOptError) as caught:
        kernel.apply_opt(Opt(OptOps.TC, axis, arg))
    assert reason in caught.value.reason
    assert kernel.state is before


@pytest.mark.parametrize(
    ("target", "make", "axis", "arg"), [row[:4] for row in ACCEPTED + REFUSED if "N and M" not in row[4]]
)
def test_example_is_what_the_oracle_does(target: str, make: Any, axis: int, arg: tuple[int, int]) -> None:
    answer = oracle_try(oracle_kernel(make(), target), ("TC", axis, arg))
    kernel = kernel_of(make(), TARGETS[target])
    try:
        kernel.apply_opt(Opt(OptOps.TC, axis, arg))
    except KernelOptError:
        assert answer.end in ("refused", "raised")
    else:
        assert product_shown(kernel) == oracle_shown(answer.kernel)


@pytest.mark.parametrize("before", [("UPCAST", 0, 4), ("PADTO", 0, 48), ("NOLOCALS", None, None), ("TC", 0, (0, 0))])
def test_tensor_core_must_be_the_first_opt(before: Any) -> None:
    kernel = kernel_of(HALF(), SM_80, before)
    shape = shape_of(kernel)
    with pytest.raises(KernelOptError, match="first"):
        kernel.apply_opt(opt("TC", 0, (0, 0)))
    assert shape_of(kernel) == shape


@pytest.mark.parametrize("axis", [None, True, -1, 0.0, "0", (0,), 10**30])
def test_tensor_core_of_a_wrong_axis_is_refused(axis: Any) -> None:
    with pytest.raises(KernelOptError):
        kernel_of(HALF(), SM_80, ("TC", axis, (0, 0)))


@pytest.mark.parametrize(
    "arg", [None, 0, True, "00", (), (0,), (0, 0, 0), [0, 0], (None, 0), (0, True), (0.0, 0), (0, "0"), (10**30, 0)]
)
def test_tensor_core_of_a_wrong_arg_is_refused(arg: Any) -> None:
    with pytest.raises(KernelOptError):
        kernel_of(HALF(), SM_80, ("TC", 0, arg))


def summed(op: str, reduce: str, left_op: str | None = None) -> Document:
    """A half product as HALF, but with another operation or reduction, or a left operand that is no load."""
    b = Build()
    full = (64, 64, 64)
    left, right = b.buffer("float16", (64, 64)), b.buffer("float16", (64, 64))
    first = b.spread(left, full, (0, 2))
    first = first if left_op is None else b.op(left_op, first)
    value = b.cast(b.op(op, first, b.spread(right, full, (2, 1))), "float32")
    b.store(b.reduce(value, reduce, 2))
    return b.document()


@pytest.mark.parametrize(
    ("document", "legal"),
    [
        (summed("MUL", "ADD"), True),
        (summed("MUL", "MAX"), False),
        (summed("MUL", "MUL"), False),
        (summed("ADD", "ADD"), False),
        (summed("MUL", "ADD", "NEG"), False),
    ],
    ids=["as it is", "MAX", "product", "sum of sums", "negated load"],
)
def test_tensor_core_takes_only_a_sum_of_products_of_loads(document: Document, legal: bool) -> None:
    for level in range(3):
        kernel = kernel_of(document, SM_80)
        if legal:
            kernel.apply_opt(opt("TC", 0, (0, level)))
        else:
            with pytest.raises(KernelOptError):
                kernel.apply_opt(opt("TC", 0, (0, level)))


def test_tensor_core_of_a_kernel_without_a_reduce_is_refused() -> None:
    b = Build()
    b.store(b.op("MUL", b.new("float16", (64, 64)), b.new("float16", (64, 64))))
    with pytest.raises(KernelOptError, match="sum of products"):
        kernel_of(b.document(), SM_80, ("TC", 0, (-1, 2)))


@pytest.mark.parametrize("dynamic", ["m", "n", "k"])
def test_tensor_core_of_a_dynamic_axis_is_refused(dynamic: str) -> None:
    for level in range(3):
        with pytest.raises(KernelOptError):
            kernel_of(half_product(dynamic), SM_80, ("TC", 0, (-1, level)))


# ---- the target ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [1, 2, 3])
def test_tensor_core_has_the_same_shape_in_every_mode_that_uses_it(mode: int) -> None:
    kernel = kernel_of(HALF(), cuda_target("sm_80", tc_mode=mode), ("TC", 0, (0, 0)))
    assert shape_of(kernel) == f"B4 B8 {WARP} R4 M2 M2 M2 M2 Y2 Y2"


@pytest.mark.parametrize("target", [cuda_target("sm_80", tc_mode=0), cuda_target("sm_70", tc_mode=3), opencl_target()])
def test_tensor_core_is_refused_where_there_is_none_to_use(target: Target) -> None:
    kernel = kernel_of(HALF(), target)
    with pytest.raises(KernelOptError):
        kernel.apply_opt(opt("TC", 0, (-1, 0)))
    assert kernel.apply_tensor_cores(target.tc_mode) is False
    assert shape_of(kernel) == "B64 B64 R64"


# ---- what lies where in the tile -------------------------------------------------------------------------------------


@pytest.mark.parametrize("select", [0, 3])
def test_tile_lies_over_the_warp_as_the_cores_fragment_of_c(select: int) -> None:
    kernel = kernel_of(HALF(), SM_80, ("TC", 0, (select, 0)))
    state, use = kernel.state, kernel.state.tc
    assert use is not None and use.core is SM_80.tensor_cores[select]
    assert state.ids[2:7] == use.lanes
    values, _ = nest_axes(state, kernel.nest.sizes)
    zero: dict[Atom, Any] = {Axis(i, size): 0 for i, size in zip(state.ids, state.sizes, strict=True)}
    m, n = (values[axis] for axis in kernel.nest.axes[:2])
    for lane in range(32):
        for element in range(4):
            bits = {Axis(i, 2): lane >> place & 1 for place, i in enumerate(use.lanes)}
            bits |= {Axis(i, 2): element >> place & 1 for place, i in enumerate(use.upcasts)}
            at = use.core.c.position(lane, element)
            assert (meaning(m, zero | bits), meaning(n, zero | bits)) == (at["m"], at["n"])


@pytest.mark.parametrize("select", [0, 3])
def test_unrolled_bits_of_k_count_from_the_lowest(select: int) -> None:
    kernel = kernel_of(HALF(), SM_80, ("TC", 0, (select, 0)))
    state, use = kernel.state, kernel.state.tc
    assert use is not None
    values, _ = nest_axes(state, kernel.nest.sizes)
    zero: dict[Atom, Any] = {Axis(i, size): 0 for i, size in zip(state.ids, state.sizes, strict=True)}
    weights = [meaning(values[kernel.nest.axes[2]], {**zero, Axis(i, 2): 1}) for i in use.k_unrolls]
    assert weights == [1, 2, 4, 8][: len(weights)]
    assert 2 ** len(weights) == use.core.dims[2]


def test_padded_tile_covers_every_element_once() -> None:
    kernel = kernel_of(of_product(20, 11, 18)(), SM_80, ("TC", 0, (0, 2)))
    values, paddings = nest_axes(kernel.state, kernel.nest.sizes)
    axes = [Axis(i, size) for i, size in zip(kernel.state.ids, kernel.state.sizes, strict=True)]
    grid = np.indices([axis.hi + 1 for axis in axes]).reshape(len(axes), -1)
    points: dict[Atom, Any] = dict(zip(axes, grid, strict=True))
    inside = np.all([meaning(p.position, points) < p.size for p in paddings], axis=0)
    seen = np.array([meaning(values[axis], points) for axis in kernel.nest.axes])[:, inside]
    assert seen.shape == (3, 20 * 11 * 18)
    assert len(np.unique(seen, axis=1)[0]) == 20 * 11 * 18
    assert [int(row.max()) for row in seen] == [19, 10, 17]


# ---- apply_tensor_cores ----------------------------------------------------------------------------------------------


def applied(kernel: Kernel, **arguments: Any) -> tuple[bool, list[str]]:
    answer = kernel.apply_tensor_cores(**arguments)
    return answer, opts_of(kernel)


@pytest.mark.parametrize(
    ("make", "opts", "after"),
    [
        # M has 4 tiles and N 8: M is upcast by 4 (and gone), N by 4, and its other 2 are local.
        (HALF, ["UPCAST(0, 4)", "UPCAST(0, 4)", "LOCAL(0, 2)"], f"{WARP} C2 R4 M2 M2 M2 M2 Y2 Y2 Y4 Y4"),
        # M has 7 tiles, and no amount divides; N has 10.
        (of_product(112, 80, 64), ["UPCAST(1, 5)", "LOCAL(1, 2)"], f"B7 {WARP} C2 R4 M2 M2 M2 M2 Y2 Y2 Y5"),
        (of_product(80, 56, 32), ["UPCAST(0, 5)"], f"B7 {WARP} R2 M2 M2 M2 M2 Y2 Y2 Y5"),
        (of_product(16, 8, 16), [], f"{WARP} M2 M2 M2 M2 Y2 Y2"),
        (of_product(96, 24, 16), ["UPCAST(0, 3)", "UPCAST(1, 3)"], f"B2 {WARP} M2 M2 M2 M2 Y2 Y2 Y3 Y3"),
        (of_product(256, 512, 64), ["UPCAST(0, 4)", "UPCAST(1, 4)", "LOCAL(1, 4)"], None),
    ],
)  # fmt: skip
def test_apply_tensor_cores_upcasts_m_and_n_then_makes_n_local(make: Any, opts: list[str], after: str | None) -> None:
    kernel = kernel_of(make(), SM_80)
    assert applied(kernel) == (True, ["TC(0, (-1, 0))", *opts])
    assert after is None or shape_of(kernel) == after


def test_apply_tensor_cores_takes_other_opts_in_place_of_the_defaults() -> None:
    kernel = kernel_of(HALF(), SM_80)
    extra = [opt("LOCAL", 1, 4)]
    assert applied(kernel, extra_opts=extra, tc_select=3, tc_opt=2) == (True, ["TC(0, (3, 2))", "LOCAL(1, 4)"])
    assert applied(kernel_of(HALF(), SM_80), extra_opts=[]) == (True, ["TC(0, (-1, 0))"])


@pytest.mark.parametrize(
    "arguments",
    [
        {"use": 0},
        {"axis": 1},
        {"tc_select": 1},
        {"tc_select": 9},
        {"tc_opt": 3},
        {"extra_opts": [opt("LOCAL", 1, 4), opt("LOCAL", 0, 3)]},
    ],
)
def test_apply_tensor_cores_leaves_the_kernel_as_it_was_where_it_is_false(arguments: dict[str, Any]) -> None:
    kernel = kernel_of(HALF(), SM_80)
    before = kernel.state
    assert kernel.apply_tensor_cores(**arguments) is False
    assert kernel.state is before
