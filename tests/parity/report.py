"""What a parity run counted, and each kind of difference with its smallest reproducer."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable

from tests.oracle import OptTriple

# The bar of the issue: at most one difference in so many tries.
TRIES_PER_DIFFERENCE = 2000
DEEP = 5


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """One disagreement: what kind, on which kernel and target, after which Opts, at which Opt, and both answers."""

    kind: str
    name: str
    target: str
    opts: tuple[OptTriple, ...]
    opt: OptTriple | None
    oracle: str
    product: str

    def __str__(self) -> str:
        lines = (f"{self.name} on {self.target}", f"  opts    {list(self.opts)}", f"  opt     {self.opt}")
        return "\n".join((*lines, f"  oracle  {self.oracle}", f"  product {self.product}"))


@dataclasses.dataclass(slots=True)
class Report:
    """Counts of one run. `counts` holds the breakdowns: `TC select 0`, `ops UPCAST`, ..."""

    tries: int = 0
    accepted: int = 0
    walks: int = 0
    deep_walks: int = 0
    accepted_tc: int = 0
    heuristics: int = 0
    counts: Counter[str] = dataclasses.field(default_factory=Counter)
    intended: Counter[str] = dataclasses.field(default_factory=Counter)
    differences: list[Difference] = dataclasses.field(default_factory=list)

    def differ(self, difference: Difference) -> None:
        self.differences.append(difference)

    @property
    def within_bar(self) -> bool:
        return len(self.differences) * TRIES_PER_DIFFERENCE <= max(self.tries + self.heuristics, 1)

    def table(self) -> str:
        rows = [
            ("tries", self.tries),
            ("accepted Opts", self.accepted),
            ("walks", self.walks),
            (f"walks of depth {DEEP} or more", self.deep_walks),
            ("accepted TC", self.accepted_tc),
            ("heuristic comparisons", self.heuristics),
            *((f"  {name}", count) for name, count in sorted(self.counts.items())),
            *((f"  intended: {name}", count) for name, count in sorted(self.intended.items())),
            ("differences", len(self.differences)),
        ]
        return "\n".join(f"{name:44s}{count:>9d}" for name, count in rows)


def by_kind(differences: Iterable[Difference]) -> dict[str, list[Difference]]:
    """The differences of each kind, the most frequent kind first."""
    kinds: dict[str, list[Difference]] = {}
    for difference in differences:
        kinds.setdefault(difference.kind, []).append(difference)
    return dict(sorted(kinds.items(), key=lambda item: -len(item[1])))


def listing(differences: Iterable[Difference], each: int = 1) -> str:
    """Each kind of difference, how often, and its `each` shortest reproducers."""
    parts = []
    for kind, found in by_kind(differences).items():
        shortest = sorted(found, key=lambda d: (len(d.opts), d.name.startswith("random/"), len(d.name)))[:each]
        parts.append("\n".join((f"{len(found)} x {kind}", *(str(difference) for difference in shortest))))
    return "\n\n".join(parts)
