"""The process that holds one device: `python -m runners.child FD PARENT`, started by runners.process alone.

It answers requests on the socket FD until the other end goes away. Compilers and kernels hang and crash; then this
process is killed, and nothing else is.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from runners.messages import Stage, StageName
from runners.session import Session

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
#: The kernel takes this process first where memory runs out (proc(5), oom_score_adj).
_FIRST_TO_GO = "800"


def end_with(parent: int) -> None:
    """Have this process killed when its parent ends, however that ends. Leaves at once where it has ended already."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO)
    if os.getppid() != parent:
        raise SystemExit("the parent has ended")


def serve(pipe: Connection) -> None:
    """Answer requests until the other end goes away."""
    from runners.backends.opencl import OpenCLBackend  # loads the driver: not before this process is one to be lost

    def enter(stage: StageName, extra_s: float) -> None:
        pipe.send(Stage(stage, extra_s))

    session = Session(OpenCLBackend(), enter)
    while True:
        try:
            request = pipe.recv()
        except EOFError:
            return
        pipe.send(session.answer(request))


def main() -> None:
    """Serve on the socket that was inherited."""
    descriptor, parent = (int(word) for word in sys.argv[1:])
    end_with(parent)
    with suppress(BrokenPipeError):
        serve(Connection(descriptor))


if __name__ == "__main__":
    main()
