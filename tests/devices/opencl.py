"""The parent's side: a child with the device, jobs with deadlines, a new child after a hang or crash."""

from __future__ import annotations

import atexit
import importlib.util
import multiprocessing
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernels import Target, opencl_target
from kernels.index import Index, Var, substitute
from kernels.program import Program, VariableArgument
from tests.devices.child import serve

#: Work-groups of PoCL can hold thousands of work-items; what it takes to compile such loops is not worth it.
START_S = 60.0


class DeviceError(Exception):
    """The device's compiler or the run failed, hung or crashed; `kind` says which."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(f"{kind}: {message}")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a program left: each buffer's contents by slot, the slots whose guard bytes are broken, seconds a run."""

    outputs: dict[int, np.ndarray]
    broken: tuple[int, ...]
    times_s: tuple[float, ...]
    build_s: float


class OpenCL:
    """A device behind a child process that is started when it is first needed and again after it was killed."""

    def __init__(self, vendor: str | None = None) -> None:
        self.vendor = vendor if vendor is not None else pocl_library()
        self._process: Any = None
        self._pipe: Any = None
        self.description: dict[str, Any] = {}
        atexit.register(self.close)

    def target(self) -> Target:
        """The device as a target, vectors of its own width and the usual 32 KiB of shared memory."""
        self._start()
        about = self.description
        width = about["float_width"]
        names = {"float32": width, "float64": max(width // 2, 1), "int32": width, "uint32": width, "int64": width // 2,
                 "uint64": width // 2, "int16": width, "uint16": width, "int8": width, "uint8": width, "bool": width,
                 "bfloat16": width}  # fmt: skip
        return opencl_target(
            shared_max=min(about["shared_max"], 32768),
            local_max=about["local_max"],
            work_group_max=about["work_group_max"],
            fp16=about["fp16"],
            fp64=about["fp64"],
            vector_widths=names if width > 1 else None,
        )

    def run(
        self,
        program: Program,
        buffers: dict[int, np.ndarray],
        variables: dict[str, int] | None = None,
        repeats: int = 1,
        deadline_s: float = 60.0,
    ) -> Ran:
        """Run `program` on copies of `buffers`. Raises DeviceError; a child that hangs or dies is replaced."""
        values = variables or {}
        names = [arg.name for arg in program.args if isinstance(arg, VariableArgument)]
        slots = [arg.slot for arg in program.args if not isinstance(arg, VariableArgument)]
        global_size = [_at(size, values, program) for size in program.global_size]
        local = program.local_size
        if local is not None:
            global_size = [size * own for size, own in zip(global_size, local, strict=True)]
        return self.run_source(
            program.source, program.name, global_size, local, [buffers[slot] for slot in slots],
            [values[name] for name in names], repeats, deadline_s, slots,
        )  # fmt: skip

    def run_source(
        self,
        source: str,
        name: str,
        global_size: Sequence[int],
        local_size: Sequence[int] | None,
        buffers: Sequence[np.ndarray],
        variables: Sequence[int] = (),
        repeats: int = 1,
        deadline_s: float = 60.0,
        slots: Sequence[int] | None = None,
    ) -> Ran:
        """Run any OpenCL source: global size in work-items, buffers and then int variables as its arguments."""
        job = {"source": source, "name": name, "global_size": tuple(global_size),
               "local_size": None if local_size is None else tuple(local_size), "buffers": list(buffers),
               "variables": list(variables), "repeats": repeats}  # fmt: skip
        answer = self._ask(job, deadline_s)
        numbers = list(range(len(buffers))) if slots is None else list(slots)
        return Ran(
            dict(zip(numbers, answer["outputs"], strict=True)),
            tuple(numbers[i] for i in answer["broken"]),
            tuple(answer["times_s"]),
            answer["build_s"],
        )

    def run_pair(
        self,
        programs: Sequence[tuple[str, str, Sequence[int], Sequence[int] | None]],
        buffers: Sequence[np.ndarray],
        rounds: int,
        deadline_s: float,
        budget_s: float = 1.0,
    ) -> list[tuple[float, ...]]:
        """Seconds of every run of (source, name, work-items, local size) programs that run in turn on the same buffers."""
        job = {"programs": list(programs), "buffers": list(buffers), "rounds": rounds, "budget_s": budget_s}
        return [tuple(times) for times in self._ask(job, deadline_s)["times_s"]]

    def _ask(self, job: dict[str, Any], deadline_s: float) -> dict[str, Any]:
        """The child's answer to a job, in time; else the child is replaced and DeviceError says why."""
        self._start()
        try:
            self._pipe.send(job)
            if not self._pipe.poll(deadline_s):
                self.close()
                raise DeviceError("timeout", f"no answer in {deadline_s} s")
            kind, answer = self._pipe.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError) as error:
            self.close()
            raise DeviceError("crash", "the child died") from error
        if kind == "failed":
            raise DeviceError("error", answer)
        found: dict[str, Any] = answer
        return found

    def _start(self) -> None:
        if self._process is not None and self._process.is_alive():
            return
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs,), daemon=True)
        before = os.environ.get("OCL_ICD_VENDORS")
        os.environ["OCL_ICD_VENDORS"] = self.vendor
        os.environ.setdefault("POCL_CACHE_DIR", str(Path(tempfile.gettempdir()) / "beamtune-pocl-cache"))
        try:
            self._process.start()
        finally:
            if before is None:
                del os.environ["OCL_ICD_VENDORS"]
            else:
                os.environ["OCL_ICD_VENDORS"] = before
        theirs.close()
        if not self._pipe.poll(START_S):
            self.close()
            raise DeviceError("timeout", "the child did not start")
        try:
            self.description = self._pipe.recv()
        except EOFError as error:
            self.close()
            raise DeviceError("crash", "the child died while it started") from error

    def close(self) -> None:
        """End the child."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None
            self._pipe.close()


def _at(size: Index, values: dict[str, int], program: Program) -> int:
    bounds = {arg.name: arg for arg in program.args if isinstance(arg, VariableArgument)}
    found = substitute(size, {Var(name, bounds[name].min, bounds[name].max): value for name, value in values.items()})
    assert isinstance(found, int)
    return found


def pocl_library() -> str:
    """The path of the PoCL that comes with pyopencl's extra."""
    spec = importlib.util.find_spec("pyopencl")
    assert spec is not None and spec.origin is not None
    return str(next((Path(spec.origin).parent / ".libs").glob("libpocl-*.so")))
