"""Whether opts can be applied in another code generator as well, under its own limits."""

from __future__ import annotations

from collections.abc import Sequence

from kernels import Ast, Kernel, KernelOptError, Opt, Target, cuda_target, opencl_target
from runners.api import PORTABLE_SHARED_BYTES

#: Shared memory that tinygrad 0.10 counts with on CUDA.
_CUDA_SHARED_BYTES = 49152


def is_portable(ast: Ast, opts: Sequence[Opt], target: Target) -> bool:
    """True if the opts, found for `target`, are legal under tinygrad 0.10's limits for a target of that kind."""
    kernel = Kernel(ast, _limits(target))
    try:
        for opt in opts:
            kernel.apply_opt(opt)
    except KernelOptError:
        return False
    return True


def _limits(target: Target) -> Target:
    if target.backend == "cuda":
        return cuda_target(target.arch, allow_tf32=target.allow_tf32, shared_max=_CUDA_SHARED_BYTES)
    return opencl_target(shared_max=PORTABLE_SHARED_BYTES)
