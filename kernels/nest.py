"""A kernel before any Opt: its axes, and what each access does on them.

The AST's axes become the kernel's: reduced ones last, those of size 1 gone, neighbours merged where every row allows
it.
All of it is worked out once, when a Kernel is made from an AST; Opts then only split, move and pad axes.

A *row* is what merging and the heuristic look at: one for each access, and two for each reduction (its result and what
it reduces, as if they were contiguous buffers).
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.index import Atom, Axis, Index, product, single
from kernels.ir import Ast, ReduceArg, View, Views
from kernels.ops import ACCESSES, Ops
from kernels.raw_view import RawView, contiguous_strides, merged, raw_view, undecided_mask
from kernels.view_stack import Location, Strides, known_strides, locate, outline, seen_strides, unravel

#: What a padded reduction may not have below it: a function that does not keep 0, so that padding would count.
_NOT_ZERO_PRESERVING = frozenset({Ops.RECIP, Ops.LOG2, Ops.EXP2, Ops.IDIV, Ops.POW})


@dataclass(frozen=True, slots=True)
class Row:
    """One row over the nest's axes.

    spans: whether it has that axis, or size 1 there. strides: the known ones, None where there is none. raw: the last
    view. location: where it goes, over the nest's axes (contiguous for a reduction's rows). outline: the same as far as
    merging and the heuristic see it.
    """

    spans: tuple[bool, ...]
    strides: Strides
    raw: RawView
    location: Location
    outline: Location


@dataclass(frozen=True, slots=True)
class Access:
    """A LOAD, STORE, VALID, CONST or DEFINE_VAR: its node's number in the AST, and its row."""

    node: int
    row: Row


@dataclass(frozen=True, slots=True)
class Nest:
    """The axes and accesses of `ast`.

    sizes: of the axes, those before `first_reduce` are kept by the output, the others reduced. accesses: in reverse
    post-order, so the first is the last STORE, "the output". rows: the accesses' and the reductions'. reduces: node
    numbers of the REDUCE_AXIS nodes in post-order. reduced_axes: for each of them, the nest's axes that it reduces.
    spans: per AST node with a shape, the nest's axes it has (None for the others).
    can_split: False where a mask ends at what may or may not be the end of a dynamic axis (tinygrad 0.10.2 fails to
    reshape such a view). can_group: no two reductions share an axis. can_pad_reduce: zeros put into the first reduction
    change nothing.
    """

    ast: Ast
    sizes: tuple[Index, ...]
    first_reduce: int
    accesses: tuple[Access, ...]
    rows: tuple[Row, ...]
    reduces: tuple[int, ...]
    reduced_axes: tuple[tuple[int, ...], ...]
    spans: tuple[tuple[bool, ...] | None, ...]
    can_split: bool
    can_group: bool
    can_pad_reduce: bool
    has_variables: bool

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes as index atoms; their numbers are their places."""
        return tuple(Axis(number, size) for number, size in enumerate(self.sizes))

    @property
    def reduce_itemsize(self) -> int:
        """Bytes of an element of the first reduction; 0 without one."""
        if not self.reduces:
            return 0
        dtype = self.ast.nodes[self.reduces[0]].dtype
        assert dtype is not None
        return dtype.itemsize

    def access_of(self, node: int) -> Access:
        """The access that AST node number `node` is."""
        return next(access for access in self.accesses if access.node == node)


def build_nest(ast: Ast) -> Nest:
    """The nest of a verified AST."""
    numbers = [n for n, node in enumerate(ast.nodes) if node.op in ACCESSES][::-1]
    reduces = tuple(n for n, node in enumerate(ast.nodes) if node.op is Ops.REDUCE_AXIS)
    full = _shape(ast, ast.nodes[reduces[0]].src[0] if reduces else numbers[0])
    output = _shape(ast, numbers[0])
    kept = [i for i, (size, out) in enumerate(zip(full, output, strict=True)) if size == out]
    order = [i for i in (*kept, *(i for i in range(len(full)) if full[i] != output[i])) if full[i] != 1]
    first_reduce = sum(full[i] == output[i] for i in order)
    rows = [_access_row(ast, n) for n in numbers] + [row for n in reduces for row in _reduce_rows(ast, n, numbers)]
    groups = _merge(order, full, [row.strides for row in rows], first_reduce)
    nest_rows = tuple(_on_groups(row, groups, full) for row in rows)
    return Nest(
        ast=ast,
        sizes=tuple(product([full[i] for i in group]) for group in groups),
        first_reduce=sum(full[group[0]] == output[group[0]] for group in groups),
        accesses=tuple(Access(n, row) for n, row in zip(numbers, nest_rows, strict=False)),
        rows=nest_rows,
        reduces=reduces,
        reduced_axes=tuple(_reduced_axes(ast, n, groups) for n in reduces),
        spans=tuple(None if s is None else tuple(s[group[0]] != 1 for group in groups) for s in ast.shapes),
        can_split=not any(undecided_mask(row.raw) for row in nest_rows),
        can_group=_share_no_axis(ast, reduces),
        can_pad_reduce=bool(reduces) and _keeps_zero(ast, reduces[0]),
        has_variables=bool(ast.variables),
    )


def _shape(ast: Ast, node: int) -> tuple[Index, ...]:
    shape = ast.shapes[node]
    assert shape is not None
    return shape


def views_of(ast: Ast, node: int) -> Views:
    """The view stack of access number `node`: its only source that is a VIEW."""
    for source in ast.nodes[node].src:
        arg = ast.nodes[source].arg
        if isinstance(arg, tuple):
            return arg
    raise AssertionError(f"node {node} is no access")


def _access_row(ast: Ast, node: int) -> Row:
    return _row(views_of(ast, node))


def _row(views: Views) -> Row:
    """The row of a view stack over the AST's own axes."""
    last = views[-1]
    axes = [Axis(number, size) for number, size in enumerate(last.shape)]
    coordinates = tuple(0 if size == 1 else single(axis) for axis, size in zip(axes, last.shape, strict=True))
    location = locate(views, coordinates)
    masked = any(view.mask is not None for view in views)
    seen = outline(views, coordinates) if masked and len(views) > 1 else location
    raw = raw_view(views)
    strides = seen_strides(location, seen, raw.tangled, tuple(range(len(axes))))
    return Row(tuple(size != 1 for size in last.shape), strides, raw, location, seen)


def _contiguous_row(shape: tuple[Index, ...]) -> Row:
    return _row((View(shape, contiguous_strides(shape)),))


def _reduce_rows(ast: Ast, node: int, accesses: list[int]) -> tuple[Row, Row]:
    source = ast.nodes[node].src[0]
    reduced = _access_row(ast, source) if source in accesses else _contiguous_row(_shape(ast, source))
    return _contiguous_row(_shape(ast, node)), reduced


def _merge(order: list[int], sizes: tuple[Index, ...], rows: list[Strides], first_reduce: int) -> list[list[int]]:
    """The AST's axes in `order`, in groups of neighbours that become one axis each, the outermost of a group first."""
    groups: list[list[int]] = []
    for place, axis in enumerate(order):
        if groups and place != first_reduce and all(_merges(row, groups[-1][-1], axis, sizes[axis]) for row in rows):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return groups


def _merges(strides: Strides, outer: int, inner: int, inner_size: Index) -> bool:
    above, below = strides[outer], strides[inner]
    if above == 0 and below == 0:
        return True
    plain = isinstance(above, int) and isinstance(below, int) and isinstance(inner_size, int)
    return plain and below != 0 and above == inner_size * below  # type: ignore[operator]


def _on_groups(row: Row, groups: list[list[int]], full: tuple[Index, ...]) -> Row:
    """The row of the AST's axes on the nest's."""
    strides = known_strides(row.location, tuple(range(len(full))))
    linear = {i for i in range(len(full)) if strides[i] == row.strides[i]} - row.outline.validity.axes
    values: dict[Atom, Index] = {}
    for number, group in enumerate(groups):
        whole = single(Axis(number, product([full[i] for i in group])))
        if linear.issuperset(group):
            # strides that merge: the innermost axis takes the whole position
            parts: tuple[Index, ...] = (*(0 for _ in group[1:]), whole)
        else:
            parts = unravel(whole, tuple(full[i] for i in group))
        values.update({Axis(i, full[i]): part for i, part in zip(group, parts, strict=True)})
    location = row.location.substitute(values)
    seen = location if row.outline is row.location else row.outline.substitute(values)
    raw = merged(row.raw, groups)
    spans = tuple(any(row.spans[i] for i in group) for group in groups)
    return Row(spans, seen_strides(location, seen, raw.tangled, tuple(range(len(groups)))), raw, location, seen)


def _reduced_axes(ast: Ast, node: int, groups: list[list[int]]) -> tuple[int, ...]:
    axes = _reduce_arg(ast, node).axes
    return tuple(number for number, group in enumerate(groups) if group[0] in axes)


def _share_no_axis(ast: Ast, reduces: tuple[int, ...]) -> bool:
    axes = [axis for node in reduces for axis in _reduce_arg(ast, node).axes]
    return len(axes) == len(set(axes))


def _reduce_arg(ast: Ast, node: int) -> ReduceArg:
    arg = ast.nodes[node].arg
    assert isinstance(arg, ReduceArg)
    return arg


def _keeps_zero(ast: Ast, reduce: int) -> bool:
    """True for a sum with nothing below it that turns 0 into something else."""
    if _reduce_arg(ast, reduce).op is not Ops.ADD:
        return False
    seen: set[int] = set()
    waiting = [reduce]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if ast.nodes[node].op in _NOT_ZERO_PRESERVING:
            return False
        waiting.extend(ast.nodes[node].src)
    return True
