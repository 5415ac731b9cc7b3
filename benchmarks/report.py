"""What every benchmark prints and keeps: its figures, the machine and the command that made them."""

from __future__ import annotations

import json
import math
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def geometric_mean(values: Iterable[float]) -> float:
    """The geometric mean of positive values."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


def machine() -> dict[str, Any]:
    """What the figures depend on: processor, cores, system, Python."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A plain table: the first column left, the others right."""
    texts = [list(header), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in texts) for column in range(len(header))]
    lines = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in texts
    ]
    return "\n".join(line.rstrip() for line in lines)


def save(name: str, figures: dict[str, Any]) -> Path:
    """Write `figures` with machine and command to benchmarks/results/NAME.json."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    command = "python -m " + " ".join([f"benchmarks.{name}", *sys.argv[1:]])
    path.write_text(json.dumps({"command": command, "machine": machine(), **figures}, indent=1) + "\n")
    return path
