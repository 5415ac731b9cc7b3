"""How axes are shown: the colour of each role, and shapes printed in those colours."""

from __future__ import annotations

from kernels.state import KernelState

#: ANSI foreground codes; the upper-case name is the bright form.
_CODES = {"red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36, "BLUE": 94}


def colours_of(state: KernelState) -> list[str]:
    """The colour of each axis, in the axes' order."""
    colours = ["BLUE" if state.no_locals else "blue"] * state.n_global
    colours += ["cyan"] * state.n_local
    colours += ["green"] * state.n_group
    colours += ["red"] * state.n_reduce
    colours += ["magenta" if unrolled else "yellow" for unrolled in state.unrolled]
    return colours


def coloured_shape(state: KernelState, pad: int | None, dense: bool) -> str:
    """The sizes in colour: four places for a plain integer, or with `dense` only as wide as they are; padded to `pad` printed characters."""
    texts = [f"{size:4d}" if isinstance(size, int) and not dense else str(size) for size in state.sizes]
    shown = " ".join(
        f"\x1b[{_CODES[colour]}m{text}\x1b[0m" for text, colour in zip(texts, colours_of(state), strict=True)
    )
    if pad is None:
        return shown
    return shown + " " * (pad - len(" ".join(texts)))
