"""What Opts have made of the axes: every element is still visited once, and inner parts are the fast ones."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import numpy as np
import pytest

from kernels import Kernel, opencl_target
from kernels.index import Atom, Axis
from kernels.rows import masked_axes, row_location, row_spans, row_strides
from kernels.state import Pad, Split, carried, nest_axes, rules_newest_first, rules_oldest_first
from tests.kernels.expressions import meaning
from tests.kernels.shown import kernel_of, opt, shape_of
from tests.made.build import Build, Document
from tests.made.elementwise import outer_sum
from tests.made.reduces import mean_of_max, reduced
from tests.oracle import OptTriple, oracle_kernel, oracle_shown, oracle_try
from tests.parity.product import product_kernel, product_shown, product_try
from tests.parity.subjects import stored
from tests.parity.tries import legal_opt

SHEET = partial(outer_sum, (6, 8))
ROWS = partial(reduced, (6, 24), (1,))


def positions(kernel: Kernel) -> list[str]:
    """Each axis of the nest as a sum of the state's axes, which are shown as a, b, c, ... in their order."""
    values, _ = nest_axes(kernel.state, kernel.nest.sizes)
    names = {f"i{number}": "abcdefgh"[place] for place, number in enumerate(kernel.state.ids)}
    texts = []
    for axis in kernel.nest.axes:
        terms = str(values[axis]).split("+")
        texts.append(" + ".join(sorted("*".join(names.get(f, f) for f in term.split("*")) for term in terms)))
    return texts


@pytest.mark.parametrize(
    ("make", "opts", "shape", "where"),
    [
        (SHEET, [], "B6 B8", ["a", "b"]),
        (SHEET, [("UPCAST", 1, 4)], "B6 B2 Y4", ["a", "b*4 + c"]),
        (SHEET, [("LOCAL", 1, 4)], "B6 B2 C4", ["a", "b*4 + c"]),
        (SHEET, [("LOCAL", 0, 0)], "B8 C6", ["b", "a"]),
        (SHEET, [("LOCAL", 1, 4), ("UPCAST", 2, 2)], "B6 B2 C2 Y2", ["a", "b*4 + c*2 + d"]),
        (SHEET, [("SWAP", 0, 1)], "B8 B6", ["b", "a"]),
        (SHEET, [("SWAP", 0, 1), ("UPCAST", 0, 2)], "B4 B6 Y2", ["b", "a*2 + c"]),
        (SHEET, [("PADTO", 0, 4), ("LOCAL", 0, 4)], "B2 B8 C4", ["a*4 + c", "b"]),
        (ROWS, [("UNROLL", 0, 4)], "B6 R6 M4", ["a", "b*4 + c"]),
        # GROUP takes the inner part, GROUPTOP the outer one; the group axis comes first either way.
        (ROWS, [("GROUP", 0, 4)], "B6 G4 R6", ["a", "b + c*4"]),
        (ROWS, [("GROUPTOP", 0, 4)], "B6 G4 R6", ["a", "b*6 + c"]),
        (ROWS, [("GROUPTOP", 0, 4), ("UNROLL", 1, 3)], "B6 G4 R2 M3", ["a", "b*6 + c*3 + d"]),
    ],
)
def test_nest_axes_are_sums_of_the_states_axes(make: Any, opts: list[OptTriple], shape: str, where: list[str]) -> None:
    kernel = kernel_of(make(), None, *opts)
    assert shape_of(kernel) == shape
    assert positions(kernel) == where


def random_kernel(rng: random.Random) -> Kernel:
    """A small kernel with up to six Opts applied."""
    document = rng.choice((outer_sum((6, 4, 5)), reduced((4, 6, 3, 8), (1, 3)), mean_of_max((6, 4, 9)), ROWS()))
    kernel = kernel_of(document, opencl_target())
    for _ in range(12):
        answer = product_try(kernel, legal_opt(rng, product_shown(kernel)))
        size = np.prod([int(str(s)) for s in kernel.full_shape])
        if answer.end == "accepted" and size < 20_000:
            kernel = answer.kernel
    return kernel


def every_point(kernel: Kernel) -> dict[Atom, Any]:
    """Every point of the kernel's axes: one flat array for each."""
    axes = [Axis(number, size) for number, size in zip(kernel.state.ids, kernel.state.sizes, strict=True)]
    grid = np.indices([axis.hi + 1 for axis in axes]).reshape(len(axes), -1)
    return dict(zip(axes, grid, strict=True))


@pytest.mark.parametrize("seed", range(25))
def test_every_element_is_visited_once_whatever_the_opts(seed: int) -> None:
    kernel = random_kernel(random.Random(seed))
    points = every_point(kernel)
    values, paddings = nest_axes(kernel.state, kernel.nest.sizes)
    count = len(next(iter(points.values())))
    inside = np.ones(count, dtype=bool)
    for padding in paddings:
        inside &= meaning(padding.position, points) < padding.size
    seen = np.array([np.broadcast_to(meaning(values[axis], points), count) for axis in kernel.nest.axes])
    sizes = [axis.hi + 1 for axis in kernel.nest.axes]
    flat = np.ravel_multi_index(tuple(seen[:, inside]), sizes)
    assert np.array_equal(np.sort(flat), np.arange(np.prod(sizes)))


def test_rules_are_kept_newest_first() -> None:
    kernel = kernel_of(SHEET(), None, ("PADTO", 0, 4), ("UPCAST", 0, 4), ("LOCAL", 1, 0))
    newest, oldest = list(rules_newest_first(kernel.state)), rules_oldest_first(kernel.state)
    assert newest == oldest[::-1]
    # An axis taken whole changes its role and needs no rule.
    assert [type(rule) for rule in oldest] == [Pad, Split]
    assert oldest[0] == Pad(0, 2, 6, 8)
    assert oldest[1] == Split(2, 3, 4, 2, 4, (2, 1))
    assert carried(kernel.state, ("rows", "columns")) == {
        0: "rows", 1: "columns", 2: "rows", 3: "rows", 4: "rows",
    }  # fmt: skip


def test_copies_share_the_rules_of_their_past() -> None:
    kernel = kernel_of(SHEET(), None, ("UPCAST", 1, 4))
    one, other = kernel.copy(), kernel.copy()
    assert one.state is kernel.state
    one.apply_opt(opt("LOCAL", 0, 3))
    other.apply_opt(opt("LOCAL", 0, 2))
    assert one.state.rules is not None and other.state.rules is not None
    assert one.state.rules[1] is other.state.rules[1] is kernel.state.rules


# ---- rows on the axes that Opts have made ----------------------------------------------------------------------------


def padded_rows() -> Document:
    """Rows 1 to 4 of six are loaded from a buffer of four, eight columns each, and one factor a column."""
    b = Build()
    buffer, factor = b.buffer("float32", (4, 8)), b.buffer("float32", (8,))
    value = b.load(buffer, buffer.tracker.pad(((1, 1), (0, 0))))
    b.store(b.op("MUL", value, b.spread(factor, (6, 8), (1,))))
    return b.document()


def test_row_strides_are_those_on_the_new_axes() -> None:
    kernel = kernel_of(padded_rows(), None, ("UPCAST", 1, 4), ("LOCAL", 0, 2))
    assert shape_of(kernel) == "B3 B2 C2 Y4"
    store, factor, load = (row_strides(kernel.state, kernel.nest, row) for row in kernel.nest.rows)
    assert store == (16, 4, 8, 1)
    assert factor == (0, 4, 0, 1)
    assert load == (None, 4, None, 1)
    outer, _, inner, _ = kernel.state.ids
    assert masked_axes(kernel.state, kernel.nest, kernel.nest.rows[2]) == {outer, inner}


def test_padded_axis_is_masked_in_the_rows_that_have_it() -> None:
    kernel = kernel_of(padded_rows(), None, ("PADTO", 1, 16))
    store, factor, load = kernel.nest.rows
    assert [row_strides(kernel.state, kernel.nest, row) for row in kernel.nest.rows] == [
        (8, None),
        (0, None),
        (None, None),
    ]
    (condition,) = row_location(kernel.state, kernel.nest, store).validity.conditions
    assert (condition.lo, condition.hi) == (None, 7)
    assert masked_axes(kernel.state, kernel.nest, factor) == {kernel.state.ids[1]}
    assert masked_axes(kernel.state, kernel.nest, load) == set(kernel.state.ids)


def test_row_spans_follow_the_axes() -> None:
    b = Build()
    total = b.reduce(b.new("float32", (4, 6)), "ADD", 1)
    b.store(total)
    kernel = kernel_of(b.document(), None, ("UNROLL", 0, 2), ("LOCAL", 0, 2))
    assert shape_of(kernel) == "B2 C2 R3 M2"
    store, load, result, reduced_row = (row_spans(kernel.state, row) for row in kernel.nest.rows)
    assert store == result == (True, True, False, False)
    assert load == reduced_row == (True, True, True, True)


def test_row_strides_are_the_oracles_after_opts() -> None:
    same = different = 0
    for name, document in [*list(stored("corpus").items())[::4], *list(stored("made").items())[::2]]:
        oracle, product = oracle_kernel(document, "opencl"), product_kernel(document, "opencl")
        if "vars" in document or len(oracle.sts) != len(product.nest.rows) or oracle.shape_len != product.shape_len:
            continue
        rng = random.Random(name)
        for _ in range(3):
            triple = legal_opt(rng, oracle_shown(oracle))
            answers = oracle_try(oracle, triple), product_try(product, triple)
            if {answer.end for answer in answers} == {"accepted"}:
                oracle, product = (answer.kernel for answer in answers)
        for tracker, access in zip(oracle.sts, product.nest.accesses, strict=False):
            theirs = tracker.real_strides()
            ours = row_strides(product.state, product.nest, access.row)
            pairs = [(a, b) for a, b, size in zip(ours, theirs, tracker.shape, strict=True) if size != 1]
            same += all(a == b for a, b in pairs)
            different += any(a != b for a, b in pairs)
            # Where both know a stride it is one.
            assert all(a == b for a, b in pairs if a is not None and b is not None), name
    assert same > 300
    assert different <= 0.01 * same
