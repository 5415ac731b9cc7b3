"""Databases are made, brought up to date, or refused."""

from __future__ import annotations

import multiprocessing
import re
import shutil
import sqlite3
import time
from pathlib import Path

import pytest
import sqlalchemy
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from service import database_version
from service.database import Database
from service.database_version import MIGRATIONS, Standing, check_version, migrate, open_database, prepare
from service.errors import DatabaseBusyError, DatabaseError, DatabaseKindError, DatabaseVersionError
from service.models import metadata
from tests.service.servers import url_of

LATER = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "0002", "0001"

def upgrade():
    with op.batch_alter_table("jobs") as jobs:
        jobs.add_column(sa.Column("colour", sa.Text()))
"""


def definitions(path: Path) -> dict[str, str]:
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {name: re.sub(r"\s+", " ", sql) for name, sql in rows if name != "alembic_version"}


def version_rows(path: Path) -> list[tuple[str]]:
    with sqlite3.connect(path) as connection:
        return connection.execute("SELECT version_num FROM alembic_version").fetchall()


@pytest.fixture
def later_migrations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The migrations of a Beamtune to come."""
    later = tmp_path / "later"
    shutil.copytree(MIGRATIONS, later, ignore=shutil.ignore_patterns("__pycache__"))
    (later / "versions" / "0002_later.py").write_text(LATER)
    monkeypatch.setattr(database_version, "MIGRATIONS", later)
    return later


def test_migrations_make_exactly_the_tables_of_the_metadata(database: Database, path: Path, tmp_path: Path) -> None:
    with database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    direct = tmp_path / "direct.db"
    engine = sqlalchemy.create_engine(url_of(direct))
    metadata.create_all(engine)
    engine.dispose()
    assert definitions(path) == definitions(direct)


def test_prepare_leaves_a_database_of_this_version_as_it_is(database: Database, path: Path) -> None:
    before = path.read_bytes()
    prepare(database)
    check_version(database)
    assert path.read_bytes() == before


def test_prepare_writes_ahead_of_the_file(database: Database) -> None:
    with database.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar_one() == 1
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2


def test_check_version_refuses_an_empty_database_and_writes_nothing(path: Path) -> None:
    with pytest.raises(DatabaseVersionError, match="python -m service migrate"):
        check_version(Database(url_of(path)))
    assert not path.exists() or path.stat().st_size == 0


def test_an_older_database_is_refused_until_it_is_migrated(
    database: Database, path: Path, later_migrations: Path
) -> None:
    for refuses in (prepare, check_version):
        with pytest.raises(DatabaseVersionError, match=r"version 0001.*needs 0002.*backup.*python -m service migrate"):
            refuses(database)
    assert version_rows(path) == [("0001",)]
    assert migrate(database).standing is Standing.OLDER
    assert version_rows(path) == [("0002",)]
    prepare(database)
    assert "colour" in definitions(path)["jobs"]
    assert migrate(database).standing is Standing.CURRENT


def test_a_newer_database_is_refused_by_everything(
    database: Database, path: Path, later_migrations: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(database)
    monkeypatch.setattr(database_version, "MIGRATIONS", MIGRATIONS)
    before = definitions(path)
    for refuses in (prepare, check_version, migrate):
        with pytest.raises(DatabaseVersionError, match="newer than this Beamtune"):
            refuses(database)
    assert definitions(path) == before


def test_a_foreign_database_is_refused_by_everything(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    for refuses in (prepare, check_version, migrate):
        with pytest.raises(DatabaseVersionError, match="not Beamtune's"):
            refuses(Database(url_of(path)))
    assert list(definitions(path)) == ["recipes"]


def test_a_migration_that_fails_changes_nothing(database: Database, path: Path, later_migrations: Path) -> None:
    (later_migrations / "versions" / "0002_later.py").write_text(LATER + "    raise RuntimeError('halfway')\n")
    before = definitions(path)
    with pytest.raises(RuntimeError, match="halfway"):
        migrate(database)
    assert definitions(path) == before
    assert version_rows(path) == [("0001",)]


@pytest.mark.parametrize(
    "url",
    ["postgresql://host/db", "sqlite://", "sqlite:///:memory:", "nonsense", "mysql://h/d", "sqlite:///x.db?timeout=1"],
)
def test_a_database_that_is_no_file_is_refused(url: str) -> None:
    with pytest.raises(DatabaseKindError):
        Database(url)


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    path.write_bytes(b"this is a letter to my aunt, and not a database at all\n" * 100)
    with pytest.raises(DatabaseError, match="something else"):
        open_database(url_of(path))


def test_a_folder_that_is_missing_is_made(tmp_path: Path) -> None:
    place = tmp_path / "not" / "yet" / "there.db"
    open_database(url_of(place)).close()
    assert version_rows(place) == [("0001",)]


# ---- several at once -------------------------------------------------------------------------------------------------


def _start(url: str, gate: multiprocessing.synchronize.Event, results: multiprocessing.Queue[str]) -> None:
    gate.wait(60)
    try:
        database = open_database(url)
        with database.writing() as connection:
            name = multiprocessing.current_process().name
            connection.exec_driver_sql("INSERT INTO tenants (name, is_private, created_at) VALUES (?, 0, 0)", (name,))
        results.put("ok")
    except Exception as error:  # noqa: BLE001 - whatever it is, the test shows it
        results.put(repr(error))


def test_thirty_two_processes_start_on_an_empty_file(path: Path) -> None:
    context = multiprocessing.get_context("fork")  # no device is open here, and imports are done
    gate, results = context.Event(), context.Queue()
    starters = [context.Process(target=_start, args=(url_of(path), gate, results), name=f"t{n}") for n in range(32)]
    for starter in starters:
        starter.start()
    gate.set()
    outcomes = [results.get(timeout=60) for _ in starters]
    for starter in starters:
        starter.join(10)
    assert outcomes == ["ok"] * 32
    with sqlite3.connect(path) as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM tenants")}
    assert names == {"default", *(f"t{n}" for n in range(32))}


def _hold(path: str, holding: multiprocessing.synchronize.Event) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    connection.execute("UPDATE tenants SET name = 'half done'")
    holding.set()
    time.sleep(600)


def test_a_killed_process_leaves_no_lock_and_nothing_half_done(database: Database, path: Path) -> None:
    context = multiprocessing.get_context("fork")
    holding = context.Event()
    holder = context.Process(target=_hold, args=(str(path), holding))
    holder.start()
    assert holding.wait(30)
    with pytest.raises(DatabaseBusyError):
        open_database(url_of(path), busy_timeout_s=0.2)
    holder.kill()
    holder.join(10)
    began = time.monotonic()
    opened = open_database(url_of(path))
    assert time.monotonic() - began < 10
    with opened.reading() as connection:
        assert connection.exec_driver_sql("SELECT name FROM tenants").scalar_one() == "default"
