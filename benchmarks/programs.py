"""Pairs of programs to be timed side by side: ours and tinygrad 0.10.2's for the same kernel and the same Opts."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
from tinygrad.codegen.kernel import Opt as OracleOpt
from tinygrad.codegen.kernel import OptOps as OracleOptOps

from kernels import Kernel, KernelOptError, Opt
from kernels.index import upper
from kernels.program import BufferArgument, Program
from tests.devices.opencl import OpenCL
from tests.oracle import oracle_kernel


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds of each run of both programs, in turn: ours, the oracle's, ours, ..."""

    ours_s: tuple[float, ...]
    oracle_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class OracleProgram:
    """tinygrad's program: sizes in work-items."""

    source: str
    name: str
    global_size: tuple[int, int, int]
    local_size: tuple[int, int, int] | None


def oracle_program(document: dict[str, Any], opts: tuple[Opt, ...]) -> OracleProgram:
    """tinygrad's own program for `opts`."""
    kernel = oracle_kernel(document, "opencl")
    for opt in opts:
        kernel.apply_opt(OracleOpt(OracleOptOps[opt.op.name], opt.axis, opt.arg))
    program = kernel.to_program()
    groups = [int(size) for size in program.global_size or (1, 1, 1)]
    groups += [1] * (3 - len(groups))
    local = None if program.local_size is None else [int(size) for size in program.local_size]
    if local is None:
        return OracleProgram(program.src, program.function_name, (groups[0], groups[1], groups[2]), None)
    local += [1] * (3 - len(local))
    items = [size * own for size, own in zip(groups, local, strict=True)]
    return OracleProgram(
        program.src, program.function_name, (items[0], items[1], items[2]), (local[0], local[1], local[2])
    )


def random_walk(kernel: Kernel, actions: list[Opt], seed: int, depth: int) -> Kernel:
    """A copy of `kernel` after `depth` random legal actions, or as many as are found in a while."""
    rng = random.Random(seed)
    walked = kernel.copy()
    for _ in range(60):
        if len(walked.applied_opts) >= depth:
            break
        try:
            walked.apply_opt(rng.choice(actions))
        except KernelOptError:
            continue
    return walked


def buffers_for(program: Program, seed: int = 0) -> dict[int, np.ndarray]:
    """Inputs of the right sizes: floats near 1, small integers."""
    rng = np.random.default_rng(seed)
    buffers: dict[int, np.ndarray] = {}
    for arg in program.args:
        if not isinstance(arg, BufferArgument):
            continue
        length = upper(arg.length)
        if arg.dtype.is_bool:
            buffers[arg.slot] = rng.integers(0, 2, length).astype(np.bool_)
        elif arg.dtype.name == "bfloat16":
            buffers[arg.slot] = (rng.uniform(0.5, 1.5, length).astype(np.float32).view(np.uint32) >> 16).astype(
                np.uint16
            )
        elif arg.dtype.is_float:
            buffers[arg.slot] = rng.uniform(0.5, 1.5, length).astype(arg.dtype.name)
        else:
            buffers[arg.slot] = rng.integers(0, 8, length).astype(arg.dtype.name)
    return buffers


def time_pair(
    device: OpenCL, ours: Program, oracle: OracleProgram, buffers: dict[int, np.ndarray], rounds: int, cap_s: float
) -> Timed:
    """Both programs timed in turn. Raises DeviceError where one cannot be built and run within `cap_s`."""
    slots = sorted(buffers)
    data = [buffers[slot] for slot in slots]
    assert all(isinstance(size, int) for size in ours.global_size)
    groups = [size for size in ours.global_size if isinstance(size, int)]
    local = ours.local_size
    items = groups if local is None else [size * own for size, own in zip(groups, local, strict=True)]
    answers = device.run_pair(
        [(ours.source, ours.name, tuple(items), local),
         (oracle.source, oracle.name, oracle.global_size, oracle.local_size)],
        data, rounds, cap_s,
    )  # fmt: skip
    return Timed(*answers)
