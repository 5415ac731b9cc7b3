"""Random legal Opts drawn from a kernel's own axes, for programs that a fixed list of actions would never make.

Amounts are divisors of the axis at hand (primes and odd ones too), padding goes to multiples that the axis does not
have, and every kind of Opt occurs. Lanes and work-groups are kept at sizes that a CPU's OpenCL compiler can bear.
"""

from __future__ import annotations

import random
from math import prod

from kernels import Kernel, KernelOptError, Opt, OptOps
from kernels.index import upper

DEEPEST = 5
TRIES = 40
#: PoCL takes minutes over a body of thousands of statements, and over work-groups that are loops around such a body.
LANES_MAX = 128
GROUP_MAX = 256

_KINDS = {
    OptOps.UPCAST: 5,
    OptOps.LOCAL: 5,
    OptOps.UNROLL: 4,
    OptOps.GROUP: 3,
    OptOps.GROUPTOP: 3,
    OptOps.PADTO: 3,
    OptOps.SWAP: 2,
    OptOps.NOLOCALS: 1,
}


def random_walk(kernel: Kernel, seed: object, deepest: int = DEEPEST) -> Kernel:
    """A copy of `kernel` after 1 to `deepest` random legal Opts (fewer where none is found): a function of the seed."""
    rng = random.Random(f"walk/{seed}")
    walked = kernel.copy()
    wanted = rng.randint(1, deepest)
    for _ in range(TRIES):
        if len(walked.applied_opts) == wanted:
            break
        opt = random_opt(rng, walked)
        if opt is None:
            continue
        try:
            walked.apply_opt(opt)
        except KernelOptError:
            continue
    return walked


def random_opt(rng: random.Random, kernel: Kernel) -> Opt | None:
    """An Opt that may be legal on `kernel`; None where it has no axis for the kind that was drawn."""
    (kind,) = rng.choices(list(_KINDS), list(_KINDS.values()))
    state = kernel.state
    if kind is OptOps.NOLOCALS:
        return Opt(kind)
    if kind is OptOps.SWAP:
        if state.n_global < 2:
            return None
        first, second = sorted(rng.sample(range(state.n_global), 2))
        return Opt(kind, first, second)
    axes, counted_from, most = _axes_for(kind, kernel)
    if not axes:
        return None
    place = rng.choice(axes)
    amount = _padding(rng, state.sizes[place]) if kind is OptOps.PADTO else _amount(rng, state.sizes[place], most)
    return None if amount is None else Opt(kind, place - counted_from, amount)


def _axes_for(kind: OptOps, kernel: Kernel) -> tuple[range, int, int]:
    """(the places of axes that the kind may act on, the place it counts from, the largest amount that is borne)."""
    state = kernel.state
    lanes = LANES_MAX // _product(kernel, state.first_upcast, len(state.sizes))
    items = GROUP_MAX // _product(kernel, state.n_global, state.first_loop)
    if kind is OptOps.UPCAST:
        return range(state.first_reduce), 0, min(lanes, 16)
    if kind is OptOps.UNROLL:
        return range(state.first_reduce, state.first_upcast), state.first_reduce, min(lanes, 32)
    if kind is OptOps.LOCAL:
        return range(state.n_global), 0, items
    if kind is OptOps.PADTO:
        return range(state.first_upcast), 0, 0
    return range(state.first_loop, state.first_upcast), state.first_loop, items


def _product(kernel: Kernel, first: int, end: int) -> int:
    return prod(upper(size) for size in kernel.full_shape[first:end])


def _amount(rng: random.Random, size: object, most: int) -> int | None:
    """A divisor of `size`, small ones more often; now and then 0, the whole axis."""
    if not isinstance(size, int) or size < 2:
        return 4  # a dynamic axis: to be refused
    divisors = [amount for amount in range(2, min(size, most) + 1) if size % amount == 0]
    if not divisors:
        return None
    if divisors[-1] == size and rng.random() < 0.2:
        return 0
    return rng.choices(divisors, [1 / amount**0.5 for amount in divisors])[0]


def _padding(rng: random.Random, size: object) -> int | None:
    """A number that `size` is no multiple of, and that adds no more than three times the axis."""
    if not isinstance(size, int):
        return 4
    fitting = [amount for amount in (2, 3, 4, 5, 7, 8, 12, 16, 24, 32, 64) if size % amount and size > amount // 4]
    return rng.choice(fitting) if fitting else None
