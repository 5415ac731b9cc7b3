"""How far the outputs of two right programs of one kernel may differ, from its dtypes, operations and reduce lengths.

This is for comparing a program with another one over everything. It is a screen, not a verdict: it knows operations and
lengths, and takes magnitudes from the output itself. Where a difference is beyond it, `reference.expect` on those very
elements decides, with a bound for each that follows the values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod, sqrt

import numpy as np

from kernels.dtypes import FLOAT32, FLOAT64, DType
from kernels.ir import Ast
from kernels.ops import ACCESSES, COMPARISONS, Ops
from kernels.reference.concrete import ConcreteAst, concrete_ast
from kernels.reference.evaluate import Expected
from kernels.reference.formats import EXACT_CASTS, UNITS, Array, to_held

#: How much larger an error is, in proportion, after an operation: where an argument of some size goes through an
#: exponential or a sine, or small differences of large values are taken. Inputs give arguments up to about 16.
_AMPLIFIES = {Ops.EXP2: 16.0, Ops.SIN: 16.0, Ops.POW: 32.0, Ops.LOG2: 4.0, Ops.RECIP: 4.0, Ops.FDIV: 4.0, Ops.ADD: 2.0}
_AMPLIFIES[Ops.SUB] = 2.0
#: What an operation adds, in units of its dtype's last half place; 4 where nothing is said.
_OWN_UNITS = {
    Ops.EXP2: 16.0,
    Ops.SIN: 16.0,
    Ops.POW: 64.0,
    Ops.LOG2: 16.0,
    Ops.FDIV: 8.0,
    Ops.RECIP: 8.0,
    Ops.SQRT: 8.0,
}
_EXACT_FLOATS = frozenset({Ops.MAX, Ops.NEG, Ops.WHERE})
#: Beyond this a relative error says nothing any more.
_USELESS = 1.0


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Two outputs of a slot may differ by `rtol` of the value plus `atol` of the slot's typical value.

    The typical value is the root mean square of the finite ones. Both are 0 where the outputs must be equal.
    `discontinuous` says that a comparison or a truncation of rounded values decides, so that single elements may differ
    by any amount; what is equal but for a few elements is then not wrong yet.
    """

    rtol: float
    atol: float
    discontinuous: bool


def tolerance(ast: Ast, variables: Mapping[str, int] | None = None) -> dict[int, Tolerance]:
    """The tolerance of every stored slot, at these values of the kernel's variables (their maxima, if None)."""
    if variables is None:
        variables = {variable.name: variable.max for variable in ast.variables}
    kernel = concrete_ast(ast, variables)
    found: list[_Noise] = []
    for number in range(len(kernel.nodes)):
        found.append(_noise(kernel, number, found))
    tolerances = {}
    for slot, store in kernel.stores.items():
        noise = found[kernel.nodes[store].src[2]]
        relative = min(noise.relative, _USELESS)
        tolerances[slot] = Tolerance(relative, relative, noise.discontinuous)
    return tolerances


def expected_of(slot: int, dtype: DType, output: Array, allowed: Tolerance) -> Expected:
    """Another program's whole `output`, in storage form, as what a program must write.

    Every element counts as written, so both outputs must have had the same content before.
    """
    written = np.ones(output.size, bool)
    if not dtype.is_float:
        errors = np.full(output.size, np.inf if allowed.discontinuous else 0.0, np.float32)
        return Expected(slot, dtype, None, written, output, errors)
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.abs(to_held(output, dtype).astype(np.float64))
        finite = size[np.isfinite(size)]
        typical = float(np.sqrt(np.mean(finite * finite))) if finite.size else 0.0
        errors = np.where(np.isfinite(size), size * allowed.rtol + typical * allowed.atol, 0.0)
    return Expected(slot, dtype, None, written, output, errors.astype(np.float32))


@dataclass(frozen=True, slots=True)
class _Noise:
    """What rounding may do to a value: its relative error, and whether it may be quite another value in places."""

    relative: float = 0.0
    discontinuous: bool = False


def _noise(kernel: ConcreteAst, number: int, found: list[_Noise]) -> _Noise:
    node = kernel.nodes[number]
    if not node.src or node.op in ACCESSES or node.dtype is None:
        return _Noise()
    operands = [found[source] for source in node.src]
    carried = max(operand.relative for operand in operands)
    broken = any(operand.discontinuous for operand in operands)
    if node.op in COMPARISONS or not node.dtype.is_float:
        return _Noise(0.0, broken or (carried > 0.0 and not _is_same(node.src)))
    if node.op is Ops.REDUCE_AXIS:
        return _Noise(_reduce_noise(kernel, number, carried), broken)
    if node.op is Ops.CAST:
        source = kernel.nodes[node.src[0]].dtype
        assert source is not None
        exact = not source.is_float or source is node.dtype or (source, node.dtype) in EXACT_CASTS
        return _Noise(carried + (0.0 if exact else 2.0 * UNITS[node.dtype]), broken)
    if node.op in _EXACT_FLOATS or node.op is Ops.BITCAST:
        return _Noise(carried, broken or (node.op is Ops.BITCAST and carried > 0.0))
    if node.op in (Ops.MUL, Ops.MULACC):
        carried = sum(operand.relative for operand in operands)
    own = _OWN_UNITS.get(node.op, 4.0) * UNITS[node.dtype]
    return _Noise(carried * _AMPLIFIES.get(node.op, 1.0) + own, broken)


def _is_same(sources: tuple[int, ...]) -> bool:
    """True where both operands are one value, as in the test for NaN."""
    return len(sources) == 2 and sources[0] == sources[1]


def _reduce_noise(kernel: ConcreteAst, number: int, carried: float) -> float:
    """Sums of values of both signs come out about as large as the root of their number of them, so errors show more."""
    node, reduction = kernel.nodes[number], kernel.reduction(number)
    assert node.dtype is not None
    if reduction.op is Ops.MAX:
        return carried
    length = prod(kernel.shapes[node.src[0]][axis] for axis in reduction.axes)
    unit = UNITS[FLOAT64 if node.dtype is FLOAT64 else FLOAT32]
    if reduction.op is Ops.MUL:
        return length * (carried + 2.0 * unit) + 2.0 * UNITS[node.dtype]
    return 4.0 * carried + (16.0 + 4.0 * sqrt(length)) * unit + 2.0 * UNITS[node.dtype]
