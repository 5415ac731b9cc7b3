"""Jobs: looking at them, and ending one."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Query

from service.errors import NotFoundError, StateError
from service.job_states import JobState
from service.repositories.jobs import cancel_job, find_job, list_jobs
from service.repositories.trials import trials_after
from service.routers.context import WithContext
from service.schemas import JobAnswer, JobsAnswer, JobsQuery, Number, TrialAnswer, TrialsAnswer, TrialsQuery

router = APIRouter(tags=["jobs"])


@router.get("/v1/jobs")
def get_jobs(query: Annotated[JobsQuery, Query()], context: WithContext) -> JobsAnswer:
    """Jobs, newest first."""
    with context.database.reading() as connection:
        jobs = list_jobs(connection, query.state, query.before, query.limit)
    more = jobs[-1].id if len(jobs) == query.limit else None
    return JobsAnswer(jobs=[JobAnswer.of(job) for job in jobs], next_before=more)


@router.get("/v1/jobs/{job_id}")
def get_job(job_id: Annotated[Number, Path()], context: WithContext) -> JobAnswer:
    """A job, with the best of its search so far."""
    with context.database.reading() as connection:
        job = find_job(connection, job_id)
    if job is None:
        raise NotFoundError(f"there is no job {job_id}")
    return JobAnswer.of(job)


@router.post("/v1/jobs/{job_id}/cancel")
def post_cancel(job_id: Annotated[Number, Path()], context: WithContext) -> JobAnswer:
    """End a job: its worker stops at its next step. A job that has ended otherwise cannot be cancelled."""
    with context.database.writing() as connection:
        cancel_job(connection, job_id, time.time())
        job = find_job(connection, job_id)
    if job is None:
        raise NotFoundError(f"there is no job {job_id}")
    if job.state is not JobState.CANCELLED:
        raise StateError(f"job {job_id} is {job.state} already")
    return JobAnswer.of(job)


@router.get("/v1/jobs/{job_id}/trials")
def get_trials(
    job_id: Annotated[Number, Path()], query: Annotated[TrialsQuery, Query()], context: WithContext
) -> TrialsAnswer:
    """The trials of a job, in the order in which they were made."""
    with context.database.reading() as connection:
        if find_job(connection, job_id) is None:
            raise NotFoundError(f"there is no job {job_id}")
        trials = trials_after(connection, job_id, query.after, query.limit)
    more = trials[-1].number if len(trials) == query.limit else None
    return TrialsAnswer(trials=[TrialAnswer(**asdict(trial)) for trial in trials], next_after=more)
