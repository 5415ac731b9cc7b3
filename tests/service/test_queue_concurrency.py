"""Many at once: every worker has its own connections, as in a process of its own."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from kernels import parse_ast
from service.database import Database
from service.job_queue import JobQueue
from service.models import events, jobs, records, trials
from service.use_cases.submit import submit
from tests.service import made
from tests.service.made import DEVICE, PROVENANCE, START, answer, trial
from tests.service.servers import url_of

KEYS = [DEVICE.device_key]
DEADLINE_S = 100.0


def at_once(actions: list[Callable[[], None]]) -> None:
    """Run all, each in a thread, from one moment on; raise what the first that fails raised."""
    barrier = threading.Barrier(len(actions))
    failures: list[BaseException] = []

    def run(action: Callable[[], None]) -> None:
        barrier.wait(DEADLINE_S)
        try:
            action()
        except BaseException as error:  # noqa: BLE001 - raised again below
            failures.append(error)

    threads = [threading.Thread(target=run, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert not any(thread.is_alive() for thread in threads)
    if failures:
        raise failures[0]


def numbers(database: Database, query: Any) -> list[Any]:
    with database.reading() as connection:
        return [tuple(row) for row in connection.execute(query)]


def body_of(size: int) -> bytes:
    return json.dumps({"ast": made.matmul(size)}).encode()


def test_a_hundred_jobs_are_each_taken_once_by_ten_workers(database: Database, queue: JobQueue, path: Path) -> None:
    for size in range(16, 116):
        submit(database, body_of(size), 60.0, START)
    taken: list[int] = []

    def work(name: str) -> None:
        own = JobQueue(Database(url_of(path)))
        while (job := own.claim(KEYS, name, START)) is not None:
            taken.append(job.id)
            own.add_trial(job.id, job.fence, trial(1, 0), START)
            own.finish(job.id, job.fence, None, "made", PROVENANCE, START)
        own.database.close()

    at_once([lambda name=f"worker-{n}": work(name) for n in range(10)])  # type: ignore[misc]
    assert sorted(taken) == list(range(1, 101))
    assert numbers(database, select(func.min(jobs.c.fence), func.max(jobs.c.fence))) == [(1, 1)]


def test_event_numbers_have_no_gap_under_ten_writers(database: Database, queue: JobQueue, path: Path) -> None:
    sizes = range(16, 56)
    for size in sizes:
        submit(database, body_of(size), 60.0, START)
    answers = {f"r_{size}_{size}_{size}": answer(parse_ast(made.matmul(size))) for size in sizes if size % 4 == 0}
    seen: list[list[int]] = []

    def work(name: str) -> None:
        own = JobQueue(Database(url_of(path)))
        while (job := own.claim(KEYS, name, START)) is not None:
            own.finish(job.id, job.fence, answers.get(job.kernel_name), "made", PROVENANCE, START)
            seen.append([number for (number,) in numbers(own.database, select(events.c.revision))])
        own.database.close()

    at_once([lambda name=f"worker-{n}": work(name) for n in range(10)])  # type: ignore[misc]
    assert numbers(database, select(events.c.revision, events.c.record_id)) == [(n, n) for n in range(1, 11)]
    # whoever looked in between saw no gap either: no lower number appears later
    assert all(revisions == list(range(1, len(revisions) + 1)) for revisions in seen)
    assert numbers(database, select(func.count()).select_from(records)) == [(10,)]


def test_twenty_creates_at_once_are_twenty_kernels(database: Database, queue: JobQueue, path: Path) -> None:
    found: list[int] = []

    def create(size: int) -> None:
        own = Database(url_of(path))
        job = submit(own, body_of(size), 60.0, START).job
        assert job is not None
        found.append(job.id)
        own.close()

    at_once([lambda size=size: create(size) for size in range(16, 36)])  # type: ignore[misc]
    assert sorted(found) == list(range(1, 21))


def test_trial_numbers_have_no_gap_when_one_claim_is_used_twice(
    database: Database, queue: JobQueue, path: Path
) -> None:
    submit(database, body_of(16), 60.0, START)
    job = queue.claim(KEYS, "worker-1", START)
    assert job is not None
    got: Counter[int] = Counter()

    def add(first: int) -> None:
        own = JobQueue(Database(url_of(path)))
        for number in range(first, first + 10):
            got[own.add_trial(job.id, job.fence, trial(number), START)] += 1
        own.database.close()

    at_once([lambda first=first: add(first) for first in range(0, 50, 10)])  # type: ignore[misc]
    assert got == Counter(range(1, 51))
    assert numbers(database, select(trials.c.number).order_by(trials.c.number)) == [(n,) for n in range(1, 51)]


@pytest.mark.parametrize("clients", [16])
def test_one_kernel_sent_by_many_processes_is_one_job(
    database: Database, queue: JobQueue, path: Path, clients: int
) -> None:
    def send() -> None:
        own = Database(url_of(path))
        assert submit(own, body_of(16), 60.0, START).job is not None
        own.close()

    at_once([send] * clients)
    assert numbers(database, select(func.count()).select_from(jobs)) == [(1,)]
