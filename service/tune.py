"""One claimed job from its search to its record: every event is stored as it comes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import structlog

from kernels import Kernel
from runners.api import Runner, Workload
from search import search
from search.events import GenerationEnded, SearchEnded, TrialEnded
from search.settings import SearchSettings, settings_for
from service.errors import DatabaseError
from service.job_queue import ClaimedJob, JobQueue
from service.lease import Lease
from service.provenance import Provenance

_log = structlog.get_logger()

#: How long a finding waits between two tries to store it, at first and at most.
_RETRY_S, _RETRY_MOST_S = 0.5, 30.0
_Stored = TypeVar("_Stored")


class StoppedError(Exception):
    """The worker is to stop, and the job has not ended: all that was found is stored."""


def tune(job: ClaimedJob, queue: JobQueue, runner: Runner, stopping: Callable[[], bool]) -> int | None:
    """Search the best opts of a job's kernel on `runner`; the number of the record that was made, if any.

    Goes on where an earlier claim of the job ended. Raises StoppedError once `stopping` says so, LeaseLostError where
    the job is another's or cancelled, RunnerError where the device is gone.
    """
    settings = settings_of(job)
    known = queue.trials_of(job.id)
    workload = Workload(job.ast, job.variables)
    kernel = Kernel(job.ast, runner.device.target)
    log = _log.bind(job=job.id, kernel=job.kernel_name, device=runner.device.identity.name)
    log.info("search_started", effort=str(job.effort), budget_s=job.budget_s, trials_known=len(known))
    with Lease(queue, job) as lease:
        for event in search(kernel, workload, runner, runner, known, settings, time.monotonic):
            if isinstance(event, TrialEnded):
                trial = event.trial
                number = _stored(lambda: queue.add_trial(job.id, job.fence, trial, time.time()), lease, stopping)  # noqa: B023
                log.debug("trial_ended", number=number, outcome=str(trial.outcome.code), time_s=trial.time_s)
            elif isinstance(event, GenerationEnded):
                _stored(lambda: queue.add_generation(job.id, job.fence, event, time.time()), lease, stopping)  # noqa: B023
            else:
                return _ended(job, queue, runner, settings, event, lease, stopping)
            lease.check()
            if stopping():
                raise StoppedError
    raise AssertionError("a search ends with SearchEnded")


def settings_of(job: ClaimedJob) -> SearchSettings:
    """A job's settings: its effort's, with the bounds that were asked for."""
    usual = settings_for(job.effort)
    return replace(usual, budget_s=job.budget_s, max_trials=job.max_trials, action_set=job.action_set)


def _ended(
    job: ClaimedJob,
    queue: JobQueue,
    runner: Runner,
    settings: SearchSettings,
    event: SearchEnded,
    lease: Lease,
    stopping: Callable[[], bool],
) -> int | None:
    provenance = Provenance(runner.device, settings)
    answer = event.answer
    reason = event.reason if answer is None else answer.reason or event.reason
    record = _stored(lambda: queue.finish(job.id, job.fence, answer, reason, provenance, time.time()), lease, stopping)
    _log.info(
        "search_ended",
        job=job.id,
        kernel=job.kernel_name,
        record=record,
        speed_up=None if answer is None else round(1 / answer.ratio, 3),
        reason=reason,
        spent_s=round(event.spent_s, 3),
    )
    return record


def _stored(store: Callable[[], _Stored], lease: Lease, stopping: Callable[[], bool]) -> _Stored:
    """Store something that cost device time, however long the database is away (full, locked, unreachable)."""
    wait_s = _RETRY_S
    while True:
        try:
            return store()
        except DatabaseError as error:
            _log.error("storing_failed", code=error.code, error=str(error), retry_in_s=wait_s)
            lease.check()
            if stopping():
                raise StoppedError from error
            time.sleep(wait_s)
            wait_s = min(2 * wait_s, _RETRY_MOST_S)
