"""What tests of the service share: databases that are files, and a service on one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from service.database import Database
from service.database_version import open_database
from service.job_queue import JobQueue
from service.models import metadata
from tests.service import made
from tests.service.servers import Service, running_here, url_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the test's database is, or will be."""
    return tmp_path / "beamtune.db"


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    opened = open_database(url_of(path), busy_timeout_s=20.0)
    yield opened
    opened.close()


@pytest.fixture
def queue(database: Database) -> JobQueue:
    """With the made device registered."""
    queue = JobQueue(database)
    queue.register_runner(made.DEVICE, "worker-1", "host", 1, made.START)
    return queue


@pytest.fixture
def service(database: Database, queue: JobQueue) -> Iterator[Service]:
    """A service that knows the made device."""
    with running_here(database) as service:
        yield service


def row_counts(database: Database) -> dict[str, int]:
    """How many rows each table has."""
    with database.reading() as connection:
        return {
            name: connection.exec_driver_sql(f"SELECT count(*) FROM {name}").scalar_one() for name in metadata.tables
        }
