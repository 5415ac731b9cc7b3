"""Every error that `search` raises on purpose. Each has a stable, machine-readable `code`."""

from typing import ClassVar


class SearchError(Exception):
    """Root of this folder's errors."""

    code: ClassVar[str] = "search_error"


class UnknownActionSetError(SearchError):
    """There is no action set of that name and version. `known` are those that there are."""

    code: ClassVar[str] = "unknown_action_set"

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.name = name
        self.known = known
        super().__init__(f"there is no action set {name!r}; there are {', '.join(known)}")
