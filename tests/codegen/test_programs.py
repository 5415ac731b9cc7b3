"""Every kernel's programs on a real device: the values of the reference, and nothing written that is not theirs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from kernels import Kernel, OptOps, Program, ProgramError, Target, opencl_target
from tests.codegen.subjects import has_half, kernel_of, runnable
from tests.codegen.tally import TIMED_OUT
from tests.codegen.walks import random_walk
from tests.devices.batch import batched
from tests.devices.check import Case, check, make_case
from tests.devices.opencl import DeviceError, OpenCL

#: Seconds to build and run one program; what takes a compiler longer is counted, not failed.
DEADLINE_S = 30.0
#: Kernels of at most so many operations run on extreme inputs as well.
SMALL_OPERATIONS = 1_000_000
#: The largest share of random walks whose programs may be refused for a limit.
MOST_REFUSED = 0.02
WALKS, MANY_WALKS, SCALAR_WALKS = 3, 20, 2

NAMES = runnable()
HALVES = [name for name in NAMES if has_half(name)]
OTHERS = [name for name in NAMES if not has_half(name)]
#: For what differs only in how memory is accessed, a share of them.
SOME = OTHERS[::8]


def candidates(kernel: Kernel, name: str, walks: int) -> Iterator[Kernel]:
    """The kernel as it is, with the heuristic's Opts, and after seeded walks."""
    yield kernel
    yield kernel.copy().default_opts()
    for number in range(walks):
        yield random_walk(kernel, f"{name}/{number}")


class Runs:
    """The programs of one kernel, what became of them, and what was wrong."""

    def __init__(self, name: str, device: OpenCL) -> None:
        self.name = name
        self.device = device
        self.ends: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.timed_out: list[str] = []

    def programs(self, kernels: Iterator[Kernel]) -> list[Program]:
        """Those that are not refused and not the same as one before."""
        found: dict[str, Program] = {}
        for kernel in kernels:
            try:
                program = kernel.to_program()
            except ProgramError as error:
                self.ends[f"refused for {error.limit}"] += 1
                continue
            if program.source in found:
                self.ends["the same as another"] += 1
            found.setdefault(program.source, program)
        return list(found.values())

    def run(self, program: Program, in_batch: Program, cases: list[Case]) -> None:
        """Run a program as a part of its batch; where that does not run, the program alone decides."""
        what = f"{self.name} {' '.join(map(str, program.opts)) or 'no Opts'}"
        try:
            try:
                found = self._complaints(in_batch, cases)
            except DeviceError:
                found = self._complaints(program, cases)
        except DeviceError as error:
            if error.kind != "timeout":
                raise
            self.ends[TIMED_OUT] += 1
            self.timed_out.append(what)
            return
        self.ends["ran"] += 1
        self.wrong += [f"{what}: {complaint}" for complaint in found]

    def _complaints(self, program: Program, cases: list[Case]) -> list[str]:
        return [complaint for case in cases for complaint in check(self.device, case, program, DEADLINE_S)]


def check_programs(
    name: str,
    device: OpenCL,
    walks: int,
    record: Callable[[str, object], None],
    target: Target | None = None,
    extremes: bool = True,
) -> None:
    """All candidates of a kernel on `device`, and on `extremes` too where it is small.

    They are made for `target`, the device's own where it is None.
    """
    kernel = kernel_of(name, device.target() if target is None else target)
    runs = Runs(name, device)
    programs = runs.programs(candidates(kernel, name, walks))
    operations = kernel.to_program().operations
    cases = [make_case(kernel.ast, operations)]
    if extremes and operations <= SMALL_OPERATIONS:
        cases.append(make_case(kernel.ast, operations, kind="extremes"))
    for program, in_batch in zip(programs, batched(programs), strict=True):
        runs.run(program, in_batch, cases)
    record("programs", dict(runs.ends))
    for line in runs.timed_out:
        record("timed out", line)
    assert not runs.wrong, "\n".join(runs.wrong)


@pytest.mark.parametrize("name", OTHERS)
def test_programs_give_the_references_values(
    name: str, device: OpenCL, record_property: Callable[[str, object], None]
) -> None:
    check_programs(name, device, WALKS, record_property)


def scalar(target: Target) -> Target:
    """A target like it whose arithmetic is scalar, as a graphics processor's is: vectors are in memory alone."""
    return replace(target, vector_widths=())


@pytest.mark.parametrize("name", SOME)
def test_programs_of_scalar_arithmetic_give_the_references_values(
    name: str, device: OpenCL, record_property: Callable[[str, object], None]
) -> None:
    check_programs(name, device, SCALAR_WALKS, record_property, scalar(device.target()))


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("name", OTHERS)
def test_programs_of_scalar_arithmetic_give_the_references_values_on_many_walks(
    name: str, device: OpenCL, record_property: Callable[[str, object], None]
) -> None:
    check_programs(name, device, MANY_WALKS // 2, record_property, scalar(device.target()))


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("name", OTHERS)
def test_programs_give_the_references_values_on_many_walks(
    name: str, device: OpenCL, record_property: Callable[[str, object], None]
) -> None:
    check_programs(name, device, MANY_WALKS, record_property)


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("name", NAMES)
def test_programs_give_the_references_values_on_intels_runtime(
    name: str, intel_device: OpenCL, record_property: Callable[[str, object], None]
) -> None:
    """This runtime computes float16 as well.

    It makes `x * z + y * z` of `(x + y) * z` (corpus/resnet_train/22 after UPCAST(0, 2)), which is NaN where z is
    infinite: what infinities come to is not compared.
    """
    check_programs(name, intel_device, WALKS, record_property, extremes=False)


@pytest.mark.parametrize("name", HALVES)
def test_programs_of_halves_are_refused_where_the_device_has_none(name: str, device: OpenCL) -> None:
    target = device.target()
    if target.fp16:
        pytest.skip("this device computes float16")
    for candidate in candidates(kernel_of(name, target), name, WALKS):
        with pytest.raises(ProgramError) as refused:
            candidate.to_program()
        assert refused.value.limit == "fp16"


def test_walks_are_long_take_every_kind_of_opt_and_are_rarely_refused() -> None:
    target = opencl_target(fp16=False, vector_widths={"float32": 8, "int32": 8})
    kinds: Counter[OptOps] = Counter()
    depths: Counter[int] = Counter()
    ends: Counter[str] = Counter()
    for name in OTHERS[::4]:
        kernel = kernel_of(name, target)
        for number in range(WALKS):
            walked = random_walk(kernel, f"{name}/{number}")
            kinds.update(opt.op for opt in walked.applied_opts)
            depths[len(walked.applied_opts)] += 1
            try:
                walked.to_program()
                ends["made"] += 1
            except ProgramError:
                ends["refused"] += 1
    assert set(kinds) == set(OptOps) - {OptOps.TC}
    assert min(kinds.values()) >= 0.02 * kinds.total()
    assert sum(count for depth, count in depths.items() if depth >= 3) > 0.4 * depths.total()
    assert ends["refused"] <= MOST_REFUSED * ends.total()
