"""What a search has found out so far: its trials and generations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from service.models import generations, trials


@dataclass(frozen=True, slots=True)
class StoredTrial:
    """A trial, with its opts in wire form. number: within its job, from 1."""

    number: int
    generation: int
    candidate_key: str
    opts: list[dict[str, Any]]
    outcome: str
    reason: str
    time_s: float | None
    samples: int
    numerics: str | None
    build_s: float
    spent_s: float
    created_at: float


@dataclass(frozen=True, slots=True)
class StoredGeneration:
    """A generation that is through; its beam best first."""

    number: int
    beam: list[dict[str, Any]]
    candidates: int
    tried: int
    created_at: float


_TRIAL = [trials.c[name] for name in StoredTrial.__dataclass_fields__]
_GENERATION = [generations.c[name] for name in StoredGeneration.__dataclass_fields__]


def trials_after(connection: Connection, job_id: int, after: int, most: int | None = None) -> list[StoredTrial]:
    """The trials of a job with a number above `after`, in order."""
    query = select(*_TRIAL).where(trials.c.job_id == job_id, trials.c.number > after)
    return [StoredTrial(*row) for row in connection.execute(query.order_by(trials.c.number).limit(most))]


def generations_after(connection: Connection, job_id: int, after: int) -> list[StoredGeneration]:
    """The generations of a job with a number above `after`, in order."""
    query = select(*_GENERATION).where(generations.c.job_id == job_id, generations.c.number > after)
    return [StoredGeneration(*row) for row in connection.execute(query.order_by(generations.c.number))]
