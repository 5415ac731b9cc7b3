"""The database: connections, transactions, and its faults as errors of this service.

SQLite so far. Every transaction that writes begins as BEGIN IMMEDIATE: it is alone from its first statement on, sees
all that was committed before, and cannot fail halfway because another wrote first. Readers never wait.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy
from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import QueuePool

from service.errors import DatabaseBusyError, DatabaseError, DatabaseFullError, DatabaseKindError

#: How long a transaction waits for another one's end, in seconds.
BUSY_TIMEOUT_S = 30.0
#: Connections of one process: at least one for each thread that answers requests.
POOL_SIZE = 48

_WRITES = "beamtune_writes"


class Database:
    """One database. Its connections are made when they are needed, and kept."""

    def __init__(self, url: str, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        """Raises DatabaseKindError for an address that is not `sqlite:///PATH`. Nothing is opened yet."""
        self.url = _checked_url(url)
        self.busy_timeout_s = busy_timeout_s
        self.engine = _engine(self.url, busy_timeout_s)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database, whatever is written meanwhile."""
        with translated_faults(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """The only transaction that writes at this moment: committed at the end, or undone where that raises."""
        alone = {_WRITES: True}
        with translated_faults(), self.engine.connect().execution_options(**alone) as connection, connection.begin():
            yield connection

    def close(self) -> None:
        """Close every connection that is not in use."""
        self.engine.dispose()


def _checked_url(text: str) -> URL:
    try:
        url = make_url(text)
    except ArgumentError as error:
        raise DatabaseKindError("the database's address has no form like sqlite:///PATH") from error
    if url.get_backend_name() != "sqlite" or url.get_driver_name() != "pysqlite":
        raise DatabaseKindError(f"only SQLite is supported so far (sqlite:///PATH), not {url.drivername}")
    if url.query:
        raise DatabaseKindError("the database's address has options after a ?, which are not supported")
    if not url.database or url.database == ":memory:":
        raise DatabaseKindError("the database must be a file (sqlite:///PATH), so that several processes can share it")
    return url


def _engine(url: URL, busy_timeout_s: float) -> Engine:
    engine = sqlalchemy.create_engine(
        url,
        poolclass=QueuePool,
        pool_size=POOL_SIZE,
        max_overflow=0,
        pool_timeout=busy_timeout_s,
        json_serializer=_json_text,
    )

    @event.listens_for(engine, "connect")
    def set_up(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # Python's own BEGIN would come too late
        connection.execute(f"PRAGMA busy_timeout = {int(busy_timeout_s * 1000)}")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _json_text(value: object) -> str:
    """Plain JSON, in ASCII. Raises ValueError for NaN and infinities, which are none."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


_FAULTS: dict[int, tuple[type[DatabaseError], str]] = {
    sqlite3.SQLITE_BUSY: (DatabaseBusyError, "the database is locked by another process"),
    sqlite3.SQLITE_LOCKED: (DatabaseBusyError, "the database is locked"),
    sqlite3.SQLITE_FULL: (DatabaseFullError, "there is no room left for the database"),
    sqlite3.SQLITE_IOERR: (DatabaseError, "the database's file cannot be read or written"),
    sqlite3.SQLITE_READONLY: (DatabaseError, "the database's file may not be written"),
    sqlite3.SQLITE_CANTOPEN: (DatabaseError, "the database's file cannot be opened"),
    sqlite3.SQLITE_CORRUPT: (DatabaseError, "the database's file is damaged"),
    sqlite3.SQLITE_NOTADB: (DatabaseError, "the database's file holds something else"),
}


@contextmanager
def translated_faults() -> Iterator[None]:
    """Raise what is wrong with the database itself as a DatabaseError; a fault of a statement stays what it is."""
    try:
        yield
    except PoolTimeoutError as error:
        raise DatabaseBusyError("all connections to the database are in use") from error
    except (DBAPIError, sqlite3.Error) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        code = getattr(cause, "sqlite_errorcode", None)
        fault = _FAULTS.get(code & 0xFF) if isinstance(code, int) else None
        if fault is None:
            raise
        kind, message = fault
        raise kind(message) from error
