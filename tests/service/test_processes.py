"""The service as a process: started, killed in the middle of writing, started again."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import httpx2

from service.database_version import open_database
from service.job_queue import JobQueue
from tests.service import made
from tests.service.made import DEVICE, START
from tests.service.servers import service_process, url_of


def test_a_service_killed_while_it_writes_loses_nothing_it_has_answered(path: Path) -> None:
    JobQueue(open_database(url_of(path))).register_runner(DEVICE, "worker-1", "host", 1, START)
    answered: list[int] = []
    enough = threading.Event()
    sizes = iter(range(16, 2000))
    lock = threading.Lock()

    def send_until_it_dies(url: str) -> None:
        with httpx2.Client(timeout=20.0) as client:
            while True:
                with lock:
                    size = next(sizes)
                try:
                    response = client.post(f"{url}/v1/kernels", json={"ast": made.matmul(size)})
                except httpx2.TransportError:
                    return
                assert response.status_code == 202
                answered.append(response.json()["job"]["id"])
                if len(answered) >= 40:
                    enough.set()

    with service_process(path) as first:
        senders = [threading.Thread(target=send_until_it_dies, args=(first.service.url,)) for _ in range(4)]
        for sender in senders:
            sender.start()
        assert enough.wait(60)
        first.kill()
        for sender in senders:
            sender.join(30)
    with service_process(path) as second:
        again = second.service
        for job_id in answered:
            assert again.get(f"/v1/jobs/{job_id}").json()["state"] == "queued"
        assert again.submit(made.matmul(2048)).status_code == 202
        assert second.terminate() == 0
    assert len(set(answered)) == len(answered) >= 40
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        (half,) = connection.execute(
            "SELECT count(*) FROM kernels WHERE id NOT IN (SELECT kernel_id FROM jobs)"
        ).fetchone()
    assert half == 0, "a kernel was written without its job"


def test_a_service_that_is_told_to_end_ends_its_event_streams_without_an_error(path: Path) -> None:
    JobQueue(open_database(url_of(path))).register_runner(DEVICE, "worker-1", "host", 1, START)
    with service_process(path) as process:
        job_id = process.service.submit(made.matmul()).json()["job"]["id"]
        url = f"{process.service.url}/v1/jobs/{job_id}/events"
        with httpx2.stream("GET", url, timeout=20.0) as stream:
            lines = stream.iter_lines()
            assert next(lines) == "event: job"
            process.process.terminate()
            assert "event: end" not in list(lines)  # it ended in order, and the job has not
        assert process.process.stderr is not None
        logged = process.process.stderr.read()
        process.process.wait(15)
    assert "Traceback" not in logged and '"error"' not in logged
