"""`Value`: what expressions are written with. Operators compute element by element, and broadcast as numpy does.

A number beside a value takes that value's dtype. Where tinygrad 0.10.2 has a way of its own of writing an operation
(a - b as a + b * -1, a / b as a * (1 / b)), the same is written here, so that a kernel built here has the key of the
kernel that a training job sends.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from kernels import movement
from kernels.build.errors import BuildError
from kernels.build.pushing import aligned, moved, padded
from kernels.build.terms import Scalar, Term, apply, constant, converted, dtype_of, reduced
from kernels.dtypes import BOOL, DType, Kind
from kernels.graph import Shape
from kernels.index import Index
from kernels.ir import Views
from kernels.ops import Ops

Operand: TypeAlias = "Value | int | float | bool"

_LOG2_E = 1 / math.log(2)
_LN_2 = math.log(2)


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A value of a kernel: `term` says how it is computed. Compare values with `eq` and `ne`: == asks for identity."""

    term: Term

    @property
    def shape(self) -> Shape:
        """The sizes of its axes."""
        return self.term.shape

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        return self.term.dtype

    # ---- arithmetic ----

    def apply(self, op: Ops, *others: Operand) -> Value:
        """The elementwise operation `op` of this and `others`, as the wire form has it."""
        return Value(apply(op, *aligned([self.term, *(self._term(other) for other in others)])))

    def _term(self, other: Operand) -> Term:
        return other.term if isinstance(other, Value) else constant(other, self.dtype, self.shape)

    def _value(self, other: Operand) -> Value:
        return Value(self._term(other))

    def __add__(self, other: Operand) -> Value:
        return self.apply(Ops.ADD, other)

    def __radd__(self, other: Scalar) -> Value:
        return self._value(other) + self

    def __sub__(self, other: Operand) -> Value:
        if self.dtype.kind is Kind.UNSIGNED:
            return self.apply(Ops.SUB, other)
        return self + -other

    def __rsub__(self, other: Scalar) -> Value:
        return self._value(other) - self

    def __mul__(self, other: Operand) -> Value:
        return self.apply(Ops.MUL, other)

    def __rmul__(self, other: Scalar) -> Value:
        return self._value(other) * self

    def __neg__(self) -> Value:
        return self.apply(Ops.NEG) if self.dtype.kind is Kind.UNSIGNED else self * -1

    def __truediv__(self, other: Operand) -> Value:
        """Times the reciprocal: `apply(Ops.FDIV, other)` divides exactly rounded."""
        return self * (other.recip() if isinstance(other, Value) else 1 / other)

    def __rtruediv__(self, other: Scalar) -> Value:
        return self._value(other) / self

    def idiv(self, other: Operand) -> Value:
        """The quotient of integers, truncated towards 0."""
        return self.apply(Ops.IDIV, other)

    def mod(self, other: Operand) -> Value:
        """The remainder of `idiv`; it has the sign of this value."""
        return self.apply(Ops.MOD, other)

    def pow(self, other: Operand) -> Value:
        """This to the power of `other`, floats."""
        return self.apply(Ops.POW, other)

    def maximum(self, other: Operand) -> Value:
        """The larger of both, element by element."""
        return self.apply(Ops.MAX, other)

    def minimum(self, other: Operand) -> Value:
        """The smaller of both, element by element."""
        return (self > other).where(other, self)

    # ---- functions of one value ----

    def exp2(self) -> Value:
        """2 to the power of this."""
        return self.apply(Ops.EXP2)

    def log2(self) -> Value:
        """The logarithm to base 2."""
        return self.apply(Ops.LOG2)

    def sin(self) -> Value:
        """The sine."""
        return self.apply(Ops.SIN)

    def sqrt(self) -> Value:
        """The square root."""
        return self.apply(Ops.SQRT)

    def recip(self) -> Value:
        """1 / this."""
        return self.apply(Ops.RECIP)

    def rsqrt(self) -> Value:
        """1 / square root."""
        return self.sqrt().recip()

    def exp(self) -> Value:
        """e to the power of this."""
        return (self * _LOG2_E).exp2()

    def log(self) -> Value:
        """The natural logarithm."""
        return self.log2() * _LN_2

    def sigmoid(self) -> Value:
        """1 / (1 + e^-x)."""
        return (1 + (self * -_LOG2_E).exp2()).recip()

    def tanh(self) -> Value:
        """The hyperbolic tangent."""
        return 2 * (2 * self).sigmoid() - 1

    def relu(self) -> Value:
        """This where it is above 0, else 0."""
        return (self > 0).where(self, 0)

    # ---- comparisons, bits and types ----

    def __lt__(self, other: Operand) -> Value:
        return self.apply(Ops.CMPLT, other)

    def __gt__(self, other: Operand) -> Value:
        return self._value(other) < self

    def ne(self, other: Operand) -> Value:
        """Whether they differ: true for NaN and anything."""
        return self.apply(Ops.CMPNE, other)

    def eq(self, other: Operand) -> Value:
        """Whether they are equal."""
        return self.ne(other).logical_not()

    def logical_not(self) -> Value:
        """The opposite of a bool."""
        return self.apply(Ops.CMPNE, True)

    def where(self, then: Operand, otherwise: Operand) -> Value:
        """`then` where this bool holds, else `otherwise`. One of them is a value; a number takes its dtype."""
        like = then if isinstance(then, Value) else otherwise
        if not isinstance(like, Value):
            raise BuildError("where needs a value for one of its branches, to know the dtype")
        branches = [branch.term if isinstance(branch, Value) else like._term(branch) for branch in (then, otherwise)]
        return Value(apply(Ops.WHERE, *aligned([self.term, *branches])))

    def __and__(self, other: Operand) -> Value:
        return self.apply(Ops.AND, other)

    def __or__(self, other: Operand) -> Value:
        return self.apply(Ops.OR, other)

    def __xor__(self, other: Operand) -> Value:
        return self.apply(Ops.XOR, other)

    def __lshift__(self, other: Operand) -> Value:
        return self.apply(Ops.SHL, other)

    def __rshift__(self, other: Operand) -> Value:
        return self.apply(Ops.SHR, other)

    def cast(self, dtype: str) -> Value:
        """The same numbers as `dtype`."""
        return Value(converted(Ops.CAST, self.term, dtype_of(dtype)))

    def bitcast(self, dtype: str) -> Value:
        """The same bits as `dtype`, which must be as wide."""
        return Value(converted(Ops.BITCAST, self.term, dtype_of(dtype)))

    # ---- reductions: the reduced axes stay, with size 1 ----

    def sum(self, *axes: int) -> Value:
        """The sum over `axes`, all if none is named, in this value's own dtype."""
        return self._reduced(Ops.ADD, axes)

    def max(self, *axes: int) -> Value:
        """The greatest over `axes`, all if none is named."""
        return self._reduced(Ops.MAX, axes)

    def prod(self, *axes: int) -> Value:
        """The product over `axes`, all if none is named."""
        return self._reduced(Ops.MUL, axes)

    def _reduced(self, op: Ops, axes: tuple[int, ...]) -> Value:
        return Value(reduced(op, self.term, axes or range(len(self.shape))))

    # ---- movements ----

    def reshape(self, *shape: Index) -> Value:
        """The same elements in row-major order, in axes of sizes `shape`."""
        return self._moved(partial(movement.reshape, shape=shape))

    def permute(self, *order: int) -> Value:
        """Axis i of the result is axis order[i]."""
        return self._moved(partial(movement.permute, order=order))

    def expand(self, *shape: Index) -> Value:
        """Axes of size 1 repeated to the sizes of `shape`."""
        return self._moved(partial(movement.expand, shape=shape))

    def shrink(self, *bounds: tuple[Index, Index]) -> Value:
        """Of each axis the elements [from, to)."""
        return self._moved(partial(movement.shrink, bounds=bounds))

    def flip(self, *axes: int) -> Value:
        """The axes `axes` backwards."""
        return self._moved(partial(movement.flip, axes=axes))

    def step(self, *steps: int) -> Value:
        """Of each axis every steps[axis]-th element."""
        return self._moved(partial(movement.step, steps=steps))

    def windows(self, axis: int, size: int, every: int = 1, dilation: int = 1) -> Value:
        """Sliding windows over `axis`, which becomes their places; a new last axis goes over a window's elements."""
        return self._moved(partial(movement.windows, axis=axis, size=size, every=every, dilation=dilation))

    def pad(self, *amounts: tuple[Index, Index], fill: Scalar | None = None) -> Value:
        """Each axis longer by (before, after) elements that are `fill`: 0 (false) unless given."""
        return Value(padded(self.term, amounts, (self.dtype is not BOOL and 0) if fill is None else fill))

    def _moved(self, move: Callable[[Views], Views]) -> Value:
        return Value(moved(self.term, move))
