"""The product's Kernel behind the functions that tests.oracle has for the oracle's."""

from __future__ import annotations

import functools
from typing import Any

from kernels import Kernel, KernelOptError, Opt, OptOps, cuda_target, opencl_target, parse_ast
from kernels.index import evaluate_index, variables_in
from tests.oracle import Answer, Assignments, Document, OptTriple, Shown, opt_triple, split_target, tc_mode


@functools.cache
def product_target(name: str) -> Any:
    """The target that `oracle_renderer(name)` is the oracle's form of."""
    base, suffixes = split_target(name)
    if base == "opencl":
        local = "no_local" not in suffixes
        return opencl_target(has_local=local, has_shared=local and "no_shared" not in suffixes)
    return cuda_target(base, tc_mode=tc_mode(name), allow_tf32="tf32" in suffixes)


def product_kernel(document: Document, target: str) -> Kernel:
    return Kernel(parse_ast(document), product_target(target))


def product_opt(triple: OptTriple) -> Opt:
    op, axis, arg = triple
    return Opt(OptOps[op], axis, arg)


def product_try(kernel: Kernel, triple: OptTriple) -> Answer:
    """Applies one Opt to a copy of `kernel`. A refusal that changed the copy is told as `changed`."""
    copy = kernel.copy()
    try:
        copy.apply_opt(product_opt(triple))
    except KernelOptError as error:
        unchanged = copy.applied_opts == kernel.applied_opts and copy.full_shape == kernel.full_shape
        return Answer("refused" if unchanged else "changed", reason=str(error))
    except Exception as error:  # noqa: BLE001 - any other exception is a finding, not the end of the run
        return Answer("raised", reason=repr(error))
    return Answer("accepted", copy)


def product_size(size: Any, values: Assignments) -> Any:
    if isinstance(size, int):
        return size
    return tuple(evaluate_index(size, {v: row[v.name] for v in variables_in(size)}) for row in values)


def product_shown(kernel: Kernel, values: Assignments = ()) -> Shown:
    return Shown(
        tuple(product_size(size, values) for size in kernel.full_shape),
        tuple(product_size(size, values) for size in kernel.output_shape),
        tuple(kernel.colors()),
        tuple(opt_triple(opt) for opt in kernel.applied_opts),
        kernel.first_reduce,
        kernel.first_upcast,
        kernel.global_dims,
        kernel.shape_len,
    )
