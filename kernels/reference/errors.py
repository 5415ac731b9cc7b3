"""Everything that the reference raises."""

from typing import ClassVar

from kernels.errors import KernelsError


class EvaluationError(KernelsError):
    """What was given does not fit the kernel: a missing, short or mistyped buffer, variable or choice of outputs."""

    code: ClassVar[str] = "invalid_evaluation"
