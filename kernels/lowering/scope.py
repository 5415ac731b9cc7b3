"""The loop nest of a program as it is being written: where a statement belongs, and what is known there."""

from __future__ import annotations

from collections.abc import Iterator

from kernels.render.value import Value


class Scope:
    """The inside of a loop (or of the kernel): its statements, and the values that are known in it.

    axes: the ids of the loops that are open. A statement goes into the outermost scope whose loops it depends on, also
    while an inner scope is being written: the inner loop itself is only appended when it is complete.
    """

    __slots__ = ("axes", "conditions", "lines", "parent", "sums", "values")

    def __init__(self, parent: Scope | None, axes: frozenset[int]) -> None:
        self.parent = parent
        self.axes = axes
        self.lines: list[str] = []
        self.values: dict[tuple[object, ...], Value] = {}
        self.sums: dict[object, str] = {}
        self.conditions: dict[object, str] = {}

    def chain(self) -> Iterator[Scope]:
        """This scope and those around it, the innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def home(self, loops: frozenset[int]) -> Scope:
        """The outermost scope around this one in which all of `loops` are open."""
        found = self
        for scope in self.chain():
            if not loops <= scope.axes:
                break
            found = scope
        return found
