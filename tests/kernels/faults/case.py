"""What a fault case is: a kernel that systems of this kind got wrong, the Opts to try on it, and the right answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tests.made.build import Document
from tests.oracle import OptTriple

Array = np.ndarray[Any, Any]
Opts = tuple[OptTriple, ...]


@dataclasses.dataclass(frozen=True)
class Run:
    """One run: what lies in the buffers before (by slot), and what in the stored ones after. Arrays in storage form.

    A stored buffer that is not in `inputs` holds whatever it may. `tolerance` is relative; NaN equals NaN.
    """

    inputs: Mapping[int, Array]
    expected: Mapping[int, Array]
    variables: Mapping[str, int] = dataclasses.field(default_factory=dict)
    tolerance: float = 0.0


@dataclasses.dataclass(frozen=True)
class FaultCase:
    """One kernel of a fault; several may have the same label. `opts` holds sequences, each from the untouched kernel.

    `refused` are those of `opts` that must be refused, the others may be. `target` is a name as tests.oracle has them.
    """

    label: str
    about: str
    document: Document
    opts: tuple[Opts, ...] = ()
    refused: tuple[Opts, ...] = ()
    runs: tuple[Run, ...] = ()
    target: str = "opencl"

    @property
    def name(self) -> str:
        return f"{self.label} {self.about}"


def floats(values: Any) -> Array:
    return np.array(values, dtype=np.float32)


def ints(values: Any) -> Array:
    return np.array(values, dtype=np.int32)


def count(*shape: int, start: int = 0) -> Array:
    """start, start + 1, ... as float32 in that shape; exact, and so are sums of it below 2^24."""
    size = int(np.prod(shape))
    return np.arange(start, start + size, dtype=np.float32).reshape(shape)


def sequences(*opts: Sequence[OptTriple] | OptTriple) -> tuple[Opts, ...]:
    """Each argument is one Opt, or a list of them."""
    return tuple((o,) if isinstance(o, tuple) else tuple(o) for o in opts)
