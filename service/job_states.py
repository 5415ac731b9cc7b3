"""The states of a job, and which follow which."""

from __future__ import annotations

from enum import StrEnum


class JobState(StrEnum):
    """What has become of a job."""

    QUEUED = "queued"
    WAITING_FOR_RUNNER = "waiting_for_runner"  # no runner of its kind of device was ever seen
    RUNNING = "running"
    DONE = "done"  # it has a record
    FAILED = "failed"  # it has a reason
    CANCELLED = "cancelled"
    EXPIRED = "expired"  # no runner came in time


#: Of these a kernel has at most one per device and values of its variables.
ACTIVE_STATES = (JobState.QUEUED, JobState.WAITING_FOR_RUNNER, JobState.RUNNING)

#: From each state, the states that may follow. RUNNING follows itself where another worker takes a job over.
MOVES = {
    JobState.QUEUED: frozenset({JobState.RUNNING, JobState.FAILED, JobState.CANCELLED}),
    JobState.WAITING_FOR_RUNNER: frozenset(
        {JobState.QUEUED, JobState.RUNNING, JobState.FAILED, JobState.CANCELLED, JobState.EXPIRED}
    ),
    JobState.RUNNING: frozenset(
        {JobState.RUNNING, JobState.QUEUED, JobState.DONE, JobState.FAILED, JobState.CANCELLED}
    ),
    JobState.DONE: frozenset[JobState](),
    JobState.FAILED: frozenset[JobState](),
    JobState.CANCELLED: frozenset[JobState](),
    JobState.EXPIRED: frozenset[JobState](),
}


def sources_of(state: JobState) -> tuple[JobState, ...]:
    """The states that `state` may follow."""
    return tuple(source for source, targets in MOVES.items() if state in targets)
