"""How large a document may be. A service sets these; the defaults are those of the published form."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds, all inclusive. What exceeds one is refused with the rule `limit`.

    The `size_*` ones hold for a size as it is sent and for its canonical form, so that no product of sums explodes.
    """

    nodes: int = 4096
    axes: int = 16  # of one view
    views: int = 8  # in one stack
    buffers: int = 64
    elements: int = 2**40  # of a buffer, of a view's shape and of the kernel's full shape
    json_bytes: int = 2**20  # of one document's JSON text, in UTF-8
    variables: int = 8
    integer: int = 2**63 - 1  # the magnitude of a stride, an offset, or a size expression's bounds
    size_nodes: int = 128  # integers, names and operators of one size
    size_depth: int = 32  # operators within operators
    size_divisions: int = 16  # `//`, `%` and `max` in the canonical form of one size
    size_work: int = 300_000  # nodes times (1 + divisions)^2 of all that sizes are worked out from
    proof_steps: int = 4096  # evaluations of size expressions, in search of a value that breaks a rule


DEFAULT_LIMITS = Limits()
