"""`python -m service demo`: the main job from one command, on whatever device this machine has.

A service and a worker on a database of their own, in processes of their own; the kernels of docs/examples sent to it
over HTTP, and what came of them as a table. Everything ends with this process.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from service.errors import DemoError

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "docs" / "examples"
#: Of each kernel's search: enough to show something, and the first one is done within a minute.
DEVICE_SECONDS = 15.0
#: For a service to answer, and for a worker to have looked at its devices.
_SERVICE_S, _WORKER_S = 30.0, 60.0
_POLL_S = 0.25
#: Nothing is searched for longer than its effort's budget by much; a job that is has hung.
_JOB_S = 600.0
#: Columns of the table where it goes into a file or a pipe.
_PRINTED_WIDTH = 132
_ENDED = frozenset({"done", "failed", "cancelled", "expired"})


@dataclass(frozen=True, slots=True)
class Row:
    """An example kernel and what is known of it: the answer to its POST, its job, and its record."""

    name: str
    job: dict[str, Any] | None
    record: dict[str, Any] | None


def run_demo(
    once: bool, device_seconds: float = DEVICE_SECONDS, port: int | None = None, examples: Path = EXAMPLES
) -> int:
    """Tune every example kernel, print the table, and serve until Ctrl-C unless `once`; the exit status.

    device_seconds: the budget of each kernel. Raises DemoError where a process does not come up.
    """
    console = Console()
    if not console.is_terminal:
        console = Console(width=_PRINTED_WIDTH)
    signal.signal(signal.SIGTERM, _stop)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="beamtune-demo-"))
        address = f"http://127.0.0.1:{port or _free_port()}"
        environment = _environment(address, Path(folder))
        stack.enter_context(_process("serve", environment, Path(folder)))
        _wait_for(lambda: _get(address, "/healthz") is not None, _SERVICE_S, "the service does not answer", folder)
        stack.enter_context(_process("worker", environment, Path(folder)))
        _wait_for(lambda: bool(_online(address)), _WORKER_S, "no worker came with a device", folder)
        device = _online(address)[0]
        console.print(f"Device: {device['identity']['name']} ({device['kind']})")
        console.print(f"Page:   {address}/")
        try:
            rows = _tune(console, address, sorted(examples.glob("*.json")), device["key"], device_seconds)
        except KeyboardInterrupt:
            return 130
        console.print(results(rows))
        if not once:
            console.print(f"\nThe page: {address}/   Ctrl-C ends the demo.")
            _until_interrupted()
        return 0 if all(row.record is not None for row in rows) else 1


# ---- processes -------------------------------------------------------------------------------------------------------


def _environment(address: str, folder: Path) -> dict[str, str]:
    port = address.rpartition(":")[2]
    settings = {"DATABASE_URL": f"sqlite:///{folder / 'demo.db'}", "HOST": "127.0.0.1", "PORT": port}
    return os.environ | {f"BEAMTUNE_{name}": value for name, value in settings.items()}


@contextmanager
def _process(command: str, environment: dict[str, str], folder: Path) -> Iterator[None]:
    """`python -m service COMMAND` while the block lasts; its output goes to a file in `folder`."""
    with (folder / f"{command}.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "service", command],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # a Ctrl-C is for this process, which ends the others in order
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _wait_for(holds: Any, seconds: float, what: str, folder: str) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            logs = "\n".join(path.read_text()[-2000:] for path in sorted(Path(folder).glob("*.log")))
            raise DemoError(f"{what} within {seconds:.0f} s. Its log:\n{logs}")
        time.sleep(_POLL_S)


def _stop(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _until_interrupted() -> None:
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        pass


# ---- requests --------------------------------------------------------------------------------------------------------


def _get(address: str, path: str) -> Any:
    """The JSON that is there; None where nobody answers yet."""
    try:
        with urllib.request.urlopen(address + path, timeout=10) as response:
            return json.load(response)
    except urllib.error.HTTPError:
        raise
    except OSError:
        return None


def _online(address: str) -> list[dict[str, Any]]:
    """The devices that are there, GPUs first."""
    found = _get(address, "/v1/devices") or {"devices": []}
    online = [device for device in found["devices"] if device["state"] == "online"]
    return sorted(online, key=lambda device: bool(device["kind"] != "gpu"))


def _submit(address: str, path: Path, device: str, device_seconds: float) -> dict[str, Any]:
    budget = {"device_seconds": device_seconds}
    body = {"ast": json.loads(path.read_text()), "device": device, "budget": budget, "labels": {"example": path.stem}}
    request = urllib.request.Request(
        f"{address}/v1/kernels", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            answer: dict[str, Any] = json.load(response)
            return answer
    except urllib.error.HTTPError as error:
        raise DemoError(f"{path.name} was refused: {error.read().decode(errors='replace')}") from error


# ---- what is shown ---------------------------------------------------------------------------------------------------


def _tune(console: Console, address: str, paths: Sequence[Path], device: str, device_seconds: float) -> list[Row]:
    rows = []
    for path in paths:
        answer = _submit(address, path, device, device_seconds)
        rows.append(Row(path.stem, answer["job"], answer["record"]))
    deadline = time.monotonic() + _JOB_S
    shown: set[str] = set()
    with Live(_progress(rows), console=console, transient=True, refresh_per_second=4) as live:
        while any(_is_open(row) for row in rows) and time.monotonic() < deadline:
            time.sleep(_POLL_S)
            rows = [_looked_up(address, row) for row in rows]
            live.update(_progress(rows))
            for row in rows:
                if not _is_open(row) and row.name not in shown:
                    shown.add(row.name)
                    console.print(_line(row))
    return rows


def _is_open(row: Row) -> bool:
    return row.record is None and row.job is not None and row.job["state"] not in _ENDED


def _looked_up(address: str, row: Row) -> Row:
    if row.job is None or not _is_open(row):
        return row
    job = _get(address, f"/v1/jobs/{row.job['id']}") or row.job
    record = _get(address, f"/v1/records/{job['record']}") if job["record"] is not None else None
    return Row(row.name, job, record)


def _line(row: Row) -> str:
    if row.record is None:
        return f"{row.name}: {'no answer' if row.job is None else row.job['reason']}"
    return f"{row.name}: {_ms(row.record['baseline_s'])} -> {_ms(row.record['time_s'])}"


def _progress(rows: Sequence[Row]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("kernel", "state", "trials", "heuristic", "best so far"):
        table.add_column(name, justify="left" if name in ("kernel", "state") else "right")
    for row in rows:
        job = row.job or {}
        table.add_row(
            row.name,
            job.get("state", "from record"),
            str(job.get("trials", "")),
            _ms(job.get("baseline_s")),
            _ms(job.get("best_s")),
        )
    return table


def results(rows: Sequence[Row]) -> Table:
    """The table of what was found. All times were measured at full size, heuristic and best in turn."""
    table = Table(title="Tuned kernels", title_justify="left")
    table.add_column("kernel", no_wrap=True)
    for name in ("heuristic", "best", "speed-up"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("opts", overflow="fold", min_width=24)
    for name in ("trials", "search s"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        record, job = row.record, row.job or {}
        trials, took = str(job.get("trials", "")), _search_time(job)
        if record is None:
            table.add_row(row.name, "", "", "", f"no answer: {job.get('reason')}", trials, took)
            continue
        opts = " ".join(_opt(opt) for opt in record["opts"]) or "none"
        if record["is_heuristic"]:
            opts = f"the heuristic's: {opts} ({record['reason']})"
        speed_up = f"{1 / record['ratio']:.2f}"
        table.add_row(row.name, _ms(record["baseline_s"]), _ms(record["time_s"]), speed_up, opts, trials, took)
    return table


def _search_time(job: dict[str, Any]) -> str:
    if job.get("ended_at") is None or job.get("started_at") is None:
        return ""
    return f"{job['ended_at'] - job['started_at']:.1f}"


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e3 * seconds:.3f} ms"


def _opt(opt: dict[str, Any]) -> str:
    arguments = [str(opt[key]) for key in ("axis", "arg") if key in opt]
    return f"{opt['op']}({', '.join(arguments)})" if arguments else str(opt["op"])
