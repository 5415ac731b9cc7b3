"""A job as a stream of server-sent events, made from its rows: any service on the database can give it.

An event's id says how far the stream has come with it, as TRIALS.GENERATIONS; whoever comes back with that in
Last-Event-ID gets what came after. Events: `job` (the job as GET gives it, whenever it has changed), `trial`,
`generation`, and at last `end` (the job again).
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, dataclass, replace
from functools import reduce
from typing import Annotated

import anyio
import structlog
from fastapi import APIRouter, Depends, Header, Path
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from service.database import Database
from service.errors import DatabaseError, NotFoundError
from service.job_states import ACTIVE_STATES
from service.repositories.jobs import StoredJob, find_job
from service.repositories.trials import StoredGeneration, StoredTrial, generations_after, trials_after
from service.routers.context import WithContext
from service.schemas import JobAnswer, Number

_log = structlog.get_logger(__name__)

router = APIRouter(tags=["jobs"])

#: Seconds between two looks at the database.
POLL_S = 0.25
#: Trials that are sent at most of one look.
_PAGE = 500


@dataclass(frozen=True, slots=True)
class _Place:
    """How far a stream has come: the numbers of the last trial, from 1, and the last generation, from 0, sent."""

    trial: int = 0
    generation: int = -1

    def __str__(self) -> str:
        return f"{self.trial}.{self.generation + 1}"

    @classmethod
    def of(cls, text: str | None) -> _Place:
        """The place that an id names; the beginning for anything else, as a client may send what it likes."""
        match = re.fullmatch(r"(\d{1,9})\.(\d{1,9})", text or "")
        return cls() if match is None else cls(int(match[1]), int(match[2]) - 1)


@dataclass(frozen=True, slots=True)
class _Look:
    """What there is after a place."""

    job: StoredJob
    trials: list[StoredTrial]
    generations: list[StoredGeneration]

    @property
    def is_last(self) -> bool:
        """True where the job has ended, and all of it is here."""
        return self.job.state not in ACTIVE_STATES and len(self.trials) < _PAGE


def _look(database: Database, job_id: int, place: _Place) -> _Look:
    with database.reading() as connection:
        job = find_job(connection, job_id)
        if job is None:
            raise NotFoundError(f"there is no job {job_id}")
        trials = trials_after(connection, job_id, place.trial, _PAGE)
        generations = generations_after(connection, job_id, place.generation)
    return _Look(job, trials, generations)


def _first_look(
    job_id: Annotated[Number, Path()],
    context: WithContext,
    last_event_id: Annotated[str | None, Header()] = None,
) -> tuple[_Place, _Look]:
    """Made before the stream begins, so that a job that is not there is answered as that."""
    place = _Place.of(last_event_id)
    return place, _look(context.database, job_id, place)


@router.get("/v1/jobs/{job_id}/events", response_class=EventSourceResponse)
async def get_events(
    job_id: Annotated[Number, Path()],
    first: Annotated[tuple[_Place, _Look], Depends(_first_look)],
    context: WithContext,
) -> AsyncIterator[ServerSentEvent]:
    """Follow a job until it ends."""
    place, look = first
    shown: StoredJob | None = None
    try:
        while True:
            if look.job != shown:
                shown = look.job
                yield _job_event("job", shown, place)
            for event in _events_after(place, look):
                yield event
            place = _place_after(place, look)
            if look.is_last:
                break
            if context.stopping.is_set():
                return  # whoever listens comes back with its place
            await anyio.sleep(POLL_S)
            look = await run_in_threadpool(_look, context.database, job_id, place)
        yield _job_event("end", look.job, place)
    except DatabaseError as error:  # the stream ends here; a client comes back with its place
        _log.warning("event stream broke off", job=job_id, code=error.code)


def _merged(look: _Look) -> Iterator[StoredTrial | StoredGeneration]:
    """What is new in order: a generation comes after its own trials, so not before all of them are here."""
    waiting = list(look.generations)
    for trial in look.trials:
        while waiting and waiting[0].number < trial.generation:
            yield waiting.pop(0)
        yield trial
    if len(look.trials) < _PAGE:
        yield from waiting


def _moved(place: _Place, row: StoredTrial | StoredGeneration) -> _Place:
    is_trial = isinstance(row, StoredTrial)
    return replace(place, trial=row.number) if is_trial else replace(place, generation=row.number)


def _place_after(place: _Place, look: _Look) -> _Place:
    return reduce(_moved, _merged(look), place)


def _events_after(place: _Place, look: _Look) -> Iterator[ServerSentEvent]:
    for row in _merged(look):
        place = _moved(place, row)
        name = "trial" if isinstance(row, StoredTrial) else "generation"
        yield ServerSentEvent(event=name, data=asdict(row), id=str(place))


def _job_event(name: str, job: StoredJob, place: _Place) -> ServerSentEvent:
    return ServerSentEvent(event=name, data=JobAnswer.of(job).model_dump(mode="json"), id=str(place))
