"""Numbers as people read them."""

from __future__ import annotations

_TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_SIZE_UNITS = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
_AGES = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def time_text(seconds: float | None) -> str:
    """Three digits and a unit: "1.23 ms"; a dash where there is no time."""
    if seconds is None:
        return "–"
    unit, name = next((pair for pair in _TIME_UNITS if seconds >= pair[0] * 0.9995), _TIME_UNITS[-1])
    return f"{_three_digits(seconds / unit)} {name}"


def speedup_text(factor: float | None) -> str:
    """Three digits and a sign: "2.31×"; a dash where there is none."""
    return "–" if factor is None else f"{_three_digits(factor)}×"


def _three_digits(value: float) -> str:
    decimals = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{decimals}f}"


def bytes_text(size: int) -> str:
    """In the greatest unit of which there is one: "16 GiB"."""
    unit, name = next((pair for pair in _SIZE_UNITS if size >= pair[0]), _SIZE_UNITS[-1])
    return f"{size / unit:.3g} {name}"


def ago_text(seconds: float) -> str:
    """How long ago: "4 min ago"."""
    for unit, name in _AGES:
        if seconds >= unit:
            return f"{int(seconds // unit)} {name} ago"
    return "now"
