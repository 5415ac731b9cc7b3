"""Which devices are found, and what each is known by."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernels.target import Target
from runners.api import PORTABLE_SHARED_BYTES, DeviceIdentity, DeviceKind
from runners.devices import FoundDevice, bundled_pocl, discover, libraries

A_GPU = DeviceIdentity("opencl", "NVIDIA Corporation", "NVIDIA H200", "sm_90", 132)


def test_discover_finds_pocl_once_and_says_which_drivers_are_broken(tmp_path: Path) -> None:
    """The same library under two names is one; drivers that cannot be loaded are told, and nothing is no driver."""
    library = bundled_pocl()
    assert library is not None
    (tmp_path / "again.so").symlink_to(library)
    (tmp_path / "noise.so").write_bytes(b"\x7fELF and then nothing")
    for name, text in (
        ("a.icd", str(tmp_path / "noise.so")),
        ("b.icd", library),
        ("c.icd", str(tmp_path / "again.so")),
        ("d.icd", str(tmp_path / "missing.so")),
        ("e.icd", ""),
    ):
        (tmp_path / name).write_text(f"{text}\n")
    found = discover({"OCL_ICD_VENDORS": str(tmp_path), "HOME": str(tmp_path)})
    (device,) = found.devices
    assert device.info.kind is DeviceKind.CPU
    assert device.info.unit == 0
    assert device.info.identity.arch == ""
    assert {Path(driver.library).name for driver in found.broken} == {"noise.so", "missing.so"}
    assert all(driver.reason for driver in found.broken)


def test_libraries_are_those_that_the_environment_names_and_the_bundled_pocl(tmp_path: Path) -> None:
    bundled = bundled_pocl()
    assert libraries({"OCL_ICD_VENDORS": "libnvidia-opencl.so.1"}) == ["libnvidia-opencl.so.1", bundled]
    icd = tmp_path / "one.icd"
    icd.write_text("libsome.so\n")
    assert libraries({"OCL_ICD_VENDORS": str(icd)}) == ["libsome.so", bundled]
    assert libraries({"OCL_ICD_VENDORS": str(tmp_path)}) == ["libsome.so", bundled]
    assert libraries({"OCL_ICD_VENDORS": str(bundled)}) == [bundled]


def test_device_key_is_the_same_wherever_it_is_computed() -> None:
    """A golden value: a client computes it alike, and records are kept by it for ever."""
    assert A_GPU.device_key == "e77c39a5ab98d38498457e3849499ddfaa76a56deb7f1e232d3af776bca8e2c8"
    spaced = replace(A_GPU, name="  NVIDIA   H200 ", vendor="NVIDIA\tCorporation")
    assert spaced.device_key == A_GPU.device_key
    for other in (
        replace(A_GPU, backend="cuda"),
        replace(A_GPU, vendor="NVIDIA"),
        replace(A_GPU, name="NVIDIA H100"),
        replace(A_GPU, arch=""),
        replace(A_GPU, compute_units=114),
    ):
        assert other.device_key != A_GPU.device_key


def test_device_key_knows_nothing_of_limits_versions_and_units(found: FoundDevice) -> None:
    info = found.info
    other = replace(
        info,
        unit=3,
        limits=replace(info.limits, memory_bytes=1),
        fingerprint=replace(info.fingerprint, driver="another"),
    )
    assert other.device_key == info.device_key
    assert other.fingerprint.digest != info.fingerprint.digest


def test_target_of_a_processor_has_its_vectors_and_of_a_gpu_none(found: FoundDevice) -> None:
    target = found.info.target
    assert isinstance(target, Target)
    widths = dict(target.vector_widths)
    assert widths["float32"] == found.info.limits.float_width > 1
    assert widths["float64"] == widths["int64"] == found.info.limits.float_width // 2
    assert target.shared_max == PORTABLE_SHARED_BYTES
    gpu = replace(found.info, kind=DeviceKind.GPU, limits=replace(found.info.limits, float_width=1))
    assert gpu.target.vector_widths == ()


def test_target_has_no_more_shared_memory_than_the_device(found: FoundDevice) -> None:
    small = replace(found.info, limits=replace(found.info.limits, shared_max=16384))
    assert small.target.shared_max == 16384


@pytest.mark.parametrize("field", ["driver", "platform", "compiler"])
def test_fingerprint_of_a_found_device_is_complete(field: str, found: FoundDevice) -> None:
    assert getattr(found.info.fingerprint, field)
