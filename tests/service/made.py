"""Made values for tests of the service: a device, trials and answers. No device and no search is behind them."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from kernels import Ast, Kernel, Opt, OptOps, build, dump_ast
from runners.api import (
    OK,
    DeviceIdentity,
    DeviceInfo,
    DeviceKind,
    DeviceLimits,
    Fingerprint,
    Numerics,
    Outcome,
    OutcomeCode,
    Verification,
)
from runners.timing import EVENTS
from search.events import Answer
from search.settings import Effort, settings_for
from search.trial import Trial
from service.provenance import Provenance

DEVICE = DeviceInfo(
    identity=DeviceIdentity("opencl", "Made Devices", "Made CPU 9000", "", 8),
    fingerprint=Fingerprint("driver 1", "platform 1", "compiler 1"),
    limits=DeviceLimits(2**34, 2**32, 65536, (4096, 4096, 4096), 4096, False, True, 16),
    kind=DeviceKind.CPU,
)
PROVENANCE = Provenance(DEVICE, settings_for(Effort.NORMAL))
#: A device that nobody has.
UNKNOWN_KEY = hashlib.sha256(b"nobody has this").hexdigest()
START = 1_000_000.0
OPTS = (Opt(OptOps.UPCAST, 1, 4),)


def matmul(size: int = 64) -> dict[str, Any]:
    """A document; each size is another kernel."""
    return dump_ast(build.matmul(size, size, size))


def renumbered(document: dict[str, Any]) -> dict[str, Any]:
    """The same kernel with an unused node in front, so that all numbers and all bytes are others."""
    extra = {"op": "CONST", "src": [], "dtype": "float32", "arg": 1.0}
    view = {"op": "VIEW", "src": [], "arg": {"views": [{"shape": [1], "strides": [0], "offset": 0, "mask": None}]}}
    moved = [{**node, "src": [source + 2 for source in node["src"]]} for node in document["nodes"]]
    return {**document, "nodes": [view, {**extra, "src": [0]}, *moved]}


def dynamic(variable: str = "i") -> dict[str, Any]:
    """x + 1 over [i, 32], i in [1, 64]: the same kernel whatever the variable is called."""
    full = {"shape": [variable, 32], "strides": [32, 1], "offset": 0, "mask": None}
    everywhere = {**full, "strides": [0, 0]}
    nodes = [
        {"op": "DEFINE_GLOBAL", "src": [], "dtype": "float32", "arg": {"slot": 0, "size": 2048}},
        {"op": "VIEW", "src": [], "arg": {"views": [full]}},
        {"op": "DEFINE_GLOBAL", "src": [], "dtype": "float32", "arg": {"slot": 1, "size": 2048}},
        {"op": "LOAD", "src": [2, 1], "dtype": "float32"},
        {"op": "VIEW", "src": [], "arg": {"views": [everywhere]}},
        {"op": "CONST", "src": [4], "dtype": "float32", "arg": 1.0},
        {"op": "ADD", "src": [3, 5], "dtype": "float32"},
        {"op": "STORE", "src": [0, 1, 6]},
        {"op": "SINK", "src": [7]},
    ]
    return {"format": "kernel-ast/1", "nodes": nodes, "vars": {variable: {"min": 1, "max": 64}}}


def candidate_key(number: int) -> str:
    return hashlib.sha256(f"candidate {number}".encode()).hexdigest()


def trial(number: int, generation: int = 1, time_s: float | None = 1e-3, outcome: Outcome = OK) -> Trial:
    """Candidate `number`, half a second of the device."""
    return Trial(
        generation=generation,
        opts=OPTS,
        candidate_key=candidate_key(number),
        outcome=outcome,
        time_s=time_s,
        samples=5,
        numerics=Numerics.BIT_EXACT if outcome.ok else None,
        build_s=0.2,
        spent_s=0.5,
    )


FAILED = Outcome(OutcomeCode.BUILD_ERROR, "the compiler says no")


def answer(ast: Ast, time_s: float = 1e-3, baseline_s: float = 2e-3, heuristic: bool = False) -> Answer:
    """Twice as fast as the heuristic unless told otherwise."""
    kernel = Kernel(ast, DEVICE.target)
    kernel.default_opts()
    baseline_opts = kernel.applied_opts
    if not heuristic:
        kernel = Kernel(ast, DEVICE.target)
        for opt in OPTS:
            kernel.apply_opt(opt)
    ratio = time_s / baseline_s
    return Answer(
        opts=kernel.applied_opts,
        is_heuristic=heuristic,
        program=kernel.to_program(),
        time_s=time_s,
        interval_s=(0.98 * time_s, 1.02 * time_s),
        samples_s=(time_s,) * 5,
        baseline_opts=baseline_opts,
        baseline_s=baseline_s,
        baseline_samples_s=(baseline_s,) * 5,
        ratio=ratio,
        ratio_interval=(0.95 * ratio, 1.05 * ratio),
        verification=Verification("reference", 4096, 4096, Numerics.REORDERED),
        method=EVENTS,
        portable=True,
        complete=True,
        reason="within the noise" if heuristic else "",
    )


def with_fingerprint(device: DeviceInfo, driver: str) -> DeviceInfo:
    return replace(device, fingerprint=replace(device.fingerprint, driver=driver))
