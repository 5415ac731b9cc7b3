"""The parent's side: a child with the device, jobs with deadlines, a new child after a hang or crash."""

from __future__ import annotations

import atexit
import importlib.util
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kernels import BufferArgument, Program, Target, VariableArgument, opencl_target
from kernels.index import Index, Var, evaluate_index
from tests.devices.child import serve

START_S = 60.0
#: What drivers need to be told: no cache of pyopencl's beside PoCL's own, and one folder for that, kept between runs.
ENVIRONMENT = {"PYOPENCL_NO_CACHE": "1", "POCL_CACHE_DIR": str(Path(tempfile.gettempdir()) / "beamtune-pocl-cache")}

Kind = Literal["timeout", "crash", "error", "buffer"]


class DeviceError(Exception):
    """A program did not run; `kind` says why.

    timeout: no answer in time. crash: the child died. error: the driver refused, with its log. buffer: a buffer is
    shorter than the program needs, so it was not started.
    """

    def __init__(self, kind: Kind, message: str) -> None:
        self.kind = kind
        super().__init__(f"{kind}: {message}")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a program left: each buffer's contents by slot, and the slots whose guard bytes are broken.

    unsteady: slots that did not hold the same after every repeat. times_s: seconds of each run. resident_bytes: memory
    that the child holds afterwards.
    """

    outputs: dict[int, np.ndarray]
    broken: tuple[int, ...]
    unsteady: tuple[int, ...]
    times_s: tuple[float, ...]
    build_s: float
    resident_bytes: int


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
                 "bfloat16": width, "float16": width}  # fmt: skip
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
        buffers: Mapping[int, np.ndarray],
        variables: Mapping[str, int] | None = None,
        repeats: int = 1,
        deadline_s: float = 60.0,
        offset_bytes: int = 0,
        steady: bool = False,
    ) -> Ran:
        """Run `program` on copies of `buffers`. Raises DeviceError; a child that hangs or dies is replaced.

        offset_bytes: how far from an aligned address buffers begin. steady: compare what is in them after each repeat.
        """
        values = variables or {}
        _check_lengths(program, buffers, values)
        names = [arg.name for arg in program.args if isinstance(arg, VariableArgument)]
        slots = [arg.slot for arg in program.args if isinstance(arg, BufferArgument)]
        global_size = [at(size, values, program) for size in program.global_size]
        local = program.local_size
        if local is not None:
            global_size = [size * own for size, own in zip(global_size, local, strict=True)]
        job = {"source": program.source, "name": program.name, "global_size": tuple(global_size), "local_size": local,
               "buffers": [buffers[slot] for slot in slots], "variables": [values[name] for name in names],
               "repeats": repeats, "offset_bytes": offset_bytes, "steady": steady}  # fmt: skip
        return _ran(self._ask(job, deadline_s), slots)

    def run_source(
        self,
        source: str,
        name: str,
        global_size: Sequence[int],
        local_size: Sequence[int] | None,
        buffers: Sequence[np.ndarray],
        repeats: int = 1,
        deadline_s: float = 60.0,
    ) -> Ran:
        """Run any OpenCL source whose arguments are `buffers`: global size in work-items."""
        job = {"source": source, "name": name, "global_size": tuple(global_size),
               "local_size": None if local_size is None else tuple(local_size), "buffers": list(buffers),
               "variables": [], "repeats": repeats, "offset_bytes": 0, "steady": False}  # fmt: skip
        return _ran(self._ask(job, deadline_s), range(len(buffers)))

    def run_pair(
        self,
        programs: Sequence[tuple[str, str, Sequence[int], Sequence[int] | None]],
        buffers: Sequence[np.ndarray],
        rounds: int,
        deadline_s: float,
        budget_s: float = 1.0,
    ) -> list[tuple[float, ...]]:
        """Seconds of every run of each (source, name, work-items, local size); they run in turn on the same buffers."""
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
        self.close()
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        environment = {"OCL_ICD_VENDORS": self.vendor, **{k: os.environ.get(k, v) for k, v in ENVIRONMENT.items()}}
        self._process = context.Process(target=serve, args=(theirs, environment), daemon=True)
        self._process.start()
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


def at(size: Index, values: Mapping[str, int], program: Program) -> int:
    """A size of `program` at its variables' values."""
    variables = [arg for arg in program.args if isinstance(arg, VariableArgument)]
    return evaluate_index(size, {Var(arg.name, arg.min, arg.max): values[arg.name] for arg in variables})


def _check_lengths(program: Program, buffers: Mapping[int, np.ndarray], values: Mapping[str, int]) -> None:
    for arg in program.args:
        if isinstance(arg, BufferArgument):
            length, needed = buffers[arg.slot].size, at(arg.length, values, program)
            if length < needed:
                raise DeviceError("buffer", f"slot {arg.slot} has {length} elements, and the program needs {needed}")


def _ran(answer: dict[str, Any], slots: Sequence[int]) -> Ran:
    return Ran(
        dict(zip(slots, answer["outputs"], strict=True)),
        tuple(slots[i] for i in answer["broken"]),
        tuple(slots[i] for i in answer["unsteady"]),
        tuple(answer["times_s"]),
        answer["build_s"],
        answer["resident_bytes"],
    )


def pocl_library() -> str:
    """The path of the PoCL that comes with pyopencl's extra."""
    spec = importlib.util.find_spec("pyopencl")
    assert spec is not None and spec.origin is not None
    return str(next((Path(spec.origin).parent / ".libs").glob("libpocl-*.so")))


def intel_library() -> str | None:
    """The path of Intel's runtime for processors (the package intel-opencl-rt), None where it is not installed."""
    library = Path(sys.prefix) / "lib" / "libintelocl.so"
    return str(library) if library.exists() else None
