"""Element types: their names on the wire, sizes, and the classes that rules speak of."""

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What arithmetic a dtype has."""

    BOOL = "bool"
    SIGNED = "signed"
    UNSIGNED = "unsigned"
    FLOAT = "float"


@dataclass(frozen=True, slots=True)
class DType:
    """One element type. `itemsize` is in bytes; `name` is the wire form's."""

    name: str
    kind: Kind
    itemsize: int

    @property
    def bits(self) -> int:
        """The width of an element."""
        return 8 * self.itemsize

    @property
    def is_float(self) -> bool:
        """True for the floating-point types."""
        return self.kind is Kind.FLOAT

    @property
    def is_bool(self) -> bool:
        """True for bool alone."""
        return self.kind is Kind.BOOL

    @property
    def is_int(self) -> bool:
        """True for the signed and unsigned integers, not for bool."""
        return self.kind is Kind.SIGNED or self.kind is Kind.UNSIGNED

    @property
    def min(self) -> int | float:
        """The least value: -inf for floats."""
        if self.kind is Kind.FLOAT:
            return float("-inf")
        return -(1 << (self.bits - 1)) if self.kind is Kind.SIGNED else 0

    @property
    def max(self) -> int | float:
        """The greatest value: inf for floats, 1 for bool."""
        if self.kind is Kind.FLOAT:
            return float("inf")
        if self.kind is Kind.BOOL:
            return 1
        return (1 << (self.bits - (self.kind is Kind.SIGNED))) - 1

    def __str__(self) -> str:
        return self.name


BOOL = DType("bool", Kind.BOOL, 1)
INT8 = DType("int8", Kind.SIGNED, 1)
UINT8 = DType("uint8", Kind.UNSIGNED, 1)
INT16 = DType("int16", Kind.SIGNED, 2)
UINT16 = DType("uint16", Kind.UNSIGNED, 2)
INT32 = DType("int32", Kind.SIGNED, 4)
UINT32 = DType("uint32", Kind.UNSIGNED, 4)
INT64 = DType("int64", Kind.SIGNED, 8)
UINT64 = DType("uint64", Kind.UNSIGNED, 8)
FLOAT16 = DType("float16", Kind.FLOAT, 2)
BFLOAT16 = DType("bfloat16", Kind.FLOAT, 2)
FLOAT32 = DType("float32", Kind.FLOAT, 4)
FLOAT64 = DType("float64", Kind.FLOAT, 8)

DTYPES: dict[str, DType] = {
    dtype.name: dtype
    for dtype in (
        BOOL, INT8, UINT8, INT16, UINT16, INT32, UINT32, INT64, UINT64, FLOAT16, BFLOAT16, FLOAT32, FLOAT64,
    )
}  # fmt: skip
