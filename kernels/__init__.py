"""The compile core: what a kernel is, what an Opt does to it, and the program it becomes. No device and no I/O.

The names below are the public surface, which stays; everything else may move.
"""

from kernels.canonical import ast_key
from kernels.compare import Mismatch, compare
from kernels.errors import AstError, KernelOptError, KernelsError, ProgramError, TargetError
from kernels.heuristic import HeuristicSettings
from kernels.inputs import make_inputs
from kernels.ir import Ast
from kernels.kernel import Kernel
from kernels.opt import Opt, OptOps
from kernels.program import CODEGEN_VERSION, BufferArgument, Program, VariableArgument
from kernels.reference import evaluate, expect
from kernels.schema import json_schema
from kernels.target import Target, cuda_target, opencl_target
from kernels.tolerance import tolerance
from kernels.wire import dump_ast, parse_ast, parse_ast_json

__all__ = [
    "CODEGEN_VERSION",
    "Ast",
    "AstError",
    "BufferArgument",
    "HeuristicSettings",
    "Kernel",
    "KernelOptError",
    "KernelsError",
    "Mismatch",
    "Opt",
    "OptOps",
    "Program",
    "ProgramError",
    "Target",
    "TargetError",
    "VariableArgument",
    "ast_key",
    "compare",
    "cuda_target",
    "dump_ast",
    "evaluate",
    "expect",
    "json_schema",
    "make_inputs",
    "opencl_target",
    "parse_ast",
    "parse_ast_json",
    "tolerance",
]
