"""Tensor-core tables against the formulas of the PTX ISA, "Matrix Fragments for mma", and that broken tables say so."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from kernels import cuda_target
from kernels.dtypes import BFLOAT16, FLOAT16, FLOAT32
from kernels.tensor_cores import Fragment, TensorCore, cuda_tensor_cores

CORES = {core.name: core for core in cuda_tensor_cores(80, True)}

# (lane, element) -> (row, column) of A (m, k), B (k, n) and C (m, n). In the ISA's words groupID is lane >> 2 and
# threadID_in_group is lane % 4.
Formula = Callable[[int, int], tuple[int, int]]


def a_m16n8k16(lane: int, i: int) -> tuple[int, int]:
    return (lane >> 2) + (8 if i in (2, 3, 6, 7) else 0), (lane % 4) * 2 + (i & 1) + (8 if i >= 4 else 0)


def b_m16n8k16(lane: int, i: int) -> tuple[int, int]:
    return (lane % 4) * 2 + (i & 1) + (8 if i >= 2 else 0), lane >> 2


def a_m16n8k8(lane: int, i: int) -> tuple[int, int]:
    return (lane >> 2) + (8 if i >= 2 else 0), (lane % 4) * 2 + (i & 1)


def b_m16n8k8(lane: int, i: int) -> tuple[int, int]:
    return (lane % 4) * 2 + i, lane >> 2


def a_m16n8k8_tf32(lane: int, i: int) -> tuple[int, int]:
    return (lane >> 2) + (8 if i % 2 == 1 else 0), lane % 4 + (4 if i >= 2 else 0)


def b_m16n8k8_tf32(lane: int, i: int) -> tuple[int, int]:
    return lane % 4 + (4 if i == 1 else 0), lane >> 2


def c_m16n8(lane: int, i: int) -> tuple[int, int]:
    return (lane >> 2) + (8 if i >= 2 else 0), (lane % 4) * 2 + (i & 1)


LAYOUTS: dict[str, tuple[Formula, Formula, Formula]] = {
    "m16n8k16_float16_float32": (a_m16n8k16, b_m16n8k16, c_m16n8),
    "m16n8k16_bfloat16_float32": (a_m16n8k16, b_m16n8k16, c_m16n8),
    "m16n8k16_float16_float16": (a_m16n8k16, b_m16n8k16, c_m16n8),
    "m16n8k8_float16_float32": (a_m16n8k8, b_m16n8k8, c_m16n8),
    "m16n8k8_float16_float16": (a_m16n8k8, b_m16n8k8, c_m16n8),
    "m16n8k8_tf32_float32": (a_m16n8k8_tf32, b_m16n8k8_tf32, c_m16n8),
}


def fragments() -> list[Any]:
    """Of each core and matrix: the fragment, its two dimensions, elements a lane, the ISA's formula."""
    rows = []
    for name, formulas in LAYOUTS.items():
        core = CORES[name]
        parts = zip("ABC", (core.a, core.b, core.c), ("mk", "kn", "mn"), core.elements, formulas, strict=True)
        rows += [pytest.param(*part, id=f"{name}-{which}") for which, *part in parts]
    return rows


@pytest.mark.parametrize(("fragment", "axes", "elements", "formula"), fragments())
def test_fragment_is_laid_out_as_the_ptx_isa_says(
    fragment: Fragment, axes: str, elements: int, formula: Formula
) -> None:
    for lane in range(32):
        for element in range(elements):
            at = fragment.position(lane, element)
            assert (at[axes[0]], at[axes[1]]) == formula(lane, element), (lane, element)


def test_every_core_has_a_layout_in_this_test() -> None:
    assert set(LAYOUTS) == set(CORES)


@pytest.mark.parametrize(
    ("name", "dims", "elements", "dtypes", "k_splits"),
    [
        ("m16n8k16_float16_float32", (8, 16, 16), (8, 4, 4), (FLOAT16, FLOAT32), 4),
        ("m16n8k16_bfloat16_float32", (8, 16, 16), (8, 4, 4), (BFLOAT16, FLOAT32), 4),
        ("m16n8k16_float16_float16", (8, 16, 16), (8, 4, 4), (FLOAT16, FLOAT16), 4),
        ("m16n8k8_float16_float32", (8, 16, 8), (4, 2, 4), (FLOAT16, FLOAT32), 3),
        ("m16n8k8_float16_float16", (8, 16, 8), (4, 2, 4), (FLOAT16, FLOAT16), 3),
        ("m16n8k8_tf32_float32", (8, 16, 8), (4, 2, 4), (FLOAT32, FLOAT32), 3),
    ],
)
def test_core_has_the_sizes_of_its_instruction(
    name: str, dims: tuple[int, ...], elements: tuple[int, ...], dtypes: tuple[Any, Any], k_splits: int
) -> None:
    core = CORES[name]
    assert (core.dims, core.elements, core.threads) == (dims, elements, 32)
    assert (core.dtype_in, core.dtype_out) == dtypes
    assert core.splits == ("u0", "l0", "l0", "l1", "l1", "l1", "u1")
    assert (core.lane_splits, core.k_splits) == (5, k_splits)


@pytest.mark.parametrize("core", CORES.values(), ids=CORES)
def test_fragments_of_a_warp_hold_each_element_once(core: TensorCore) -> None:
    n, m, k = core.dims
    for fragment, elements, (rows, columns), axes in (
        (core.a, core.elements[0], (m, k), "mk"),
        (core.b, core.elements[1], (k, n), "kn"),
        (core.c, core.elements[2], (m, n), "mn"),
    ):
        held = [fragment.position(lane, element) for lane in range(32) for element in range(elements)]
        assert sorted((at[axes[0]], at[axes[1]]) for at in held) == [
            (r, c) for r in range(rows) for c in range(columns)
        ]


GOOD = CORES["m16n8k16_float16_float32"]


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        ({"dims": (8, 24, 16)}, "no power of two"),
        ({"dims": (8, 16, 0)}, "no power of two"),
        ({"dims": (16, 16, 16)}, "do not make N"),
        ({"dims": (8, 8, 16)}, "do not make M"),
        ({"dims": (8, 16, 8)}, "A does not hold each element once"),
        ({"threads": 64}, "do not make the threads"),
        ({"threads": 31}, "no power of two"),
        ({"elements": (8, 4, 8)}, "do not make C's elements"),
        ({"elements": (4, 4, 4)}, "A has another number of elements"),
        ({"elements": (8, 2, 4)}, "B has another number of elements"),
        ({"splits": ("l0", "l0", "u0", "l1", "l1", "l1", "u1")}, "C's fragment is not what the splits make"),
        ({"splits": ("u0", "l0", "l0", "l1", "l1", "u1")}, "do not make the threads"),
        ({"splits": ("u0", "l1", "l0", "l1", "l1", "l1", "u1")}, "do not make N"),
        ({"a": Fragment(("k1", "k2", "m0", "m1", "m2"), ("k0", "m3", "m3"))}, "A does not hold each element once"),
        ({"a": Fragment(("k1", "k2", "m0", "m1", "m2"), ("k0", "m3", "n0"))}, "A does not hold each element once"),
        ({"a": Fragment(("k1", "k2", "m0", "m1"), ("k0", "m3", "k3"))}, "A has another number of lanes"),
        ({"b": Fragment(("k1", "k2", "n0", "n1", "n2"), ("k0", "k4"))}, "B does not hold each element once"),
        ({"b": GOOD.a}, "B has another number of elements"),
        ({"c": Fragment(("n0", "n2", "m0", "m1", "m2"), ("n1", "m3"))}, "C's fragment is not what the splits make"),
    ],
)
def test_broken_table_is_refused_with_what_does_not_fit(broken: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint) as caught:
        dataclasses.replace(GOOD, **broken)
    assert GOOD.name in str(caught.value)


def test_cores_are_numbered_in_the_order_of_the_tables() -> None:
    assert [core.name for core in cuda_target("sm_90", allow_tf32=True).tensor_cores] == list(CORES)
    assert cuda_tensor_cores(70, True) == ()
    assert [core.dims for core in cuda_tensor_cores(75, True)] == [(8, 16, 8), (8, 16, 8)]
