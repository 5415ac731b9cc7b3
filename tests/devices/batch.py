"""Several programs as one source, which a compiler takes hardly longer over than over one.

A driver's compiler starts with its own library of functions, 0.2 s for each source on PoCL. Every program's text is in
the whole as it is; only macros around it keep names apart that two of them may define.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kernels import Program

#: A function that is defined at the outermost level, entry points excepted.
_FUNCTION = re.compile(r"^(?!__kernel|typedef)[A-Za-z_][\w ]*[ *](\w+)\([^;{]*\) *\{", re.MULTILINE)


def batched(programs: Sequence[Program]) -> list[Program]:
    """The programs with one source that has all of them, each under an entry point of its own."""
    parts = []
    for number, program in enumerate(programs):
        names = sorted({program.name, *_FUNCTION.findall(program.source)})
        define = "".join(f"#define {name} {_entry(name, number)}\n" for name in names)
        undefine = "".join(f"#undef {name}\n" for name in names)
        parts.append(f"{define}{program.source}{undefine}")
    whole = "".join(parts)
    return [replace(program, source=whole, name=_entry(program.name, n)) for n, program in enumerate(programs)]


def _entry(name: str, number: int) -> str:
    return f"{name}_{number}"
