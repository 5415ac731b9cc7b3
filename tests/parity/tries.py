"""Random Opts: half with amounts that look legal for the kernel at hand, half wild."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tinygrad.engine.search import actions

from tests.oracle import OptTriple, Shown, opt_triple

BEAM_ACTIONS: tuple[OptTriple, ...] = tuple(opt_triple(action) for action in actions)
LEGAL_OPS = ("UPCAST", "UNROLL", "LOCAL", "GROUP", "GROUPTOP", "PADTO", "SWAP", "NOLOCALS")
LEGAL_WEIGHTS = (28, 18, 20, 9, 9, 10, 4, 2)
ALL_OPS = ("TC", *LEGAL_OPS)
PAD_AMOUNTS = (2, 3, 4, 5, 7, 8, 10, 12, 16, 32, 64, 100)
WILD_NUMBERS = (-3, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 24, 29, 32, 33, 64, 256, 1000, 4096, None)
MOST_CORES = 7


def random_opt(rng: random.Random, shown: Shown, cores: int) -> OptTriple:
    """The next try on a kernel that shows `shown`, on a target with that many tensor cores."""
    if cores and not shown.applied and rng.random() < 0.5:
        return random_tc(rng, cores)
    if rng.random() < 0.5:
        return legal_opt(rng, shown)
    return rng.choice(BEAM_ACTIONS) if rng.random() < 0.3 else wild_opt(rng, shown)


def random_tc(rng: random.Random, cores: int) -> OptTriple:
    """A TC of any select and opt; the first triples most often."""
    axis = rng.choices((0, 1, 2, 3, 4), (60, 16, 10, 8, 6))[0]
    return "TC", axis, (rng.choice((-1, -1, *range(cores))), rng.choice((0, 1, 2, 2)))


def legal_opt(rng: random.Random, shown: Shown) -> OptTriple:
    """An Opt whose axis is of the right role and whose amount mostly divides; wild where the role has no axis."""
    op = rng.choices(LEGAL_OPS, LEGAL_WEIGHTS)[0]
    groups = sum(color == "green" for color in shown.colors)
    if op == "NOLOCALS":
        return op, None, None
    if op == "SWAP":
        return op, rng.randrange(max(1, shown.global_dims)), rng.randrange(max(2, shown.global_dims))
    first, last, most = {
        "UPCAST": (0, shown.first_reduce, 16),
        "UNROLL": (shown.first_reduce, shown.first_upcast, 32),
        "LOCAL": (0, shown.global_dims, 64),
        "GROUP": (shown.first_reduce + groups, shown.first_upcast, 256),
        "GROUPTOP": (shown.first_reduce + groups, shown.first_upcast, 256),
        "PADTO": (0, shown.first_upcast, 0),
    }[op]
    if first >= last:
        return wild_opt(rng, shown)
    axis = rng.randrange(first, last)
    counted = axis - (first if op in ("UNROLL", "GROUP", "GROUPTOP") else 0)
    if op == "PADTO":
        return op, counted, rng.choice(PAD_AMOUNTS)
    size = shown.full_shape[axis]
    divisors = [n for n in range(2, most + 1) if size % n == 0] if isinstance(size, int) else []
    return op, counted, rng.choice([*divisors, 0]) if divisors and rng.random() < 0.9 else rng.choice((0, 2, 3, 4, 8))


def wild_opt(rng: random.Random, shown: Shown) -> OptTriple:
    """Any op on nearly any axis with nearly any arg, of the wrong type too."""
    op = rng.choice(ALL_OPS)
    axis = rng.choice((*range(-1, shown.shape_len + 2), *range(shown.shape_len), 0, 1, None))
    arg: Any = rng.choice(WILD_NUMBERS)
    if op == "TC" and rng.random() < 0.8:
        arg = (rng.randint(-2, MOST_CORES), rng.randint(-1, 3))
    elif rng.random() < 0.04:
        arg = rng.choice(((2,), (4, 4), (-1, 0), ()))
    return op, axis, arg


def every_tc(cores: int) -> Iterator[OptTriple]:
    """TC with every select, opt and axis from 0 to 4, one past each end."""
    for select in range(-1, cores + 1):
        for opt in range(3):
            for axis in range(5):
                yield "TC", axis, (select, opt)
