"""What Opts have made of a nest's axes: an immutable value, cheap to derive another from.

The axes are in a fixed order: global, local, group, reduce loop, then upcast and unroll in the order of application.
Each axis has an id; the nest's axes are 0, 1, ..., and every split or padding makes new ids. How an axis of the nest
comes from the axes that are left is kept as a chain of rules, the newest first; it is only walked when a program or the
heuristic wants index expressions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

from kernels.index import Atom, Axis, Index, single
from kernels.opt import Opt
from kernels.tensor_cores import TensorCore


class Split(NamedTuple):
    """Axis `parent` is `outer` * `inner_size` + `inner`. order: the ids of all axes when it was split."""

    parent: int
    outer: int
    inner: int
    outer_size: int
    inner_size: int
    order: tuple[int, ...]


class Pad(NamedTuple):
    """Axis `parent` is `padded`, which goes on to `new_size` beyond the `old_size` elements that there are."""

    parent: int
    padded: int
    old_size: int
    new_size: int


#: A linked list: (the newest rule, the older ones), or None.
Rules: TypeAlias = "tuple[Split | Pad, Rules] | None"


@dataclass(frozen=True, slots=True)
class MatrixProduct:
    """A reduction that a tensor core computes: node numbers of the REDUCE_AXIS and of the loads of A and B."""

    reduce: int
    a: int
    b: int


@dataclass(frozen=True, slots=True)
class TensorCoreUse:
    """A tensor core at work. n, m: the ids of what is left of its axes outside the tile, None where nothing is.

    products: every reduction, all on the same axes. lanes, k_unrolls, upcasts: ids of the tile's axes, lowest bit
    first.
    """

    core: TensorCore
    products: tuple[MatrixProduct, ...]
    n: int | None
    m: int | None
    lanes: tuple[int, ...]
    k_unrolls: tuple[int, ...]
    upcasts: tuple[int, ...]


class KernelState:
    """The axes after `opts`. Never changed: an Opt makes a new one. A plain class: search makes them by the million.

    sizes, ids: per axis. The roles are runs of axes, each ending where the next begins: global before `n_global`, local
    before `first_reduce`, group before `first_loop`, reduce loop before `first_upcast`, and from there on upcast, with
    `unrolled` telling for each of those whether it is an unroll (True) or an upcast.
    """

    __slots__ = (
        "first_loop", "first_reduce", "first_upcast", "ids", "n_global", "next_id", "no_locals", "opts", "rules",
        "sizes", "tc", "unrolled",
    )  # fmt: skip

    def __init__(
        self,
        sizes: tuple[Index, ...],
        ids: tuple[int, ...],
        n_global: int,
        first_reduce: int,
        first_loop: int,
        first_upcast: int,
        unrolled: tuple[bool, ...],
        rules: Rules,
        next_id: int,
        no_locals: bool,
        tc: TensorCoreUse | None,
        opts: tuple[Opt, ...],
    ) -> None:
        self.sizes = sizes
        self.ids = ids
        self.n_global = n_global
        self.first_reduce = first_reduce
        self.first_loop = first_loop
        self.first_upcast = first_upcast
        self.unrolled = unrolled
        self.rules = rules
        self.next_id = next_id
        self.no_locals = no_locals
        self.tc = tc
        self.opts = opts

    @property
    def n_local(self) -> int:
        """How many axes are local."""
        return self.first_reduce - self.n_global

    @property
    def n_group(self) -> int:
        """How many axes are group axes."""
        return self.first_loop - self.first_reduce

    def replaced(
        self,
        *,
        sizes: tuple[Index, ...] | None = None,
        ids: tuple[int, ...] | None = None,
        rules: Rules = None,
        next_id: int | None = None,
        no_locals: bool | None = None,
        tc: TensorCoreUse | None = None,
        opts: tuple[Opt, ...] | None = None,
    ) -> KernelState:
        """The same but for what is given; the roles stay."""
        return KernelState(
            self.sizes if sizes is None else sizes,
            self.ids if ids is None else ids,
            self.n_global,
            self.first_reduce,
            self.first_loop,
            self.first_upcast,
            self.unrolled,
            self.rules if rules is None else rules,
            self.next_id if next_id is None else next_id,
            self.no_locals if no_locals is None else no_locals,
            self.tc if tc is None else tc,
            self.opts if opts is None else opts,
        )


def rules_newest_first(state: KernelState) -> Iterator[Split | Pad]:
    """The rules from the last Opt's back to the first's."""
    rules = state.rules
    while rules is not None:
        rule, rules = rules
        yield rule


def rules_oldest_first(state: KernelState) -> list[Split | Pad]:
    """The rules in the order in which they were made."""
    return list(rules_newest_first(state))[::-1]


@dataclass(frozen=True, slots=True)
class Padding:
    """Elements of nest axis number `axis` are real where `position` (over the state's axes) is below `size`."""

    axis: int
    position: Index
    size: int


def nest_axes(state: KernelState, sizes: tuple[Index, ...]) -> tuple[dict[Atom, Index], tuple[Padding, ...]]:
    """The nest's axes (of `sizes`) as expressions of the state's, `Axis(id, size)`, and the paddings."""
    values: dict[int, Index] = {
        axis: single(Axis(axis, size)) for axis, size in zip(state.ids, state.sizes, strict=True)
    }
    pads: list[Pad] = []
    for rule in rules_newest_first(state):
        if isinstance(rule, Split):
            values[rule.parent] = values[rule.outer] * rule.inner_size + values[rule.inner]
        else:
            values[rule.parent] = values[rule.padded]
            pads.append(rule)
    roots = carried(state, tuple(range(len(sizes))))
    paddings = tuple(Padding(roots[pad.padded], values[pad.padded], pad.old_size) for pad in pads)
    return {Axis(number, size): values[number] for number, size in enumerate(sizes)}, paddings


_T = TypeVar("_T")


def carried(state: KernelState, of_nest: tuple[_T, ...]) -> dict[int, _T]:
    """By axis id, what each axis has from the nest's axis that it was made of."""
    values = dict(enumerate(of_nest))
    for rule in rules_oldest_first(state):
        if isinstance(rule, Split):
            values[rule.outer] = values[rule.inner] = values[rule.parent]
        else:
            values[rule.padded] = values[rule.parent]
    return values
