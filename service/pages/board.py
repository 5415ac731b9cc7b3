"""What the page shows, as texts and shares: read from the database at one moment, in a bounded number of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.database import Database
from service.documents import opts_from_wire
from service.job_states import ACTIVE_STATES, JobState
from service.pages.texts import ago_text, bytes_text, speedup_text, time_text
from service.repositories.devices import StoredDevice, StoredRunner, all_devices, runners_of
from service.repositories.jobs import StoredJob, count_jobs, list_jobs
from service.repositories.records import StoredRecord, count_records, latest_records, latest_revision

_MOST_ACTIVE, _MOST_RECORDS, _MOST_ENDED, _MOST_DEVICES = 40, 40, 8, 12
_UNANSWERED = (JobState.FAILED, JobState.CANCELLED, JobState.EXPIRED)
#: A bar is full at this speed-up, and half full at its root.
_FULL_BAR = 8.0


@dataclass(frozen=True, slots=True)
class JobLine:
    """A job on the page. share: how much of its budget is spent, 0 to 100."""

    id: int
    kernel: str
    labels: tuple[str, ...]
    device: str
    state: str
    state_text: str
    reason: str
    share: int
    spent: str
    trials: int
    baseline: str
    best: str
    speedup: str
    is_faster: bool
    age: str


@dataclass(frozen=True, slots=True)
class RecordLine:
    """A record on the page. bar: the speed-up's, 0 to 100."""

    id: int
    kernel: str
    labels: tuple[str, ...]
    device: str
    baseline: str
    time: str
    speedup: str
    interval: str
    is_faster: bool
    bar: int
    opts: tuple[str, ...]
    note: str
    age: str


@dataclass(frozen=True, slots=True)
class DeviceLine:
    """A kind of device on the page."""

    name: str
    vendor: str
    facts: tuple[str, ...]
    driver: str
    key: str
    is_online: bool
    runners: str


@dataclass(frozen=True, slots=True)
class Board:
    """All of it."""

    active: tuple[JobLine, ...]
    more_active: int
    unanswered: tuple[JobLine, ...]
    records: tuple[RecordLine, ...]
    devices: tuple[DeviceLine, ...]
    n_running: int
    n_waiting: int
    n_done: int
    n_records: int
    revision: int


def read_board(database: Database, now: float) -> Board:
    """The page's contents as they are now."""
    with database.reading() as connection:
        devices = all_devices(connection)
        runners = {device.key: runners_of(connection, device.id, 20) for device in devices[:_MOST_DEVICES]}
        running = list_jobs(connection, [JobState.RUNNING], most=_MOST_ACTIVE)
        waiting = list_jobs(connection, [JobState.QUEUED, JobState.WAITING_FOR_RUNNER], most=_MOST_ACTIVE)
        ended = list_jobs(connection, _UNANSWERED, most=_MOST_ENDED)
        records = latest_records(connection, _MOST_RECORDS)
        counts = count_jobs(connection)
        n_records, revision = count_records(connection), latest_revision(connection)
    names = {device.key: device.info.identity.name for device in devices}
    active = [*running[::-1], *waiting[::-1]][:_MOST_ACTIVE]
    n_active = sum(counts[state] for state in ACTIVE_STATES)
    return Board(
        active=tuple(_job_line(job, names, now) for job in active),
        more_active=n_active - len(active),
        unanswered=tuple(_job_line(job, names, now) for job in ended),
        records=tuple(_record_line(record, labels, names, now) for record, labels in records),
        devices=tuple(_device_line(device, runners[device.key], now) for device in devices[:_MOST_DEVICES]),
        n_running=counts[JobState.RUNNING],
        n_waiting=n_active - counts[JobState.RUNNING],
        n_done=counts[JobState.DONE],
        n_records=n_records,
        revision=revision,
    )


def _job_line(job: StoredJob, names: Mapping[str, str], now: float) -> JobLine:
    speedup = job.baseline_s / job.best_s if job.baseline_s and job.best_s else None
    return JobLine(
        id=job.id,
        kernel=job.kernel,
        labels=tuple(job.labels.values()),
        device=_device_name(job.device_key, names),
        state=str(job.state),
        state_text=str(job.state).replace("_", " "),
        reason=job.reason or "",
        share=round(100 * min(job.spent_s / job.budget_s, 1.0)),
        spent=f"{job.spent_s:.1f} of {job.budget_s:g} s",
        trials=job.trials,
        baseline=time_text(job.baseline_s),
        best=time_text(job.best_s),
        speedup=speedup_text(speedup),
        is_faster=speedup is not None and speedup > 1.005,
        age=ago_text(now - (job.ended_at or job.created_at)),
    )


def _record_line(record: StoredRecord, labels: Mapping[str, str], names: Mapping[str, str], now: float) -> RecordLine:
    speedup = 1 / record.ratio
    return RecordLine(
        id=record.id,
        kernel=record.kernel,
        labels=tuple(labels.values()),
        device=_device_name(record.device_key, names),
        baseline=time_text(record.baseline_s),
        time=time_text(record.time_s),
        speedup="kept" if record.is_heuristic else speedup_text(speedup),
        interval=f"95 %: {speedup_text(1 / record.ratio_high)} to {speedup_text(1 / record.ratio_low)}",
        is_faster=not record.is_heuristic,
        bar=0 if record.is_heuristic else max(0, min(round(100 * math.log(speedup, _FULL_BAR)), 100)),
        opts=_opt_texts(record.opts),
        note=_note(record),
        age=ago_text(now - record.created_at),
    )


def _device_name(key: str, names: Mapping[str, str]) -> str:
    return names.get(key, f"unknown {key[:12]}")


def _note(record: StoredRecord) -> str:
    parts = ["the heuristic's own" if record.is_heuristic else "", record.reason]
    if not record.complete:
        parts.append("incomplete: the budget ran out")
    return "; ".join(part for part in parts if part)


def _opt_texts(opts: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(opt) for opt in opts_from_wire(opts))


def _device_line(device: StoredDevice, runners: Sequence[StoredRunner], now: float) -> DeviceLine:
    info = device.info
    online = sum(runner.is_online(now) for runner in runners)
    last = max((runner.heartbeat_at for runner in runners), default=None)
    seen = "" if last is None else f", last seen {ago_text(now - last)}"
    return DeviceLine(
        name=info.identity.name,
        vendor=info.identity.vendor,
        facts=(
            str(info.kind).upper(),
            f"{info.identity.compute_units} units",
            bytes_text(info.limits.memory_bytes),
            f"{bytes_text(info.limits.shared_max)} local",
            f"float{info.limits.float_width}" if info.limits.float_width > 1 else "scalar",
        ),
        driver=f"{info.fingerprint.platform} · {info.fingerprint.driver}",
        key=device.key,
        is_online=online > 0,
        runners=f"{online} online" if online else f"offline{seen}",
    )
