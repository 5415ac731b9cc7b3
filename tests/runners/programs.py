"""Kernels for tests of runners, and programs of them that end in every way a program can."""

from __future__ import annotations

from dataclasses import replace

from kernels import Ast, Kernel, Program, Target, build
from runners.api import Artifact, Builder, BuildInput, MeasureInput, Outcome, OutcomeCode, Timing, Workload

SIZE = 4096
#: Few and short runs.
BRIEF = Timing(budget_s=0.01, least=3, most=5)

#: Statements that end the program of `doubled` as the outcome says.
STATEMENTS = {
    OutcomeCode.BUILD_ERROR: "this is no statement",
    OutcomeCode.RUN_TIMEOUT: "volatile int spin = 1; while (spin) {}",
    OutcomeCode.OUT_OF_BOUNDS: f"p0[{SIZE} + 5] = 0.0f;",
    OutcomeCode.WRONG_RESULT: "p0[7] = p0[7] + 1.0f;",
    OutcomeCode.DEVICE_LOST: "p0[1L << 45] = 1.0f;",
}


def doubled() -> Ast:
    """2 x + 1 of 4,096 floats: p0 is written, p1 read."""
    return build.elementwise((SIZE,), lambda x: x * 2 + 1)


def program_of(ast: Ast, target: Target, *, heuristic: bool = False) -> Program:
    kernel = Kernel(ast, target)
    return (kernel.default_opts() if heuristic else kernel).to_program()


def with_statement(program: Program, statement: str) -> Program:
    """The program with a statement of its own at its end."""
    body, _, end = program.source.rpartition("}")
    return replace(program, source=f"{body}  {statement}\n}}{end}")


def ending(code: OutcomeCode, target: Target) -> Program:
    """A program of `doubled` that ends so, on a device or by `declared_fault`."""
    program = program_of(doubled(), target)
    if code is OutcomeCode.OVER_DEVICE_LIMIT:
        size = 1 << 20
        source = program.source.replace("reqd_work_group_size(1, 1, 1)", f"reqd_work_group_size({size}, 1, 1)")
        assert source != program.source
        return replace(program, source=f"{source}/* {code} */\n", local_size=(size, 1, 1))
    return with_statement(program, f"/* {code} */ {STATEMENTS[code]}")


def declared_fault(program: Program) -> Outcome | None:
    """How a program of `ending` ends, from what is written in it."""
    for code in (*STATEMENTS, OutcomeCode.OVER_DEVICE_LIMIT):
        if f"/* {code} */" in program.source:
            return Outcome(code, "declared")
    return None


def built(builder: Builder, program: Program) -> Artifact:
    (result,) = builder.build([BuildInput(program)])
    assert result.artifact is not None, str(result.outcome)
    return result.artifact


def to_measure(builder: Builder, ast: Ast, program: Program, timing: Timing = BRIEF) -> MeasureInput:
    """What `measure` takes, at the middle of each variable's bounds; a hang is noticed early."""
    values = tuple(sorted((variable.name, (variable.min + variable.max) // 2) for variable in ast.variables))
    return MeasureInput(
        Workload(ast, values), built(builder, program), timing, launch_deadline_s=10.0, run_deadline_s=5.0
    )
