"""Every error that `runners` raises on purpose. Each has a stable, machine-readable `code`."""

from typing import ClassVar


class RunnerError(Exception):
    """Root of this folder's errors: there is no device to run anything on, or none any more."""

    code: ClassVar[str] = "runner_error"


class ChildError(RunnerError):
    """A device's child did not do what it was asked to.

    `stage` is what it was at ("start", "build", "launch", "verify", "time"), and `elapsed_s` for how many seconds.
    """

    code: ClassVar[str] = "child_error"

    def __init__(self, stage: str, elapsed_s: float, message: str) -> None:
        self.stage = stage
        self.elapsed_s = elapsed_s
        super().__init__(message)


class ChildTimeout(ChildError):
    """A stage took longer than its deadline; the child was killed."""

    code: ClassVar[str] = "child_timeout"


class ChildDied(ChildError):
    """The child ended by itself."""

    code: ClassVar[str] = "child_died"


class ChildKilled(ChildDied):
    """The child was killed from outside: by a person, or by the system where memory ran out."""

    code: ClassVar[str] = "child_killed"


class NoDeviceError(RunnerError):
    """No device of the kind that is asked for is there."""

    code: ClassVar[str] = "no_device"


class SelfCheckError(RunnerError):
    """A device computes something wrong that every device must get right. It is not used."""

    code: ClassVar[str] = "self_check_failed"


class WorkloadError(RunnerError):
    """A workload has no value for one of its AST's variables, or one out of its bounds."""

    code: ClassVar[str] = "invalid_workload"
