"""A nest's rows on the axes that Opts have made: where they go, their known strides, and where they are masked."""

from __future__ import annotations

from kernels.index import axes_in, substitute
from kernels.nest import Nest, Row
from kernels.raw_view import RawView, carried_view
from kernels.state import KernelState, carried, nest_axes
from kernels.view_stack import Location, Strides, seen_strides


def row_location(state: KernelState, nest: Nest, row: Row) -> Location:
    """Where `row` goes over the state's axes (`Axis(id, size)`). What is padded on an axis that it has is not valid."""
    return _on_state(state, nest, row, row.location)


def _on_state(state: KernelState, nest: Nest, row: Row, location: Location) -> Location:
    if state.rules is None:
        return location
    values, paddings = nest_axes(state, nest.sizes)
    position, validity = substitute(location.position, values), location.validity.substitute(values)
    for padding in paddings:
        if row.spans[padding.axis]:
            validity = validity.restrict(padding.position, 0, padding.size - 1)
    return Location(position, validity)


def row_strides(state: KernelState, nest: Nest, row: Row) -> Strides:
    """The known stride of `row` on each of the state's axes; None where there is none, or where it is masked."""
    if state.rules is None:
        return tuple(row.strides[axis] for axis in state.ids)
    location = row_location(state, nest, row)
    outlined = location if row.outline is row.location else _on_state(state, nest, row, row.outline)
    return seen_strides(location, outlined, _raw(state, nest, row).tangled, state.ids)


def masked_axes(state: KernelState, nest: Nest, row: Row) -> set[int]:
    """The ids of the state's axes on which `row` is masked, as the outline has it."""
    outlined = _on_state(state, nest, row, row.outline)
    tangled = _raw(state, nest, row).tangled_mask
    return outlined.validity.axes | (axes_in(outlined.position) if tangled else set())


def _raw(state: KernelState, nest: Nest, row: Row) -> RawView:
    """The row's last view; carried on to the state's axes only where a dynamic size makes that matter."""
    return carried_view(state, row.raw) if nest.has_variables else row.raw


def row_spans(state: KernelState, row: Row) -> tuple[bool, ...]:
    """Whether `row` has each of the state's axes, or size 1 there."""
    values = carried(state, row.spans)
    return tuple(values[axis] for axis in state.ids)
