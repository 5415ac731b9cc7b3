"""The command line: `python -m service COMMAND`."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import structlog
import typer
import uvicorn
from pydantic import ValidationError

from runners.devices import discover
from runners.errors import RunnerError
from service.app import create_app
from service.database import Database
from service.database_version import Standing, check_version, migrate, open_database
from service.errors import AddressError, DatabaseError, ServiceError
from service.logs import set_up_logs
from service.settings import Settings

_log = structlog.get_logger(__name__)

app = typer.Typer(
    help="Beamtune: a beam-search autotuning service for compute kernels. Settings come from BEAMTUNE_ variables.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

#: Seconds that open connections (event streams) get when the service ends.
_LEAVE_S = 2
_BACKLOG = 1024

DatabaseOption = Annotated[str | None, typer.Option("--database", help="sqlite:///PATH")]
HostOption = Annotated[str | None, typer.Option(help="The address to listen on")]
PortOption = Annotated[int | None, typer.Option(help="The port to listen on; 0 for any that is free")]


@app.command()
def serve(host: HostOption = None, port: PortOption = None, database: DatabaseOption = None) -> None:
    """Answer HTTP requests until SIGTERM or Ctrl-C. An empty database is made."""
    with _failures_told():
        settings = _settings(host=host, port=port, database_url=database)
        set_up_logs(settings)
        opened = open_database(settings.database_url, settings.database_busy_s)
        listener = _listen(settings)
        web_app = create_app(settings, opened)
        config = uvicorn.Config(
            web_app,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=_LEAVE_S,
            server_header=False,
        )
        shown_host, shown_port = listener.getsockname()[:2]
        _log.info("serving", url=f"http://{shown_host}:{shown_port}/", database=settings.database_url)
        if not shown_host.startswith("127.") and shown_host != "::1":
            _log.warning("anyone who can reach this address can use the service: there are no tokens yet")
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)  # uvicorn ends on them, and then raises them once more
        _Server(config, web_app.state.context.stopping).run(sockets=[listener])


@app.command()
def worker(database: DatabaseOption = None) -> None:
    """Tune the queued kernels on the devices of this machine until SIGTERM or Ctrl-C."""
    from service.worker import run_worker  # the service itself needs no device

    with _failures_told():
        settings = _settings(database_url=database)
        set_up_logs(settings)
        raise typer.Exit(run_worker(settings))


@app.command(name="migrate")
def migrate_command(database: DatabaseOption = None) -> None:
    """Bring the database to this version. Stop services and workers, and copy its file, before you do."""
    with _failures_told():
        settings = _settings(database_url=database)
        set_up_logs(settings)
        opened = Database(settings.database_url, settings.database_busy_s)
        before = migrate(opened)
        done = {Standing.CURRENT: "was up to date", Standing.EMPTY: "was empty, and is made"}
        typer.echo(
            f"{settings.database_url} {done.get(before.standing, f'was of version {before.revision}; migrated')}"
        )


@app.command()
def check(database: DatabaseOption = None) -> None:
    """Say whether the database can be used, and which devices this machine has."""
    with _failures_told():
        settings = _settings(database_url=database)
        fault = _fault_of(settings)
        typer.echo(f"database  {settings.database_url}: {'ok' if fault is None else 'not to be used'}")
        if fault is not None:
            typer.echo(f"error: {fault}", err=True)
        found = discover()
    for driver in found.broken:
        typer.echo(f"driver    {driver.library}: not used: {driver.reason}")
    for device in found.devices:
        info = device.info
        typer.echo(f"device    {info.identity.name} ({info.kind}, {info.fingerprint.platform}): ok")
        typer.echo(f"          {info.device_key}")
    if not found.devices:
        typer.echo("error: no OpenCL device was found", err=True)
    if fault is not None or not found.devices:
        raise typer.Exit(1)


@app.command()
def demo(
    once: Annotated[bool, typer.Option(help="End after the table")] = False,
    device_seconds: Annotated[float, typer.Option(min=1.0, help="The budget of each kernel's search")] = 15.0,
    port: Annotated[int | None, typer.Option(help="The port of the page")] = None,
) -> None:
    """Tune example kernels on this machine, print what came of them, and serve the page."""
    from service.demo import run_demo  # nothing else needs it

    with _failures_told():
        raise typer.Exit(run_demo(once, device_seconds, port))


class _Server(uvicorn.Server):
    """A server that tells event streams to end when it is told to, as it waits for them."""

    def __init__(self, config: uvicorn.Config, stopping: threading.Event) -> None:
        super().__init__(config)
        self._stopping = stopping

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """On SIGTERM and SIGINT."""
        self._stopping.set()
        super().handle_exit(sig, frame)


def _fault_of(settings: Settings) -> str | None:
    """What is wrong with the database; None where nothing is. Makes no file."""
    database = Database(settings.database_url, settings.database_busy_s)
    if not Path(database.url.database or "").exists():
        return "the database is not there yet: start the service, or run `python -m service migrate`"
    try:
        check_version(database)
    except DatabaseError as error:
        return str(error)
    return None


def _settings(**given: str | int | None) -> Settings:
    """The settings of the environment, with what was given on the command line."""
    return Settings(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]


def _listen(settings: Settings) -> socket.socket:
    """A socket that listens. Raises AddressError."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise AddressError(f"cannot listen on {settings.host}:{settings.port}: {error.strerror}") from error


@contextmanager
def _failures_told() -> Iterator[None]:
    """End with status 1 and one line for what is wrong with settings, database, address or devices."""
    try:
        yield
    except (ServiceError, RunnerError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error
    except ValidationError as error:
        first = error.errors()[0]
        typer.echo(f"error: BEAMTUNE_{'_'.join(map(str, first['loc'])).upper()}: {first['msg']}", err=True)
        raise typer.Exit(1) from error
