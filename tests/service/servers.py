"""Real services for tests: uvicorn on a free loopback port, in this process or in one of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import uvicorn

from service.app import create_app
from service.database import Database
from service.settings import Settings

ROOT = Path(__file__).parent.parent.parent
START_S = 60.0
STOP_S = 15.0

#: Making one takes longer than any request; it may be used by many threads.
_CLIENT = httpx2.Client(timeout=30.0)


def url_of(path: Path) -> str:
    return f"sqlite:///{path}"


@dataclass(frozen=True)
class Service:
    """A service that answers at `url`."""

    url: str

    def get(self, path: str, **query: Any) -> httpx2.Response:
        return _CLIENT.get(self.url + path, params=query or None)

    def submit(self, ast: object, **options: Any) -> httpx2.Response:
        return _CLIENT.post(f"{self.url}/v1/kernels", json={"ast": ast, **options})

    def post_raw(self, body: bytes, media_type: str = "application/json") -> httpx2.Response:
        headers = {"Content-Type": media_type}
        return _CLIENT.post(f"{self.url}/v1/kernels", content=body, headers=headers)

    def cancel(self, job_id: int) -> httpx2.Response:
        return _CLIENT.post(f"{self.url}/v1/jobs/{job_id}/cancel")


@contextmanager
def running_here(database: Database, **settings: Any) -> Iterator[Service]:
    """A service in a thread of this process."""
    app = create_app(Settings(**settings), database)
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        service = Service(f"http://127.0.0.1:{listener.getsockname()[1]}")
        wait_until_healthy(service)
        yield service
    finally:
        server.should_exit = True
        thread.join(STOP_S)
        listener.close()
        assert not thread.is_alive(), "the service did not end"


def wait_until_healthy(service: Service) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            assert service.get("/healthz").status_code == 200
            return
        except httpx2.TransportError:
            assert time.monotonic() < deadline, "the service does not answer"
            time.sleep(0.05)


class ServiceProcess:
    """`python -m service serve` on a database."""

    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "service", "serve", "--port", "0", "--database", url_of(path)],
            cwd=ROOT,
            env=os.environ | {"BEAMTUNE_LOG_FORMAT": "json"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.service = Service(self._address())

    def _address(self) -> str:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if '"serving"' in line:
                url: str = json.loads(line)["url"]
                return url.rstrip("/")
        raise AssertionError("the service ended before it served")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self._gone()

    def terminate(self) -> int:
        self.process.terminate()
        return self._gone()

    def _gone(self) -> int:
        code = self.process.wait(STOP_S)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code


@contextmanager
def service_process(path: Path) -> Iterator[ServiceProcess]:
    """A service of its own process, which is gone afterwards whatever happened to it."""
    process = ServiceProcess(path)
    try:
        yield process
    finally:
        if process.process.poll() is None:
            process.kill()
