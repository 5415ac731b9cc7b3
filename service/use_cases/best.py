"""The best opts known of a kernel, by its key alone."""

from __future__ import annotations

from sqlalchemy import Connection

from kernels import parse_ast_json
from service.database import Database
from service.documents import variables_to_text
from service.errors import VariablesError
from service.http_body import strict_value
from service.repositories.devices import StoredDevice, all_devices
from service.repositories.kernels import StoredKernel, find_kernel
from service.schemas import BestAnswer, RecordAnswer
from service.use_cases.asked import asked_device, asked_values
from service.use_cases.standing import find_standing
from service.use_cases.submit import NO_RUNNER


def best(database: Database, key: str, device: str | None, variables: str | None) -> BestAnswer:
    """The current record of a kernel on a device; the tier none and the reason for whatever is not known.

    variables: JSON by v0, v1, ...; the middle of the bounds without. Raises VariablesError for values that the kernel
    cannot have, DeviceRequiredError where no device is named and several are known.
    """
    values = None if variables is None else _values(variables)
    with database.reading() as connection:
        if device is None and not all_devices(connection):
            return _none(key, None, NO_RUNNER)
        device_key, stored_device = asked_device(connection, device)
        kernel = find_kernel(connection, key)
        if kernel is None:
            return _none(key, device_key, "this kernel was never sent")
        return _best_of(connection, kernel, device_key, stored_device, values)


def _best_of(
    connection: Connection,
    kernel: StoredKernel,
    device_key: str,
    device: StoredDevice | None,
    values: dict[str, int] | None,
) -> BestAnswer:
    checked = asked_values(parse_ast_json(kernel.ast), values)
    standing = find_standing(connection, kernel.id, device_key, device, variables_to_text(checked))
    if standing is None:
        return _none(kernel.key, device_key, NO_RUNNER if device is None else "not tuned yet")
    return BestAnswer(
        key=kernel.key,
        device=device_key,
        tier="exact" if standing.is_exact else "suspect",
        differs=list(standing.differs),
        opts=standing.record.opts,
        shape=standing.record.shape,
        record=RecordAnswer.of(standing.record),
        reason=None,
    )


def _none(key: str, device_key: str | None, reason: str) -> BestAnswer:
    return BestAnswer(
        key=key, device=device_key, tier="none", differs=[], opts=None, shape=None, record=None, reason=reason
    )


def _values(text: str) -> dict[str, int]:
    value = strict_value(text)
    if not isinstance(value, dict) or not all(type(number) is int for number in value.values()):
        raise VariablesError("variables are a JSON object of integers", "variables")
    return value
