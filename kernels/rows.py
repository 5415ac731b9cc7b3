"""A nest's rows on the axes that Opts have made: where they go, their known strides, and where they are masked."""

from __future__ import annotations

from kernels.index import substitute
from kernels.nest import Nest, Row, Strides
from kernels.state import KernelState, carried, nest_axes
from kernels.view_stack import Location, known_strides


def row_location(state: KernelState, nest: Nest, row: Row) -> Location:
    """Where `row` goes over the state's axes (`Axis(id, size)`). What is padded on an axis that it has is not valid."""
    if state.rules is None:
        return row.location
    values, paddings = nest_axes(state, nest.sizes)
    validity = row.location.validity.substitute(values)
    for padding in paddings:
        if row.spans[padding.axis]:
            validity = validity.restrict(padding.position, 0, padding.size - 1)
    return Location(substitute(row.location.position, values), validity)


def row_strides(state: KernelState, nest: Nest, row: Row) -> Strides:
    """The known stride of `row` on each of the state's axes; None where there is none, or where it is masked."""
    if state.rules is None:
        return tuple(row.strides[axis] for axis in state.ids)
    return known_strides(row_location(state, nest, row), state.ids)


def masked_axes(state: KernelState, nest: Nest, row: Row) -> set[int]:
    """The ids of the state's axes on which `row` is masked."""
    return row_location(state, nest, row).validity.axes


def row_spans(state: KernelState, row: Row) -> tuple[bool, ...]:
    """Whether `row` has each of the state's axes, or size 1 there."""
    values = carried(state, row.spans)
    return tuple(values[axis] for axis in state.ids)
