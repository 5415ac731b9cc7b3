"""How an error's message shows a value that somebody sent: short, and in printable ASCII."""

from collections.abc import Sequence

from kernels.index import Index

SHOWN_CHARACTERS = 40
SHOWN_DIGITS = 20


def quote(value: object) -> str:
    """`value` as a few printable ASCII characters, however long or strange it is."""
    if isinstance(value, str):
        return ascii(value) if len(value) <= SHOWN_CHARACTERS else ascii(value[:SHOWN_CHARACTERS]) + "..."
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value) if abs(value) < 10**SHOWN_DIGITS else f"an integer of {value.bit_length()} bits"
    if isinstance(value, float):
        return str(value)
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object of {len(value)} fields"
    return f"a {quote(type(value).__name__)}"


def quote_size(size: Index) -> str:
    """A size, expressions cut as other texts are."""
    return quote(size) if isinstance(size, int) else quote(str(size)).replace("'", "")


def quote_shape(shape: Sequence[Index]) -> str:
    """A shape in parentheses."""
    return f"({', '.join(map(quote_size, shape))})"
