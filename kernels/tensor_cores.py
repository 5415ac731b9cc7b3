"""Tensor cores as tables: `D(MxN) = A(MxK) x B(KxN) + C(MxN)` done by one warp at once.

A table says how the tile's coordinates are spread over the warp's lanes and each lane's elements. All sizes are powers
of two, so a coordinate is written bit by bit: "n0" is the lowest bit of the position along N. A fragment names, from
the lowest bit up, which coordinate bit each bit of the lane number and each bit of the element number holds.

Figures for CUDA: the PTX ISA's fragment layouts of mma.sync.m16n8k16 and .m16n8k8 ("Matrix Fragments for mma").
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2, prod

from kernels.dtypes import BFLOAT16, FLOAT16, FLOAT32, DType


@dataclass(frozen=True, slots=True)
class Fragment:
    """How one matrix of a tile lies in a warp: the coordinate bits of the lane number, and of the element number."""

    lane: tuple[str, ...]
    element: tuple[str, ...]

    def position(self, lane: int, element: int) -> dict[str, int]:
        """The position along each of the two dimensions (by letter) of element number `element` that `lane` holds."""
        at: dict[str, int] = {}
        for number, bits in ((lane, self.lane), (element, self.element)):
            for place, bit in enumerate(bits):
                at[bit[0]] = at.get(bit[0], 0) | ((number >> place) & 1) << int(bit[1:])
        return at


@dataclass(frozen=True, slots=True)
class TensorCore:
    """One matrix instruction. Checks itself when made: ValueError names what does not fit.

    dims: (N, M, K), in elements. threads: lanes of the warp. elements: per lane, of A, B and C.
    splits: how an output tile is shaped, in order: "l0" makes a factor 2 of N a local axis, "u1" one of M an upcast
    axis. K is split off before, as log2(K) unrolls of 2.
    """

    name: str
    dims: tuple[int, int, int]
    threads: int
    elements: tuple[int, int, int]
    dtype_in: DType
    dtype_out: DType
    splits: tuple[str, ...]
    a: Fragment
    b: Fragment
    c: Fragment

    def __post_init__(self) -> None:
        n, m, k = self.dims
        for size in (*self.dims, self.threads, *self.elements):
            self._check(size >= 1 and size & (size - 1) == 0, f"{size} is no power of two")
        lanes, upcasts = self._splits_of("l"), self._splits_of("u")
        self._check(2 ** len(lanes) == self.threads, "the local splits do not make the threads")
        self._check(2 ** len(upcasts) == self.elements[2], "the upcast splits do not make C's elements")
        self._check(2 ** sum(s[1] == "0" for s in self.splits) == n, "the splits of axis 0 do not make N")
        self._check(2 ** sum(s[1] == "1" for s in self.splits) == m, "the splits of axis 1 do not make M")
        for fragment, elements, (first, second), label in (
            (self.a, self.elements[0], (("m", m), ("k", k)), "A"),
            (self.b, self.elements[1], (("k", k), ("n", n)), "B"),
            (self.c, self.elements[2], (("m", m), ("n", n)), "C"),
        ):
            bits = (*fragment.lane, *fragment.element)
            wanted = {f"{letter}{i}" for letter, size in (first, second) for i in range(int(log2(size)))}
            self._check(len(fragment.element) == log2(elements), f"{label} has another number of elements a lane")
            self._check(len(fragment.lane) == log2(self.threads), f"{label} has another number of lanes")
            self._check(set(bits) == wanted and len(bits) == len(wanted), f"{label} does not hold each element once")
        self._check(self.c == self._fragment_of_splits(), "C's fragment is not what the splits make")
        self._check(prod(self.elements[:1]) * self.threads == m * k, "A's elements do not fill the tile")

    def _check(self, holds: bool, complaint: str) -> None:
        if not holds:
            raise ValueError(f"tensor core {self.name}: {complaint}")

    def _splits_of(self, kind: str) -> tuple[str, ...]:
        return tuple(split for split in self.splits if split[0] == kind)

    def _fragment_of_splits(self) -> Fragment:
        """Each split takes the lowest bit of its axis that is left."""
        taken = {"0": 0, "1": 0}
        bits: dict[str, list[str]] = {"l": [], "u": []}
        for split in self.splits:
            kind, axis = split[0], split[1]
            bits[kind].append(f"{'nm'[int(axis)]}{taken[axis]}")
            taken[axis] += 1
        return Fragment(tuple(bits["l"]), tuple(bits["u"]))

    @property
    def lane_splits(self) -> int:
        """How many local axes of 2 the splits make."""
        return len(self._splits_of("l"))

    @property
    def k_splits(self) -> int:
        """How many unrolls of 2 split K off."""
        return self.dims[2].bit_length() - 1


_SPLITS = ("u0", "l0", "l0", "l1", "l1", "l1", "u1")
_C = Fragment(("n1", "n2", "m0", "m1", "m2"), ("n0", "m3"))


def _mma(k: int, dtype_in: DType, dtype_out: DType) -> TensorCore:
    """mma.sync.m16n8k<k> with elements of two bytes: a lane's neighbours along K come in pairs."""
    high = ("k3",) if k == 16 else ()
    return TensorCore(
        name=f"m16n8k{k}_{dtype_in}_{dtype_out}",
        dims=(8, 16, k),
        threads=32,
        elements=(k // 2, k // 4, 4),
        dtype_in=dtype_in,
        dtype_out=dtype_out,
        splits=_SPLITS,
        a=Fragment(("k1", "k2", "m0", "m1", "m2"), ("k0", "m3", *high)),
        b=Fragment(("k1", "k2", "n0", "n1", "n2"), ("k0", *high)),
        c=_C,
    )


_M16N8K8_TF32 = TensorCore(
    name="m16n8k8_tf32_float32",
    dims=(8, 16, 8),
    threads=32,
    elements=(4, 2, 4),
    dtype_in=FLOAT32,
    dtype_out=FLOAT32,
    splits=_SPLITS,
    a=Fragment(("k0", "k1", "m0", "m1", "m2"), ("m3", "k2")),
    b=Fragment(("k0", "k1", "n0", "n1", "n2"), ("k2",)),
    c=_C,
)

_SM_75 = (_mma(8, FLOAT16, FLOAT32), _mma(8, FLOAT16, FLOAT16))
_SM_80 = (_mma(16, FLOAT16, FLOAT32), _mma(16, BFLOAT16, FLOAT32), _mma(16, FLOAT16, FLOAT16), *_SM_75)


def cuda_tensor_cores(compute_capability: int, allow_tf32: bool) -> tuple[TensorCore, ...]:
    """The cores of a CUDA architecture (80 for sm_80), in the order that a TC Opt numbers them. None below 75."""
    if compute_capability < 75:
        return ()
    if compute_capability < 80:
        return _SM_75
    return (*_SM_80, _M16N8K8_TF32) if allow_tf32 else _SM_80
