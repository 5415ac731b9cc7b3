"""A search's answer as the row of a record."""

from __future__ import annotations

import math
from typing import Any

from kernels import Kernel, parse_ast_json
from search.events import Answer
from service.documents import opts_to_wire, plain_text, program_to_wire, shape_of, verification_to_wire
from service.provenance import Provenance


def has_possible_times(answer: Answer) -> bool:
    """True where every number of the answer is finite and every time above 0: nothing else may become a record."""
    times = (
        answer.time_s,
        *answer.interval_s,
        *answer.samples_s,
        answer.baseline_s,
        *answer.baseline_samples_s,
        answer.ratio,
        *answer.ratio_interval,
    )
    return bool(answer.samples_s) and all(math.isfinite(time) and time > 0 for time in times)


def answer_shape(ast_text: str, answer: Answer) -> str:
    """The kernel's full shape after the answer's opts. Raises KernelOptError where they are not legal on it."""
    kernel = Kernel(parse_ast_json(ast_text), answer.program.target)
    for opt in answer.opts:
        kernel.apply_opt(opt)
    return shape_of(kernel)


def record_values(answer: Answer, shape: str, provenance: Provenance) -> dict[str, Any]:
    """The columns of a record that the answer and its provenance fill; the job fills the others."""
    return {
        "numerics": str(answer.verification.numerics),
        "fingerprint_digest": provenance.device.fingerprint.digest,
        "method": answer.method,
        "codegen_version": answer.program.codegen_version,
        "opts": opts_to_wire(answer.opts),
        "shape": shape,
        "program": program_to_wire(answer.program),
        "time_s": answer.time_s,
        "time_low_s": answer.interval_s[0],
        "time_high_s": answer.interval_s[1],
        "samples_s": list(answer.samples_s),
        "baseline_opts": opts_to_wire(answer.baseline_opts),
        "baseline_s": answer.baseline_s,
        "baseline_samples_s": list(answer.baseline_samples_s),
        "ratio": answer.ratio,
        "ratio_low": answer.ratio_interval[0],
        "ratio_high": answer.ratio_interval[1],
        "verification": verification_to_wire(answer.verification),
        "provenance": provenance.to_wire(),
        "is_heuristic": answer.is_heuristic,
        "portable": answer.portable,
        "complete": answer.complete,
        "reason": plain_text(answer.reason),
    }
