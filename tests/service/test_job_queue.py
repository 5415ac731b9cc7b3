"""The queue: claims, leases and fences, and what is stored of a search."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from sqlalchemy import update

from kernels import Ast, parse_ast
from runners.api import OutcomeCode
from search.events import GenerationEnded
from search.settings import Effort
from service.database import Database
from service.errors import JobCancelledError, LeaseLostError
from service.job_queue import LEASE_S, MAX_FRUITLESS_CLAIMS, ClaimedJob, JobQueue
from service.job_states import MOVES, JobState, sources_of
from service.models import jobs
from service.repositories.jobs import StoredJob, cancel_job, find_job
from service.repositories.records import find_record, latest_revision
from service.repositories.trials import generations_after, trials_after
from service.schemas import SubmitAnswer
from service.use_cases.submit import submit
from tests.service import made
from tests.service.made import DEVICE, PROVENANCE, START, answer, trial

KEYS = [DEVICE.device_key]


def send(database: Database, size: int = 64, now: float = START, **options: object) -> SubmitAnswer:
    body = json.dumps({"ast": made.matmul(size), **options}).encode()
    return submit(database, body, 3600.0, now)


def job_of(database: Database, job_id: int) -> StoredJob:
    with database.reading() as connection:
        job = find_job(connection, job_id)
    assert job is not None
    return job


def ast_of(size: int = 64) -> Ast:
    return parse_ast(made.matmul(size))


@pytest.fixture
def claimed(database: Database, queue: JobQueue) -> ClaimedJob:
    send(database, labels={"name": "gemm"}, effort="quick")
    job = queue.claim(KEYS, "worker-1", START)
    assert job is not None
    return job


def expires(job: ClaimedJob) -> float:
    return START + LEASE_S


# ---- claims ----------------------------------------------------------------------------------------------------------


def test_claim_holds_all_that_a_search_needs(claimed: ClaimedJob, database: Database) -> None:
    assert claimed.ast == ast_of()
    assert (claimed.effort, claimed.budget_s, claimed.max_trials) == (Effort.QUICK, 5.0, 1000)
    assert (claimed.fence, claimed.trials, claimed.variables, claimed.labels) == (1, 0, (), {"name": "gemm"})
    job = job_of(database, claimed.id)
    assert (job.state, job.worker, job.started_at) == (JobState.RUNNING, "worker-1", START)


def test_claim_gives_variables_under_the_names_of_the_ast(database: Database, queue: JobQueue) -> None:
    submit(database, json.dumps({"ast": made.dynamic("rows"), "variables": {"rows": 12}}).encode(), 60.0, START)
    job = queue.claim(KEYS, "worker-1", START)
    assert job is not None
    assert job.variables == (("v0", 12),)
    assert [variable.name for variable in job.ast.variables] == ["v0"]


def test_claim_takes_the_highest_priority_then_the_oldest(database: Database, queue: JobQueue) -> None:
    for size, priority in ((64, 0), (128, 5), (256, 0), (512, 5)):
        send(database, size, priority=priority)
    claims = [queue.claim(KEYS, "worker-1", START) for _ in range(5)]
    assert [job and job.kernel_name for job in claims] == [
        "r_128_128_128",
        "r_512_512_512",
        "r_64_64_64",
        "r_256_256_256",
        None,
    ]


def test_claim_leaves_other_devices_jobs(database: Database, queue: JobQueue) -> None:
    send(database, device=made.UNKNOWN_KEY)
    assert queue.claim(KEYS, "worker-1", START) is None
    assert queue.claim([made.UNKNOWN_KEY, *KEYS], "worker-1", START) is not None


def test_claim_leaves_a_job_whose_worker_beats(claimed: ClaimedJob, queue: JobQueue) -> None:
    for beat in range(1, 10):
        now = START + beat * LEASE_S * 0.9
        queue.heartbeat(claimed.id, claimed.fence, now)
        assert queue.claim(KEYS, "worker-2", now + LEASE_S * 0.5) is None


def test_claim_takes_over_when_the_lease_ran_out(claimed: ClaimedJob, queue: JobQueue) -> None:
    assert queue.claim(KEYS, "worker-2", expires(claimed) - 0.001) is None
    again = queue.claim(KEYS, "worker-2", expires(claimed))
    assert again is not None
    assert (again.id, again.fence) == (claimed.id, claimed.fence + 1)


def test_claim_takes_over_when_the_clock_was_set_back(claimed: ClaimedJob, queue: JobQueue) -> None:
    assert queue.claim(KEYS, "worker-2", START - 1.0) is None  # a second is no reason
    assert queue.claim(KEYS, "worker-2", START - 3600.0) is not None


def test_claim_gives_up_a_job_that_takes_its_workers_down(database: Database, queue: JobQueue) -> None:
    job_id = getattr(send(database).job, "id", 0)
    claims = [queue.claim(KEYS, f"worker-{n}", START + n * LEASE_S) for n in range(MAX_FRUITLESS_CLAIMS + 1)]
    assert all(claims[:-1])
    assert claims[-1] is None
    assert job_of(database, job_id).state is JobState.FAILED


def test_claim_does_not_hold_orderly_stops_against_a_job(database: Database, queue: JobQueue) -> None:
    send(database)
    for _ in range(2 * MAX_FRUITLESS_CLAIMS):
        job = queue.claim(KEYS, "worker-1", START)
        assert job is not None
        queue.release(job.id, job.fence)
    assert queue.claim(KEYS, "worker-1", START) is not None


def test_claim_ends_a_job_that_it_cannot_read_and_takes_the_next(database: Database, queue: JobQueue) -> None:
    unreadable, good = (getattr(send(database, size).job, "id", 0) for size in (64, 128))
    with database.writing() as connection:
        connection.execute(update(jobs).where(jobs.c.id == unreadable).values(effort="turbo"))
    job = queue.claim(KEYS, "worker-1", START)
    assert job is not None and job.id == good
    ended = job_of(database, unreadable)
    assert ended.state is JobState.FAILED and ended.reason is not None and "turbo" in ended.reason


def test_release_queues_the_job_with_its_trials(claimed: ClaimedJob, queue: JobQueue, database: Database) -> None:
    queue.add_trial(claimed.id, claimed.fence, trial(1), START)
    queue.release(claimed.id, claimed.fence)
    assert job_of(database, claimed.id).state is JobState.QUEUED
    with pytest.raises(LeaseLostError):
        queue.heartbeat(claimed.id, claimed.fence, START)
    again = queue.claim(KEYS, "worker-2", START)
    assert again is not None
    assert (again.fence, again.trials) == (claimed.fence + 1, 1)
    assert queue.trials_of(claimed.id).find(made.candidate_key(1)) == trial(1)


# ---- fences ----------------------------------------------------------------------------------------------------------


def test_a_late_result_is_welcome_where_nobody_took_over(claimed: ClaimedJob, queue: JobQueue) -> None:
    late = expires(claimed) + 100.0
    assert queue.add_trial(claimed.id, claimed.fence, trial(1), late) == 1
    assert queue.claim(KEYS, "worker-2", late + LEASE_S - 0.001) is None  # and it is held again


@pytest.mark.parametrize("ended", [False, True])
def test_a_late_result_is_refused_after_a_takeover(
    claimed: ClaimedJob, database: Database, path: Path, ended: bool
) -> None:
    late, queue = JobQueue(database), JobQueue(database)
    late.add_trial(claimed.id, claimed.fence, trial(1), START)
    again = queue.claim(KEYS, "worker-2", expires(claimed))
    assert again is not None
    queue.add_trial(again.id, again.fence, trial(2), START)
    record = queue.finish(again.id, again.fence, answer(ast_of()), "", PROVENANCE, START) if ended else None
    job = job_of(database, claimed.id)
    generation = GenerationEnded(1, ((made.OPTS, 1e-3),), 5, 2)
    for attempt in (
        lambda: late.heartbeat(claimed.id, claimed.fence, START),
        lambda: late.add_trial(claimed.id, claimed.fence, trial(3), START),
        lambda: late.add_generation(claimed.id, claimed.fence, generation, START),
        lambda: late.finish(claimed.id, claimed.fence, answer(ast_of(), 1e-9), "", PROVENANCE, START),
        lambda: late.finish(claimed.id, claimed.fence, None, "gave up", PROVENANCE, START),
        lambda: late.release(claimed.id, claimed.fence),
    ):
        with pytest.raises(LeaseLostError):
            attempt()
    assert job_of(database, claimed.id) == job
    assert job.record_id == record
    with database.reading() as connection:
        assert [row.number for row in trials_after(connection, claimed.id, 0)] == [1, 2]
        assert latest_revision(connection) == (1 if ended else 0)


def test_a_cancelled_job_says_so_to_its_worker(claimed: ClaimedJob, queue: JobQueue, database: Database) -> None:
    with database.writing() as connection:
        cancel_job(connection, claimed.id, START)
    for attempt in (
        lambda: queue.heartbeat(claimed.id, claimed.fence, START),
        lambda: queue.add_trial(claimed.id, claimed.fence, trial(1), START),
        lambda: queue.finish(claimed.id, claimed.fence, answer(ast_of()), "", PROVENANCE, START),
    ):
        with pytest.raises(JobCancelledError):
            attempt()
    assert job_of(database, claimed.id).state is JobState.CANCELLED
    assert queue.claim(KEYS, "worker-2", START + 3600) is None


# ---- what is stored --------------------------------------------------------------------------------------------------


def test_trials_come_back_as_they_were_told(claimed: ClaimedJob, queue: JobQueue) -> None:
    told = [trial(1, 0, 2e-3), trial(2, 1, None, made.FAILED), trial(3, 1, 1e-3)]
    assert [queue.add_trial(claimed.id, claimed.fence, each, START) for each in told] == [1, 2, 3]
    known = queue.trials_of(claimed.id)
    assert [known.find(each.candidate_key) for each in told] == told
    assert known.find(made.candidate_key(4)) is None


def test_a_candidate_keeps_its_first_trial(claimed: ClaimedJob, queue: JobQueue, database: Database) -> None:
    queue.add_trial(claimed.id, claimed.fence, trial(1, time_s=1e-3), START)
    queue.add_trial(claimed.id, claimed.fence, trial(2), START)
    assert queue.add_trial(claimed.id, claimed.fence, trial(1, time_s=5e-3), START) == 1
    assert queue.trials_of(claimed.id).find(made.candidate_key(1)) == trial(1, time_s=1e-3)
    assert job_of(database, claimed.id).trials == 2


def test_a_job_shows_how_far_its_search_is(claimed: ClaimedJob, queue: JobQueue, database: Database) -> None:
    steps = [(trial(1, 0, 2e-3), 2e-3, 2e-3), (trial(2, 0, 9e-3), 2e-3, 2e-3), (trial(3, 1, 5e-4), 2e-3, 5e-4)]
    steps += [(trial(4, 1, None, made.FAILED), 2e-3, 5e-4), (trial(5, 1, 1e-3), 2e-3, 5e-4)]
    for count, (each, baseline_s, best_s) in enumerate(steps, 1):
        queue.add_trial(claimed.id, claimed.fence, each, START)
        job = job_of(database, claimed.id)
        assert (job.trials, job.spent_s, job.baseline_s, job.best_s) == (count, 0.5 * count, baseline_s, best_s)
    assert job.best_opts == [{"op": "UPCAST", "axis": 1, "arg": 4}]


@pytest.mark.parametrize("time_s", [math.nan, math.inf, -math.inf, 0.0, -1e-3, None])
def test_an_impossible_time_is_kept_as_a_failure(
    claimed: ClaimedJob, queue: JobQueue, database: Database, time_s: float | None
) -> None:
    queue.add_trial(claimed.id, claimed.fence, trial(1, time_s=time_s), START)
    stored = queue.trials_of(claimed.id).find(made.candidate_key(1))
    assert stored is not None
    assert (stored.outcome.code, stored.time_s) == (OutcomeCode.INVALID_TIME, None)
    assert job_of(database, claimed.id).best_s is None


def test_a_failed_trial_never_has_a_time(claimed: ClaimedJob, queue: JobQueue, database: Database) -> None:
    queue.add_trial(claimed.id, claimed.fence, trial(1, time_s=1e-9, outcome=made.FAILED), START)
    stored = queue.trials_of(claimed.id).find(made.candidate_key(1))
    assert stored is not None
    assert (stored.outcome, stored.time_s) == (made.FAILED, None)
    assert job_of(database, claimed.id).best_s is None


def test_a_long_reason_is_cut(claimed: ClaimedJob, queue: JobQueue, database: Database) -> None:
    long = type(made.FAILED)(OutcomeCode.BUILD_ERROR, "x" * 100_000)
    queue.add_trial(claimed.id, claimed.fence, trial(1, time_s=None, outcome=long), START)
    with database.reading() as connection:
        assert len(trials_after(connection, claimed.id, 0)[0].reason) == 500


def test_a_reason_that_is_no_text_is_kept_as_far_as_it_is(
    claimed: ClaimedJob, queue: JobQueue, database: Database
) -> None:
    odd = type(made.FAILED)(OutcomeCode.BUILD_ERROR, "before\udcff\0after")
    queue.add_trial(claimed.id, claimed.fence, trial(1, time_s=None, outcome=odd), START)
    queue.finish(claimed.id, claimed.fence, None, odd.reason, PROVENANCE, START)
    stored = queue.trials_of(claimed.id).find(made.candidate_key(1))
    assert stored is not None
    assert stored.outcome.reason == job_of(database, claimed.id).reason == "before?\ufffdafter"


def test_a_generation_is_stored_once(claimed: ClaimedJob, queue: JobQueue, database: Database) -> None:
    first = GenerationEnded(1, ((made.OPTS, 1e-3), ((), 2e-3)), 30, 10)
    for each in (first, GenerationEnded(1, (), 99, 99), GenerationEnded(2, ((made.OPTS, 1e-3),), 20, 5)):
        queue.add_generation(claimed.id, claimed.fence, each, START)
    with database.reading() as connection:
        stored = generations_after(connection, claimed.id, 0)
    assert [(row.number, row.candidates, row.tried) for row in stored] == [(1, 30, 10), (2, 20, 5)]
    assert stored[0].beam[0] == {"opts": [{"op": "UPCAST", "axis": 1, "arg": 4}], "time_s": 1e-3}
    assert job_of(database, claimed.id).generations == 2


def test_finish_makes_record_event_and_state_at_once(claimed: ClaimedJob, queue: JobQueue, database: Database) -> None:
    found = answer(ast_of())
    record_id = queue.finish(claimed.id, claimed.fence, found, "done", PROVENANCE, START + 5)
    assert record_id == 1
    job = job_of(database, claimed.id)
    assert (job.state, job.record_id, job.ended_at) == (JobState.DONE, 1, START + 5)
    with database.reading() as connection:
        stored = find_record(connection, 1)
    assert stored is not None
    record, detail = stored
    assert (record.revision, record.key, record.job_id) == (1, claimed.kernel_key, claimed.id)
    assert (record.time_s, record.baseline_s, record.ratio) == (1e-3, 2e-3, 0.5)
    assert record.shape == "B64 B16 R64 Y4"
    assert (record.effort, record.budget_s, record.action_set) == ("quick", 5.0, "axes-1")
    assert detail.program["source"] == found.program.source
    assert detail.program["args"][0]["kind"] == "buffer"
    assert detail.samples_s == [1e-3] * 5
    assert detail.provenance["fingerprint"]["driver"] == "driver 1"


def test_finish_without_an_answer_fails_the_job(claimed: ClaimedJob, queue: JobQueue, database: Database) -> None:
    assert queue.finish(claimed.id, claimed.fence, None, "nothing ran", PROVENANCE, START) is None
    job = job_of(database, claimed.id)
    assert (job.state, job.reason, job.record_id) == (JobState.FAILED, "nothing ran", None)
    with database.reading() as connection:
        assert latest_revision(connection) == 0


@pytest.mark.parametrize("time_s", [math.nan, math.inf, 0.0, -1.0])
def test_finish_makes_no_record_of_an_impossible_time(
    claimed: ClaimedJob, queue: JobQueue, database: Database, time_s: float
) -> None:
    assert queue.finish(claimed.id, claimed.fence, answer(ast_of(), time_s), "", PROVENANCE, START) is None
    assert job_of(database, claimed.id).state is JobState.FAILED


# ---- waiting ---------------------------------------------------------------------------------------------------------


def test_a_waiting_job_is_queued_when_its_runner_comes(database: Database) -> None:
    queue = JobQueue(database)
    job_id = getattr(send(database, device=DEVICE.device_key).job, "id", 0)
    waiting = job_of(database, job_id)
    assert (waiting.state, waiting.reason) == (JobState.WAITING_FOR_RUNNER, "no runner of this kind")
    queue.register_runner(DEVICE, "worker-1", "host", 1, START)
    job = job_of(database, job_id)
    assert (job.state, job.reason, job.expires_at) == (JobState.QUEUED, None, None)
    assert queue.expire(START + 1e9) == []


def test_a_waiting_job_expires(database: Database, queue: JobQueue) -> None:
    job_id = getattr(send(database, device=made.UNKNOWN_KEY).job, "id", 0)
    queued_id = getattr(send(database).job, "id", 0)
    assert queue.expire(START + 3599.0) == []
    assert queue.expire(START + 3600.0) == [job_id]
    assert job_of(database, job_id).state is JobState.EXPIRED
    assert job_of(database, queued_id).state is JobState.QUEUED
    assert queue.claim([made.UNKNOWN_KEY], "worker-1", START) is None


def test_states_that_end_a_job_lead_nowhere_and_are_reached() -> None:
    for state in JobState:
        is_active = state in sources_of(JobState.CANCELLED)
        assert bool(MOVES[state]) is is_active
        assert sources_of(state) or state is JobState.WAITING_FOR_RUNNER  # where jobs may begin
