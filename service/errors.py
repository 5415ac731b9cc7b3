"""Every error that `service` raises on purpose. Each has a stable, machine-readable `code`.

Which HTTP status each becomes is said in http_errors alone.
"""

from __future__ import annotations

from typing import ClassVar


class ServiceError(Exception):
    """Root of this folder's errors."""

    code: ClassVar[str] = "service_error"


# ---- requests --------------------------------------------------------------------------------------------------------


class RequestError(ServiceError):
    """A request is not one that can be answered. `field` is the part of it that is wrong, where there is one."""

    code: ClassVar[str] = "invalid_request"

    def __init__(self, message: str, field: str | None = None) -> None:
        self.field = field
        super().__init__(message)


class JsonError(RequestError):
    """A body is no strict JSON: bad syntax, a field twice, NaN, or no object."""

    code: ClassVar[str] = "invalid_json"


class MediaTypeError(RequestError):
    """A body does not say that it is JSON."""

    code: ClassVar[str] = "unsupported_media_type"


class BodyTooLargeError(RequestError):
    """A body is longer than what is read."""

    code: ClassVar[str] = "body_too_large"


class VariablesError(RequestError):
    """The values of a kernel's variables are not complete, unknown to it, or out of bounds."""

    code: ClassVar[str] = "invalid_variables"


class DeviceRequiredError(RequestError):
    """No device is named, and it is not the case that exactly one is known."""

    code: ClassVar[str] = "device_required"


class TooComplexError(RequestError):
    """An AST is valid, but would take far longer to work with than any real kernel."""

    code: ClassVar[str] = "too_complex"


class NotFoundError(ServiceError):
    """There is no job or record of that number."""

    code: ClassVar[str] = "not_found"


class StateError(ServiceError):
    """A job is in a state in which that cannot be done."""

    code: ClassVar[str] = "wrong_state"


# ---- the queue -------------------------------------------------------------------------------------------------------


class LeaseLostError(ServiceError):
    """A worker does not hold the job any more: its lease ran out and another took it, or the job has ended."""

    code: ClassVar[str] = "lease_lost"


class JobCancelledError(LeaseLostError):
    """The job was cancelled while a worker held it."""

    code: ClassVar[str] = "job_cancelled"


# ---- the database ----------------------------------------------------------------------------------------------------


class DatabaseError(ServiceError):
    """The database cannot be used as it is."""

    code: ClassVar[str] = "database_unavailable"


class DatabaseBusyError(DatabaseError):
    """Another process has kept the database locked for longer than is waited for."""

    code: ClassVar[str] = "database_busy"


class DatabaseFullError(DatabaseError):
    """There is no room left for the database."""

    code: ClassVar[str] = "database_full"


class DatabaseKindError(DatabaseError):
    """The address of the database is none, or of a kind that is not supported."""

    code: ClassVar[str] = "database_unsupported"


class DatabaseVersionError(DatabaseError):
    """The database is of another version than this Beamtune. The message says what to do."""

    code: ClassVar[str] = "database_version"


# ---- commands --------------------------------------------------------------------------------------------------------


class DemoError(ServiceError):
    """A process of the demo did not come up."""

    code: ClassVar[str] = "demo_failed"


class AddressError(ServiceError):
    """The service cannot listen where it is told to."""

    code: ClassVar[str] = "address_in_use"
