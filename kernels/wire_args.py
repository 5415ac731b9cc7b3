"""The `arg` of each op on the wire: read strictly, and written again."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from kernels.dtypes import DType
from kernels.errors import AstError
from kernels.index import Index
from kernels.ir import BufferArg, Node, NodeArg, ReduceArg, VariableArg, View, Views
from kernels.limits import Limits
from kernels.ops import REDUCTIONS, Ops
from kernels.quote import quote
from kernels.reach import plain_view
from kernels.sizes import DocumentSizes, size_to_wire

#: Integers beyond this are strings on the wire: many JSON readers keep numbers as doubles.
EXACT_INTEGER = 2**53
#: Of integer constants, whatever their dtype.
INTEGER_RANGE = (-(2**63), 2**64 - 1)
VARIABLE_NAME = "[A-Za-z_][A-Za-z0-9_]{0,63}"
VARIABLE_RANGE = (-(2**31), 2**31 - 1)
NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}

_NAME = re.compile(VARIABLE_NAME, re.ASCII)
_LONG_INTEGER = re.compile("-?[1-9][0-9]{15,19}", re.ASCII)
_REDUCTIONS = {op.value: op for op in REDUCTIONS}
_BUFFER_FIELDS = {"slot", "size"}
_BOUND_FIELDS = {"min", "max"}
_VARIABLE_FIELDS = {"name", "min", "max"}
_REDUCE_FIELDS = {"op", "axes"}
_VIEWS_FIELDS = {"views"}
_VIEW_FIELDS = {"shape", "strides", "offset", "mask"}


def fields_of(value: object, expected: set[str], what: str, node: int | None) -> dict[str, object]:
    """`value` as an object with just the `expected` fields. Raises AstError naming `what` otherwise."""
    if type(value) is dict and value.keys() == expected:
        return value
    if type(value) is not dict:
        raise AstError("field", f"{what} must be an object, not {quote(value)}", node)
    missing = sorted(expected - value.keys())
    if missing:
        raise AstError("field", f"{what} lacks {missing[0]}", node)
    unknown = next(key for key in value if key not in expected)
    raise AstError("field", f"{what} has an unknown field {quote(unknown)}", node)


def integer_of(value: object, low: int, high: int, what: str, node: int | None) -> int:
    """`value` as an integer in [low, high]. Raises AstError naming `what` otherwise."""
    if type(value) is not int:
        raise AstError("field", f"{what} must be an integer, not {quote(value)}", node)
    if not low <= value <= high:
        raise AstError("number", f"{what} must be in [{low}, {high}], and is {quote(value)}", node)
    return value


def list_of(value: object, what: str, node: int | None) -> list[object]:
    """`value` as a list. Raises AstError naming `what` otherwise."""
    if type(value) is not list:
        raise AstError("field", f"{what} must be a list, not {quote(value)}", node)
    return value


# ---- variables and buffers -------------------------------------------------------------------------------------------


def variables_from_wire(value: object, limits: Limits) -> dict[str, VariableArg]:
    """The document's `vars`, by name."""
    if type(value) is not dict:
        raise AstError("field", f"vars must be an object, not {quote(value)}")
    if len(value) > limits.variables:
        raise AstError("limit", f"{len(value)} variables, more than {limits.variables}")
    return {_name_of(name, None): _bounded_variable(name, bounds) for name, bounds in value.items()}


def _name_of(value: object, node: int | None) -> str:
    if type(value) is not str or not _NAME.fullmatch(value):
        raise AstError("variables", f"{quote(value)} is no name for a variable: {VARIABLE_NAME}", node)
    return value


def _bounded_variable(name: str, value: object) -> VariableArg:
    bounds = fields_of(value, _BOUND_FIELDS, f"the variable {quote(name)}", None)
    return _variable(name, bounds, None)


def _variable(name: str, bounds: Mapping[str, object], node: int | None) -> VariableArg:
    least = integer_of(bounds["min"], *VARIABLE_RANGE, f"the min of {name}", node)
    greatest = integer_of(bounds["max"], *VARIABLE_RANGE, f"the max of {name}", node)
    if least > greatest:
        raise AstError("variables", f"the min of {name} is above its max", node)
    return VariableArg(name, least, greatest)


def _define_var_from_wire(value: object, declared: Mapping[str, VariableArg], node: int) -> VariableArg:
    arg = fields_of(value, _VARIABLE_FIELDS, "DEFINE_VAR's arg", node)
    variable = _variable(_name_of(arg["name"], node), arg, node)
    if declared.get(variable.name) != variable:
        raise AstError("variables", f"{variable.name} is not among the vars with the same min and max", node)
    return variable


def _buffer_from_wire(value: object, limits: Limits, node: int) -> BufferArg:
    arg = fields_of(value, _BUFFER_FIELDS, "DEFINE_GLOBAL's arg", node)
    slot = integer_of(arg["slot"], 0, limits.buffers - 1, "the slot", node)
    size = arg["size"]
    if type(size) is int and size > limits.elements:
        raise AstError("limit", f"a buffer of {quote(size)} elements, more than {limits.elements}", node)
    return BufferArg(slot, integer_of(size, 1, limits.elements, "the size of a buffer", node))


# ---- views -----------------------------------------------------------------------------------------------------------


def _views_from_wire(value: object, sizes: DocumentSizes, limits: Limits, node: int) -> Views:
    views = list_of(fields_of(value, _VIEWS_FIELDS, "VIEW's arg", node)["views"], "views", node)
    if not views:
        raise AstError("view", "a VIEW needs at least one view", node)
    if len(views) > limits.views:
        raise AstError("limit", f"{len(views)} views in a stack, more than {limits.views}", node)
    return tuple([_view_from_wire(view, sizes, limits, node) for view in views])


def _view_from_wire(value: object, sizes: DocumentSizes, limits: Limits, node: int) -> View:
    fields = fields_of(value, _VIEW_FIELDS, "a view", node)
    shape, strides, mask = fields["shape"], fields["strides"], fields["mask"]
    if type(shape) is not list or type(strides) is not list:
        raise AstError("field", "shape and strides must be lists", node)
    if len(shape) > limits.axes:
        raise AstError("limit", f"a view of {len(shape)} axes, more than {limits.axes}", node)
    if len(strides) != len(shape):
        raise AstError("view", f"{len(strides)} strides for {len(shape)} axes", node)
    read = sizes.read
    return plain_view(
        View(
            tuple([read(size, node) for size in shape]),
            tuple([read(stride, node) for stride in strides]),
            read(fields["offset"], node),
            None if mask is None else _mask_from_wire(mask, len(shape), sizes, node),
        )
    )


def _mask_from_wire(value: object, axes: int, sizes: DocumentSizes, node: int) -> tuple[tuple[Index, Index], ...]:
    mask = list_of(value, "a mask", node)
    if len(mask) != axes:
        raise AstError("view", f"a mask of {len(mask)} pairs for {axes} axes", node)
    pairs = []
    for pair in mask:
        if type(pair) is not list or len(pair) != 2:
            raise AstError("field", f"a mask has a pair [from, to) for each axis, not {quote(pair)}", node)
        pairs.append((sizes.read(pair[0], node), sizes.read(pair[1], node)))
    return tuple(pairs)


def _view_to_wire(view: View) -> dict[str, object]:
    mask = view.mask
    return {
        "shape": [size_to_wire(size) for size in view.shape],
        "strides": [size_to_wire(stride) for stride in view.strides],
        "offset": size_to_wire(view.offset),
        "mask": None if mask is None else [[size_to_wire(start), size_to_wire(end)] for start, end in mask],
    }


# ---- constants and reductions ----------------------------------------------------------------------------------------


def _constant_from_wire(value: object, dtype: DType, node: int) -> int | float | bool:
    if dtype.is_bool:
        if type(value) is not bool:
            raise AstError("number", f"a bool constant is true or false, not {quote(value)}", node)
        return value
    return _float_from_wire(value, dtype, node) if dtype.is_float else _int_from_wire(value, dtype, node)


def _float_from_wire(value: object, dtype: DType, node: int) -> float:
    """A float as it was sent: it is rounded to its dtype where it is used, beyond the greatest to an infinity."""
    if type(value) is float and math.isfinite(value):
        return value
    if type(value) is str and value in NOT_FINITE:
        return NOT_FINITE[value]
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            raise AstError("number", f"{quote(value)} is beyond every float", node) from None
    expected = 'a number, "inf", "-inf" or "nan"'
    raise AstError("number", f"a {dtype} constant is {expected}, not {quote(value)}", node)


def _int_from_wire(value: object, dtype: DType, node: int) -> int:
    """An integer as it was sent. It wraps in its dtype where it is used: tinygrad writes -1 for the greatest uint32."""
    if type(value) is int and -EXACT_INTEGER <= value <= EXACT_INTEGER:
        return value
    if type(value) is str and _LONG_INTEGER.fullmatch(value):
        number = int(value)
        if abs(number) > EXACT_INTEGER and INTEGER_RANGE[0] <= number <= INTEGER_RANGE[1]:
            return number
    expected = f"an integer of 64 bits, as a string if it is beyond {EXACT_INTEGER}"
    raise AstError("number", f"a {dtype} constant is {expected}, not {quote(value)}", node)


def _constant_to_wire(value: int | float | bool) -> object:
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return next(name for name, known in NOT_FINITE.items() if value == known or name == "nan")
    return value if abs(value) <= EXACT_INTEGER else str(value)


def _reduce_from_wire(value: object, limits: Limits, node: int) -> ReduceArg:
    arg = fields_of(value, _REDUCE_FIELDS, "REDUCE_AXIS's arg", node)
    op = _REDUCTIONS.get(arg["op"]) if type(arg["op"]) is str else None
    if op is None:
        expected = " ".join(sorted(_REDUCTIONS))
        raise AstError("unknown-op", f"a reduction is one of {expected}, not {quote(arg['op'])}", node)
    axes = list_of(arg["axes"], "axes", node)
    if not axes or len(axes) > limits.axes:
        raise AstError("axis", f"REDUCE_AXIS has 1 to {limits.axes} axes, not {len(axes)}", node)
    numbers: list[int] = []
    for axis in axes:
        number = integer_of(axis, 0, limits.axes - 1, "an axis", node)
        if numbers and number <= numbers[-1]:
            raise AstError("axis", "the axes of REDUCE_AXIS must ascend", node)
        numbers.append(number)
    return ReduceArg(op, tuple(numbers))


# ---- by op -----------------------------------------------------------------------------------------------------------


class ArgReader:
    """Reads the args of one document's nodes."""

    def __init__(self, sizes: DocumentSizes, declared: Mapping[str, VariableArg], limits: Limits) -> None:
        self.sizes = sizes
        self.declared = declared
        self.limits = limits

    def read(self, op: Ops, value: object, dtype: DType | None, node: int) -> NodeArg:
        """The arg of a node, which must be of an op that has one. Raises AstError."""
        if op is Ops.VIEW:
            return _views_from_wire(value, self.sizes, self.limits, node)
        if op is Ops.DEFINE_GLOBAL:
            return _buffer_from_wire(value, self.limits, node)
        if op is Ops.REDUCE_AXIS:
            return _reduce_from_wire(value, self.limits, node)
        if op is Ops.DEFINE_VAR:
            variable = _define_var_from_wire(value, self.declared, node)
            self.sizes.used.add(variable.name)
            return variable
        assert dtype is not None
        return _constant_from_wire(value, dtype, node)


def arg_to_wire(node: Node) -> object:
    """The wire form of a node's arg, which must be of an op that has one."""
    arg = node.arg
    if isinstance(arg, tuple):
        return {"views": [_view_to_wire(view) for view in arg]}
    if isinstance(arg, BufferArg):
        return {"slot": arg.slot, "size": arg.size}
    if isinstance(arg, VariableArg):
        return {"name": arg.name, "min": arg.min, "max": arg.max}
    if isinstance(arg, ReduceArg):
        return {"op": arg.op.value, "axes": list(arg.axes)}
    assert arg is not None
    return _constant_to_wire(arg)
