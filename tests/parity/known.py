"""The kinds of difference that are known, each with its reason. They count as differences all the same.

A kind is told by the kernel and the oracle's answer, not by a list of names, so that it holds for kernels not seen yet.
"""

from __future__ import annotations

import math
from typing import Any

from tests.made.build import Document
from tests.parity.report import Difference
from tests.parity.subjects import document

ACCESSES = ("LOAD", "CONST", "VALID", "DEFINE_VAR")
ORACLE_RAISES = "the oracle raises what is no KernelOptError"
DYNAMIC_MASK = (
    "a mask in a view of dynamic sizes: on how many axes the oracle sees it hangs on how it divides by variables"
)
UNDECIDED_MASK = "a mask that may or may not end where its dynamic axis does: after a SWAP the oracle can split it"
PADDED_MASK = "an axis of a masked access was padded: the oracle states its masks anew, which then mask more axes"
UNDECIDED = "a mask may or may not end where its dynamic axis does"
PARTIAL_REDUCE = "a reduce of an access alone that is smaller than the first reduce: its axes merge, and sizes differ"


def known_kind(difference: Difference) -> str | None:
    """The reason of the kind that `difference` belongs to, or None for a new one."""
    if difference.kind.startswith("accepted here") and difference.oracle.endswith("Error"):
        return ORACLE_RAISES
    ast = document(difference.name)
    if has_partial_reduce(ast) and difference.kind.startswith(("accepted here", "refused here")):
        return PARTIAL_REDUCE
    applied = {op for op, _, _ in difference.opts}
    masked = has_masked_view(ast)
    if "vars" in ast and masked and "SWAP" in applied and difference.kind.endswith(UNDECIDED):
        return UNDECIDED_MASK
    if not difference.kind.startswith("hand_coded_optimizations"):
        return None
    if "vars" in ast:
        return DYNAMIC_MASK if masked else None
    return PADDED_MASK if "PADTO" in applied and masked else None


def has_masked_view(ast: Document) -> bool:
    """Whether some view is masked."""
    stacks = [node["arg"]["views"] for node in ast["nodes"] if node["op"] == "VIEW"]
    return any(view["mask"] is not None for views in stacks for view in views)


def has_partial_reduce(ast: Document) -> bool:
    """Whether a reduce is directly of a LOAD, CONST, VALID or DEFINE_VAR whose shape is not the first reduce's."""
    reduces = [node for node in ast["nodes"] if node["op"] == "REDUCE_AXIS"]
    sizes = [number_of_elements(ast, node["src"][0]) for node in reduces]
    direct = [ast["nodes"][node["src"][0]]["op"] in ACCESSES for node in reduces]
    return any(of_access and size < max(sizes) for of_access, size in zip(direct, sizes, strict=True))


def number_of_elements(ast: Document, node: int) -> int:
    """How many elements a node's value has; a dynamic size counts as 1."""
    return math.prod(size if isinstance(size, int) else 1 for size in shape_of(ast, node))


def shape_of(ast: Document, number: int) -> list[Any]:
    """The shape of a node's value: its view's, or its first source's less the reduced axes on the way."""
    reduced: set[int] = set()
    while (node := ast["nodes"][number])["op"] not in ACCESSES:
        if node["op"] == "REDUCE_AXIS":
            reduced.update(node["arg"]["axes"])
        number = node["src"][0]
    view = ast["nodes"][node["src"][-1]]["arg"]["views"][-1]
    return [1 if axis in reduced else size for axis, size in enumerate(view["shape"])]
