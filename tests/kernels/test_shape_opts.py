"""Each Opt but TC: what it does to the axes, and each rule of its legality with the smallest example both ways."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kernels import Kernel, KernelOptError, Opt, OptOps, Target, cuda_target, opencl_target
from tests.kernels.shown import kernel_of, opt, opts_of, shape_of
from tests.made.build import Build
from tests.made.dynamic import column_scale, merged_tokens, reduce_length, variable_as_value
from tests.made.elementwise import outer_sum
from tests.made.matmuls import Product, product
from tests.made.reduces import accumulated, mean_of_max, parallel, reduce_after, reduced
from tests.oracle import OptTriple, oracle_kernel, oracle_shown, oracle_try
from tests.parity.product import product_shown

KERNELS: dict[str, Any] = {
    "sheet": partial(outer_sum, (6, 20, 32)),  # B6 B20 B32
    "rows": partial(reduced, (24, 64), (1,)),  # B24 R64, the sum of float32
    "two": partial(reduced, (6, 8, 3, 12), (1, 3)),  # B6 B3 R8 R12
    "deep": partial(reduced, (4, 8, 5, 9, 6, 2), (1, 3, 5)),  # B4 B5 B6 R8 R9 R2
    "product": partial(product, Product(64, 64, 64)),  # B64 B64 R64, half
    "sum of max": partial(mean_of_max, (6, 8, 16)),  # B6 R8 R16: two reduces, each of its own axis
    "sum and max": partial(parallel, "ADD", "MAX"),  # B20 R96: two reduces of one axis
    "dynamic": column_scale,  # B12 Bi
    "dynamic rows": partial(reduce_length, "ADD"),  # B40 Ri
    "dynamic multiple": merged_tokens,  # B48*i
    "variable value": variable_as_value,  # B384
}
TARGETS = {
    "opencl": opencl_target(),
    "opencl_no_local": opencl_target(has_local=False),
    "opencl_no_shared": opencl_target(has_shared=False),
    "sm_80": cuda_target("sm_80"),
}
TC: OptTriple = ("TC", 0, (0, 0))
NOLOCALS: OptTriple = ("NOLOCALS", None, None)

# target, kernel, the Opts applied before, the Opt, the axes after
ACCEPTED: list[tuple[str, str, list[OptTriple], OptTriple, str]] = [
    ("opencl", "sheet", [], ("LOCAL", 1, 4), "B6 B5 B32 C4"),
    ("opencl", "sheet", [], ("LOCAL", 1, 0), "B6 B32 C20"),
    ("opencl", "sheet", [("LOCAL", 1, 4)], ("LOCAL", 0, 2), "B3 B5 B32 C4 C2"),
    ("opencl_no_shared", "sheet", [], ("LOCAL", 1, 4), "B6 B5 B32 C4"),
    ("opencl", "sheet", [], ("UPCAST", 2, 4), "B6 B20 B8 Y4"),
    ("opencl", "sheet", [], ("UPCAST", 0, 0), "B20 B32 Y6"),
    ("opencl", "sheet", [], ("UPCAST", 2, 16), "B6 B20 B2 Y16"),
    ("opencl", "sheet", [("UPCAST", 2, 4)], ("UPCAST", 1, 5), "B6 B4 B8 Y4 Y5"),
    ("opencl", "sheet", [("LOCAL", 2, 8)], ("UPCAST", 3, 4), "B6 B20 B4 C2 Y4"),
    ("opencl", "sheet", [("LOCAL", 2, 8)], ("UPCAST", 3, 0), "B6 B20 B4 Y8"),
    ("opencl_no_local", "sheet", [], ("UPCAST", 2, 4), "B6 B20 B8 Y4"),
    ("opencl", "sheet", [NOLOCALS], ("UPCAST", 2, 4), "B6 B20 B8 Y4"),
    ("sm_80", "product", [TC], ("UPCAST", 0, 4), "B8 C2 C2 C2 C2 C2 R4 M2 M2 M2 M2 Y2 Y2 Y4"),
    ("opencl", "rows", [], ("UNROLL", 0, 4), "B24 R16 M4"),
    ("opencl", "rows", [], ("UNROLL", 0, 32), "B24 R2 M32"),
    ("opencl", "rows", [("UNROLL", 0, 32)], ("UNROLL", 0, 0), "B24 M32 M2"),
    ("opencl", "rows", [("UPCAST", 0, 4)], ("UNROLL", 0, 4), "B6 R16 Y4 M4"),
    ("opencl", "rows", [("UNROLL", 0, 4)], ("UPCAST", 0, 4), "B6 R16 M4 Y4"),
    ("opencl", "two", [], ("UNROLL", 1, 4), "B6 B3 R8 R3 M4"),
    ("opencl", "two", [("LOCAL", 0, 2)], ("UNROLL", 0, 8), "B3 B3 C2 R12 M8"),
    ("opencl", "rows", [("GROUP", 0, 8)], ("UNROLL", 0, 4), "B24 G2 R8 M4"),
    ("opencl", "rows", [("GROUP", 0, 8)], ("UNROLL", 0, 0), "B24 R8 M8"),
    ("opencl", "rows", [("GROUP", 0, 8)], ("UNROLL", 1, 4), "B24 G8 R2 M4"),
    ("opencl", "rows", [], ("GROUP", 0, 16), "B24 G16 R4"),
    ("opencl", "rows", [], ("GROUP", 0, 0), "B24 G64"),
    ("opencl", "rows", [], ("GROUPTOP", 0, 16), "B24 G16 R4"),
    ("opencl", "rows", [], ("GROUPTOP", 0, 64), "B24 G64"),
    ("opencl", "two", [("GROUP", 0, 4)], ("GROUP", 0, 2), "B6 B3 G4 G2 R12"),
    ("opencl", "two", [("GROUP", 0, 4)], ("GROUP", 1, 3), "B6 B3 G4 G3 R2 R4"),
    ("opencl", "two", [("LOCAL", 0, 2), ("UNROLL", 0, 2)], ("GROUP", 1, 4), "B3 B3 C2 G4 R4 R3 M2"),
    ("opencl", "sum of max", [], ("GROUP", 0, 4), "B6 G4 R2 R16"),
    ("opencl", "sum and max", [], ("UNROLL", 0, 4), "B20 R24 M4"),
    ("opencl", "sheet", [], NOLOCALS, "B6 B20 B32"),
    ("opencl", "sheet", [("UPCAST", 0, 2)], NOLOCALS, "B3 B20 B32 Y2"),
    ("opencl", "sheet", [], ("SWAP", 0, 2), "B32 B20 B6"),
    ("opencl", "sheet", [("LOCAL", 0, 3)], ("SWAP", 1, 2), "B2 B32 B20 C3"),
    ("opencl_no_local", "sheet", [], ("SWAP", 0, 1), "B20 B6 B32"),
    ("opencl", "sheet", [NOLOCALS], ("SWAP", 0, 1), "B20 B6 B32"),
    ("opencl", "sheet", [], ("PADTO", 1, 8), "B6 B24 B32"),
    ("opencl", "sheet", [], ("PADTO", 1, 32), "B6 B32 B32"),
    ("opencl", "sheet", [], ("PADTO", 0, 23), "B23 B20 B32"),
    ("opencl", "sheet", [("LOCAL", 1, 4)], ("PADTO", 1, 8), "B6 B8 B32 C4"),
    ("opencl", "sheet", [("LOCAL", 1, 4)], ("PADTO", 3, 7), "B6 B5 B32 C7"),
    ("opencl", "sheet", [("PADTO", 1, 8)], ("PADTO", 1, 16), "B6 B32 B32"),
    ("opencl", "sheet", [("PADTO", 1, 32)], ("LOCAL", 1, 16), "B6 B2 B32 C16"),
    ("opencl", "rows", [], ("PADTO", 1, 48), "B24 R96"),
    ("opencl", "rows", [("GROUP", 0, 8)], ("PADTO", 1, 3), "B24 G9 R8"),
    ("opencl", "sum of max", [], ("PADTO", 0, 8), "B8 R8 R16"),
    ("opencl", "dynamic", [], ("UPCAST", 0, 4), "B3 Bi Y4"),
    ("opencl", "dynamic rows", [], ("LOCAL", 0, 8), "B5 C8 Ri"),
]  # fmt: skip

# target, kernel, the Opts applied before, the Opt, what the reason says
REFUSED: list[tuple[str, str, list[OptTriple], OptTriple, str]] = [
    # The counted axis must exist.
    ("opencl", "sheet", [], ("LOCAL", 3, 2), "there are 3"),
    ("opencl", "sheet", [], ("UPCAST", 3, 2), "there are 3"),
    ("opencl", "rows", [], ("UNROLL", 1, 2), "there are 2"),
    ("opencl", "rows", [], ("GROUP", 1, 2), "there are 2"),
    ("opencl", "rows", [("GROUP", 0, 8)], ("GROUP", 1, 2), "there are 3"),
    ("opencl", "sheet", [], ("UNROLL", 0, 2), "there are 3"),
    ("opencl", "sheet", [], ("GROUP", 0, 2), "there are 3"),
    ("opencl", "sheet", [], ("PADTO", 3, 32), "there are 3"),
    ("opencl", "sheet", [], ("SWAP", 3, 4), "there are 3"),
    # An amount is at least 2, and divides.
    ("opencl", "sheet", [], ("LOCAL", 1, 1), "changes nothing"),
    ("opencl", "sheet", [], ("PADTO", 1, 1), "changes nothing"),
    ("opencl", "sheet", [], ("LOCAL", 1, 3), "does not divide"),
    ("opencl", "sheet", [], ("LOCAL", 1, 40), "does not divide"),
    ("opencl", "sheet", [], ("UPCAST", 1, 3), "does not divide"),
    ("opencl", "rows", [], ("UNROLL", 0, 3), "does not divide"),
    ("opencl", "rows", [], ("GROUPTOP", 0, 128), "does not divide"),
    # A size with a variable in it cannot be split, even where that would be exact.
    ("opencl", "dynamic", [], ("LOCAL", 1, 2), "not fixed"),
    ("opencl", "dynamic", [], ("UPCAST", 1, 0), "not fixed"),
    ("opencl", "dynamic multiple", [], ("UPCAST", 0, 2), "not fixed"),
    ("opencl", "dynamic rows", [], ("UNROLL", 0, 4), "not fixed"),
    ("opencl", "dynamic rows", [], ("GROUP", 0, 8), "not fixed"),
    # NOLOCALS excludes locals and groups, before and after.
    ("opencl", "sheet", [NOLOCALS], ("LOCAL", 1, 4), "NOLOCALS"),
    ("opencl", "rows", [NOLOCALS], ("GROUP", 0, 8), "NOLOCALS"),
    ("opencl", "rows", [NOLOCALS], ("GROUPTOP", 0, 8), "NOLOCALS"),
    ("opencl", "sheet", [NOLOCALS], NOLOCALS, "no locals already"),
    ("opencl", "sheet", [("LOCAL", 1, 4)], NOLOCALS, "local or group axes already"),
    ("opencl", "rows", [("GROUP", 0, 8)], NOLOCALS, "local or group axes already"),
    ("opencl_no_local", "sheet", [], NOLOCALS, "no work-groups"),
    # LOCAL
    ("opencl_no_local", "sheet", [], ("LOCAL", 1, 4), "no work-groups"),
    ("opencl", "sheet", [("LOCAL", 1, 4)], ("LOCAL", 3, 2), "not global"),
    ("opencl", "rows", [], ("LOCAL", 1, 4), "not global"),
    ("opencl", "sheet", [("UPCAST", 2, 4)], ("LOCAL", 3, 2), "not global"),
    # UPCAST
    ("opencl", "sheet", [], ("UPCAST", 2, 32), "above 16"),
    ("opencl", "sheet", [], ("UPCAST", 1, 0), "above 16"),
    ("opencl", "rows", [], ("UPCAST", 1, 4), "reduced"),
    ("opencl", "rows", [("GROUP", 0, 8)], ("UPCAST", 1, 4), "reduced"),
    ("opencl", "sheet", [("UPCAST", 2, 4)], ("UPCAST", 3, 2), "reduced"),
    ("sm_80", "product", [TC], ("UPCAST", 2, 2), "lane of the tensor core"),
    ("sm_80", "product", [TC], ("UPCAST", 6, 2), "lane of the tensor core"),
    # UNROLL
    ("opencl", "rows", [], ("UNROLL", 0, 64), "above 32"),
    ("opencl", "rows", [], ("UNROLL", 0, 0), "above 32"),
    ("opencl", "rows", [("UNROLL", 0, 32)], ("UNROLL", 1, 2), "upcast already"),
    ("opencl", "sheet", [("UPCAST", 2, 4)], ("UNROLL", 0, 2), "upcast already"),
    # GROUP and GROUPTOP
    ("opencl_no_local", "rows", [], ("GROUP", 0, 8), "no shared memory"),
    ("opencl_no_shared", "rows", [], ("GROUPTOP", 0, 8), "no shared memory"),
    ("opencl", "rows", [("UNROLL", 0, 4)], ("GROUP", 1, 2), "no reduce loop"),
    ("opencl", "sum and max", [], ("GROUP", 0, 4), "two reductions share an axis"),
    ("opencl", "sum and max", [], ("GROUPTOP", 0, 4), "two reductions share an axis"),
    ("sm_80", "product", [TC], ("GROUP", 0, 2), "tensor core"),
    # SWAP
    ("opencl", "sheet", [], ("SWAP", 1, 0), "ascending"),
    ("opencl", "sheet", [], ("SWAP", 1, 1), "ascending"),
    ("opencl", "sheet", [], ("SWAP", 1, 3), "global"),
    ("opencl", "rows", [], ("SWAP", 0, 1), "global"),
    ("opencl", "sheet", [("LOCAL", 0, 2)], ("SWAP", 0, 3), "global"),
    # PADTO
    ("opencl", "sheet", [], ("PADTO", 1, 0), "multiple of 20 already"),
    ("opencl", "sheet", [], ("PADTO", 1, 4), "multiple of 4 already"),
    ("opencl", "sheet", [], ("PADTO", 0, 24), "more than quadruple"),
    ("opencl", "sheet", [("UPCAST", 2, 4)], ("PADTO", 3, 32), "upcast already"),
    ("opencl", "rows", [("UNROLL", 0, 4)], ("PADTO", 2, 16), "upcast already"),
    ("opencl", "dynamic", [], ("PADTO", 0, 8), "dynamic"),
    ("opencl", "variable value", [], ("PADTO", 0, 100), "dynamic"),
    ("opencl", "sum of max", [], ("PADTO", 2, 5), "would change what is reduced"),
]  # fmt: skip


def made(target: str, name: str, before: list[OptTriple]) -> Kernel:
    return kernel_of(KERNELS[name](), TARGETS[target], *before)


@pytest.mark.parametrize(("target", "name", "before", "tried", "after"), ACCEPTED)
def test_opt_gives_the_axes_that_it_says(
    target: str, name: str, before: list[OptTriple], tried: OptTriple, after: str
) -> None:
    kernel = made(target, name, before)
    kernel.apply_opt(opt(*tried))
    assert shape_of(kernel) == after
    assert kernel.applied_opts == tuple(opt(*triple) for triple in (*before, tried))


@pytest.mark.parametrize(("target", "name", "before", "tried", "reason"), REFUSED)
def test_opt_that_is_not_legal_is_refused_with_the_reason(
    target: str, name: str, before: list[OptTriple], tried: OptTriple, reason: str
) -> None:
    kernel = made(target, name, before)
    state = kernel.state
    with pytest.raises(KernelOptError) as caught:
        kernel.apply_opt(opt(*tried))
    assert reason in caught.value.reason
    assert caught.value.code == "illegal_opt"
    assert kernel.state is state


@pytest.mark.parametrize(("target", "name", "before", "tried", "_"), ACCEPTED + REFUSED)
def test_example_is_what_the_oracle_does(
    target: str, name: str, before: list[OptTriple], tried: OptTriple, _: str
) -> None:
    document = KERNELS[name]()
    oracle, kernel = oracle_kernel(document, target), made(target, name, before)
    for triple in before:
        oracle = oracle_try(oracle, triple).kernel
    answer = oracle_try(oracle, tried)
    if (target, name, before, tried, _) in REFUSED:
        assert answer.end in ("refused", "raised")
    else:
        kernel.apply_opt(opt(*tried))
        values = ({"i": 3},) if "vars" in document else ()
        assert product_shown(kernel, values) == oracle_shown(answer.kernel, values)


# ---- arguments of a wrong type or size -------------------------------------------------------------------------------

WRONG: list[Any] = [None, True, False, 2.0, "2", -1, -(10**30), (2,), [2], float("nan"), OptOps.LOCAL]
SPLITS = [OptOps.UPCAST, OptOps.UNROLL, OptOps.LOCAL, OptOps.GROUP, OptOps.GROUPTOP, OptOps.PADTO, OptOps.SWAP]


@pytest.mark.parametrize("op", SPLITS)
@pytest.mark.parametrize("wrong", [*WRONG, 10**30, 1000], ids=repr)
def test_opt_of_a_wrong_axis_is_refused(op: OptOps, wrong: Any) -> None:
    kernel = made("opencl", "two", [])
    with pytest.raises(KernelOptError):
        kernel.apply_opt(Opt(op, wrong, 2))
    assert shape_of(kernel) == "B6 B3 R8 R12"


@pytest.mark.parametrize("op", SPLITS)
@pytest.mark.parametrize("wrong", [*WRONG, 10**30], ids=repr)
def test_opt_of_a_wrong_amount_is_refused(op: OptOps, wrong: Any) -> None:
    kernel = made("opencl", "two", [])
    with pytest.raises(KernelOptError):
        kernel.apply_opt(Opt(op, 0, wrong))
    assert shape_of(kernel) == "B6 B3 R8 R12"


@pytest.mark.parametrize(
    ("axis", "arg"), [(10**5000, 2), (0, 10**5000), (-(10**5000), 2)], ids=["axis", "amount", "negative axis"]
)
def test_refusal_of_a_number_of_thousands_of_digits_can_be_read(axis: int, arg: int) -> None:
    kernel = made("opencl", "two", [])
    with pytest.raises(KernelOptError) as caught:
        kernel.apply_opt(Opt(OptOps.LOCAL, axis, arg))
    assert 0 < len(str(caught.value)) < 300


@pytest.mark.parametrize(("axis", "arg"), [(0, None), (None, 0), (0, 0), (None, 2), (1, 4), ("", None), (None, False)])
def test_nolocals_with_an_axis_or_arg_is_refused(axis: Any, arg: Any) -> None:
    kernel = made("opencl", "sheet", [])
    with pytest.raises(KernelOptError, match="neither axis nor arg"):
        kernel.apply_opt(Opt(OptOps.NOLOCALS, axis, arg))
    assert kernel.colors() == ["blue"] * 3


def test_opt_of_no_known_op_is_refused() -> None:
    kernel = made("opencl", "sheet", [])
    with pytest.raises(KernelOptError):
        kernel.apply_opt(Opt("UPCAST", 0, 2))  # type: ignore[arg-type]


# ---- what PADTO looks for below a reduce -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "legal"),
    [
        (reduced((5, 13), (1,), "ADD"), True),
        (reduced((5, 13), (1,), "ADD", "int32"), True),
        (reduced((5, 13), (1,), "MAX"), False),
        (reduced((5, 13), (1,), "MUL"), False),
        (reduce_after("RECIP"), False),
        (reduce_after("LOG2"), False),
        (reduce_after("EXP2"), False),
        (reduce_after("SIN"), True),
        (reduce_after("SQRT"), True),
        (accumulated("int16", "int64"), True),
    ],
    ids=["sum", "sum of int32", "max", "product", "RECIP", "LOG2", "EXP2", "SIN", "SQRT", "cast"],
)
def test_padto_of_a_reduced_axis_wants_a_sum_that_zeros_do_not_change(document: Any, legal: bool) -> None:
    kernel = kernel_of(document)
    if legal:
        kernel.apply_opt(opt("PADTO", 1, 16))
        assert shape_of(kernel) in ("B5 R16", "B100 R256")
    else:
        with pytest.raises(KernelOptError, match="would change what is reduced"):
            kernel.apply_opt(opt("PADTO", 1, 16))
        # An axis that is not reduced can be padded all the same.
        kernel.apply_opt(opt("PADTO", 0, 8))
        assert shape_of(kernel) == "B8 R13"


@pytest.mark.parametrize(("op", "legal"), [("IDIV", False), ("POW", False), ("MUL", True), ("MOD", True)])
def test_padto_of_a_reduced_axis_looks_at_two_sources_too(op: str, legal: bool) -> None:
    b = Build()
    dtype = "float32" if op == "POW" else "int32"
    b.store(b.reduce(b.op(op, b.new(dtype, (5, 13)), b.new(dtype, (5, 13))), "ADD", 1))
    kernel = kernel_of(b.document())
    if legal:
        kernel.apply_opt(opt("PADTO", 1, 16))
        assert shape_of(kernel) == "B5 R16"
    else:
        with pytest.raises(KernelOptError):
            kernel.apply_opt(opt("PADTO", 1, 16))


# ---- shared memory ---------------------------------------------------------------------------------------------------


def with_shared(size_bytes: int) -> Target:
    return opencl_target(shared_max=size_bytes)


# Of "rows" (float32) and "deep": a reduce's element takes 4 bytes. The least shared memory, in bytes, that will do.
NEEDED: list[tuple[str, list[OptTriple], OptTriple, int]] = [
    ("rows", [], ("GROUP", 0, 64), 64 * 4),
    ("rows", [], ("GROUPTOP", 0, 16), 16 * 4),
    ("rows", [("LOCAL", 0, 2)], ("GROUP", 0, 16), 16 * 4 * 2),
    ("rows", [("UPCAST", 0, 4)], ("GROUP", 0, 16), 16 * 4 * 4),
    ("rows", [("UNROLL", 0, 4)], ("GROUP", 0, 16), 16 * 4),
    ("rows", [("GROUP", 0, 16)], ("LOCAL", 0, 3), 3 * 4 * 16),
    ("rows", [("GROUP", 0, 16)], ("UPCAST", 0, 8), 8 * 4 * 16),
    ("rows", [("GROUP", 0, 16)], ("UNROLL", 0, 4), 4 * 4 * 16),
    ("deep", [("GROUP", 0, 8)], ("GROUP", 0, 9), 9 * 4 * 8),
    # A SWAP counts its other axis' number as the amount.
    ("deep", [("GROUP", 0, 8)], ("SWAP", 1, 2), 2 * 4 * 8),
]


@pytest.mark.parametrize(("name", "before", "tried", "needed"), NEEDED)
def test_grouped_reduce_must_fit_shared_memory(
    name: str, before: list[OptTriple], tried: OptTriple, needed: int
) -> None:
    fits = kernel_of(KERNELS[name](), with_shared(needed), *before)
    fits.apply_opt(opt(*tried))
    too_small = kernel_of(KERNELS[name](), with_shared(needed - 1), *before)
    with pytest.raises(KernelOptError, match=f"{needed} bytes of shared memory"):
        too_small.apply_opt(opt(*tried))


@pytest.mark.parametrize(
    ("dtype", "needed"), [("float16", 2 * 16), ("float32", 4 * 16), ("float64", 8 * 16), ("int8", 16)]
)
def test_shared_memory_counts_elements_of_the_first_reduce(dtype: str, needed: int) -> None:
    document = reduced((24, 64), (1,), "ADD", dtype)
    kernel_of(document, with_shared(needed), ("GROUP", 0, 16))
    with pytest.raises(KernelOptError, match="shared memory"):
        kernel_of(document, with_shared(needed - 1), ("GROUP", 0, 16))


def test_shared_memory_does_not_matter_to_padto_nor_without_a_group() -> None:
    target = with_shared(16 * 4)
    padded = kernel_of(KERNELS["rows"](), target, ("GROUP", 0, 16), ("PADTO", 0, 32))
    assert shape_of(padded) == "B32 G16 R4"
    without_group = kernel_of(KERNELS["rows"](), with_shared(0), ("LOCAL", 0, 8), ("UPCAST", 0, 3), ("UNROLL", 0, 32))
    assert shape_of(without_group) == "C8 R2 Y3 M32"
    kernel_of(KERNELS["sheet"](), with_shared(0), ("LOCAL", 2, 32), ("UPCAST", 1, 4))


# ---- what an Opt leaves alone ----------------------------------------------------------------------------------------


def everything(kernel: Kernel) -> tuple[Any, ...]:
    return (
        kernel.full_shape,
        kernel.output_shape,
        kernel.colors(),
        kernel.colored_shape(),
        kernel.applied_opts,
        kernel.first_reduce,
        kernel.first_upcast,
        kernel.global_dims,
        kernel.name,
        kernel.state,
    )


def test_refused_opt_leaves_everything_as_it_was() -> None:
    kernel = made("sm_80", "product", [TC, ("UPCAST", 0, 4), ("LOCAL", 0, 2)])
    before = everything(kernel)
    refused = 0
    for op in OptOps:
        for axis in (None, *range(-1, 16)):
            for arg in (None, 1, 3, 7, 1000, (0, 0), (-1, 2)):
                copy = kernel.copy()
                try:
                    copy.apply_opt(Opt(op, axis, arg))
                except KernelOptError:
                    refused += 1
                    assert everything(copy) == before
                assert everything(kernel) == before
    assert refused > 900


def test_copies_are_independent() -> None:
    kernel = made("opencl", "two", [("LOCAL", 0, 2)])
    one, other = kernel.copy(), kernel.copy()
    one.apply_opt(opt("UPCAST", 0, 3))
    other.apply_opt(opt("GROUP", 0, 8))
    assert shape_of(kernel) == "B3 B3 C2 R8 R12"
    assert shape_of(one) == "B3 C2 R8 R12 Y3"
    assert shape_of(other) == "B3 B3 C2 G8 R12"
    assert opts_of(one) == ["LOCAL(0, 2)", "UPCAST(0, 3)"]
    kernel.apply_opt(opt("UNROLL", 0, 8))
    assert shape_of(one.copy()) == "B3 C2 R8 R12 Y3"


def test_applied_opts_keep_their_args_as_they_were_given() -> None:
    kernel = made("opencl", "sheet", [("UPCAST", 0, 0), ("LOCAL", 1, 32), ("LOCAL", 0, 20)])
    assert opts_of(kernel) == ["UPCAST(0, 0)", "LOCAL(1, 32)", "LOCAL(0, 20)"]
    assert shape_of(kernel) == "C32 C20 Y6"
