"""The compile core: what a kernel is, what an Opt does to it, and the program it becomes. No device and no I/O.

The names below are the public surface, which stays; everything else may move.
"""

from kernels.canonical import ast_key
from kernels.errors import AstError, KernelOptError, KernelsError, TargetError
from kernels.heuristic import HeuristicSettings
from kernels.ir import Ast
from kernels.kernel import Kernel
from kernels.opt import Opt, OptOps
from kernels.target import Target, cuda_target, opencl_target
from kernels.wire import dump_ast, parse_ast

__all__ = [
    "Ast",
    "AstError",
    "HeuristicSettings",
    "Kernel",
    "KernelOptError",
    "KernelsError",
    "Opt",
    "OptOps",
    "Target",
    "TargetError",
    "ast_key",
    "cuda_target",
    "dump_ast",
    "opencl_target",
    "parse_ast",
]
