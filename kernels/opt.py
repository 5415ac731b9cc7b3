"""`Opt`: one step of optimising a kernel, as a value. What each does to a kernel, and when it is legal, is in apply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import total_ordering
from typing import Any, TypeAlias

from kernels.errors import KernelOptError


class OptOps(IntEnum):
    """The kinds of Opt; the name is the wire form's, the value orders them (and is nothing else's business)."""

    TC = 0
    UPCAST = 1
    UNROLL = 2
    LOCAL = 3
    GROUP = 4
    GROUPTOP = 5
    NOLOCALS = 6
    PADTO = 7
    SWAP = 8


#: A number for most, (tensor core, option) for TC, None for NOLOCALS.
OptArg: TypeAlias = int | tuple[int, int] | None


@total_ordering
@dataclass(frozen=True, slots=True)
class Opt:
    """`op` on `axis` with `arg`. Immutable, hashable, and ordered by (op, axis, arg).

    How `axis` is counted depends on `op`: UNROLL counts from the kernel's first reduced axis, GROUP and GROUPTOP from
    its first reduce-loop axis, all others from 0. An `arg` of 0 stands for the whole axis.
    """

    op: OptOps
    axis: int | None = None
    arg: OptArg = None

    def __lt__(self, other: Opt) -> bool:
        return self._order() < other._order()

    def _order(self) -> tuple[int, int, tuple[int, ...]]:
        arg = () if self.arg is None else self.arg if isinstance(self.arg, tuple) else (self.arg,)
        return int(self.op), -1 if self.axis is None else self.axis, arg

    def __str__(self) -> str:
        if self.op is OptOps.NOLOCALS and self.axis is None and self.arg is None:
            return "NOLOCALS"
        return f"{self.op.name}({self.axis}, {self.arg})"

    def to_wire(self) -> dict[str, Any]:
        """The JSON form: `{"op": "UPCAST", "axis": 0, "arg": 4}`; a TC's arg is a list, NOLOCALS has its op alone."""
        document: dict[str, Any] = {"op": self.op.name}
        if self.axis is not None:
            document["axis"] = self.axis
        if self.arg is not None:
            document["arg"] = list(self.arg) if isinstance(self.arg, tuple) else self.arg
        return document

    @staticmethod
    def from_wire(document: object) -> Opt:
        """The Opt of its JSON form. Raises KernelOptError where it has none of its form; legality is not looked at."""
        if not isinstance(document, Mapping) or not set(document) <= {"op", "axis", "arg"}:
            raise KernelOptError("an Opt is an object of op, axis and arg")
        name = document.get("op")
        if not isinstance(name, str) or name not in OptOps.__members__:
            raise KernelOptError("unknown Opt {}", name)
        axis, arg = document.get("axis"), document.get("arg")
        if isinstance(arg, list) and len(arg) == 2 and all(is_integer(part) for part in arg):
            arg = (arg[0], arg[1])
        elif not (arg is None or is_integer(arg)):
            raise KernelOptError("the arg of an Opt is an integer or a pair of integers, not {}", arg)
        if not (axis is None or is_integer(axis)):
            raise KernelOptError("the axis of an Opt is an integer, not {}", axis)
        return Opt(OptOps[name], axis, arg)


def is_integer(value: object) -> bool:
    """True for a plain int; a bool is none here."""
    return type(value) is int
