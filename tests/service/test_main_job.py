"""The main job on a real device: a service, a worker and a database, each of which may be killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kernels import Kernel, Opt, build, dump_ast, parse_ast
from service.database import Database
from service.database_version import open_database
from service.repositories.devices import all_devices
from tests.service.servers import ROOT, Service, service_process, url_of

#: A search of a few seconds, which can be met in the middle, however slow the machine.
BUDGET = {"device_seconds": 60.0, "trials": 10}
ENDS_S = 120.0


class WorkerProcess:
    """`python -m service worker` on a database. children: the processes that it started."""

    def __init__(self, path: Path, log: Path) -> None:
        with log.open("a") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "service", "worker", "--database", url_of(path)],
                cwd=ROOT,
                env=os.environ | {"POCL_CACHE_DIR": str(path.parent / "pocl")},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def children(self) -> list[int]:
        found = []
        for entry in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = entry.read_text().rpartition(")")[2].split()
            except OSError:  # gone meanwhile
                continue
            if int(fields[1]) == self.process.pid and fields[0] != "Z":
                found.append(int(entry.parent.name))
        return found

    def kill(self) -> None:
        """SIGKILL; afterwards its children are gone too."""
        children = self.children()
        self.process.kill()
        self.process.wait(15)
        wait_until(lambda: not any(is_running(pid) for pid in children), 10, "a child outlived its worker")

    def terminate(self) -> int:
        self.process.terminate()
        return self.process.wait(60)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@contextmanager
def worker_process(path: Path) -> Iterator[WorkerProcess]:
    worker = WorkerProcess(path, path.parent / "worker.log")
    try:
        yield worker
    finally:
        if worker.process.poll() is None:
            worker.kill()


def wait_until(holds: Callable[[], Any], seconds: float, what: str) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
    return found


def submitted(service: Service, size: int = 192) -> dict[str, Any]:
    """The job of a matrix product on the one device that there is."""
    document = dump_ast(build.matmul(size, size, size))
    wait_until(lambda: online(service), 60, "no device came")
    answer = service.submit(document, budget=BUDGET)
    assert answer.status_code == 202, answer.text
    assert answer.json()["source"] == "heuristic"
    job: dict[str, Any] = answer.json()["job"]
    return job


def online(service: Service) -> list[dict[str, Any]]:
    return [device for device in service.get("/v1/devices").json()["devices"] if device["state"] == "online"]


def job_of(service: Service, job_id: int) -> dict[str, Any]:
    job: dict[str, Any] = service.get(f"/v1/jobs/{job_id}").json()
    return job


def trials_of(service: Service, job_id: int) -> list[dict[str, Any]]:
    trials: list[dict[str, Any]] = service.get(f"/v1/jobs/{job_id}/trials", limit=1000).json()["trials"]
    return trials


def in_the_middle(service: Service, job_id: int, trials: int) -> list[dict[str, Any]]:
    """The trials, once there are so many and the job goes on."""
    found = wait_until(lambda: (own := trials_of(service, job_id))[trials - 1 :] and own, ENDS_S, "no trials came")
    assert job_of(service, job_id)["state"] == "running"
    return list(found)


def done(service: Service, job_id: int) -> dict[str, Any]:
    """The record of a job, once it is done."""
    wait_until(lambda: job_of(service, job_id)["state"] not in ("queued", "running"), ENDS_S, "the job goes on and on")
    job = job_of(service, job_id)
    assert job["state"] == "done", job
    record: dict[str, Any] = service.get(f"/v1/records/{job['record']}").json()
    return record


def check_record(record: dict[str, Any], path: Path) -> None:
    """A verified best that is not slower than the heuristic of the same job, with opts that are legal."""
    assert record["verification"]["elements"] == 192 * 192
    assert len(record["samples_s"]) == len(record["baseline_samples_s"]) >= 3
    if record["is_heuristic"]:
        assert record["opts"] == record["baseline_opts"] and record["reason"]
    else:
        assert record["ratio_interval"][1] < 1
    opened = Database(url_of(path))
    with opened.reading() as connection:
        (device,) = all_devices(connection)
    opened.close()
    kernel = Kernel(parse_ast(dump_ast(build.matmul(192, 192, 192))), device.info.target)
    for opt in record["opts"]:
        kernel.apply_opt(Opt.from_wire(opt))
    program = kernel.to_program()
    assert record["program"]["source"] == program.source and record["program"]["name"] == program.name


def check_nothing_twice(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> None:
    assert after[: len(before)] == before
    assert [trial["number"] for trial in after] == list(range(1, len(after) + 1))
    opts = [str(trial["opts"]) for trial in after]
    assert len(set(opts)) == len(opts)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    open_database(url_of(tmp_path / "beamtune.db")).close()
    return tmp_path / "beamtune.db"


def test_kernel_comes_back_tuned_and_is_answered_from_its_record(path: Path) -> None:
    with service_process(path) as server, worker_process(path) as worker:
        service = server.service
        job = submitted(service)
        record = done(service, job["id"])
        check_record(record, path)
        trials = trials_of(service, job["id"])
        document = dump_ast(build.matmul(192, 192, 192))
        again = service.submit(document, budget=BUDGET)
        assert again.status_code == 200
        assert again.json()["job"] is None and again.json()["opts"] == record["opts"]
        best = service.get(f"/v1/best/{job['key']}", device=job["device"]).json()
        assert best["tier"] == "exact" and best["opts"] == record["opts"]
        assert trials_of(service, job["id"]) == trials
        assert len(service.get("/v1/jobs").json()["jobs"]) == 1
        assert worker.terminate() == 0
        server.terminate()


def test_job_goes_on_after_its_worker_was_killed(path: Path) -> None:
    with service_process(path) as server:
        service = server.service
        with worker_process(path) as worker:
            job = submitted(service)
            before = in_the_middle(service, job["id"], 4)
            worker.kill()
        known = trials_of(service, job["id"])
        assert known[: len(before)] == before
        with worker_process(path):
            check_record(done(service, job["id"]), path)
        check_nothing_twice(known, trials_of(service, job["id"]))


def test_job_goes_on_while_its_service_is_killed_and_started_again(path: Path) -> None:
    with worker_process(path):
        with service_process(path) as server:
            job = submitted(server.service)
            before = in_the_middle(server.service, job["id"], 3)
            server.kill()
        with service_process(path) as server:
            service = server.service
            check_record(done(service, job["id"]), path)
            check_nothing_twice(before, trials_of(service, job["id"]))


def test_job_goes_on_after_the_device_process_was_killed(path: Path) -> None:
    with service_process(path) as server, worker_process(path) as worker:
        service = server.service
        job = submitted(service)
        before = in_the_middle(service, job["id"], 3)
        (child,) = worker.children()
        os.kill(child, signal.SIGKILL)
        check_record(done(service, job["id"]), path)
        after = trials_of(service, job["id"])
        check_nothing_twice(before, after)
        assert sum(trial["outcome"] != "ok" for trial in after) <= 1 + sum(trial["outcome"] != "ok" for trial in before)
        assert not is_running(child)


def test_stopped_worker_gives_its_job_back_at_once(path: Path) -> None:
    with service_process(path) as server:
        service = server.service
        with worker_process(path) as worker:
            job = submitted(service)
            before = in_the_middle(service, job["id"], 2)
            children = worker.children()
            assert worker.terminate() == 0
            assert not any(is_running(child) for child in children)
        assert job_of(service, job["id"])["state"] == "queued"
        assert online(service) == []
        with worker_process(path):
            check_record(done(service, job["id"]), path)
        check_nothing_twice(before, trials_of(service, job["id"]))
