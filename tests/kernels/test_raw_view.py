"""The last view of a stack, merged and carried through Opts, as tinygrad 0.10.2 carries it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kernels.index import Var, single
from kernels.raw_view import RawView, carried_strides, contiguous_strides, merged, undecided_mask
from tests.kernels.shown import kernel_of
from tests.made.build import Build, Document
from tests.oracle import OptTriple, oracle_kernel, oracle_shown, oracle_try
from tests.parity.product import product_kernel, product_try
from tests.parity.subjects import stored
from tests.parity.tries import legal_opt

N = single(Var("n", 1, 9))


def whole(*sizes: Any) -> tuple[tuple[Any, Any], ...]:
    return tuple((0, size) for size in sizes)


@pytest.mark.parametrize(
    ("sizes", "strides"),
    [((), ()), ((5,), (1,)), ((4, 6), (6, 1)), ((4, 1, 6), (6, 0, 1)), ((1, 1), (0, 0)), ((4, N, 6), (6 * N, 6, 1))],
)
def test_contiguous_strides_are_row_major(sizes: tuple[Any, ...], strides: tuple[Any, ...]) -> None:
    assert contiguous_strides(sizes) == strides


@pytest.mark.parametrize(
    ("view", "groups", "result"),
    [
        # Adjacent axes become one; alone they stay as they are, mask and all.
        (RawView((4, 6), (6, 1), whole(4, 6)), [[0, 1]], RawView((24,), (1,), whole(24))),
        (RawView((4, 6), (0, 0), whole(4, 6)), [[0, 1]], RawView((24,), (0,), whole(24))),
        (
            RawView((4, 6, 8), (1, 32, 4), whole(4, 6, 8)),
            [[1, 2], [0]],
            RawView((48, 4), (4, 1), whole(48, 4)),
        ),
        (
            RawView((4, 6, 8), (99, 8, 1), ((1, 3), (0, 6), (0, 8))),
            [[0], [1, 2]],
            RawView((4, 48), (99, 1), ((1, 3), (0, 48))),
        ),
        # Axes that are not adjacent can only merge under a new view, contiguous in the row's own shape.
        (RawView((4, 6), (1, 4), whole(4, 6)), [[0, 1]], RawView((24,), (1,), whole(24))),
        (
            RawView((4, 6, 8), (1, 4, 24), ((0, 4), (0, 6), (2, 8))),
            [[0, 1], [2]],
            RawView((24, 8), (8, 1), whole(24, 8)),
        ),
    ],
)
def test_merged_view_keeps_strides_where_axes_are_adjacent(
    view: RawView, groups: list[list[int]], result: RawView
) -> None:
    assert merged(view, groups) == result


def test_undecided_mask_may_or_may_not_end_with_its_axis() -> None:
    assert undecided_mask(RawView((N,), (1,), ((0, 5),)))
    assert undecided_mask(RawView((9,), (1,), ((0, N),)))
    assert not undecided_mask(RawView((10,), (1,), ((0, N),)))
    assert not undecided_mask(RawView((N,), (1,), ((0, N),)))
    assert not undecided_mask(RawView((8,), (1,), ((2, 6),)))


def padded(shape: tuple[int, ...], pads: tuple[tuple[int, int], ...]) -> Document:
    """A buffer of `shape` padded, and written to a dense one."""
    b = Build()
    buffer = b.buffer("float32", shape)
    b.store(b.load(buffer, buffer.tracker.pad(pads)))
    return b.document()


# shape of the buffer, its padding, Opts, the raw strides of the load then
CARRIED: list[tuple[tuple[int, ...], tuple[tuple[int, int], ...], list[OptTriple], tuple[int, ...]]] = [
    ((4, 16), ((1, 1), (0, 0)), [], (16, 1)),
    ((4, 16), ((1, 1), (0, 0)), [("UPCAST", 1, 4)], (16, 4, 1)),
    ((4, 16), ((1, 1), (0, 0)), [("LOCAL", 1, 0)], (16, 1)),
    # The mask [1, 5) of six rows is none of any two parts: a new view, contiguous in (2, 3, 16).
    ((4, 16), ((1, 1), (0, 0)), [("UPCAST", 0, 3)], (48, 1, 16)),
    # [2, 6) of eight is whole rows of two.
    ((4, 16), ((2, 2), (0, 0)), [("UPCAST", 0, 2)], (32, 1, 16)),
    # [4, 6) of eight lies within the second four.
    ((4, 16), ((0, 0), (16, 0)), [("PADTO", 0, 8)], (16, 1)),
]


@pytest.mark.parametrize(("shape", "pads", "opts", "strides"), CARRIED)
def test_carried_strides_follow_splits_and_pads(
    shape: tuple[int, ...], pads: tuple[tuple[int, int], ...], opts: list[OptTriple], strides: tuple[int, ...]
) -> None:
    kernel = kernel_of(padded(shape, pads), None, *opts)
    assert carried_strides(kernel.state, kernel.nest.rows[1].raw) == strides


def rows_valid(start: int, end: int) -> Document:
    """24 rows of 16, of which those from `start` to `end` are valid, sent with the buffer's own strides."""
    b = Build()
    buffer, out = b.buffer("float32", (24, 16)), b.buffer("float32", (24, 16))
    view = {"shape": [24, 16], "strides": [16, 1], "offset": 0, "mask": [[start, end], [0, 16]]}
    load = b.node("LOAD", (buffer.node, b.node("VIEW", (), arg={"views": [view]})), "float32")
    b.stores.append(b.node("STORE", (out.node, b.view(out.tracker), load)))
    return b.document()


def test_axis_on_which_one_element_is_valid_has_no_stride() -> None:
    kernel = kernel_of(rows_valid(3, 4))
    assert carried_strides(kernel.state, kernel.nest.rows[1].raw) == (0, 1)


def test_split_that_leaves_one_part_valid_leaves_it_no_stride() -> None:
    # Of sixteen rows [8, 12) is the third four.
    kernel = kernel_of(padded((4, 16), ((8, 4), (0, 0))), None, ("UPCAST", 0, 4))
    assert carried_strides(kernel.state, kernel.nest.rows[1].raw) == (0, 1, 16)


def test_view_of_which_nothing_is_valid_has_no_strides_and_merges() -> None:
    document = rows_valid(5, 5)
    kernel = kernel_of(document)
    assert kernel.full_shape == oracle_kernel(document, "opencl").full_shape == (24 * 16,)
    assert carried_strides(kernel.state, kernel.nest.rows[1].raw) == (0,)


def test_carried_strides_are_the_oracles_last_views() -> None:
    compared = 0
    for name, document in [*stored("corpus").items(), *stored("made").items(), *stored("scheduled").items()]:
        oracle, product = oracle_kernel(document, "opencl"), product_kernel(document, "opencl")
        # Where the oracle counts a NaN constant twice, or knows a stride less, the rows are not the same ones.
        if "vars" in document or len(oracle.sts) != len(product.nest.rows) or oracle.shape_len != product.shape_len:
            continue
        rng = random.Random(name)
        for _ in range(3):
            for tracker, access in zip(oracle.sts, product.nest.accesses, strict=False):
                assert carried_strides(product.state, access.row.raw) == tracker.views[-1].strides, name
                compared += 1
            triple = legal_opt(rng, oracle_shown(oracle))
            answers = oracle_try(oracle, triple), product_try(product, triple)
            if {answer.end for answer in answers} == {"accepted"}:
                oracle, product = (answer.kernel for answer in answers)
    assert compared > 2000
