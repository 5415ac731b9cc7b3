"""The last view of a row's stack as tinygrad 0.10.2 carries it along: its strides are what the heuristic ranks axes by.

Merging and splitting axes reshapes that view. Where a reshape cannot be said with strides and a mask (axes that are not
adjacent in memory merge, a mask's end falls inside a part), a new last view is put on top, contiguous in the row's own
shape. The strides from then on are that view's, whatever memory looks like below; buffers' true strides are in Row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from kernels.index import Index, lower, product
from kernels.ir import Views
from kernels.state import KernelState, Split, rules_oldest_first


@dataclass(frozen=True, slots=True)
class RawView:
    """Per axis its size in the row (1 where the row does not have it), its stride, and the mask's [from, to).

    tangled: it stands on a view of a dynamic size, which hides all known strides but 0. tangled_mask: a mask below
    is hidden so as well, so that every axis along which the row moves counts as masked.
    """

    sizes: tuple[Index, ...]
    strides: tuple[Index, ...]
    mask: tuple[tuple[Index, Index], ...]
    tangled: bool = False
    tangled_mask: bool = False


def raw_view(views: Views) -> RawView:
    """The last view of a stack."""
    last, below = views[-1], views[:-1]
    mask = last.mask or tuple((0, size) for size in last.shape)
    tangled = any(_dynamic(view.shape) for view in below)
    tangled_mask = any(view.mask is not None and _hidden_mask(view.shape, view.mask) for view in below)
    return RawView(last.shape, _moving_strides(last.strides, mask), mask, tangled, tangled_mask)


def _moving_strides(strides: tuple[Index, ...], mask: Sequence[tuple[Index, Index]]) -> tuple[Index, ...]:
    """The strides, 0 along an axis of which at most one element is valid, and everywhere where none is."""
    if any(start == end for start, end in mask):
        return (0,) * len(strides)
    return tuple(0 if end - start == 1 else stride for stride, (start, end) in zip(strides, mask, strict=True))


def contiguous_strides(sizes: Sequence[Index]) -> tuple[Index, ...]:
    """Row-major strides; 0 on axes of size 1."""
    strides: list[Index] = []
    inner: Index = 1
    for size in reversed(sizes):
        strides.append(0 if size == 1 else inner)
        inner = inner * size
    return tuple(reversed(strides))


def merged(view: RawView, groups: Sequence[Sequence[int]]) -> RawView:
    """The view with the axes of each group (neighbours, the outermost first) made one."""
    sizes = tuple(product([view.sizes[i] for i in group]) for group in groups)
    kept = [i for group in groups for i in group]
    agree = all(_adjacent(view, outer, inner) for group in groups for outer, inner in pairwise(group))
    if not agree or (_dynamic(view.sizes) and _masked(view) and len(groups) < len(view.sizes)):
        return _on_top(view, sizes)
    mask = tuple(
        view.mask[group[0]] if len(group) == 1 else (0, size) for group, size in zip(groups, sizes, strict=True)
    )
    assert len(kept) == len(set(kept))
    strides = tuple(view.strides[group[-1]] for group in groups)
    return RawView(sizes, strides, mask, view.tangled, view.tangled_mask)


def _adjacent(view: RawView, outer: int, inner: int) -> bool:
    return view.strides[outer] == view.sizes[inner] * view.strides[inner]


def _on_top(view: RawView, sizes: tuple[Index, ...]) -> RawView:
    """A new last view on `view`: contiguous, and valid everywhere."""
    tangled = view.tangled or _dynamic(view.sizes)
    tangled_mask = view.tangled_mask or _hidden_mask(view.sizes, view.mask)
    return RawView(sizes, contiguous_strides(sizes), tuple((0, size) for size in sizes), tangled, tangled_mask)


def _masked(view: RawView) -> bool:
    return any(bound != (0, size) for bound, size in zip(view.mask, view.sizes, strict=True))


def _hidden_mask(sizes: Sequence[Index], mask: Sequence[tuple[Index, Index]]) -> bool:
    """Whether a masked axis has a dynamic size, or one after it: its coordinate is then a quotient by a variable."""
    return any(
        bound != (0, size) and _dynamic(sizes[axis:])
        for axis, (bound, size) in enumerate(zip(mask, sizes, strict=True))
    )


def _dynamic(sizes: Sequence[Index]) -> bool:
    return not all(isinstance(size, int) for size in sizes)


def undecided_mask(view: RawView) -> bool:
    """Whether some mask's end may or may not be the end of its axis, as the variables' values will have it."""
    return any(end != size and lower(size - end) <= 0 for (_, end), size in zip(view.mask, view.sizes, strict=True))


def carried_strides(state: KernelState, raw: RawView) -> tuple[Index, ...]:
    """The strides on the state's axes of a view over the nest's axes, carried through all splits and paddings."""
    return carried_view(state, raw).strides


def carried_view(state: KernelState, raw: RawView) -> RawView:
    """A view over the nest's axes on the state's, carried through all splits and paddings."""
    sizes: dict[int, Index] = dict(enumerate(raw.sizes))
    strides: dict[int, Index] = dict(enumerate(raw.strides))
    masks: dict[int, tuple[Index, Index]] = dict(enumerate(raw.mask))
    tangled, tangled_mask = raw.tangled, raw.tangled_mask
    for rule in rules_oldest_first(state):
        parent = rule.parent
        if not isinstance(rule, Split):
            spans = sizes[parent] != 1
            sizes[rule.padded] = rule.new_size if spans else 1
            strides[rule.padded], masks[rule.padded] = strides[parent], masks[parent]
            continue
        order = [part for axis in rule.order for part in ((rule.outer, rule.inner) if axis == parent else (axis,))]
        if sizes[parent] == 1:
            parts: tuple[tuple[Index, Index], tuple[Index, Index]] | None = ((0, 1), (0, 1))
            sizes[rule.outer] = sizes[rule.inner] = 1
        else:
            sizes[rule.outer], sizes[rule.inner] = rule.outer_size, rule.inner_size
            parts = _split_mask(masks[parent], rule.outer_size, rule.inner_size)
        partial = any(masks[axis] != (0, sizes[axis]) for axis in rule.order)
        if parts is None or (partial and _dynamic([sizes[axis] for axis in order])):
            shape, before = tuple(sizes[axis] for axis in order), [sizes[axis] for axis in rule.order]
            tangled_mask = tangled_mask or _hidden_mask(before, [masks[axis] for axis in rule.order])
            strides.update(zip(order, contiguous_strides(shape), strict=True))
            masks.update((axis, (0, sizes[axis])) for axis in order)
            tangled = tangled or _dynamic(shape)
            continue
        masks[rule.outer], masks[rule.inner] = parts
        split = (strides[parent] * rule.inner_size, strides[parent])
        strides[rule.outer], strides[rule.inner] = _moving_strides(split, parts)
    return RawView(
        tuple(sizes[axis] for axis in state.ids),
        tuple(0 if sizes[axis] == 1 else strides[axis] for axis in state.ids),
        tuple(masks[axis] for axis in state.ids),
        tangled,
        tangled_mask,
    )


def _split_mask(
    bound: tuple[Index, Index], outer_size: Index, inner_size: int
) -> tuple[tuple[Index, Index], tuple[Index, Index]] | None:
    """The mask [from, to) of an axis as one of its outer and one of its inner part, or None where none say the same."""
    start, end = bound
    if not isinstance(start, int) or not isinstance(end, int):
        return ((0, outer_size), (0, inner_size))
    if start % inner_size == 0 and end % inner_size == 0:
        return (start // inner_size, end // inner_size), (0, inner_size)
    if start // inner_size == (end - 1) // inner_size:
        outer = start // inner_size
        return (outer, outer + 1), (start % inner_size, (end - 1) % inner_size + 1)
    return None
