"""Records and their events: both are only ever added to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, func, insert, select

from service.models import events, jobs, kernels, records


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record without its program, samples and provenance. Opts are in wire form; variables are canonical JSON.

    revision: of the event that brought it. kernel: the unoptimised kernel's name.
    """

    id: int
    revision: int
    key: str
    kernel: str
    device_key: str
    variables: str
    numerics: str
    fingerprint_digest: str
    method: str
    codegen_version: int
    action_set: str
    effort: str
    budget_s: float
    max_trials: int
    opts: list[dict[str, Any]]
    shape: str
    time_s: float
    time_low_s: float
    time_high_s: float
    baseline_opts: list[dict[str, Any]]
    baseline_s: float
    ratio: float
    ratio_low: float
    ratio_high: float
    verification: dict[str, Any]
    is_heuristic: bool
    portable: bool
    complete: bool
    reason: str
    job_id: int | None
    created_at: float


@dataclass(frozen=True, slots=True)
class RecordDetail:
    """The rest of a record."""

    program: dict[str, Any]
    samples_s: list[float]
    baseline_samples_s: list[float]
    provenance: dict[str, Any]


_OTHER_NAMES = {"revision": events.c.revision, "key": kernels.c.key, "kernel": kernels.c.name}
_COLUMNS = [
    _OTHER_NAMES[name] if name in _OTHER_NAMES else records.c[name] for name in StoredRecord.__dataclass_fields__
]
_DETAIL = [records.c[name] for name in RecordDetail.__dataclass_fields__]


def _query(*more: Any) -> Select[Any]:
    joined = select(*_COLUMNS, *more).join(kernels, kernels.c.id == records.c.kernel_id)
    return joined.join(events, (events.c.record_id == records.c.id) & (events.c.kind == "record"))


def find_current_record(
    connection: Connection, kernel_id: int, device_key: str, variables: str, methods: Sequence[str] = ()
) -> StoredRecord | None:
    """The newest record of a kernel on a device; one that was measured by one of `methods` comes before all others."""
    query = _query().where(
        records.c.kernel_id == kernel_id, records.c.device_key == device_key, records.c.variables == variables
    )
    order = (records.c.method.in_(methods).desc(), events.c.revision.desc())
    row = connection.execute(query.order_by(*order).limit(1)).one_or_none()
    return None if row is None else StoredRecord(*row)


def find_record(connection: Connection, record_id: int) -> tuple[StoredRecord, RecordDetail] | None:
    """Everything of the record of that number."""
    row = connection.execute(_query(*_DETAIL).where(records.c.id == record_id)).one_or_none()
    return None if row is None else _with_detail(row)


def _with_detail(row: Row[Any]) -> tuple[StoredRecord, RecordDetail]:
    values: Sequence[Any] = tuple(row)
    return StoredRecord(*values[: len(_COLUMNS)]), RecordDetail(*values[len(_COLUMNS) :])


def latest_records(connection: Connection, most: int) -> list[tuple[StoredRecord, dict[str, str]]]:
    """The newest records, the last first, each with the labels of its job."""
    query = _query(jobs.c.labels).outerjoin(jobs, jobs.c.id == records.c.job_id)
    rows = connection.execute(query.order_by(events.c.revision.desc()).limit(most))
    return [(StoredRecord(*row[:-1]), row[-1] or {}) for row in rows]


def latest_revision(connection: Connection) -> int:
    """The number of the newest event; 0 before the first."""
    newest: int = connection.execute(select(func.coalesce(func.max(events.c.revision), 0))).scalar_one()
    return newest


def count_records(connection: Connection) -> int:
    """How many records there are."""
    count: int = connection.execute(select(func.count()).select_from(records)).scalar_one()
    return count


def add_record(connection: Connection, values: dict[str, Any], now: float) -> int:
    """Add a record and its event, whose number is the next one. Only in a transaction that writes alone."""
    added = connection.execute(insert(records).values(**values, created_at=now).returning(records.c.id))
    number: int = added.scalar_one()
    event = {"revision": latest_revision(connection) + 1, "kind": "record", "record_id": number, "created_at": now}
    connection.execute(insert(events).values(event))
    return number
