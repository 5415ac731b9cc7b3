"""Opt is an ordered, hashable, immutable value with a strict wire form."""

from __future__ import annotations

import dataclasses
import itertools
import json
import random
from typing import Any

import pytest

from kernels import KernelOptError, Opt, OptOps

IN_ORDER = [
    Opt(OptOps.TC, 0, (-1, 0)),
    Opt(OptOps.TC, 0, (-1, 2)),
    Opt(OptOps.TC, 0, (3, 0)),
    Opt(OptOps.TC, 1, (-1, 0)),
    Opt(OptOps.UPCAST, 0, 0),
    Opt(OptOps.UPCAST, 0, 4),
    Opt(OptOps.UPCAST, 2, 2),
    Opt(OptOps.UNROLL, 0, 4),
    Opt(OptOps.LOCAL, 0, 16),
    Opt(OptOps.GROUP, 0, 8),
    Opt(OptOps.GROUPTOP, 0, 8),
    Opt(OptOps.NOLOCALS),
    Opt(OptOps.PADTO, 1, 32),
    Opt(OptOps.SWAP, 0, 1),
]

WIRE: list[tuple[Opt, dict[str, Any]]] = [
    (Opt(OptOps.UPCAST, 0, 4), {"op": "UPCAST", "axis": 0, "arg": 4}),
    (Opt(OptOps.UNROLL, 1, 0), {"op": "UNROLL", "axis": 1, "arg": 0}),
    (Opt(OptOps.SWAP, 0, 2), {"op": "SWAP", "axis": 0, "arg": 2}),
    (Opt(OptOps.TC, 0, (-1, 2)), {"op": "TC", "axis": 0, "arg": [-1, 2]}),
    (Opt(OptOps.NOLOCALS), {"op": "NOLOCALS"}),
]


def test_opts_sort_by_op_axis_and_arg() -> None:
    assert sorted(random.Random(1).sample(IN_ORDER, len(IN_ORDER))) == IN_ORDER
    for earlier, later in itertools.combinations(IN_ORDER, 2):
        assert earlier < later
        assert later > earlier
        assert not later <= earlier


def test_opt_is_equal_to_another_of_the_same_fields() -> None:
    assert Opt(OptOps.TC, 0, (-1, 2)) == Opt(OptOps.TC, 0, (-1, 2))
    assert hash(Opt(OptOps.UPCAST, 0, 4)) == hash(Opt(OptOps.UPCAST, 0, 4))
    assert len({*IN_ORDER, *IN_ORDER}) == len(IN_ORDER)
    assert Opt(OptOps.UPCAST, 0, 4) != Opt(OptOps.UPCAST, 0, 0)
    assert Opt(OptOps.GROUP, 0, 4) != Opt(OptOps.GROUPTOP, 0, 4)


def test_opt_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        IN_ORDER[0].axis = 3  # type: ignore[misc]


def test_opt_ops_are_the_nine_of_the_wire_form() -> None:
    names = "TC UPCAST UNROLL LOCAL GROUP GROUPTOP NOLOCALS PADTO SWAP"
    assert {op.name for op in OptOps} == set(names.split())


@pytest.mark.parametrize(("opt", "document"), WIRE)
def test_opt_wire_form_goes_both_ways(opt: Opt, document: dict[str, Any]) -> None:
    assert opt.to_wire() == document
    assert Opt.from_wire(json.loads(json.dumps(document))) == opt


@pytest.mark.parametrize("opt", IN_ORDER, ids=str)
def test_opt_reads_back_what_it_writes(opt: Opt) -> None:
    assert Opt.from_wire(json.loads(json.dumps(opt.to_wire()))) == opt


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        "UPCAST",
        7,
        {},
        {"axis": 0, "arg": 4},
        {"op": None},
        {"op": 1, "axis": 0, "arg": 4},
        {"op": ["UPCAST"], "axis": 0, "arg": 4},
        {"op": "upcast", "axis": 0, "arg": 4},
        {"op": "SPLIT", "axis": 0, "arg": 4},
        {"op": "UPCAST", "axis": 0, "amount": 4},
        {"op": "UPCAST", "axis": 0, "arg": 4, "x": None},
        {"op": "UPCAST", "axis": "0", "arg": 4},
        {"op": "UPCAST", "axis": 0.0, "arg": 4},
        {"op": "UPCAST", "axis": True, "arg": 4},
        {"op": "UPCAST", "axis": [0], "arg": 4},
        {"op": "UPCAST", "axis": 0, "arg": "4"},
        {"op": "UPCAST", "axis": 0, "arg": 4.0},
        {"op": "UPCAST", "axis": 0, "arg": False},
        {"op": "UPCAST", "axis": 0, "arg": {"amount": 4}},
        {"op": "TC", "axis": 0, "arg": []},
        {"op": "TC", "axis": 0, "arg": [1]},
        {"op": "TC", "axis": 0, "arg": [1, 2, 3]},
        {"op": "TC", "axis": 0, "arg": [1, None]},
        {"op": "TC", "axis": 0, "arg": [1, "2"]},
        {"op": "TC", "axis": 0, "arg": [True, 2]},
        {"op": "X" * 100_000, "axis": 0},
    ],
)
def test_opt_of_another_form_is_refused(document: Any) -> None:
    with pytest.raises(KernelOptError) as caught:
        Opt.from_wire(document)
    assert caught.value.code == "illegal_opt"
    assert 0 < len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("opt", "shown"),
    [
        (Opt(OptOps.UPCAST, 0, 4), "UPCAST(0, 4)"),
        (Opt(OptOps.TC, 0, (-1, 2)), "TC(0, (-1, 2))"),
        (Opt(OptOps.NOLOCALS), "NOLOCALS"),
        (Opt(OptOps.NOLOCALS, 0, 4), "NOLOCALS(0, 4)"),
    ],
)
def test_opt_reads_as_it_is_written(opt: Opt, shown: str) -> None:
    assert str(opt) == shown
