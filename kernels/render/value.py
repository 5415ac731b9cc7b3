"""A value in a program's source: what it is written as, and of which type."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.dtypes import DType


@dataclass(frozen=True, slots=True)
class Value:
    """`text` is an expression of `dtype` with `width` lanes (1: a scalar). `simple`: writing it twice costs nothing.

    A vector of bool is a mask: per lane an integer of `mask_bits`, all ones for true. mask_bits is 0 for all else.
    """

    text: str
    dtype: DType
    width: int = 1
    mask_bits: int = 0
    simple: bool = False
