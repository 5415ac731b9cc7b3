"""How far a right program's value may lie from the reference's: a running error analysis of elementwise operations.

Beside each value goes its *error*: None where every right program has exactly this value, else a float64 array. An
error of inf means that the value is not compared: the operation is left open (service.md), or the errors before it
decide it. So a tolerance follows from dtypes, lengths and magnitudes, and a comparison of two nearly equal sums does
not pass for certain.

An operation adds its own rounding, in units (half a last place) of its dtype. What it is allowed is what OpenCL and
CUDA grant: a rounded result for +, -, *, 2.5 places for a quotient, 3 for SQRT, EXP2 and LOG2, 4 for SIN, 16 for POW.
A product may be fused into a sum, or not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from kernels.dtypes import BOOL, DType
from kernels.ops import Ops
from kernels.reference.formats import DIGITS, EXACT_CASTS, LEAST, UNITS, Array
from kernels.reference.operations import fits

Error: TypeAlias = Array | None

_LN2 = float(np.log(2.0))


@dataclass(frozen=True, slots=True)
class Step:
    """One elementwise node, worked out: its operands with their errors and dtypes, and its result.

    `same` says that its two operands are one node, so that they cannot differ.
    """

    op: Ops
    dtype: DType
    values: Sequence[Array]
    errors: Sequence[Error]
    sources: Sequence[DType]
    result: Array
    same: bool

    def error(self, place: int) -> Array | float:
        """The error of an operand, as a number that arithmetic takes."""
        error = self.errors[place]
        return 0.0 if error is None else error

    @property
    def exact(self) -> bool:
        """True where no operand has an error."""
        return all(error is None for error in self.errors)


def operation_error(step: Step) -> Error:
    """The error of `step`'s result."""
    if step.op is Ops.WHERE:
        return _select(step)
    if step.op is Ops.CAST:
        return _cast(step)
    if step.op is Ops.BITCAST:
        return _bitcast(step)
    if step.op in (Ops.CMPLT, Ops.CMPNE):
        return _compare(step)
    if step.op is Ops.NEG:
        return step.errors[0]
    if not step.dtype.is_float:
        return _integer(step)
    error = _FLOAT_RULES[step.op](step)
    if error is not None and not step.exact and step.op is not Ops.MAX:  # what is off is rounded too
        error = np.where(error == 0.0, 0.0, error * (1.0 + 8.0 * UNITS[step.dtype]) + LEAST[step.dtype])
    return _settled(step, error)


def rounding(result: Array, dtype: DType, units: float) -> Array:
    """The error of rounding `result`: `units` half places of it, more among the smallest numbers, none at 0."""
    size = np.abs(result, dtype=np.float64)
    return np.where(size == 0.0, 0.0, size * (units * UNITS[dtype]) + LEAST[dtype])


def uncertain(where: Array) -> Error:
    """The error of a bool that is uncertain in places."""
    return where.astype(np.float64) if where.any() else None


def not_compared(where: Array) -> Error:
    """The error of a value that is exact, but for places where it is not compared."""
    return np.where(where, np.inf, 0.0) if where.any() else None


# ---- integers and bools ----------------------------------------------------------------------------------------------


def _integer(step: Step) -> Error:
    if step.dtype is BOOL:
        return _logic(step)
    open_places = _left_open(step)
    if step.exact:
        return None if open_places is None else not_compared(open_places)
    errors = [step.error(place) for place in range(len(step.values))]
    if step.op in (Ops.ADD, Ops.SUB):
        return np.asarray(errors[0] + errors[1])
    if step.op is Ops.MAX:
        return np.maximum(errors[0], errors[1])
    spoilt = np.zeros((1,) * step.result.ndim, bool)
    for error in errors:
        spoilt = spoilt | (np.asarray(error) > 0.0)
    return not_compared(spoilt if open_places is None else spoilt | open_places)


def _left_open(step: Step) -> Array | None:
    """Where C leaves an integer operation open: division by 0, the one quotient that overflows, a shift too far."""
    if step.op in (Ops.IDIV, Ops.MOD):
        dividend, divisor = step.values
        wrong = np.equal(divisor, 0)
        return wrong | ((dividend == step.dtype.min) & (divisor == -1)) if step.dtype.min else wrong
    if step.op in (Ops.SHL, Ops.SHR):
        amount = step.values[1]
        return np.less(amount, 0) | np.greater_equal(amount, step.dtype.bits)
    return None


def _logic(step: Step) -> Error:
    """A bool is uncertain where turning an uncertain operand over could turn the result over."""
    if step.exact:
        return None
    unsure = [np.asarray(step.error(place)) > 0.0 for place in range(len(step.values))]
    values = step.values
    match step.op:
        case Ops.XOR:
            return uncertain(unsure[0] | unsure[1])
        case Ops.AND | Ops.MUL:
            return uncertain((unsure[0] & (values[1] | unsure[1])) | (unsure[1] & (values[0] | unsure[0])))
        case Ops.OR | Ops.ADD | Ops.MAX:
            return uncertain((unsure[0] & (~values[1] | unsure[1])) | (unsure[1] & (~values[0] | unsure[0])))
    return uncertain(unsure[0] | unsure[1] | unsure[2])


def _compare(step: Step) -> Error:
    if step.exact or step.same:
        return None
    total = np.asarray(step.error(0)) + step.error(1)
    if step.sources[0] is BOOL:
        return uncertain(total > 0.0)
    # Where both are the same infinity the distance is NaN, and the comparison certain.
    near = _distance(step.values[0], step.values[1]) <= total
    return uncertain((near & (total > 0.0)) | np.isinf(total))


def _distance(first: Array, second: Array) -> Array:
    return np.abs(first.astype(np.float64) - second.astype(np.float64))


# ---- operations on any dtype -----------------------------------------------------------------------------------------


def _select(step: Step) -> Error:
    condition, first, second = step.values
    if step.errors[0] is None:
        if step.exact:
            return None
        return np.where(condition, step.error(1), step.error(2))
    apart = np.where((first == second) | ((first != first) & (second != second)), 0.0, _distance(first, second))
    apart = np.where(np.isnan(apart), np.inf, apart) + np.maximum(step.error(1), step.error(2))
    return np.where(step.errors[0] > 0.0, apart, np.where(condition, step.error(1), step.error(2)))


def _cast(step: Step) -> Error:
    source, target, error = step.sources[0], step.dtype, step.errors[0]
    if source.is_float and target.is_int:
        return _truncation(step)
    if target is BOOL:
        return None if error is None else uncertain((error > 0.0) & ~(np.abs(step.values[0]) > error))
    if target.is_float:
        return _settled(step, _cast_to_float(step))
    widened = source is BOOL or (
        source.bits < target.bits and (source.min == 0 or target.min != 0)
    )  # every value of the source is one of the target
    return error if error is None or widened or source is target else not_compared(error > 0.0)


def _cast_to_float(step: Step) -> Error:
    source, target, error = step.sources[0], step.dtype, step.errors[0]
    if source.is_float:
        exact = source is target or (source, target) in EXACT_CASTS
    else:
        exact = source is BOOL or source.bits - (source.min != 0) <= DIGITS[target]
    if exact:
        return error
    return step.error(0) + rounding(step.result, target, 2.0)


def _truncation(step: Step) -> Error:
    """Float to integer: how far the whole numbers reach that the float may be cut to, all of them in range."""
    value = step.values[0].astype(np.float64)
    error = step.error(0)
    whole, low, high = np.trunc(value), np.trunc(value - error), np.trunc(value + error)
    off = np.maximum(high - whole, whole - low)
    wrong = np.isnan(off) | ~(fits(low, step.dtype) & fits(high, step.dtype))
    if step.exact:
        return not_compared(wrong)
    return np.where(wrong, np.inf, off)


def _bitcast(step: Step) -> Error:
    """Bits of a value that is not exact can be anything; of NaN only the kind is the same everywhere."""
    value = step.values[0]
    wrong = np.zeros(value.shape, bool) if step.errors[0] is None else step.errors[0] > 0.0
    if step.sources[0].is_float and not step.dtype.is_float:
        wrong = wrong | np.isnan(value)
    return not_compared(wrong)


# ---- floats ----------------------------------------------------------------------------------------------------------


def _settled(step: Step, error: Error) -> Error:
    """`error`, set right where the result is infinite or NaN: exact where that is certain, else not compared."""
    if error is None:
        return None
    lost = np.isnan(error)
    if lost.any():
        error = np.where(lost, np.inf, error)
    finite = np.isfinite(step.result)
    if finite.all():
        return error
    none = np.zeros(1, bool)
    exact, bounded, infinite, undefined = ~none, ~none, none, none
    for place, value in enumerate(step.values):
        operand = np.asarray(step.error(place))
        exact = exact & (operand == 0.0)
        bounded = bounded & np.isfinite(operand)
        infinite = infinite | ~np.isfinite(value)
        undefined = undefined | (np.isnan(value) & (operand == 0.0))
    if step.op in (Ops.ADD, Ops.SUB, Ops.MAX):  # what is finite beside an infinity does not matter
        certain = exact | (infinite & bounded)
    else:
        certain = exact if step.op is Ops.POW else exact | undefined
    if step.op in (Ops.SQRT, Ops.LOG2):  # NaN wherever in its error the operand lies
        certain = certain | (step.values[0] + step.error(0) < 0.0)
    certain = certain & ~_divides_by_zero(step)
    return np.where(finite, error, np.where(certain, 0.0, np.inf))


def _divides_by_zero(step: Step) -> Array:
    """Where a division by zero makes the result. It is IEEE 754's, and service.md leaves it open."""
    match step.op:
        case Ops.FDIV:
            return np.equal(step.values[1], 0.0)
        case Ops.RECIP:
            return np.equal(step.values[0], 0.0)
        case Ops.POW:
            return np.equal(step.values[0], 0.0) & np.less(step.values[1], 0.0)
    return np.zeros(1, bool)


def _add(step: Step) -> Error:
    return step.error(0) + step.error(1) + rounding(step.result, step.dtype, 2.0)


def _multiply(step: Step) -> Error:
    return product_error(step) + rounding(step.result, step.dtype, 2.0)


def product_error(step: Step) -> Array | float:
    """The error of the exact product of the first two operands."""
    first, second = step.errors[:2]
    if first is None:
        return 0.0 if second is None else np.abs(step.values[0]) * second
    carried = np.abs(step.values[1]) * first
    return carried if second is None else carried + (np.abs(step.values[0]) + first) * second


def _multiply_add(step: Step) -> Error:
    product = np.multiply(step.values[0], step.values[1], dtype=np.float64)
    carried = product_error(step) + step.error(2) + rounding(product, step.dtype, 1.0)
    return carried + rounding(step.result, step.dtype, 2.0)


def _divide(step: Step) -> Error:
    return _quotient(step, step.error(0), step.values[1], step.error(1))


def _reciprocal(step: Step) -> Error:
    return _quotient(step, 0.0, step.values[0], step.error(0))


def _quotient(step: Step, dividend_error: Array | float, divisor: Array, divisor_error: Array | float) -> Error:
    """Division by what may be zero is not compared."""
    room = np.abs(divisor) - divisor_error
    carried = dividend_error + np.abs(step.result) * divisor_error
    safe = np.isnan(divisor) | (room > 0.0)
    return np.where(safe, carried / np.where(safe, room, 1.0) + rounding(step.result, step.dtype, 6.0), np.inf)


def _maximum(step: Step) -> Error:
    """NaN loses, and its error with it."""
    if step.exact:
        return None
    larger = np.maximum(step.error(0), step.error(1))
    lone = np.isnan(step.values[0]) & (step.error(0) == 0.0)
    other = np.isnan(step.values[1]) & (step.error(1) == 0.0)
    return np.where(lone, step.error(1), np.where(other, step.error(0), larger))


def _square_root(step: Step) -> Error:
    value, error = step.values[0].astype(np.float64), step.error(0)
    own = rounding(step.result, step.dtype, 7.0)
    if step.exact:
        return own
    carried = np.minimum(error / np.where(value > 0.0, step.result, 1.0), np.sqrt(error))
    return np.where(value - error < 0.0, np.inf, np.where(value > 0.0, carried, np.sqrt(error)) + own)


def _exponential(step: Step) -> Error:
    own = rounding(step.result, step.dtype, 8.0)
    return own if step.exact else np.abs(step.result) * np.expm1(step.error(0) * _LN2) + own


def _logarithm(step: Step) -> Error:
    own = rounding(step.result, step.dtype, 8.0)
    if step.exact:
        return own
    room = step.values[0] - step.error(0)
    return np.where(room > 0.0, step.error(0) / (np.where(room > 0.0, room, 1.0) * _LN2) + own, np.inf)


def _sine(step: Step) -> Error:
    return np.minimum(step.error(0), 2.0) + rounding(step.result, step.dtype, 10.0)


def _power(step: Step) -> Error:
    """Of an exact base and exponent, or of a positive base: that of exp2(exponent * log2(base))."""
    base, exponent = step.values[0].astype(np.float64), step.values[1].astype(np.float64)
    scale = np.abs(np.log2(np.abs(base)))
    own = rounding(step.result, step.dtype, 40.0)
    own = own + np.where(np.isfinite(scale), np.abs(exponent) * scale, 0.0) * (own * 0.1)
    if step.exact:
        return own
    room = base - step.error(0)
    safe = room > 0.0
    shift = step.error(0) / np.where(safe, room, 1.0)
    grown = np.abs(exponent) * shift + (scale * _LN2 + shift) * step.error(1)
    untouched = (np.asarray(step.error(0)) == 0.0) & (step.error(1) == 0.0)
    carried = np.where(safe, np.abs(step.result) * np.expm1(grown), np.where(untouched, 0.0, np.inf))
    return carried + own


_FLOAT_RULES: dict[Ops, Callable[[Step], Error]] = {
    Ops.ADD: _add,
    Ops.SUB: _add,
    Ops.MUL: _multiply,
    Ops.MULACC: _multiply_add,
    Ops.FDIV: _divide,
    Ops.RECIP: _reciprocal,
    Ops.MAX: _maximum,
    Ops.SQRT: _square_root,
    Ops.EXP2: _exponential,
    Ops.LOG2: _logarithm,
    Ops.SIN: _sine,
    Ops.POW: _power,
}
