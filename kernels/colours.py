"""How axes are shown: the colour of each role, and shapes printed in those colours."""

from __future__ import annotations

from functools import lru_cache

from kernels.state import KernelState

#: ANSI foreground codes; the upper-case name is the bright form.
_CODES = {"red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36, "BLUE": 94}


def colours_of(state: KernelState) -> list[str]:
    """The colour of each axis, in the axes' order."""
    return [
        *_colours(state.n_global, state.first_reduce, state.first_loop, state.first_upcast, state.no_locals),
        *["magenta" if unrolled else "yellow" for unrolled in state.unrolled],
    ]


@lru_cache(maxsize=1024)
def _colours(n_global: int, first_reduce: int, first_loop: int, first_upcast: int, no_locals: bool) -> tuple[str, ...]:
    """Of the axes that are not upcast: search reads the same few shapes over and over."""
    return (
        *(("BLUE" if no_locals else "blue",) * n_global),
        *(("cyan",) * (first_reduce - n_global)),
        *(("green",) * (first_loop - first_reduce)),
        *(("red",) * (first_upcast - first_loop)),
    )


def coloured_shape(state: KernelState, pad: int | None, dense: bool) -> str:
    """The sizes in colour, plain integers four places wide unless `dense`; padded to `pad` printed characters."""
    texts = [f"{size:4d}" if isinstance(size, int) and not dense else str(size) for size in state.sizes]
    shown = " ".join(
        f"\x1b[{_CODES[colour]}m{text}\x1b[0m" for text, colour in zip(texts, colours_of(state), strict=True)
    )
    if pad is None:
        return shown
    return shown + " " * (pad - len(" ".join(texts)))
