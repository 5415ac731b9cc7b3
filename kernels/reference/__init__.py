"""The NumPy reference: what kernels must compute, worked out without any of the code that makes programs.

    evaluate  values of outputs, whole or of chosen elements
    expect    the same, with positions and with how far a right program may be off

It shares nothing with the lowering, and computes the positions of views by itself (positions.py).
"""

from kernels.reference.errors import EvaluationError
from kernels.reference.evaluate import Expected, evaluate, expect

__all__ = ["EvaluationError", "Expected", "evaluate", "expect"]
