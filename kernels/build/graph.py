"""`Graph`: the buffers that an expression loads and stores, and the AST of it all."""

from __future__ import annotations

from collections.abc import Sequence

from kernels import movement
from kernels.build import terms
from kernels.build.document import document_of
from kernels.build.errors import BuildError
from kernels.build.terms import Buffer, Scalar, Term, dtype_of, post_order
from kernels.build.value import Value
from kernels.dtypes import DType
from kernels.index import Index, product, upper
from kernels.ir import Ast
from kernels.ops import Ops
from kernels.quote import quote_shape
from kernels.wire import parse_ast


class Graph:
    """A kernel while it is written.

    Slots: first the stored buffers in the order of their stores, then those that are only loaded, as they were made.
    """

    def __init__(self) -> None:
        self._buffers: list[Buffer] = []
        self._stores: list[tuple[Term, Term]] = []  # (a LOAD of the place, the value)

    def load(self, dtype: str, shape: Sequence[Index]) -> Value:
        """All of a new buffer, row-major in `shape`. Its declared size is that at the variables' greatest values."""
        return Value(self._whole(dtype_of(dtype), tuple(shape)))

    def store(self, value: Value, at: Value | None = None) -> None:
        """Store `value` to a new buffer of its shape; or `at` the elements of a load, which may have been moved.

        What is loaded as well is updated in place: `g.store(x + 1, at=x)`. Raises BuildError where `at` is no load of
        this graph, or not of the value's shape and dtype.
        """
        place = self._whole(value.dtype, value.shape) if at is None else at.term
        if place.op is not Ops.LOAD or place.arg not in self._buffers:
            raise BuildError("a value is stored at something that this graph has loaded")
        if (place.shape, place.dtype) != (value.shape, value.dtype):
            raise BuildError(f"a value of {_kind(value.term)} is stored at elements of {_kind(place)}")
        self._stores.append((place, value.term))

    def build(self) -> Ast:
        """The verified AST. Raises BuildError for a buffer without use, AstError for a rule that the whole breaks."""
        if not self._stores:
            raise BuildError("nothing is stored")
        loaded = {term.arg for term in post_order([value for _, value in self._stores]) if isinstance(term.arg, Buffer)}
        if not loaded <= set(self._buffers):
            raise BuildError("a stored value is made of another graph's loads")
        stored = list(dict.fromkeys(place.arg for place, _ in self._stores if isinstance(place.arg, Buffer)))
        only_loaded = [buffer for buffer in self._buffers if buffer not in stored]
        for buffer in only_loaded:
            if buffer not in loaded:
                raise BuildError(f"a buffer of {buffer.dtype} is loaded, and no stored value depends on it")
        return parse_ast(document_of(self._stores, [*stored, *only_loaded]))

    def _whole(self, dtype: DType, shape: tuple[Index, ...]) -> Term:
        self._buffers.append(Buffer(dtype, upper(product(shape))))
        return terms.load(self._buffers[-1], movement.contiguous(shape))


def constant(value: Scalar, dtype: str, shape: Sequence[Index]) -> Value:
    """`value` everywhere. Beside another value a plain number does."""
    return Value(terms.constant(value, dtype_of(dtype), tuple(shape)))


def valid(shape: Sequence[Index]) -> Value:
    """True everywhere. Padding makes it false outside, and movements tell where an element came from."""
    return Value(terms.valid(movement.broadcast(shape)))


def variable_value(variable: Index, shape: Sequence[Index]) -> Value:
    """The number that a variable is at launch, as int32, everywhere."""
    return Value(terms.variable_value(variable, tuple(shape)))


def _kind(term: Term) -> str:
    return f"{term.dtype} {quote_shape(term.shape)}"
