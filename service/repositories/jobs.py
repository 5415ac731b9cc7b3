"""Jobs as they are asked for and shown. What workers do with them is in service.job_queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from search.settings import Effort
from service.job_states import ACTIVE_STATES, JobState, sources_of
from service.models import jobs, kernels


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job, with its kernel's key and name. variables: canonical JSON. best_opts: in wire form."""

    id: int
    kernel_id: int
    key: str
    kernel: str
    device_key: str
    variables: str
    state: JobState
    reason: str | None
    effort: str
    budget_s: float
    max_trials: int
    action_set: str
    priority: int
    labels: dict[str, str]
    created_at: float
    started_at: float | None
    ended_at: float | None
    expires_at: float | None
    worker: str | None
    trials: int
    generations: int
    spent_s: float
    baseline_s: float | None
    best_s: float | None
    best_opts: list[dict[str, Any]] | None
    record_id: int | None


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What a job is asked to do, for whom. expires_at: set where it waits for a runner; `reason` says so then."""

    kernel_id: int
    device_key: str
    variables: str
    state: JobState
    reason: str | None
    effort: Effort
    budget_s: float
    max_trials: int
    action_set: str
    priority: int
    labels: dict[str, str]
    tenant_id: int
    expires_at: float | None


_OTHER_NAMES = {"key": kernels.c.key, "kernel": kernels.c.name}
_QUERY = select(
    *[_OTHER_NAMES[name] if name in _OTHER_NAMES else jobs.c[name] for name in StoredJob.__dataclass_fields__]
).join(kernels, kernels.c.id == jobs.c.kernel_id)


def _job(values: Sequence[Any]) -> StoredJob:
    fields = dict(zip(StoredJob.__dataclass_fields__, values, strict=True))
    return StoredJob(**{**fields, "state": JobState(fields["state"])})


def find_job(connection: Connection, job_id: int) -> StoredJob | None:
    """The job of that number."""
    row = connection.execute(_QUERY.where(jobs.c.id == job_id)).one_or_none()
    return None if row is None else _job(row)


def list_jobs(
    connection: Connection, states: Sequence[JobState] = (), before: int | None = None, most: int = 100
) -> list[StoredJob]:
    """Jobs, newest first: those in one of `states` (in any, where there are none), with a number below `before`."""
    query = _QUERY.order_by(jobs.c.id.desc()).limit(most)
    if states:
        query = query.where(jobs.c.state.in_(states))
    if before is not None:
        query = query.where(jobs.c.id < before)
    return [_job(row) for row in connection.execute(query)]


def count_jobs(connection: Connection) -> dict[JobState, int]:
    """How many jobs are in each state."""
    query = select(jobs.c.state, func.count()).group_by(jobs.c.state)
    found = {JobState(state): count for state, count in connection.execute(query)}
    return {state: found.get(state, 0) for state in JobState}


def find_active_job(connection: Connection, kernel_id: int, device_key: str, variables: str) -> StoredJob | None:
    """The one job of a kernel on a device, at values of its variables, that has not ended."""
    query = _QUERY.where(
        jobs.c.kernel_id == kernel_id,
        jobs.c.device_key == device_key,
        jobs.c.variables == variables,
        jobs.c.state.in_(ACTIVE_STATES),
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else _job(row)


def add_job(connection: Connection, request: JobRequest, now: float) -> int:
    """Queue a job; its number."""
    values = {name: getattr(request, name) for name in JobRequest.__dataclass_fields__}
    nothing_yet = {"created_at": now, "fence": 0, "releases": 0, "trials": 0, "generations": 0, "spent_s": 0.0}
    added = connection.execute(insert(jobs).values(**values, **nothing_yet).returning(jobs.c.id))
    number: int = added.scalar_one()
    return number


def raise_job(connection: Connection, job: StoredJob, request: JobRequest) -> None:
    """Let a job that no worker holds do as much as `request` asks for, if that is more."""
    more = request.budget_s > job.budget_s
    values = {
        "effort": request.effort if more else job.effort,
        "budget_s": max(job.budget_s, request.budget_s),
        "max_trials": max(job.max_trials, request.max_trials),
        "priority": max(job.priority, request.priority),
    }
    waits = jobs.c.state.in_((JobState.QUEUED, JobState.WAITING_FOR_RUNNER))
    connection.execute(update(jobs).where(jobs.c.id == job.id, waits).values(values))


def queue_waiting_jobs(connection: Connection, device_key: str) -> None:
    """A runner of this kind has come: what waited for one is queued."""
    waiting = (jobs.c.device_key == device_key) & (jobs.c.state == JobState.WAITING_FOR_RUNNER)
    values = {"state": JobState.QUEUED, "reason": None, "expires_at": None}
    connection.execute(update(jobs).where(waiting).values(values))


def expire_waiting_jobs(connection: Connection, now: float) -> list[int]:
    """End the jobs that no runner came for in time; their numbers."""
    late = (jobs.c.state == JobState.WAITING_FOR_RUNNER) & (jobs.c.expires_at <= now)
    values = {"state": JobState.EXPIRED, "ended_at": now, "reason": "no runner of this kind came in time"}
    return list(connection.execute(update(jobs).where(late).values(values).returning(jobs.c.id)).scalars())


def cancel_job(connection: Connection, job_id: int, now: float) -> None:
    """End a job that is active; one that is not is left as it is."""
    active = jobs.c.state.in_(sources_of(JobState.CANCELLED))
    values = {"state": JobState.CANCELLED, "ended_at": now, "lease_expires_at": None, "reason": "cancelled on request"}
    connection.execute(update(jobs).where(jobs.c.id == job_id, active).values(values))
