"""The error that the builder raises where an expression makes no sense, at the line that wrote it."""

from typing import ClassVar

from kernels.errors import KernelsError


class BuildError(KernelsError):
    """An expression that no kernel can compute: dtypes or shapes that do not fit, or a movement of a reduced value."""

    code: ClassVar[str] = "invalid_expression"
