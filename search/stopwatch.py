"""`Stopwatch`: how long the blocks took that it was held over."""

from __future__ import annotations

from collections.abc import Callable


class Stopwatch:
    """total_s: seconds of the clock between entering and leaving, over all times that it was held."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._entered_s = 0.0
        self.total_s = 0.0

    def __enter__(self) -> None:
        self._entered_s = self._clock()

    def __exit__(self, *_: object) -> None:
        self.total_s += self._clock() - self._entered_s
