"""Kinds of device, and the runners that hold one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, Row, select, update
from sqlalchemy.dialects.sqlite import insert

from runners.api import DeviceIdentity, DeviceInfo, DeviceKind, DeviceLimits, Fingerprint
from service.models import devices, fingerprints, runners

#: A runner that has not been heard of for longer is offline. Seconds.
RUNNER_FRESH_S = 20.0


@dataclass(frozen=True, slots=True)
class StoredRunner:
    """A process that holds one physical device of a kind."""

    worker: str
    host: str
    pid: int
    unit: int
    started_at: float
    heartbeat_at: float
    stopped_at: float | None

    def is_online(self, now: float) -> bool:
        """True while its heartbeats come. One from the future is none: the clock was set back."""
        return self.stopped_at is None and abs(now - self.heartbeat_at) <= RUNNER_FRESH_S


@dataclass(frozen=True, slots=True)
class StoredDevice:
    """A kind of device as its runner last described it. `info` has unit 0."""

    id: int
    info: DeviceInfo
    created_at: float

    @property
    def key(self) -> str:
        """The device_key."""
        return self.info.device_key


_QUERY = select(
    devices.c.id,
    devices.c.backend,
    devices.c.vendor,
    devices.c.name,
    devices.c.arch,
    devices.c.compute_units,
    devices.c.kind,
    devices.c.limits,
    devices.c.created_at,
    fingerprints.c.driver,
    fingerprints.c.platform,
    fingerprints.c.compiler,
).join(
    fingerprints, (fingerprints.c.device_id == devices.c.id) & (fingerprints.c.digest == devices.c.fingerprint_digest)
)


def find_device(connection: Connection, key: str) -> StoredDevice | None:
    """The kind of device of a device_key."""
    row = connection.execute(_QUERY.where(devices.c.key == key)).one_or_none()
    return None if row is None else _device(row)


def all_devices(connection: Connection) -> list[StoredDevice]:
    """Every kind of device that a runner was ever there for, in the order in which they came."""
    return [_device(row) for row in connection.execute(_QUERY.order_by(devices.c.id))]


def _device(row: Row[*tuple[Any, ...]]) -> StoredDevice:
    identity = DeviceIdentity(row.backend, row.vendor, row.name, row.arch, row.compute_units)
    limits: Mapping[str, Any] = row.limits
    x, y, z = limits["local_max"]
    info = DeviceInfo(
        identity=identity,
        fingerprint=Fingerprint(row.driver, row.platform, row.compiler),
        limits=DeviceLimits(**{**limits, "local_max": (x, y, z)}),
        kind=DeviceKind(row.kind),
    )
    return StoredDevice(row.id, info, row.created_at)


def find_fingerprint(connection: Connection, device_id: int, digest: str) -> Fingerprint | None:
    """The versions that a device once had."""
    query = select(fingerprints.c.driver, fingerprints.c.platform, fingerprints.c.compiler)
    query = query.where(fingerprints.c.device_id == device_id, fingerprints.c.digest == digest)
    row = connection.execute(query).one_or_none()
    return None if row is None else Fingerprint(*row)


def runners_of(connection: Connection, device_id: int, most: int = 100) -> list[StoredRunner]:
    """The runners of a kind of device, those last heard of first."""
    columns = [runners.c[name] for name in StoredRunner.__dataclass_fields__]
    query = select(*columns).where(runners.c.device_id == device_id).order_by(runners.c.heartbeat_at.desc()).limit(most)
    return [StoredRunner(*row) for row in connection.execute(query)]


def save_device(connection: Connection, info: DeviceInfo, now: float) -> int:
    """The id of a kind of device, with its limits and fingerprint as they are now."""
    identity, fingerprint = info.identity, info.fingerprint
    seen = {
        "kind": str(info.kind),
        "limits": asdict(info.limits),
        "fingerprint_digest": fingerprint.digest,
    }
    new = insert(devices).values(key=info.device_key, created_at=now, **asdict(identity), **seen)
    connection.execute(new.on_conflict_do_update(index_elements=[devices.c.key], set_=seen))
    device_id: int = connection.execute(select(devices.c.id).where(devices.c.key == info.device_key)).scalar_one()
    version = {"device_id": device_id, "digest": fingerprint.digest, "created_at": now, **asdict(fingerprint)}
    connection.execute(insert(fingerprints).values(version).on_conflict_do_nothing())
    return device_id


def save_runner(
    connection: Connection, device_id: int, unit: int, worker: str, host: str, pid: int, now: float
) -> None:
    """Note that `worker` holds the `unit`-th device of a kind from now on."""
    state = {"host": host, "pid": pid, "started_at": now, "heartbeat_at": now, "stopped_at": None}
    new = insert(runners).values(device_id=device_id, unit=unit, worker=worker, **state)
    same = [runners.c.worker, runners.c.device_id, runners.c.unit]
    connection.execute(new.on_conflict_do_update(index_elements=same, set_=state))


def note_heartbeat(connection: Connection, worker: str, now: float) -> None:
    """Note that a worker and its runners are alive."""
    connection.execute(update(runners).where(runners.c.worker == worker).values(heartbeat_at=now, stopped_at=None))


def note_stop(connection: Connection, worker: str, now: float) -> None:
    """Note that a worker has given its devices back."""
    connection.execute(update(runners).where(runners.c.worker == worker).values(stopped_at=now))
