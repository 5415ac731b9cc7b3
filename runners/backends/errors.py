"""What a backend raises. Each error names the outcome that it is for the program at hand."""

from typing import ClassVar

from runners.api import Outcome, OutcomeCode
from runners.errors import RunnerError


class BackendError(RunnerError):
    """A driver refused something."""

    code: ClassVar[str] = "backend_error"
    outcome_code: ClassVar[OutcomeCode] = OutcomeCode.RUN_ERROR

    @property
    def outcome(self) -> Outcome:
        """How the program at hand ended by it."""
        return Outcome(self.outcome_code, str(self))


class BuildError(BackendError):
    """A compiler refused a source, or a program has no such entry point. The message is the end of its log."""

    code: ClassVar[str] = "build_error"
    outcome_code: ClassVar[OutcomeCode] = OutcomeCode.BUILD_ERROR


class LaunchError(BackendError):
    """A program did not start, or did not end well."""

    code: ClassVar[str] = "launch_error"


class DeviceLimitError(BackendError):
    """A launch asks for more than the compiled program or the device can do."""

    code: ClassVar[str] = "device_limit"
    outcome_code: ClassVar[OutcomeCode] = OutcomeCode.OVER_DEVICE_LIMIT


class OutOfMemoryError(BackendError):
    """Memory ran out, on the device or beside it."""

    code: ClassVar[str] = "out_of_memory"
    outcome_code: ClassVar[OutcomeCode] = OutcomeCode.OUT_OF_MEMORY
