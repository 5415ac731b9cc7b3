"""What there is: devices, records, and whether the service works."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path
from sqlalchemy import Connection

from service import BEAMTUNE_VERSION
from service.errors import NotFoundError
from service.repositories.devices import StoredDevice, all_devices, runners_of
from service.repositories.records import find_record, latest_revision
from service.routers.context import WithContext
from service.schemas import DeviceAnswer, DevicesAnswer, HealthAnswer, Number, RecordDetailAnswer, RunnerAnswer

router = APIRouter(tags=["state"])


@router.get("/v1/devices")
def get_devices(context: WithContext) -> DevicesAnswer:
    """Every kind of device that a runner is or was there for."""
    with context.database.reading() as connection:
        now = time.time()
        return DevicesAnswer(devices=[device_answer(connection, device, now) for device in all_devices(connection)])


def device_answer(connection: Connection, device: StoredDevice, now: float) -> DeviceAnswer:
    """A device with its runners, those that are online first."""
    info = device.info
    runners = [
        RunnerAnswer(
            worker=runner.worker,
            host=runner.host,
            pid=runner.pid,
            unit=runner.unit,
            state="online" if runner.is_online(now) else "offline",
            heartbeat_at=runner.heartbeat_at,
        )
        for runner in runners_of(connection, device.id, 20)
    ]
    return DeviceAnswer(
        key=device.key,
        identity=asdict(info.identity),
        kind=str(info.kind),
        fingerprint=asdict(info.fingerprint),
        limits=asdict(info.limits),
        state="online" if any(runner.state == "online" for runner in runners) else "offline",
        runners=runners,
    )


@router.get("/v1/records/{record_id}")
def get_record(record_id: Annotated[Number, Path()], context: WithContext) -> RecordDetailAnswer:
    """Everything of a record, its program included."""
    with context.database.reading() as connection:
        found = find_record(connection, record_id)
    if found is None:
        raise NotFoundError(f"there is no record {record_id}")
    return RecordDetailAnswer.with_detail(*found)


@router.get("/healthz")
def get_health(context: WithContext) -> HealthAnswer:
    """Whether the service and its database work."""
    with context.database.reading() as connection:
        return HealthAnswer(status="ok", version=BEAMTUNE_VERSION, revision=latest_revision(connection))
