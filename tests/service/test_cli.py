"""The command line: what it says, and its exit status."""

from __future__ import annotations

import socket
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from service.cli import app
from tests.service.servers import url_of


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def test_help_names_every_command() -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert all(command in result.output for command in ("serve", "worker", "migrate", "check", "demo"))


def test_migrate_makes_an_empty_database_once(path: Path) -> None:
    first, second = run("migrate", "--database", url_of(path)), run("migrate", "--database", url_of(path))
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert "was empty, and is made" in first.output
    assert "was up to date" in second.output


@pytest.mark.parametrize("command", ["serve", "migrate", "check"])
def test_a_newer_database_is_refused(path: Path, command: str) -> None:
    run("migrate", "--database", url_of(path))
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    result = run(command, "--database", url_of(path))
    assert result.exit_code == 1
    assert "error: the database is of version 9999, newer than this Beamtune" in result.stderr


def test_check_wants_a_database(path: Path) -> None:
    result = run("check", "--database", url_of(path))
    assert result.exit_code == 1
    assert "not there yet" in result.stderr and "python -m service migrate" in result.stderr
    assert "device    " in result.stdout  # the rest is looked at all the same
    assert not path.exists()


@pytest.mark.parametrize("command", ["serve", "worker", "migrate"])
def test_a_folder_that_cannot_be_made_is_one_line(command: str) -> None:
    result = run(command, "--database", "sqlite:////dev/null/beamtune.db")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: the database's folder /dev/null cannot be made")


@pytest.mark.parametrize("command", ["serve", "worker", "migrate", "check"])
def test_another_kind_of_database_is_refused(command: str) -> None:
    result = run(command, "--database", "postgresql://host/name")
    assert result.exit_code == 1
    assert "only SQLite" in result.stderr


def test_serve_tells_of_a_port_in_use(path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = run("serve", "--port", str(taken.getsockname()[1]), "--database", url_of(path))
    assert result.exit_code == 1
    assert "error: cannot listen on 127.0.0.1:" in result.stderr


def test_a_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEAMTUNE_PORT", "many")
    result = run("serve")
    assert result.exit_code == 1
    assert "error: BEAMTUNE_PORT: " in result.stderr
