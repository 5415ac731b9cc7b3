"""The child process that holds the OpenCL device: started anew (never forked), told what to run through a pipe.

It is the only place in the tests that imports pyopencl. Compilers and kernels hang or crash; whoever holds the other
end (`opencl.py`) kills the child when a deadline passes.
"""

from __future__ import annotations

import os
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

#: Bytes on each side of every buffer that must be as they were, and the pattern in them.
GUARD = 4096
PATTERN = 0xA5


class Device:
    """The first device of the only platform that the loader shows."""

    def __init__(self) -> None:
        import pyopencl as cl

        self.cl = cl
        self.device = cl.get_platforms()[0].get_devices()[0]
        self.context = cl.Context([self.device])
        self.queue = cl.CommandQueue(self.context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        self._last: tuple[str, Any] | None = None

    def describe(self) -> dict[str, Any]:
        """What a target needs to know of the device."""
        device = self.device
        return {
            "name": device.name,
            "shared_max": device.local_mem_size,
            "local_max": tuple(device.max_work_item_sizes),
            "work_group_max": device.max_work_group_size,
            "fp16": "cl_khr_fp16" in device.extensions,
            "fp64": "cl_khr_fp64" in device.extensions,
            "float_width": device.native_vector_width_float,
        }

    def build(self, source: str, name: str) -> Any:
        """A kernel of a source, built; the last source stays built, for other inputs and the other kernels in it.

        The compiler's log is in the exception where it fails.
        """
        if self._last is None or self._last[0] != source:
            self._last = (source, self.cl.Program(self.context, source).build())
        return getattr(self._last[1], name)

    def run(self, job: dict[str, Any]) -> dict[str, Any]:
        """Run a job `repeats` times: its outputs, what was wrong around its buffers, and the seconds of each run.

        unsteady: the buffers whose contents were not the same after every run (looked at only where `steady` is asked).
        """
        started = time.perf_counter()
        kernel = self.build(job["source"], job["name"])
        build_s = time.perf_counter() - started
        buffers = [Guarded(self, data, job["offset_bytes"]) for data in job["buffers"]]
        arguments = [*(buffer.inner for buffer in buffers), *(np.int32(value) for value in job["variables"])]
        times: list[float] = []
        contents: list[set[bytes]] = [set() for _ in buffers]
        for _ in range(job["repeats"]):
            event = kernel(self.queue, job["global_size"], job["local_size"], *arguments)
            event.wait()
            times.append((event.profile.end - event.profile.start) * 1e-9)
            if job["steady"]:
                for seen, buffer in zip(contents, buffers, strict=True):
                    seen.add(buffer.read()[0].tobytes())
        read = [buffer.read() for buffer in buffers]
        return {
            "outputs": [data for data, _ in read],
            "broken": [number for number, (_, intact) in enumerate(read) if not intact],
            "unsteady": [number for number, seen in enumerate(contents) if len(seen) > 1],
            "times_s": times,
            "build_s": build_s,
            "resident_bytes": resident_bytes(),
        }

    def run_in_turn(self, job: dict[str, Any]) -> dict[str, Any]:
        """Run several programs on the same buffers in turn, for `rounds` rounds after one to warm up.

        The time limit of a round ends them early; the seconds of every run, by program.
        """
        cl = self.cl
        buffers = [
            cl.Buffer(self.context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=data)
            for data in job["buffers"]
        ]
        kernels = [(self.build(source, name), items, local) for source, name, items, local in job["programs"]]
        times: list[list[float]] = [[] for _ in kernels]
        started = time.perf_counter()
        for turn in range(job["rounds"] + 1):
            for number, (kernel, items, local) in enumerate(kernels):
                event = kernel(self.queue, items, local, *buffers)
                event.wait()
                if turn:
                    times[number].append((event.profile.end - event.profile.start) * 1e-9)
            if turn >= 3 and time.perf_counter() - started > job["budget_s"]:
                break
        return {"times_s": times}


class Guarded:
    """A device buffer with guard bytes before and behind what the kernel gets.

    With `offset_bytes` it lies in host memory that many bytes beyond an aligned address, as a sub-buffer may.
    """

    def __init__(self, device: Device, data: np.ndarray, offset_bytes: int = 0) -> None:
        cl, self.device = device.cl, device
        self.data = data
        self.size = max(data.nbytes, 1)
        length = GUARD + self.size + GUARD
        host = np.full(length, PATTERN, np.uint8)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        if offset_bytes:
            spare = np.full(GUARD + length, PATTERN, np.uint8)
            start = -spare.ctypes.data % GUARD + offset_bytes
            host = spare[start : start + length]
            flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
        host[GUARD : GUARD + data.nbytes] = np.frombuffer(data.tobytes(), np.uint8)
        self.whole = cl.Buffer(device.context, flags, hostbuf=host)
        self.inner = self.whole.get_sub_region(GUARD, self.size)

    def read(self) -> tuple[np.ndarray, bool]:
        """(the contents, whether the guard bytes are as they were)."""
        host = np.empty(GUARD + self.size + GUARD, np.uint8)
        self.device.cl.enqueue_copy(self.device.queue, host, self.whole)
        inner = host[GUARD : GUARD + self.data.nbytes].tobytes()
        behind = host[GUARD + self.data.nbytes :]
        intact = bool((host[:GUARD] == PATTERN).all() and (behind == PATTERN).all())
        return np.frombuffer(inner, self.data.dtype), intact


def resident_bytes() -> int:
    """How much memory this process holds (0 where the system does not tell)."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0


def serve(pipe: Connection, environment: dict[str, str]) -> None:
    """Answer jobs until the other end goes away. `environment` is set before the loader is, which reads it once."""
    os.environ.update(environment)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # compilers write their warnings past Python
    device = Device()
    pipe.send(device.describe())
    while True:
        try:
            job = pipe.recv()
        except EOFError:
            return
        try:
            work = device.run_in_turn if "programs" in job else device.run
            pipe.send(("done", work(job)))
        except Exception as error:  # noqa: BLE001  # whatever the driver raises is the answer
            pipe.send(("failed", f"{type(error).__name__}: {error}"))
