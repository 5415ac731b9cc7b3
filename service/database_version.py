"""The version of the database: read, brought up to date, or refused.

An empty database is made by whichever process comes first. The steps run inside one transaction that writes, so others
that start at the same moment wait for its end and find it done; a process that is killed in the middle leaves nothing.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import cast

import sqlalchemy
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection
from sqlalchemy.pool import NullPool

from service.database import BUSY_TIMEOUT_S, Database, translated_faults
from service.errors import DatabaseBusyError, DatabaseError, DatabaseVersionError

MIGRATIONS = Path(__file__).parent.parent / "migrations"

_RETRY_S = 0.05


class Standing(Enum):
    """How a database stands to this Beamtune."""

    EMPTY = auto()
    OLDER = auto()
    CURRENT = auto()
    NEWER = auto()
    FOREIGN = auto()


@dataclass(frozen=True, slots=True)
class Version:
    """The revision that a database is of (None where it has none), and how it stands to this Beamtune."""

    revision: str | None
    standing: Standing


def head_revision() -> str:
    """The revision that this Beamtune works with."""
    head = ScriptDirectory(str(MIGRATIONS)).get_current_head()
    assert head is not None
    return head


def prepare(database: Database) -> None:
    """Make an empty database; accept one of this version. Raises DatabaseVersionError for any other."""
    with _writing_alone(database) as connection:
        version = _version_of(connection)
        if version.standing is Standing.EMPTY:
            _upgrade(connection)
        elif version.standing is not Standing.CURRENT:
            raise _refusal(version)


def open_database(url: str, busy_timeout_s: float = BUSY_TIMEOUT_S) -> Database:
    """The database at `url`, made where it is empty. Raises DatabaseError, also for another version."""
    database = Database(url, busy_timeout_s)
    prepare(database)
    return database


def migrate(database: Database) -> Version:
    """Bring the database to this version in one transaction, and return the version that it had before.

    Raises DatabaseVersionError where it is newer, or not Beamtune's.
    """
    with _writing_alone(database) as connection:
        version = _version_of(connection)
        if version.standing in (Standing.EMPTY, Standing.OLDER):
            _upgrade(connection)
        elif version.standing is not Standing.CURRENT:
            raise _refusal(version)
    return version


def check_version(database: Database) -> None:
    """Raise DatabaseVersionError unless the database is of this version. Nothing is written."""
    with database.reading() as connection:
        version = _version_of(connection)
    if version.standing is not Standing.CURRENT:
        raise _refusal(version)


def _refusal(version: Version) -> DatabaseVersionError:
    head = head_revision()
    return DatabaseVersionError(
        {
            Standing.EMPTY: "the database is empty: start the service, or run `python -m service migrate`",
            Standing.OLDER: f"the database is of version {version.revision}, this Beamtune needs {head}: stop every "
            "service and worker, copy the database's file as a backup, then run `python -m service migrate`",
            Standing.NEWER: f"the database is of version {version.revision}, newer than this Beamtune ({head}): "
            "start the newer Beamtune, or go back to a backup",
            Standing.FOREIGN: "the database holds tables that are not Beamtune's: name another file",
        }[version.standing]
    )


def _version_of(connection: Connection) -> Version:
    tables = sqlalchemy.inspect(connection).get_table_names()
    if not tables:
        return Version(None, Standing.EMPTY)
    heads = MigrationContext.configure(connection).get_current_heads() if "alembic_version" in tables else ()
    if len(heads) != 1:
        return Version(None, Standing.FOREIGN)
    scripts = ScriptDirectory(str(MIGRATIONS))
    if heads[0] == scripts.get_current_head():
        return Version(heads[0], Standing.CURRENT)
    known = {revision.revision for revision in scripts.walk_revisions()}
    return Version(heads[0], Standing.OLDER if heads[0] in known else Standing.NEWER)


@contextmanager
def _writing_alone(database: Database) -> Iterator[Connection]:
    """A transaction that writes and may change tables, on a connection of its own.

    Foreign keys are not enforced on it, since SQLite changes a table by making it anew; they are checked at the end.
    """
    folder = Path(database.url.database or "").parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatabaseError(f"the database's folder {folder} cannot be made: {error.strerror}") from error
    engine = sqlalchemy.create_engine(database.url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with translated_faults(), engine.connect() as connection:
        raw = cast(sqlite3.Connection, connection.connection.driver_connection)
        raw.execute(f"PRAGMA busy_timeout = {int(database.busy_timeout_s * 1000)}")
        raw.execute("PRAGMA synchronous = FULL")
        _write_ahead(raw, database.busy_timeout_s)
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        try:
            yield connection
            assert not raw.execute("PRAGMA foreign_key_check").fetchall(), "a migration left rows without their parents"
        except BaseException:
            connection.exec_driver_sql("ROLLBACK")
            raise
        connection.exec_driver_sql("COMMIT")


def _write_ahead(raw: sqlite3.Connection, timeout_s: float) -> None:
    """Give the file a write-ahead log, so that readers and a writer do not wait for each other.

    SQLite does not wait for locks on its own in this step, so several that start at once have to try again.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            (mode,) = raw.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
        else:
            if mode == "wal":
                return
        if time.monotonic() > deadline:
            raise DatabaseBusyError("the database is locked by another process")
        time.sleep(_RETRY_S)


def _upgrade(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
