"""A claimed job from its search to its record, on the fake runner and a real database."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from kernels import build, dump_ast
from runners.api import BuildInput, BuildResult, Outcome, OutcomeCode
from runners.errors import ChildDied
from runners.fake import FAKE_DEVICE, FakeRunner
from service.database import Database
from service.errors import DatabaseFullError, JobCancelledError, LeaseLostError
from service.job_queue import ClaimedJob, JobQueue
from service.job_states import JobState
from service.repositories.jobs import StoredJob, cancel_job, find_job
from service.repositories.records import find_record
from service.repositories.trials import StoredTrial, trials_after
from service.tune import StoppedError, tune
from service.worker import Worker
from tests.service.servers import Service, running_here

ENDS_S = 60.0


@pytest.fixture
def fake_queue(database: Database) -> JobQueue:
    queue = JobQueue(database)
    queue.register_runner(FAKE_DEVICE, "worker-1", "host", 1, time.time())
    return queue


@pytest.fixture
def fake_service(database: Database, fake_queue: JobQueue) -> Iterator[Service]:
    with running_here(database) as service:
        yield service


def submitted(service: Service, size: int = 64, **options: object) -> int:
    answer = service.submit(dump_ast(build.matmul(size, size, size)), effort="quick", **options)
    assert answer.status_code == 202, answer.text
    job_id: int = answer.json()["job"]["id"]
    return job_id


def claimed(queue: JobQueue) -> ClaimedJob:
    job = queue.claim([FAKE_DEVICE.device_key], "worker-1", time.time())
    assert job is not None
    return job


def job_of(queue: JobQueue, job_id: int) -> StoredJob:
    with queue.database.reading() as connection:
        job = find_job(connection, job_id)
    assert job is not None
    return job


def trials_of(queue: JobQueue, job_id: int) -> list[StoredTrial]:
    with queue.database.reading() as connection:
        return list(trials_after(connection, job_id, 0))


def never() -> bool:
    return False


def after(count: int) -> object:
    """Something that holds from its call number `count` on."""
    calls = iter(range(count - 1))
    return lambda: next(calls, None) is None


def test_tune_ends_with_a_record_of_what_was_measured_in_turn(fake_service: Service, fake_queue: JobQueue) -> None:
    job_id = submitted(fake_service)
    record_id = tune(claimed(fake_queue), fake_queue, FakeRunner(), never)
    job = job_of(fake_queue, job_id)
    assert job.state is JobState.DONE and job.record_id == record_id is not None
    with fake_queue.database.reading() as connection:
        found = find_record(connection, record_id)
    assert found is not None
    record, _ = found
    assert record.ratio < 1 and record.time_s < record.baseline_s and not record.is_heuristic
    numbers = [trial.number for trial in trials_of(fake_queue, job_id)]
    assert numbers == list(range(1, job.trials + 1)) and job.trials > 10


def test_tune_goes_on_after_a_stop_without_trying_anything_again(fake_service: Service, fake_queue: JobQueue) -> None:
    job_id = submitted(fake_service)
    whole = FakeRunner()
    for stop_after in (1, 4, 7):
        job = claimed(fake_queue)
        before = trials_of(fake_queue, job_id)
        with pytest.raises(StoppedError):
            tune(job, fake_queue, whole, after(stop_after))  # type: ignore[arg-type]
        fake_queue.release(job.id, job.fence)
        assert trials_of(fake_queue, job_id)[: len(before)] == before
    assert tune(claimed(fake_queue), fake_queue, whole, never) is not None
    tried = trials_of(fake_queue, job_id)
    # each was built for its trial once; the end builds the finalists and the heuristic anew after a stop
    measured = [key for key in whole.built if whole.built.count(key) > 1]
    assert len(set(measured)) <= 4
    assert len({trial.candidate_key for trial in tried}) == len(tried)


def test_tune_stops_for_a_cancelled_job(fake_service: Service, fake_queue: JobQueue) -> None:
    job_id = submitted(fake_service)
    job = claimed(fake_queue)
    with fake_queue.database.writing() as connection:
        cancel_job(connection, job_id, time.time())
    with pytest.raises(JobCancelledError):
        tune(job, fake_queue, FakeRunner(), never)
    assert job_of(fake_queue, job_id).state is JobState.CANCELLED
    assert trials_of(fake_queue, job_id) == []


def test_tune_of_a_job_that_another_took_changes_nothing(fake_service: Service, fake_queue: JobQueue) -> None:
    job_id = submitted(fake_service)
    late = claimed(fake_queue)
    taken = fake_queue.claim([FAKE_DEVICE.device_key], "worker-2", time.time() + 16)  # after the lease
    assert taken is not None and taken.id == late.id
    with pytest.raises(LeaseLostError):
        tune(late, fake_queue, FakeRunner(), never)
    assert trials_of(fake_queue, job_id) == []
    assert tune(taken, fake_queue, FakeRunner(), never) is not None


def test_tune_fails_a_kernel_that_nothing_runs_of(fake_service: Service, fake_queue: JobQueue) -> None:
    job_id = submitted(fake_service)
    broken = FakeRunner(fault=lambda program: Outcome(OutcomeCode.BUILD_ERROR, "the compiler says no"))
    assert tune(claimed(fake_queue), fake_queue, broken, never) is None
    job = job_of(fake_queue, job_id)
    assert job.state is JobState.FAILED and job.reason
    assert {(trial.outcome, trial.reason) for trial in trials_of(fake_queue, job_id)} == {
        ("build_error", "the compiler says no")
    }


class FullOnce(JobQueue):
    """A queue whose disk is full when the third trial is stored, twice."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.refused = 0

    def add_trial(self, job_id: int, fence: int, trial: object, now: float) -> int:
        if self.refused < 2 and len(self.trials_of(job_id)) == 2:
            self.refused += 1
            raise DatabaseFullError("there is no room left for the database")
        return super().add_trial(job_id, fence, trial, now)  # type: ignore[arg-type]


def test_tune_keeps_a_finding_until_there_is_room_for_it(fake_service: Service, database: Database) -> None:
    full = FullOnce(database)
    job_id = submitted(fake_service)
    runner = FakeRunner()
    assert tune(claimed(full), full, runner, never) is not None
    assert full.refused == 2
    third = trials_of(full, job_id)[2]
    assert third.number == 3 and third.outcome == "ok"
    assert runner.built.count(runner.built[2]) <= 2  # for its trial, and perhaps as a finalist


class LosesDevice(FakeRunner):
    """Its device is gone whenever something is built."""

    def build(self, inputs: Sequence[BuildInput]) -> Iterator[BuildResult]:
        raise ChildDied("build", 0.1, "the device fell off the bus")


def test_worker_gives_a_job_up_that_loses_the_device_again_and_again(
    fake_service: Service, fake_queue: JobQueue
) -> None:
    job_id = submitted(fake_service)
    with running(Worker(fake_queue, [(FAKE_DEVICE, LosesDevice)])):
        job = ended(fake_queue, job_id)
    assert job.state is JobState.FAILED
    assert job.reason is not None and "the device fell off the bus" in job.reason


class Faulty(FakeRunner):
    """A fault of ours, not of a program's."""

    def build(self, inputs: Sequence[BuildInput]) -> Iterator[BuildResult]:
        raise ZeroDivisionError("a bug")


def test_worker_survives_a_fault_of_ours(fake_service: Service, fake_queue: JobQueue) -> None:
    runners = iter([Faulty()])
    first, second = submitted(fake_service, 64), submitted(fake_service, 32)
    with running(Worker(fake_queue, [(FAKE_DEVICE, lambda: next(runners))])):
        jobs = [ended(fake_queue, first), ended(fake_queue, second)]
    assert [job.state for job in jobs] == [JobState.FAILED, JobState.FAILED]
    assert all(job.reason == "internal error: ZeroDivisionError: a bug" for job in jobs)


def test_workers_of_two_devices_do_each_job_once(fake_service: Service, fake_queue: JobQueue) -> None:
    ids = [submitted(fake_service, size) for size in (16, 24, 32, 40, 48)]
    runners = [FakeRunner(), FakeRunner()]
    devices = [(FAKE_DEVICE, lambda runner=runner: runner) for runner in runners]
    with running(Worker(fake_queue, devices)):  # type: ignore[arg-type]
        jobs = [ended(fake_queue, job_id) for job_id in ids]
    assert [job.state for job in jobs] == [JobState.DONE] * 5
    for job_id in ids:
        keys = [trial.candidate_key for trial in trials_of(fake_queue, job_id)]
        assert len(set(keys)) == len(keys)


class running:
    """A worker in a thread while the block lasts."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.thread = threading.Thread(target=worker.run)

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.worker.stop()
        self.thread.join(ENDS_S)
        assert not self.thread.is_alive(), "the worker did not stop"


def ended(queue: JobQueue, job_id: int) -> StoredJob:
    deadline = time.monotonic() + ENDS_S
    while (job := job_of(queue, job_id)).state in (JobState.QUEUED, JobState.RUNNING):
        assert time.monotonic() < deadline, f"job {job_id} is still {job.state}"
        time.sleep(0.05)
    return job
