"""`Frontier`: the kernels that are one Opt away from those that were tried, each once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import zip_longest

from kernels import KernelOptError, ProgramError
from search.actions import ActionSet
from search.candidate import Candidate
from search.ranking import Ranking

#: Candidates without a program are no builds; this many times the builds of a generation may be looked at.
_LOOKED_AT = 4


class Frontier:
    """Draws candidates that were never drawn before: neither the same kernel nor the same program twice."""

    def __init__(self, actions: ActionSet, ranking: Ranking, max_depth: int) -> None:
        self._actions = actions
        self._ranking = ranking
        self._max_depth = max_depth
        self._states: set[Hashable] = set()
        self._keys: set[str] = set()
        self._children: dict[Hashable, list[Candidate]] = {}

    def claim(self, candidate: Candidate) -> bool:
        """Take a candidate out of what can be drawn. False where its kernel or program was taken before."""
        if candidate.state_key in self._states:
            return False
        self._states.add(candidate.state_key)
        if candidate.key in self._keys:
            return False
        self._keys.add(candidate.key)
        return True

    def is_open(self, parent: Candidate) -> bool:
        """True where a child of the parent can still be drawn."""
        return bool(self._left(parent))

    def count(self, parents: Sequence[Candidate]) -> int:
        """How many distinct kernels can still be drawn from the parents."""
        return len({child.state_key for parent in parents for child in self._left(parent)})

    def draw(self, parents: Sequence[Candidate], builds: int) -> list[Candidate]:
        """Children in the parents' turn, until `builds` of them have a program; fewer where there are no more."""
        drawn: list[Candidate] = []
        with_program = 0
        for turn in zip_longest(*(self._left(parent) for parent in parents)):
            for child in turn:
                if with_program == builds or len(drawn) == _LOOKED_AT * builds:
                    return drawn
                if child is not None and self.claim(child):
                    drawn.append(child)
                    with_program += not isinstance(child.lowered, ProgramError)
        return drawn

    def _left(self, parent: Candidate) -> list[Candidate]:
        """The parent's children, best first, without those that were taken."""
        children = self._children.get(parent.state_key)
        if children is None:
            children = self._expand(parent)
        children = [child for child in children if child.state_key not in self._states]
        self._children[parent.state_key] = children
        return children

    def _expand(self, parent: Candidate) -> list[Candidate]:
        if len(parent.opts) >= self._max_depth:
            return []
        found: dict[Hashable, Candidate] = {}
        for opt in self._actions.opts_for(parent.kernel):
            kernel = parent.kernel.copy()
            try:
                kernel.apply_opt(opt)
            except KernelOptError:
                continue
            child = Candidate(kernel, parent.origin)
            found.setdefault(child.state_key, child)
        return self._ranking(parent, list(found.values()))
