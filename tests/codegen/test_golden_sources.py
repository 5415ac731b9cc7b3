"""Generated sources are what they were, or CODEGEN_VERSION is another one: records name the version that made theirs.

`pytest tests/codegen/test_golden_sources.py --update-golden` writes the files anew.
"""

from __future__ import annotations

import pytest

from kernels import CODEGEN_VERSION
from tests.codegen import golden
from tests.codegen.golden import GOLDEN
from tests.codegen.subjects import TARGETS
from tests.devices.check import check, make_case
from tests.devices.opencl import OpenCL

RAISE = "raise CODEGEN_VERSION in kernels/program.py and run with --update-golden"


@pytest.fixture(scope="module", autouse=True)
def updated(request: pytest.FixtureRequest) -> None:
    """Writes the files first, where that is asked for and allowed."""
    if request.config.getoption("--update-golden"):
        now = golden.digest({name: program.source for name, program in golden.generated().items()})
        if golden.must_raise_version(now, golden.recorded()):
            pytest.fail(f"sources changed and CODEGEN_VERSION is still {CODEGEN_VERSION}: {RAISE}")
        golden.update()


def test_golden_sources_change_with_codegen_version_only() -> None:
    known = golden.recorded()
    assert known is not None, "there are no golden sources yet: run with --update-golden"
    now = golden.digest({name: program.source for name, program in golden.generated().items()})
    changed = [
        name
        for name, program in golden.generated().items()
        if not golden.path_of(name).exists() or golden.path_of(name).read_text() != program.source
    ]
    assert not golden.must_raise_version(now, known), f"sources changed ({', '.join(changed)}): {RAISE}"
    assert known == (CODEGEN_VERSION, now), "CODEGEN_VERSION was raised: run with --update-golden"


def test_golden_files_are_those_that_the_version_file_is_about() -> None:
    files = {path.stem: path.read_text() for path in golden.FOLDER.glob("*.cl")}
    known = golden.recorded()
    assert files.keys() == GOLDEN.keys()
    assert known is not None
    assert golden.digest(files) == known[1]


@pytest.mark.parametrize(
    ("known", "version", "refused"),
    [
        (None, 1, False),
        ((1, "old"), 1, True),
        ((1, "old"), 2, False),
        ((2, "old"), 1, True),
        ((1, "new"), 1, False),
        ((1, "new"), 2, False),
    ],
)
def test_golden_version_must_be_raised_where_sources_changed(
    known: tuple[int, str] | None, version: int, refused: bool
) -> None:
    assert golden.must_raise_version("new", known, version) is refused


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_source_is_what_is_generated(name: str) -> None:
    assert golden.generated()[name].source == golden.path_of(name).read_text()


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_source_builds_and_is_right(name: str, device: OpenCL) -> None:
    """Sources for other kinds of device are OpenCL all the same; halves are built only where there are any."""
    program = golden.generated()[name]
    if "cl_khr_fp16" in program.source and not device.target().fp16:
        assert TARGETS[GOLDEN[name].target].fp16
        return
    case = make_case(GOLDEN[name].shaped().ast, program.operations)
    assert check(device, case, program) == []


def test_golden_sources_show_what_they_are_for() -> None:
    """What makes each of these kernels worth keeping is in its source."""
    marks = {
        "matmul_16_wide": "float16",
        "matmul_padded": "? ",
        "grouped_sum": "barrier(CLK_LOCAL_MEM_FENCE)",
        "variance_grouped": "__local float",
        "dynamic_reduce": "const int n0",
        "bfloat16_operations": "bf16_bits4",
        "threefry": "threefry2x32",
        "matmul_half_gpu": "cl_khr_fp16",
        "float_functions": "exp2(",
        "masked_copy": "bool c",
    }
    for name, mark in marks.items():
        assert mark in golden.generated()[name].source, name
    assert "get_local_id" not in golden.generated()["matmul_no_local"].source
    assert "get_group_id" not in golden.generated()["matmul_no_local"].source
    assert "reqd_work_group_size" not in golden.generated()["matmul_nolocals"].source
    assert golden.generated()["matmul_nolocals"].local_size is None
