"""How a kernel's global, local and group axes are laid over a launch of three dimensions.

Neighbouring axes are folded into one dimension where there are more than three, and a global dimension above the
target's limit is split over those that are free. x is the innermost axis: work-items beside each other touch memory
beside each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from kernels.errors import ProgramError
from kernels.index import Index, Var, product, single, upper
from kernels.index_rules import floordiv, mod
from kernels.state import KernelState
from kernels.target import Target


@dataclass(frozen=True, slots=True)
class Launch:
    """The launch's sizes, and each launched axis' position.

    positions: by axis id, an expression of `ids`. ids: (variable, the dialect's name of what it holds: "group", "item"
    or "global", and the dimension), for those that occur. loops: what one work-item loops over where the target has no
    work-groups: (variable, how often), the outermost first.
    """

    global_size: tuple[Index, Index, Index]
    local_size: tuple[int, int, int] | None
    positions: dict[int, Index]
    ids: tuple[tuple[Var, str, int], ...]
    loops: tuple[tuple[Var, Index], ...] = ()


def launch_of(state: KernelState, target: Target, local_order: tuple[int, ...]) -> Launch:
    """The launch of `state`. Raises ProgramError where no folding fits the target's limits.

    `local_order` has the places of all local and group axes, the one that becomes x last.
    """
    by_item = state.no_locals
    local = local_order
    local_sizes = _local_dimensions(state, local, target)
    dimensions = _global_dimensions([state.sizes[axis] for axis in range(state.n_global)], target)
    positions: dict[int, Index] = {}
    ids: list[tuple[Var, str, int]] = []
    kind = "global" if by_item else "group"
    total: Index = 0
    for dimension, size in reversed(list(enumerate(dimensions.sizes))):
        if size != 1:
            variable = Var(f"{'i' if by_item else 'g'}{'xyz'[dimension]}", 0, upper(size) - 1)
            ids.append((variable, kind, dimension))
            total = total + single(variable) * dimensions.steps[dimension]
    _unfold(total, dimensions, state, positions, ids)
    if not target.has_local:
        loops = tuple((variable, dimensions.sizes[dimension]) for variable, _, dimension in ids)
        return Launch((1, 1, 1), (1, 1, 1), positions, (), loops)
    for dimension, axes in enumerate(_folded(local)):
        size = prod(local_sizes[axis] for axis in axes)
        if size == 1:
            continue
        variable = Var(f"l{'xyz'[dimension]}", 0, size - 1)
        ids.append((variable, "item", dimension))
        inner = 1
        for axis in reversed(axes):
            quotient = floordiv(single(variable), inner)
            positions[state.ids[axis]] = quotient if axis == axes[0] else mod(quotient, local_sizes[axis])
            inner *= local_sizes[axis]
    local_size = tuple(prod(local_sizes[axis] for axis in axes) for axes in _folded(local))
    _check_local(local_size, target)
    return Launch(dimensions.sizes, None if by_item else (local_size[0], local_size[1], local_size[2]), positions,
                  tuple(ids))  # fmt: skip


def _local_dimensions(state: KernelState, local: tuple[int, ...], target: Target) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for axis in local:
        size = state.sizes[axis]
        assert isinstance(size, int)
        sizes[axis] = size
    return sizes


def _folded(axes: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The axes of each dimension, x first: the innermost alone, the outermost folded together where there are many."""
    x, y = axes[-1:], axes[-2:-1]
    return x, y, axes[: max(len(axes) - 2, 0)]


def _check_local(sizes: tuple[int, ...], target: Target) -> None:
    for size, most, name in zip(sizes, target.local_max, "xyz", strict=True):
        if size > most:
            raise ProgramError("local_max", f"{size} work-items along {name}, and the target has at most {most}")
    if prod(sizes) > target.work_group_max:
        raise ProgramError(
            "work_group_max",
            f"{prod(sizes)} work-items in a work-group, and the target has at most {target.work_group_max}",
        )


@dataclass(frozen=True, slots=True)
class _Dimensions:
    """sizes of the launch, what one step along each dimension adds to the dimension's position, and the axes of each.

    split: None, or the dimension that was one too large and goes on in the others.
    """

    sizes: tuple[Index, Index, Index]
    steps: tuple[Index, Index, Index]
    axes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    linear: bool


def _global_dimensions(sizes: list[Index], target: Target) -> _Dimensions:
    axes = _folded(tuple(range(len(sizes))))
    folded = tuple(product([sizes[axis] for axis in group]) for group in axes)
    fits = all(upper(size) <= most for size, most in zip(folded, target.global_max, strict=True))
    if fits:
        return _Dimensions((folded[0], folded[1], folded[2]), (1, 1, 1), axes, False)
    whole = product(sizes)
    if not isinstance(whole, int):
        raise ProgramError("global_max", f"a launch of {whole} work-groups does not fit, and its size is not fixed")
    split = _split(whole, target)
    return _Dimensions(split, (1, split[0], split[0] * split[1]), axes, True)


def _split(whole: int, target: Target) -> tuple[int, int, int]:
    """Three factors of `whole` within the target's limits, x as large as can be."""
    x = _largest_factor(whole, target.global_max[0])
    y = _largest_factor(whole // x, target.global_max[1])
    z = whole // x // y
    if z > target.global_max[2]:
        raise ProgramError("global_max", f"{whole} work-groups do not fit the target's {target.global_max}")
    return x, y, z


def _largest_factor(value: int, most: int) -> int:
    """The largest factor of `value` that is at most `most`."""
    if value <= most:
        return value
    best = 1
    candidate = 1
    while candidate * candidate <= value:
        if value % candidate == 0:
            for factor in (candidate, value // candidate):
                if best < factor <= most:
                    best = factor
        candidate += 1
    return best


def _unfold(
    total: Index,
    dimensions: _Dimensions,
    state: KernelState,
    positions: dict[int, Index],
    ids: list[tuple[Var, str, int]],
) -> None:
    """Each global axis' position out of its dimension's, or out of the whole launch's where that was split anew."""
    variables = {dimension: variable for variable, _, dimension in ids}
    groups = [tuple(range(state.n_global))] if dimensions.linear else list(dimensions.axes)
    for dimension, axes in enumerate(groups):
        position = total if dimensions.linear else single(variables[dimension]) if dimension in variables else 0
        inner: Index = 1
        for axis in reversed(axes):
            quotient = floordiv(position, inner)
            positions[state.ids[axis]] = quotient if axis == axes[0] else mod(quotient, state.sizes[axis])
            inner = inner * state.sizes[axis]
