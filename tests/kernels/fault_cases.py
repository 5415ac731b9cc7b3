"""The fault cases of groups A to E, each a kernel as a wire document with Opts to try on it and right answers.

A label is the fault's; where one fault takes several kernels they share it. B6 and E4 are about devices and runners and
have no kernel of their own.
"""

from __future__ import annotations

import functools

from tests.kernels.faults import grouping, indexing, padding, values, vectors
from tests.kernels.faults.case import FaultCase, Run

__all__ = ["FaultCase", "Run", "fault_cases"]


@functools.cache
def fault_cases() -> tuple[FaultCase, ...]:
    """Every case, built once."""
    return tuple(case for module in (padding, grouping, indexing, vectors, values) for case in module.cases())
