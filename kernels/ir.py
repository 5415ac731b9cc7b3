"""The AST as a value: nodes in post-order, each with its shape.

An `Ast` is always verified and normalised: it is what `wire.parse_ast` returns. Structurally equal nodes are one node,
nodes are numbered in depth-first post-order from the SINK (sources left to right), and nodes that the SINK does not
reach are gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from kernels.dtypes import DType
from kernels.index import Index
from kernels.ops import Ops


@dataclass(frozen=True, slots=True)
class View:
    """One view: `shape`, `strides` in elements (0 broadcasts), `offset`, and where it is valid.

    `mask` is None (valid everywhere) or one half-open pair [from, to) per axis. Sizes may be expressions of variables.
    """

    shape: tuple[Index, ...]
    strides: tuple[Index, ...]
    offset: Index = 0
    mask: tuple[tuple[Index, Index], ...] | None = None


#: Views applied one after the other, the outermost last: the axes are the last view's, positions go down to the first.
Views: TypeAlias = tuple[View, ...]


@dataclass(frozen=True, slots=True)
class BufferArg:
    """A DEFINE_GLOBAL's: the argument slot, and how many elements the buffer has."""

    slot: int
    size: int


@dataclass(frozen=True, slots=True)
class VariableArg:
    """A DEFINE_VAR's: an int32 in [min, max] given at launch."""

    name: str
    min: int
    max: int


@dataclass(frozen=True, slots=True)
class ReduceArg:
    """A REDUCE_AXIS's: ADD, MUL or MAX over `axes` (ascending axis numbers of the AST's shapes)."""

    op: Ops
    axes: tuple[int, ...]


NodeArg: TypeAlias = BufferArg | VariableArg | ReduceArg | Views | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Node:
    """One node. `src` are numbers of earlier nodes; `dtype` is None on VIEW, STORE and SINK."""

    op: Ops
    dtype: DType | None
    src: tuple[int, ...]
    arg: NodeArg


@dataclass(frozen=True, slots=True)
class Ast:
    """A verified, normalised kernel AST.

    `nodes` are in post-order, the SINK last. `shapes` has one entry a node: the shape of VIEW and of every value,
    None for DEFINE_GLOBAL and SINK (a STORE's is its view's). `variables` are all that sizes or DEFINE_VAR nodes use,
    by name. `reaches` says per slot, ascending, how many elements a buffer must hold: one more than the greatest
    position that a view reaches (at the variables' maxima). `size_unproven` holds where a dynamic kernel's reach can be
    above the declared size, so that whoever launches must compare.
    """

    nodes: tuple[Node, ...]
    shapes: tuple[tuple[Index, ...] | None, ...]
    variables: tuple[VariableArg, ...]
    reaches: tuple[Index, ...]
    size_unproven: bool
