"""Targets: their defaults, what they refuse, and that they are values."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from kernels import Target, TargetError, cuda_target, opencl_target


def test_opencl_target_defaults() -> None:
    target = opencl_target()
    assert (target.backend, target.shared_max, target.work_group_max) == ("opencl", 32768, 1024)
    assert target.has_local and target.has_shared and target.fp16 and target.fp64
    assert target.tensor_cores == ()
    assert target.vector_widths == ()


def test_cuda_target_defaults() -> None:
    target = cuda_target("sm_80")
    assert (target.backend, target.arch, target.shared_max) == ("cuda", "sm_80", 49152)
    assert target.has_local and target.has_shared
    assert (target.tc_mode, target.allow_tf32) == (1, False)
    # The CUDA C++ Programming Guide, technical specifications per compute capability.
    assert target.local_max == (1024, 1024, 64)
    assert target.global_max == (2**31 - 1, 65535, 65535)
    assert target.work_group_max == 1024


@pytest.mark.parametrize(
    ("arch", "names"),
    [
        ("sm_70", []),
        ("sm_75", ["m16n8k8_float16_float32", "m16n8k8_float16_float16"]),
        (
            "sm_80",
            [
                "m16n8k16_float16_float32",
                "m16n8k16_bfloat16_float32",
                "m16n8k16_float16_float16",
                "m16n8k8_float16_float32",
                "m16n8k8_float16_float16",
            ],
        ),
    ],
)
def test_cuda_target_has_the_tensor_cores_of_its_architecture(arch: str, names: list[str]) -> None:
    assert [core.name for core in cuda_target(arch).tensor_cores] == names


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120f"])
def test_cuda_target_of_sm_80_and_later_has_the_cores_of_sm_80(arch: str) -> None:
    assert cuda_target(arch).tensor_cores == cuda_target("sm_80").tensor_cores


def test_tf32_is_the_last_core_where_it_is_allowed() -> None:
    plain, allowed = cuda_target("sm_80"), cuda_target("sm_80", allow_tf32=True)
    assert allowed.tensor_cores[:-1] == plain.tensor_cores
    assert allowed.tensor_cores[-1].name == "m16n8k8_tf32_float32"
    assert cuda_target("sm_75", allow_tf32=True).tensor_cores == cuda_target("sm_75").tensor_cores


@pytest.mark.parametrize(
    "arch", ["", "80", "sm80", "sm_8", "sm_1000", "SM_80", "sm_80 ", "sm_80x", "compute_80", None, 80]
)
def test_cuda_target_refuses_an_architecture_of_another_form(arch: Any) -> None:
    with pytest.raises(TargetError):
        cuda_target(arch)


@pytest.mark.parametrize(
    "limits",
    [
        {"shared_max": -1},
        {"shared_max": 1.5},
        {"shared_max": None},
        {"shared_max": True},
        {"work_group_max": 0},
        {"local_max": (1024, 1024)},
        {"local_max": (1024, 0, 64)},
        {"local_max": (1024, 1024, 64, 1)},
        {"global_max": (1, 1, -1)},
        {"vector_widths": {"float32": 5}},
        {"vector_widths": {"float8": 4}},
        {"has_local": False, "has_shared": True},
    ],
)
def test_opencl_target_refuses_a_wrong_limit(limits: dict[str, Any]) -> None:
    with pytest.raises(TargetError) as caught:
        opencl_target(**limits)
    assert caught.value.code == "invalid_target"


@pytest.mark.parametrize("mode", [-1, 4, None, "1"])
def test_cuda_target_refuses_an_unknown_tensor_core_mode(mode: Any) -> None:
    with pytest.raises(TargetError):
        cuda_target("sm_80", tc_mode=mode)


def test_opencl_target_without_local_memory_has_none_to_share() -> None:
    assert not opencl_target(has_local=False).has_shared
    assert opencl_target(has_shared=False).has_local


def test_opencl_target_keeps_vector_widths_as_a_sorted_tuple() -> None:
    target = opencl_target(vector_widths={"float32": 16, "float16": 4})
    assert target.vector_widths == (("float16", 4), ("float32", 16))
    assert target == opencl_target(vector_widths={"float16": 4, "float32": 16})


def test_target_is_a_value() -> None:
    assert cuda_target("sm_80") == cuda_target("sm_80")
    assert hash(opencl_target()) == hash(opencl_target())
    assert cuda_target("sm_80") != cuda_target("sm_80", tc_mode=2)
    assert len({cuda_target("sm_80"), cuda_target("sm_80"), cuda_target("sm_90")}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        opencl_target().shared_max = 1  # type: ignore[misc]


def test_target_fields_are_plain_values_that_can_be_recorded() -> None:
    fields = dataclasses.asdict(opencl_target())
    assert set(fields) == {field.name for field in dataclasses.fields(Target)}
    assert all(isinstance(value, str | int | bool | tuple) for value in fields.values())
