"""NumPy's matmul, timed in a child process of its own, with the OpenBLAS kernel that the processor gets by itself."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import time
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType

import numpy as np

#: How long OpenBLAS' threads may go on spinning after a call, which must not disturb who is timed next.
SETTLE_S = 0.06
_START_S = 60.0
#: The prefixes and suffixes with which NumPy's wheels, distributions and OpenBLAS itself name its functions.
_SYMBOLS = ("scipy_openblas_get_corename64_", "scipy_openblas_get_corename", "openblas_get_corename64_",
            "openblas_get_corename")  # fmt: skip
#: It would name another kernel than the processor's own.
_OVERRIDE = "OPENBLAS_CORETYPE"


class NumpyMatmul:
    """A child process that multiplies two float32 matrices when it is asked to."""

    def __init__(self, a: np.ndarray, b: np.ndarray) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        override = os.environ.pop(_OVERRIDE, None)
        try:
            self._process.start()
        finally:
            if override is not None:
                os.environ[_OVERRIDE] = override
        theirs.close()
        self._pipe.send((a, b))
        if not self._pipe.poll(_START_S):
            raise RuntimeError("NumPy's child did not start")
        self.core_name: str = self._pipe.recv()

    def times_s(self, rounds: int) -> list[float]:
        """Seconds of each of `rounds` products, after one to warm up."""
        self._pipe.send(rounds)
        times: list[float] = self._pipe.recv()
        return times

    def __enter__(self) -> NumpyMatmul:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()


def _serve(pipe: Connection) -> None:
    a, b = pipe.recv()
    product = np.empty((a.shape[0], b.shape[1]), np.float32)
    pipe.send(_core_name())
    while True:
        try:
            rounds = pipe.recv()
        except EOFError:
            return
        times = []
        for turn in range(rounds + 1):
            started = time.perf_counter()
            np.matmul(a, b, out=product)
            if turn:
                times.append(time.perf_counter() - started)
        time.sleep(SETTLE_S)
        pipe.send(times)


def _core_name() -> str:
    """The kernel that OpenBLAS chose ("Haswell", "SkylakeX", ...), asked of the library that is loaded here."""
    maps = Path("/proc/self/maps")
    mapped = {line.split()[-1] for line in maps.read_text().splitlines() if "blas" in line} if maps.exists() else set()
    for path in sorted(mapped):
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        for symbol in _SYMBOLS:
            function = getattr(library, symbol, None)
            if function is not None:
                function.restype = ctypes.c_char_p
                name = function()
                return name.decode() if isinstance(name, bytes) else "unknown"
    return "not OpenBLAS"
