"""Index expressions as text, and the dimensions that flat buffers are seen with."""

from __future__ import annotations

import math

import pytest

from kernels import parse_ast
from kernels.index import Axis, Index, Var, evaluate_index, single
from kernels.index_rules import floordiv, maximum, mod
from kernels.index_text import axis_names, dimensions, index_text, validity_text
from kernels.ir import BufferArg
from kernels.nest import build_nest
from kernels.validity import NEVER, VALID
from kernels.view_stack import Location
from tests.kernels.documents import corpus
from tests.parity.subjects import stored

AXES = (Axis(0, 16), Axis(1, 12), Axis(2, 3))
NAMES = axis_names(AXES, set())
i, j, k = map(single, AXES)
N = Var("n", 1, 9)
n = single(N)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        (i, "i"),
        (-i, "-i"),
        (2 - i, "2 - i"),
        (i - 2, "i - 2"),
        (j + 12 * i - 13, "12*i + j - 13"),
        (100 - 3 * i - j, "100 - 3*i - j"),
        (i * n * 4 + n, "4*n*i + n"),
        (floordiv(i, 5), "i // 5"),
        (floordiv(i + j, 5) * 3, "3*((i + j) // 5)"),
        (mod(i + j, 5) + 1, "(i + j) % 5 + 1"),
        (n * mod(i, 5), "n*(i % 5)"),
        (maximum(n, 4) + 1, "max(4, n) + 1"),
    ],
)
def test_index_text_is_python_with_the_axes_names(value: Index, text: str) -> None:
    assert index_text(value, NAMES) == text
    values = {"i": 7, "j": 3, "k": 2, "n": 5, "max": max}
    assert eval(text, values) == evaluate_index(value, {**dict(zip(AXES, (7, 3, 2), strict=True)), N: 5})  # noqa: S307 - the product's text


@pytest.mark.parametrize(
    ("validity", "text"),
    [
        (VALID, "True"),
        (NEVER, "False"),
        (VALID.restrict(i + j, 1, 14), "1 <= i + j < 15"),
        (VALID.restrict(i, 0, 9), "i < 10"),
        (VALID.restrict(i, 3, 99), "i >= 3"),
        (VALID.restrict(i, 3, 3), "i == 3"),
        (VALID.restrict(mod(i, 4), -5, 0), "i % 4 == 0"),
        (VALID.restrict(i, 1, 9).restrict(j, 2, 99), "1 <= i < 10 and j >= 2"),
    ],
)
def test_validity_text_has_half_open_bounds(validity: object, text: str) -> None:
    assert validity_text(validity, NAMES) == text  # type: ignore[arg-type]


def test_axis_names_leave_out_what_is_taken_and_never_run_out() -> None:
    axes = [Axis(number, 2) for number in range(20)]
    names = list(axis_names(axes, {"j", "i3"}).values())
    assert names[:3] == ["i", "k", "m"]
    assert len(set(names)) == 20 and not {"j", "i3"} & set(names)


def seen(elements: int, *positions: Index) -> tuple[tuple[int, ...], list[str]]:
    found = dimensions([Location(position, VALID) for position in positions], elements)
    return found.sizes, [", ".join(index_text(s, NAMES) for s in subscripts) for subscripts in found.subscripts]


def test_dimensions_are_the_digits_of_the_position() -> None:
    assert seen(576, 36 * i + 3 * j + k) == ((16, 12, 3), ["i, j, k"])
    assert seen(576, 36 * i + 3 * j + 2 - k) == ((16, 12, 3), ["i, j, 2 - k"])
    assert seen(576, 36 * i + 35 - 3 * j - k) == ((16, 12, 3), ["i, 11 - j, 2 - k"])
    assert seen(650, 26 * i + 2 * j + k) == ((25, 26), ["i, 2*j + k"])


def test_dimensions_take_a_constant_apart() -> None:
    assert seen(600, 20 * i + j + 105) == ((30, 20), ["i + 5, j + 5"])


def test_dimensions_use_what_is_known_to_be_valid() -> None:
    validity = VALID.restrict(j + k, 1, 12)
    found = dimensions([Location(12 * i + j + k - 1, validity)], 192)
    assert found.sizes == (16, 12)
    assert [index_text(subscript, NAMES) for subscript in found.subscripts[0]] == ["i", "j + k - 1"]
    assert dimensions([Location(12 * i + j + k - 1, VALID)], 192).sizes == (192,)


def test_dimensions_are_flat_where_accesses_do_not_agree_or_strides_are_not_known() -> None:
    assert seen(192, 12 * i + j, 16 * j + i) == ((192,), ["12*i + j", "16*j + i"])
    assert seen(192, i * n + j) == ((192,), ["n*i + j"])
    assert seen(32, 2 * i) == ((32,), ["2*i"])
    assert seen(100, 12 * i + j) == ((100,), ["12*i + j"])


@pytest.mark.parametrize("kind", ["corpus", "made"])
def test_subscripts_of_every_kernel_add_up_to_the_position(kind: str) -> None:
    documents = corpus() if kind == "corpus" else stored(kind)
    split = 0
    for name, document in documents.items():
        nest = build_nest(parse_ast(document))
        nodes = nest.ast.nodes
        for number, node in enumerate(nodes):
            if isinstance(node.arg, BufferArg):
                locations = [a.row.location for a in nest.accesses if number in nodes[a.node].src]
                found = dimensions(locations, node.arg.size)
                strides = [math.prod(found.sizes[axis + 1 :]) for axis in range(len(found.sizes))]
                assert math.prod(found.sizes) == node.arg.size, name
                for location, subscripts in zip(locations, found.subscripts, strict=True):
                    assert sum(s * t for s, t in zip(subscripts, strides, strict=True)) == location.position, name
                split += len(found.sizes) > 1
    assert split > 100
