"""Kernels, Opts and targets whose generated sources are kept in tests/data/golden_sources."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from kernels import CODEGEN_VERSION, Kernel, Opt, Program, Target
from tests.codegen.subjects import DATA, TARGETS, kernel_of
from tests.kernels.shown import opt
from tests.oracle import OptTriple

FOLDER = DATA / "golden_sources"
VERSION_FILE = FOLDER / "version.json"

HEURISTIC = "heuristic"


@dataclass(frozen=True, slots=True)
class Golden:
    """A source: of which kernel, after which Opts (or the heuristic's), for which target."""

    kernel: str
    opts: tuple[OptTriple, ...] | str = ()
    target: str = "cpu"

    def shaped(self, target: Target | None = None) -> Kernel:
        """The kernel after the Opts."""
        kernel = kernel_of(self.kernel, target or TARGETS[self.target])
        return kernel.default_opts() if self.opts == HEURISTIC else _after(kernel, self.opts)


def _after(kernel: Kernel, opts: tuple[OptTriple, ...] | str) -> Kernel:
    chosen: list[Opt] = [] if isinstance(opts, str) else [opt(*triple) for triple in opts]
    for one in chosen:
        kernel.apply_opt(one)
    return kernel


_WIDE = (("UPCAST", 1, 16), ("UPCAST", 0, 4), ("LOCAL", 0, 4))

GOLDEN: dict[str, Golden] = {
    "matmul": Golden("corpus/gemm/01"),
    "matmul_heuristic": Golden("corpus/gemm/01", HEURISTIC),
    "matmul_heuristic_gpu": Golden("corpus/gemm/01", HEURISTIC, "gpu"),
    "matmul_no_local": Golden("corpus/gemm/01", (("UPCAST", 1, 8),), "no_local"),
    "matmul_16_wide": Golden("corpus/gemm/01", _WIDE),
    "matmul_padded": Golden("made/matmul/int8_int32", (("PADTO", 0, 7), ("PADTO", 2, 48), ("UNROLL", 0, 4))),
    "matmul_nolocals": Golden("corpus/gemm/01", (("UPCAST", 1, 4), ("NOLOCALS", None, None))),
    "matmul_swapped": Golden("corpus/gemm/01", (("SWAP", 0, 1), ("LOCAL", 0, 8))),
    "matmul_bfloat16": Golden("made/matmul/bfloat16_float", HEURISTIC),
    "matmul_half_gpu": Golden("made/matmul/half_half", HEURISTIC, "gpu"),
    "grouped_sum": Golden("corpus/reduce/01", (("GROUP", 0, 16), ("UNROLL", 0, 4))),
    "grouped_sum_gpu": Golden("corpus/reduce/01", HEURISTIC, "gpu"),
    "two_grouped_axes": Golden("made/reduce/shape_00_ADD_float32", (("GROUP", 0, 4), ("GROUPTOP", 1, 3))),
    "variance_grouped": Golden("made/reduce/variance_rows_4x1024", HEURISTIC),
    "softmax": Golden("made/reduce/softmax_rows_8x16", HEURISTIC),
    "maximum_int8": Golden("made/reduce/shape_05_MAX_int8", (("PADTO", 0, 32), ("UNROLL", 0, 8))),
    "pool_padded_int32": Golden("made/reduce/max_pool_int32", (("UNROLL", 1, 0), ("UPCAST", 1, 2))),
    "convolution_padded": Golden("made/conv/1_4_16_20_5_1_2_float32", HEURISTIC),
    "masked_copy": Golden("made/views/copied_2_masked_1", (("UPCAST", 1, 0), ("LOCAL", 0, 5))),
    "five_axes": Golden("made/views/five_axes_padded", (("LOCAL", 4, 3), ("UPCAST", 3, 2))),
    "transposed": Golden("made/views/transposed_copy", (("UPCAST", 1, 4), ("UPCAST", 0, 4))),
    "store_into_slice_gpu": Golden("made/elementwise/store_into_slice", HEURISTIC, "gpu"),
    "in_place": Golden("made/elementwise/in_place", HEURISTIC),
    "two_stores": Golden("made/elementwise/two_stores_same_shape", (("PADTO", 0, 12), ("UPCAST", 0, 4))),
    "dynamic_reduce": Golden("made/dynamic/reduce_length_ADD", (("UPCAST", 0, 4), ("LOCAL", 0, 2))),
    "dynamic_attention": Golden("made/dynamic/masked_attention", HEURISTIC),
    "bool_any": Golden("made/reduce/bool_any", HEURISTIC),
    "bool_operations": Golden("made/elementwise/bit_operations_bool", HEURISTIC),
    "bfloat16_operations": Golden("made/elementwise/binary_bfloat16", HEURISTIC),
    "division_int32": Golden("made/elementwise/divide_int32", HEURISTIC),
    "division_int8_gpu": Golden("made/elementwise/divide_int8", HEURISTIC, "gpu"),
    "float_functions": Golden("made/elementwise/float_functions_float32", HEURISTIC),
    "threefry": Golden("made/elementwise/threefry_bits", HEURISTIC),
    "gather": Golden("made/reduce/gather_50x32", (("UPCAST", 1, 4), ("LOCAL", 1, 8))),
}


@functools.cache
def generated() -> dict[str, Program]:
    """Every golden's program as it is now."""
    return {name: golden.shaped().to_program() for name, golden in GOLDEN.items()}


def digest(sources: dict[str, str]) -> str:
    """The SHA-256 of all sources, by name."""
    return hashlib.sha256(json.dumps(sources, sort_keys=True).encode()).hexdigest()


def path_of(name: str) -> Path:
    """The file of a golden source."""
    return FOLDER / f"{name}.cl"


def recorded() -> tuple[int, str] | None:
    """The code generator's version that the files are of, and their digest; None where there are none yet."""
    if not VERSION_FILE.exists():
        return None
    found = json.loads(VERSION_FILE.read_text())
    return found["codegen_version"], found["sha256"]


def must_raise_version(now: str, known: tuple[int, str] | None, version: int = CODEGEN_VERSION) -> bool:
    """Whether sources with the digest `now` are others than the recorded ones under the same, or an older, version."""
    return known is not None and known[1] != now and version <= known[0]


def update() -> None:
    """Write every source, and what they are of; remove files of goldens that are no more. Version and sources agree."""
    sources = {name: program.source for name, program in generated().items()}
    FOLDER.mkdir(exist_ok=True)
    for name, source in sources.items():
        path_of(name).write_text(source)
    for path in FOLDER.glob("*.cl"):
        if path.stem not in sources:
            path.unlink()
    found = {"codegen_version": CODEGEN_VERSION, "sha256": digest(sources)}
    VERSION_FILE.write_text(json.dumps(found, indent=1) + "\n")
