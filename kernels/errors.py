"""Every error that `kernels` raises on purpose. Each has a stable, machine-readable `code`."""

from enum import IntEnum
from typing import ClassVar


class KernelsError(Exception):
    """Root of this folder's errors."""

    code: ClassVar[str] = "kernels_error"


class AstError(KernelsError):
    """A document is no valid kernel AST.

    `rule` is the stable name of the rule that is broken, `node` the number of the node in the document that breaks it
    (None where the document as a whole does).
    """

    code: ClassVar[str] = "invalid_ast"

    def __init__(self, rule: str, message: str, node: int | None = None) -> None:
        self.rule = rule
        self.message = message
        self.node = node
        super().__init__(rule, message, node)

    def __str__(self) -> str:
        where = "document" if self.node is None else f"node {self.node}"
        return f"{where}: {self.message} [{self.rule}]"


def _shown(value: object) -> str:
    """A value in a message: numbers and sizes as they are unless huge, anything else short and in printable ASCII."""
    if isinstance(value, IntEnum):
        return value.name
    if isinstance(value, int) and value.bit_length() > 64:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, str):
        return ascii(value)[:40]
    return type(value).__name__ if isinstance(value, list | tuple | dict) else str(value)[:80]


class KernelOptError(KernelsError):
    """An Opt is not legal on this kernel; the kernel is as it was. `reason` says why, for people.

    Made of a format string and its values: the search refuses a hundred thousand Opts a second, so the reason is only
    put together when somebody reads it.
    """

    code: ClassVar[str] = "illegal_opt"

    @property
    def reason(self) -> str:
        """Why the Opt is refused."""
        template, *values = self.args
        return str(template).format(*map(_shown, values)) if values else str(template)

    def __str__(self) -> str:
        return self.reason


class TargetError(KernelsError):
    """A target is described wrongly: an unknown architecture, or a limit out of its range."""

    code: ClassVar[str] = "invalid_target"


class ViewError(KernelsError):
    """A movement operation does not fit the view it is asked of."""

    code: ClassVar[str] = "invalid_movement"


class ProgramError(KernelsError):
    """No program can be made of a kernel for its target. `limit` names which of the target's limits is in the way."""

    code: ClassVar[str] = "over_device_limit"

    def __init__(self, limit: str, message: str) -> None:
        self.limit = limit
        self.message = message
        super().__init__(limit, message)

    def __str__(self) -> str:
        return f"{self.message} [{self.limit}]"
