"""How a record stands to what is asked for: worked out from the two each time, never stored."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from kernels import CODEGEN_VERSION
from runners.timing import EVENTS, WALL
from search.settings import EFFORT_S, Effort
from service.repositories.devices import StoredDevice, find_fingerprint
from service.repositories.records import StoredRecord, find_current_record
from service.use_cases.asked import AskedWork

#: How runners of a backend measure now. Records of other methods come after these, and are suspect.
METHODS = {"opencl": (EVENTS, WALL)}


@dataclass(frozen=True, slots=True)
class Standing:
    """The current record, and in what it differs from the device and the code generator as they are now."""

    record: StoredRecord
    differs: tuple[str, ...]

    @property
    def is_exact(self) -> bool:
        """True where it holds as it is."""
        return not self.differs


def find_standing(
    connection: Connection, kernel_id: int, device_key: str, device: StoredDevice | None, variables: str
) -> Standing | None:
    """The current record of a kernel on a device, at values of its variables; None where there is none."""
    methods = () if device is None else METHODS.get(device.info.identity.backend, ())
    record = find_current_record(connection, kernel_id, device_key, variables, methods)
    if record is None:
        return None
    differs = []
    if record.codegen_version != CODEGEN_VERSION:
        differs.append("codegen")
    if methods and record.method not in methods:
        differs.append("method")
    if device is not None and device.info.fingerprint.digest != record.fingerprint_digest:
        now, then = device.info.fingerprint, find_fingerprint(connection, device.id, record.fingerprint_digest)
        names = ("driver", "platform", "compiler")
        differs += [name for name in names if then is None or getattr(now, name) != getattr(then, name)]
    return Standing(record, tuple(differs))


def satisfies(standing: Standing, work: AskedWork) -> bool:
    """True where a search for that much work would have nothing to add.

    The record holds as it is, was found with the same actions, and as much was spent on it as is asked for; or its
    search came to its own end with an effort that is not less.
    """
    record = standing.record
    if not standing.is_exact or record.action_set != work.action_set:
        return False
    spent_as_much = record.budget_s >= work.budget_s and record.max_trials >= work.max_trials
    no_less_effort = EFFORT_S[Effort(record.effort)] >= EFFORT_S[work.effort]
    return spent_as_much or (record.complete and no_less_effort)
