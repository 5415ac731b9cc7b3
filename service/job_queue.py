"""The queue as workers use it: jobs are claimed, held by heartbeats, and ended, whatever dies in between.

A claim is a *lease*, which heartbeats extend, and a *fence*, a number that grows with each claim of the job. Whoever
writes for a job gives the fence of its own claim; the same transaction compares it, so a worker that was away for too
long and comes back is refused (LeaseLostError) and changes nothing. A lease that ran out is taken from nobody who is
still the last to have claimed: then the late result is welcome.

Every method is one transaction that writes alone. `now` is the moment: seconds since 1970 in UTC.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, func, or_, select, update
from sqlalchemy.dialects.sqlite import insert

from kernels import Ast, AstError, parse_ast_json
from runners.api import DeviceInfo, Numerics, Outcome, OutcomeCode
from search.events import Answer, GenerationEnded
from search.settings import Effort
from search.trial import Trial
from service.answer_rows import answer_shape, has_possible_times, record_values
from service.database import Database
from service.documents import beam_to_wire, opts_from_wire, opts_to_wire, plain_text, variables_from_text
from service.errors import JobCancelledError, LeaseLostError
from service.job_states import JobState, sources_of
from service.models import generations, jobs, kernels, trials
from service.provenance import Provenance
from service.repositories.devices import note_heartbeat, note_stop, save_device, save_runner
from service.repositories.jobs import expire_waiting_jobs, queue_waiting_jobs
from service.repositories.records import add_record
from service.repositories.trials import StoredTrial, trials_after

#: How long a claim holds without a heartbeat. Workers beat three times as often.
LEASE_S = 15.0
HEARTBEAT_S = LEASE_S / 3

#: A job that was claimed so much more often than it has trials takes its workers down with it.
MAX_FRUITLESS_CLAIMS = 10

#: A lease that ends later than this from now was written before the clock was set back, and holds no more.
_LONGEST_LEASE_S = 4 * LEASE_S
_REASON_LENGTH = 500


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """A job that a worker holds by `fence`. Its variables' values are pairs of (name, value), sorted by name."""

    id: int
    fence: int
    kernel_key: str
    kernel_name: str
    device_key: str
    ast: Ast
    variables: tuple[tuple[str, int], ...]
    effort: Effort
    budget_s: float
    max_trials: int
    action_set: str
    labels: dict[str, str]
    trials: int  # that there are already, from claims before


class StoredTrials:
    """The trials that a job had when this was made: a search's TrialSource."""

    def __init__(self, rows: Sequence[StoredTrial]) -> None:
        self._by_key = {row.candidate_key: _trial(row) for row in rows}

    def __len__(self) -> int:
        return len(self._by_key)

    def find(self, candidate_key: str) -> Trial | None:
        """The trial of a candidate, or None."""
        return self._by_key.get(candidate_key)


def _trial(row: StoredTrial) -> Trial:
    return Trial(
        generation=row.generation,
        opts=opts_from_wire(row.opts),
        candidate_key=row.candidate_key,
        outcome=Outcome(OutcomeCode(row.outcome), row.reason),
        time_s=row.time_s,
        samples=row.samples,
        numerics=None if row.numerics is None else Numerics(row.numerics),
        build_s=row.build_s,
        spent_s=row.spent_s,
    )


class JobQueue:
    """The jobs of one database, for any number of workers on any number of processes."""

    def __init__(self, database: Database) -> None:
        self.database = database

    # ---- runners -----------------------------------------------------------------------------------------------------

    def register_runner(self, info: DeviceInfo, worker: str, host: str, pid: int, now: float) -> None:
        """`worker` holds the device from now on. Jobs that waited for one of its kind are queued."""
        with self.database.writing() as connection:
            device_id = save_device(connection, info, now)
            save_runner(connection, device_id, info.unit, worker, host, pid, now)
            queue_waiting_jobs(connection, info.device_key)

    def runner_heartbeat(self, worker: str, now: float) -> None:
        """`worker` and all its devices are alive."""
        with self.database.writing() as connection:
            note_heartbeat(connection, worker, now)

    def runner_stopped(self, worker: str, now: float) -> None:
        """`worker` has given its devices back."""
        with self.database.writing() as connection:
            note_stop(connection, worker, now)

    def expire(self, now: float) -> list[int]:
        """End the jobs that no runner came for in time; their numbers."""
        with self.database.writing() as connection:
            return expire_waiting_jobs(connection, now)

    # ---- claims ------------------------------------------------------------------------------------------------------

    def claim(self, device_keys: Sequence[str], worker: str, now: float) -> ClaimedJob | None:
        """A job for one of these kinds of device, held by `worker` from now on; None where there is none to do.

        The highest priority first, then the oldest. A running job whose lease ran out is taken over.
        """
        while self._has_claimable(device_keys, now):  # idle workers look often, and keep no writer waiting by it
            with self.database.writing() as connection:
                candidate = connection.execute(_claimable(device_keys, now)).one_or_none()
                if candidate is None:
                    break
                lost = candidate.fence - candidate.releases  # claims that no worker gave back
                if lost - candidate.trials >= MAX_FRUITLESS_CLAIMS:
                    reason = f"{lost} workers were lost over it, for {candidate.trials} trials"
                    _end(connection, candidate.id, JobState.FAILED, reason, now)
                    continue
                claim = {
                    "state": JobState.RUNNING,
                    "fence": jobs.c.fence + 1,
                    "worker": worker,
                    "lease_expires_at": now + LEASE_S,
                    "started_at": func.coalesce(jobs.c.started_at, now),
                    "expires_at": None,
                    "reason": None,
                }
                connection.execute(update(jobs).where(jobs.c.id == candidate.id).values(claim))
                row = connection.execute(_CLAIMED.where(jobs.c.id == candidate.id)).one()
                try:
                    return _claimed(row)
                except (AstError, ValueError) as error:  # stored by a version whose rules were others
                    _end(connection, candidate.id, JobState.FAILED, f"what is stored is refused: {error}", now)

        return None

    def _has_claimable(self, device_keys: Sequence[str], now: float) -> bool:
        with self.database.reading() as connection:
            return connection.execute(_claimable(device_keys, now)).first() is not None

    def heartbeat(self, job_id: int, fence: int, now: float) -> None:
        """The job goes on. Raises JobCancelledError or LeaseLostError where it is the worker's no more: stop then."""
        with self.database.writing() as connection:
            _check_held(connection, job_id, fence)
            _extend_lease(connection, job_id, now)

    def release(self, job_id: int, fence: int) -> None:
        """The worker stops: the job is queued again with all that is known. Raises LeaseLostError."""
        with self.database.writing() as connection:
            _check_held(connection, job_id, fence)
            values = {
                "state": JobState.QUEUED, "lease_expires_at": None, "reason": None, "releases": jobs.c.releases + 1,
            }  # fmt: skip
            connection.execute(update(jobs).where(jobs.c.id == job_id).values(values))

    # ---- what a search finds out -------------------------------------------------------------------------------------

    def add_trial(self, job_id: int, fence: int, trial: Trial, now: float) -> int:
        """Store a trial as it ends; its number within the job, from 1. Raises LeaseLostError.

        A candidate that has a trial already keeps that one. An impossible time is stored as the outcome invalid_time.
        """
        with self.database.writing() as connection:
            held = _check_held(connection, job_id, fence)
            _extend_lease(connection, job_id, now)
            known = select(trials.c.number).where(
                trials.c.job_id == job_id, trials.c.candidate_key == trial.candidate_key
            )
            stored: int | None = connection.execute(known).scalar_one_or_none()
            if stored is not None:
                return stored
            values = _trial_values(trial)
            number: int = held.trials + 1
            connection.execute(insert(trials).values(job_id=job_id, number=number, created_at=now, **values))
            connection.execute(update(jobs).where(jobs.c.id == job_id).values(_progress(held, values, number)))
            return number

    def add_generation(self, job_id: int, fence: int, generation: GenerationEnded, now: float) -> None:
        """Store a generation that is through; one that is stored already is kept. Raises LeaseLostError."""
        with self.database.writing() as connection:
            held = _check_held(connection, job_id, fence)
            _extend_lease(connection, job_id, now)
            row = {
                "job_id": job_id,
                "number": generation.number,
                "beam": beam_to_wire(generation.beam),
                "candidates": generation.candidates,
                "tried": generation.tried,
                "created_at": now,
            }
            connection.execute(insert(generations).values(row).on_conflict_do_nothing())
            count = max(held.generations, generation.number)
            connection.execute(update(jobs).where(jobs.c.id == job_id).values(generations=count))

    def trials_of(self, job_id: int) -> StoredTrials:
        """The trials that there are of a job."""
        with self.database.reading() as connection:
            return StoredTrials(trials_after(connection, job_id, 0))

    def finish(
        self, job_id: int, fence: int, answer: Answer | None, reason: str, provenance: Provenance, now: float
    ) -> int | None:
        """End a job: with a record, its event and the state done, all at once; or, without an answer, as failed.

        The record's number, None without one. Raises LeaseLostError, and KernelOptError for opts that are not legal.
        """
        if answer is not None and not has_possible_times(answer):
            answer, reason = None, f"the answer has an impossible time: {reason}"
        shape = "" if answer is None else answer_shape(self._ast_of(job_id), answer)
        with self.database.writing() as connection:
            held = _check_held(connection, job_id, fence)
            if answer is None:
                _end(connection, job_id, JobState.FAILED, reason, now)
                return None
            asked = {name: getattr(held, name) for name in _ASKED}
            values = asked | record_values(answer, shape, provenance) | {"job_id": job_id}
            record_id = add_record(connection, values, now)
            _end(connection, job_id, JobState.DONE, reason, now, record_id)
            return record_id

    def _ast_of(self, job_id: int) -> str:
        query = select(kernels.c.ast).join(jobs, jobs.c.kernel_id == kernels.c.id).where(jobs.c.id == job_id)
        with self.database.reading() as connection:
            text: str = connection.execute(query).scalar_one()
        return text


# ---- claims ----------------------------------------------------------------------------------------------------------

_CLAIMED = select(jobs, kernels.c.key.label("kernel_key"), kernels.c.name.label("kernel_name"), kernels.c.ast).join(
    kernels, kernels.c.id == jobs.c.kernel_id
)


def _claimable(device_keys: Sequence[str], now: float) -> Select[Any]:
    lapsed = or_(jobs.c.lease_expires_at <= now, jobs.c.lease_expires_at > now + _LONGEST_LEASE_S)
    free = or_(
        jobs.c.state.in_((JobState.QUEUED, JobState.WAITING_FOR_RUNNER)),
        (jobs.c.state == JobState.RUNNING) & lapsed,
    )
    query = select(jobs.c.id, jobs.c.fence, jobs.c.releases, jobs.c.trials).where(
        jobs.c.device_key.in_(device_keys), free
    )
    return query.order_by(jobs.c.priority.desc(), jobs.c.id).limit(1)


def _claimed(row: Row[Any]) -> ClaimedJob:
    return ClaimedJob(
        id=row.id,
        fence=row.fence,
        kernel_key=row.kernel_key,
        kernel_name=row.kernel_name,
        device_key=row.device_key,
        ast=parse_ast_json(row.ast),
        variables=tuple(sorted(variables_from_text(row.variables).items())),
        effort=Effort(row.effort),
        budget_s=row.budget_s,
        max_trials=row.max_trials,
        action_set=row.action_set,
        labels=row.labels,
        trials=row.trials,
    )


def _check_held(connection: Connection, job_id: int, fence: int) -> Row[Any]:
    """The job's row, where the claim of that fence is the one that holds it."""
    row = connection.execute(select(jobs).where(jobs.c.id == job_id)).one_or_none()
    if row is None:
        raise LeaseLostError(f"there is no job {job_id}")
    if row.fence == fence and row.state == JobState.CANCELLED:
        raise JobCancelledError(f"job {job_id} was cancelled")
    if row.fence != fence or row.state != JobState.RUNNING:
        raise LeaseLostError(f"claim {fence} of job {job_id} holds no more: it is {row.state}, at claim {row.fence}")
    return row


def _extend_lease(connection: Connection, job_id: int, now: float) -> None:
    connection.execute(update(jobs).where(jobs.c.id == job_id).values(lease_expires_at=now + LEASE_S))


def _end(
    connection: Connection, job_id: int, state: JobState, reason: str, now: float, record_id: int | None = None
) -> None:
    values = {
        "state": state,
        "reason": plain_text(reason),
        "ended_at": now,
        "lease_expires_at": None,
        "record_id": record_id,
    }
    allowed = jobs.c.state.in_(sources_of(state))
    connection.execute(update(jobs).where(jobs.c.id == job_id, allowed).values(values))


# ---- rows ------------------------------------------------------------------------------------------------------------

#: What a record takes over from its job.
_ASKED = ("kernel_id", "device_key", "variables", "effort", "budget_s", "max_trials", "action_set")


def _trial_values(trial: Trial) -> dict[str, Any]:
    outcome, time_s = trial.outcome, trial.time_s
    if outcome.ok and (time_s is None or not (math.isfinite(time_s) and time_s > 0)):
        outcome = Outcome(OutcomeCode.INVALID_TIME, f"{time_s} is no time")
    return {
        "candidate_key": trial.candidate_key,
        "generation": trial.generation,
        "opts": opts_to_wire(trial.opts),
        "outcome": str(outcome.code),
        "reason": plain_text(outcome.reason, _REASON_LENGTH),
        "time_s": time_s if outcome.ok else None,
        "samples": trial.samples,
        "numerics": None if trial.numerics is None else str(trial.numerics),
        "build_s": _seconds(trial.build_s),
        "spent_s": _seconds(trial.spent_s),
    }


def _seconds(value: float) -> float:
    """A duration that can be added up: 0 for what is none."""
    return value if math.isfinite(value) and value >= 0 else 0.0


def _progress(held: Row[Any], trial: dict[str, Any], number: int) -> dict[str, Any]:
    """The job's columns after a trial. The first time of generation 0, the heuristic's if it runs, is the baseline."""
    progress: dict[str, Any] = {"trials": number, "spent_s": held.spent_s + trial["spent_s"]}
    time_s = trial["time_s"]
    if time_s is not None and trial["generation"] == 0 and held.baseline_s is None:
        progress["baseline_s"] = time_s
    if time_s is not None and (held.best_s is None or time_s < held.best_s):
        progress |= {"best_s": time_s, "best_opts": trial["opts"]}
    return progress
