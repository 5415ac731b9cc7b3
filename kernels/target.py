"""What a code generator, and the legality of an Opt, must know of a kind of device."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kernels.dtypes import DTYPES
from kernels.errors import TargetError
from kernels.tensor_cores import TensorCore, cuda_tensor_cores

#: Launch sizes of devices that state no lower limit: OpenCL and CUDA count work-groups in 31 bits.
_GLOBAL_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of device. Sizes are in bytes, launch limits per dimension with x first.

    shared_max: local (OpenCL) or shared (CUDA) memory of a work-group. local_max: work-items of a work-group per
    dimension, work_group_max in total. global_max: work-groups per dimension. vector_widths: by dtype name, the number
    of lanes that arithmetic profits from; a dtype that is not named is best computed one element at a time.
    tc_mode: 1 uses a tensor core, 2 makes its shape changes without it, 3 emulates it through shared memory, 0 never
    applies one by itself.
    """

    backend: str
    arch: str
    shared_max: int
    local_max: tuple[int, int, int]
    global_max: tuple[int, int, int]
    work_group_max: int
    fp16: bool
    fp64: bool
    vector_widths: tuple[tuple[str, int], ...]
    has_local: bool
    has_shared: bool
    tensor_cores: tuple[TensorCore, ...]
    tc_mode: int
    allow_tf32: bool

    def __post_init__(self) -> None:
        for field in ("shared_max", "work_group_max"):
            _check_size(field, getattr(self, field), 0 if field == "shared_max" else 1)
        for field in ("local_max", "global_max"):
            sizes = getattr(self, field)
            if not isinstance(sizes, tuple) or len(sizes) != 3:
                raise TargetError(f"{field} has three sizes, x first, not {sizes!r}")
            for size in sizes:
                _check_size(field, size, 1)
        for name, width in self.vector_widths:
            if name not in DTYPES or width not in (1, 2, 4, 8, 16):
                raise TargetError(f"vector_widths gives 1, 2, 4, 8 or 16 lanes to a dtype, not {width!r} to {name!r}")
        if self.tc_mode not in (0, 1, 2, 3):
            raise TargetError(f"tc_mode is 0, 1, 2 or 3, not {self.tc_mode!r}")
        if self.has_shared and not self.has_local:
            raise TargetError("a target without work-groups has no memory shared by them")


def _check_size(field: str, value: object, least: int) -> None:
    if type(value) is not int or value < least:
        raise TargetError(f"{field} is an integer of at least {least}, not {value!r}")


def opencl_target(
    *,
    shared_max: int = 32768,
    local_max: tuple[int, int, int] = (1024, 1024, 1024),
    global_max: tuple[int, int, int] = (_GLOBAL_MAX, _GLOBAL_MAX, _GLOBAL_MAX),
    work_group_max: int = 1024,
    fp16: bool = True,
    fp64: bool = True,
    vector_widths: Mapping[str, int] | None = None,
    has_local: bool = True,
    has_shared: bool | None = None,
) -> Target:
    """An OpenCL device. `has_shared` is `has_local` where it is not given. Raises TargetError for a wrong limit."""
    return Target(
        backend="opencl",
        arch="",
        shared_max=shared_max,
        local_max=local_max,
        global_max=global_max,
        work_group_max=work_group_max,
        fp16=fp16,
        fp64=fp64,
        vector_widths=tuple(sorted((vector_widths or {}).items())),
        has_local=has_local,
        has_shared=has_local if has_shared is None else has_shared,
        tensor_cores=(),
        tc_mode=1,
        allow_tf32=False,
    )


def cuda_target(arch: str, *, tc_mode: int = 1, allow_tf32: bool = False, shared_max: int = 49152) -> Target:
    """A CUDA device of architecture `arch` ("sm_80"). Launch limits from the CUDA C++ Programming Guide's table of
    compute capabilities, the same for all from 5.0 on. Raises TargetError for an architecture of another form.
    """
    found = re.fullmatch(r"sm_([0-9]{2,3})[af]?", str(arch))
    if found is None:
        raise TargetError(f"a CUDA architecture is written sm_80, not {arch!r}")
    return Target(
        backend="cuda",
        arch=arch,
        shared_max=shared_max,
        local_max=(1024, 1024, 64),
        global_max=(_GLOBAL_MAX, 65535, 65535),
        work_group_max=1024,
        fp16=True,
        fp64=True,
        vector_widths=(),
        has_local=True,
        has_shared=True,
        tensor_cores=cuda_tensor_cores(int(found[1]), allow_tf32),
        tc_mode=tc_mode,
        allow_tf32=allow_tf32,
    )
