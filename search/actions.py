"""Action sets: the Opts that a search tries on a kernel. Each is named, versioned and in a fixed order.

"axes-1" takes its Opts from the kernel's own axes and its target. "tinygrad-0.10.2" is the fixed list of that release's
BEAM, for comparison. An action may still be refused by the kernel that it is tried on; that costs microseconds.
A set that changes gets another version, so that results of both can be told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import prod

from kernels import Kernel, Opt, OptOps
from search.errors import UnknownActionSetError


@dataclass(frozen=True, slots=True)
class ActionSet:
    """`opts_for` gives the Opts that may come next on a kernel, in the order in which equal results are preferred."""

    name: str
    opts_for: Callable[[Kernel], Iterator[Opt]]


def action_set(name: str) -> ActionSet:
    """The action set of a name. Raises UnknownActionSetError where there is none."""
    found = _SETS.get(name)
    if found is None:
        raise UnknownActionSetError(name, tuple(sorted(_SETS)))
    return ActionSet(name, found)


#: Upcast times unroll. Compilers take minutes over more, and no register file holds it.
_LANES_MAX = 512
_UPCAST_MAX = 16
_UNROLLS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 25, 27, 32)
#: Work-items: powers of two, some thirds, and small odd sizes as images have them.
_ITEMS = (2, 3, 4, 5, 6, 7, 8, 12, 14, 16, 24, 28, 32, 48, 56, 64, 96, 128, 256)
_PADS = (4, 8, 16, 32)
#: Padding that adds more than a third costs more than it brings.
_PAD_GROWTH = 4 / 3
#: Triples of axes of a matrix product that a tensor core may take, counted from the last.
_TC_TRIPLES = 9


def _axes_1(kernel: Kernel) -> Iterator[Opt]:
    state, target = kernel.state, kernel.target
    sizes = state.sizes
    lanes = _LANES_MAX // _product(sizes[state.first_upcast :])
    items = target.work_group_max // _product(sizes[state.n_global : state.first_loop])
    if target.tensor_cores and not state.opts:
        yield from (Opt(OptOps.TC, axis, (-1, level)) for level in (0, 2) for axis in range(_TC_TRIPLES))
    for axis in range(state.first_reduce):
        for amount in _divisors(sizes[axis], range(2, min(_UPCAST_MAX, lanes) + 1)):
            yield Opt(OptOps.UPCAST, axis, amount)
    for axis in range(state.first_reduce, state.first_upcast):
        for amount in _divisors(sizes[axis], _UNROLLS):
            if amount <= lanes:
                yield Opt(OptOps.UNROLL, axis - state.first_reduce, amount)
    if target.has_local and not state.no_locals:
        yield from _work_group_opts(kernel, items)
    for axis in range(state.first_upcast):
        yield from (Opt(OptOps.PADTO, axis, amount) for amount in _paddings(sizes[axis]))
    for first, second in combinations(range(state.n_global), 2):
        yield Opt(OptOps.SWAP, first, second)
    if target.has_local and not (state.no_locals or state.n_local or state.n_group):
        yield Opt(OptOps.NOLOCALS)


def _work_group_opts(kernel: Kernel, items: int) -> Iterator[Opt]:
    """LOCAL, GROUP and GROUPTOP by amounts that leave the work-group at `items` times what it is at most."""
    state = kernel.state
    amounts = tuple(amount for amount in _ITEMS if amount <= items)
    for axis in range(state.n_global):
        yield from (Opt(OptOps.LOCAL, axis, amount) for amount in _divisors(state.sizes[axis], amounts))
    if kernel.target.has_shared and kernel.nest.can_group and state.tc is None:
        for axis in range(state.first_loop, state.first_upcast):
            for amount in _divisors(state.sizes[axis], amounts):
                yield Opt(OptOps.GROUP, axis - state.first_loop, amount)
                yield Opt(OptOps.GROUPTOP, axis - state.first_loop, amount)


def _divisors(size: object, amounts: range | tuple[int, ...]) -> Iterator[int]:
    """Those of `amounts` that divide an axis; none where its size is not fixed."""
    return (amount for amount in amounts if isinstance(size, int) and size % amount == 0)


def _paddings(size: object) -> Iterator[int]:
    """Multiples that an axis is none of yet, and that it grows little to."""
    return (n for n in _PADS if isinstance(size, int) and size % n and -(-size // n) * n <= size * _PAD_GROWTH)


def _product(sizes: tuple[object, ...]) -> int:
    return prod(size for size in sizes if isinstance(size, int))


#: (kind, axes, amounts) as tinygrad 0.10.2's BEAM has them where no environment variable says otherwise.
_FIXED: tuple[tuple[OptOps, range, tuple[int, ...]], ...] = (
    (OptOps.UPCAST, range(6), (0, 2, 3, 4, 5, 7)),
    (OptOps.UNROLL, range(5), (0, 4, 7)),
    (OptOps.LOCAL, range(6), (2, 3, 4, 8, 13, 16, 29)),
    (OptOps.GROUPTOP, range(3), (13, 16, 28, 29, 32, 49, 64, 256)),
    (OptOps.GROUP, range(3), (0, 4, 8, 16)),
    (OptOps.PADTO, range(7), (32,)),
    (OptOps.LOCAL, range(1), (32,)),
    (OptOps.LOCAL, range(6, 7), (2,)),
)


def _tinygrad_0_10_2(kernel: Kernel) -> Iterator[Opt]:
    for op, axes, amounts in _FIXED:
        yield from (Opt(op, axis, amount) for amount in amounts for axis in axes)
    yield Opt(OptOps.TC, 0, (-1, 0))
    yield from (Opt(OptOps.TC, axis, (-1, 2)) for axis in range(_TC_TRIPLES))
    yield from (Opt(OptOps.SWAP, first, second) for first, second in combinations(range(5), 2))


_SETS: Mapping[str, Callable[[Kernel], Iterator[Opt]]] = {"axes-1": _axes_1, "tinygrad-0.10.2": _tinygrad_0_10_2}
