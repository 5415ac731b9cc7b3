"""The parent's side of a device's child: starts it, asks with deadlines, kills it and all that it started.

A child is started by a fresh interpreter, never forked: drivers do not survive a fork.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from runners.errors import ChildDied, ChildError, ChildKilled, ChildTimeout
from runners.messages import Request, Stage

ROOT = Path(__file__).resolve().parent.parent
#: Starting takes half a second; a machine that is busy may take much longer.
START_S = 60.0
#: Between a request and the first stage of the work on it.
_IDLE_S = 60.0
_REAP_S = 10.0
#: What a child started is reaped by the system, which is waited for so long.
_GROUP_S = 1.0
_LAST_WORDS_BYTES = 2000


class Child:
    """A device's child, if there is one at the moment. Not for several threads at once."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """`environment`: what is set in the child beside what this process has."""
        self._environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._words: _LastWords | None = None

    @property
    def pid(self) -> int | None:
        """Of the process, None where there is none."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the process. The first request waits for it. Raises ChildDied where the system refuses one."""
        self.kill()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = _starter().submit(_spawn, theirs.fileno(), self._environment).result()
            except OSError as error:
                ours.close()
                raise ChildDied("start", 0.0, f"no process could be started: {error}") from error
        self._pipe = Connection(ours.detach())
        self._words = _LastWords(self._process)

    def ask(self, request: Request, deadlines_s: Mapping[str, float]) -> Any:
        """The answer. Each stage that the child enters may take as long as `deadlines_s` says.

        Raises ChildTimeout or ChildDied; then the child and all that it started are gone.
        """
        if self._pipe is None:
            raise ChildDied("start", 0.0, "there is no child")
        stage, since = "start", time.monotonic()
        limit = deadlines_s.get(stage, _IDLE_S)
        try:
            self._pipe.send(request)
            while True:
                if not self._pipe.poll(max(since + limit - time.monotonic(), 0.0)):
                    self.kill()
                    raise ChildTimeout(stage, time.monotonic() - since, f"{stage} took more than {limit:.3g} s")
                message = self._pipe.recv()
                if not isinstance(message, Stage):
                    return message
                stage, since = message.name, time.monotonic()
                limit = deadlines_s[stage] + message.extra_s
        except ChildError:
            raise
        except Exception as error:  # a child whose memory was overwritten may send anything
            raise self._obituary(stage, time.monotonic() - since) from error

    def kill(self) -> None:
        """End the child and all that it started, and see that they are gone. Does nothing where there is none."""
        process, self._process = self._process, None
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        if process is not None:
            _kill_group(process)
        if self._words is not None:
            self._words.close()
            self._words = None

    def _obituary(self, stage: str, elapsed_s: float) -> ChildDied:
        """How the child ended, and what it said last. It is gone afterwards."""
        process, words = self._process, self._words
        if process is None or words is None:
            return ChildDied(stage, elapsed_s, "the child is gone")
        by_itself = _has_ended(process, 1.0)  # and so has a status of its own
        self.kill()
        status = process.returncode
        how = f"was killed ({signal.strsignal(-status)})" if status < 0 else f"ended with status {status}"
        said = f"; it said: {words.text()}" if words.text() else ""
        error = ChildKilled if by_itself and status == -signal.SIGKILL else ChildDied
        return error(stage, elapsed_s, f"the child {how}{said}")


def _has_ended(process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    """Whether a process ends in time. Its number is not given free."""
    until = time.monotonic() + timeout_s
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """The child is its group's leader; until it is reaped its number cannot be another's."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        process.wait(_REAP_S)
    except subprocess.TimeoutExpired as error:
        raise ChildTimeout("start", _REAP_S, "the child cannot be killed; its driver hangs in the kernel") from error
    until = time.monotonic() + _GROUP_S
    with suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < until:
            os.killpg(process.pid, 0)
            time.sleep(0.002)


# ---- starting --------------------------------------------------------------------------------------------------------


_starters: dict[int, ThreadPoolExecutor] = {}


def _starter() -> ThreadPoolExecutor:
    """The thread that starts children. A child goes when the thread that started it does, so this one stays."""
    mine = os.getpid()  # a fork has this table, and not the thread
    if mine not in _starters:
        _starters[mine] = ThreadPoolExecutor(1, thread_name_prefix="start-child")
    return _starters[mine]


def _spawn(descriptor: int, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "runners.child", str(descriptor), str(os.getpid())],
        cwd=ROOT,
        env={**_inherited(), **environment},
        pass_fds=(descriptor,),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _inherited() -> dict[str, str]:
    """This process's environment without what changes how pyopencl builds, and how Python finds modules."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith("PYOPENCL_")}
    for name in ("PYTHONSAFEPATH", "PYTHONSTARTUP", "PYTHONINSPECT"):
        mine.pop(name, None)
    return mine


class _LastWords:
    """The end of what a child writes to its standard error. Drivers may write any amount there."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stderr is not None
        self._stream = process.stderr
        self._kept = b""
        self._thread = threading.Thread(target=self._read, name="last-words", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with suppress(OSError, ValueError):
            while data := os.read(self._stream.fileno(), 65536):
                self._kept = (self._kept + data)[-_LAST_WORDS_BYTES:]

    def text(self) -> str:
        """What is kept, as one line a line."""
        return self._kept.decode(errors="replace").strip()

    def close(self) -> None:
        """After the child's end."""
        self._thread.join(1.0)
        self._stream.close()
