"""The JSON Schema of the wire form, as it is published with the API.

It says what a schema can say: which fields there are, and what each may hold. Everything it refuses, `parse_ast`
refuses as well; that sources come earlier, dtypes and shapes fit and views stay inside is left to `parse_ast`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from kernels.dtypes import BOOL, DTYPES
from kernels.limits import DEFAULT_LIMITS, Limits
from kernels.ops import REDUCTIONS, Ops
from kernels.sizes import SIZE_OPS
from kernels.verify import SOURCES
from kernels.wire import FORMAT, NO_DTYPE, WITH_ARG
from kernels.wire_args import EXACT_INTEGER, NOT_FINITE, VARIABLE_NAME, VARIABLE_RANGE

Schema: TypeAlias = dict[str, Any]

_NAME: Schema = {"type": "string", "pattern": f"^{VARIABLE_NAME}$"}
_FLOATS = [dtype.name for dtype in DTYPES.values() if dtype.is_float]
_INTS = [dtype.name for dtype in DTYPES.values() if dtype.is_int]


def json_schema(limits: Limits = DEFAULT_LIMITS) -> Schema:
    """The JSON Schema (draft 2020-12) of a document under `limits`. A new value on each call."""
    bound = _integer(*VARIABLE_RANGE)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": FORMAT,
        "description": "A kernel AST: nodes in topological order, the last one the SINK.",
        **_object(
            {
                "format": {"const": FORMAT},
                "nodes": {"type": "array", "minItems": 1, "maxItems": limits.nodes, "items": {"$ref": "#/$defs/node"}},
                "vars": {
                    "type": "object",
                    "maxProperties": limits.variables,
                    "propertyNames": _NAME,
                    "additionalProperties": _object({"min": bound, "max": bound}),
                },
            },
            optional=("vars",),
        ),
        "$defs": {
            "node": {"anyOf": _nodes(limits)},
            "size": _size(_integer(-limits.integer, limits.integer)),
            "length": _size(_integer(1, limits.elements)),
            "view": _view(limits),
            "source": _integer(0, limits.nodes - 2),
        },
    }


def _object(properties: Schema, optional: tuple[str, ...] = ()) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _integer(least: int, greatest: int) -> Schema:
    return {"type": "integer", "minimum": least, "maximum": greatest}


def _list(items: Schema, least: int, greatest: int) -> Schema:
    return {"type": "array", "items": items, "minItems": least, "maxItems": greatest}


def _size(integer: Schema) -> Schema:
    size = {"$ref": "#/$defs/size"}
    expression = {
        "type": "array",
        "prefixItems": [{"enum": list(SIZE_OPS)}, size, size],
        "items": False,
        "minItems": 3,
    }
    return {
        "description": "An integer, the name of a variable, or [op, a, b]. Operands of // and % are 0 or more.",
        "anyOf": [integer, _NAME, expression],
    }


def _view(limits: Limits) -> Schema:
    size = {"$ref": "#/$defs/size"}
    pair = {"type": "array", "prefixItems": [size, size], "items": False, "minItems": 2}
    return _object(
        {
            "shape": _list({"$ref": "#/$defs/length"}, 0, limits.axes),
            "strides": _list(size, 0, limits.axes),
            "offset": size,
            "mask": {"anyOf": [{"type": "null"}, _list(pair, 0, limits.axes)]},
        }
    )


def _nodes(limits: Limits) -> list[Schema]:
    """One schema for each group of ops that look alike."""
    args = _args(limits)
    plain: dict[tuple[int, int, bool], list[str]] = {}
    nodes = []
    for op in Ops:
        count = len(SOURCES[op]) if op in SOURCES else None
        counts = (count, count) if count is not None else (1, limits.buffers)
        if op not in WITH_ARG:
            plain.setdefault((*counts, op in NO_DTYPE), []).append(op.value)
        elif op is not Ops.CONST:
            nodes.append(_node([op.value], counts, None if op in NO_DTYPE else list(DTYPES), args[op]))
    nodes += [_node(["CONST"], (1, 1), dtypes, arg) for dtypes, arg in _constants()]
    for (least, greatest, no_dtype), names in plain.items():
        nodes.append(_node(names, (least, greatest), None if no_dtype else list(DTYPES), None))
    return nodes


def _node(ops: list[str], sources: tuple[int, int], dtypes: list[str] | None, arg: Schema | None) -> Schema:
    properties: Schema = {"op": {"enum": ops}, "src": _list({"$ref": "#/$defs/source"}, *sources)}
    if dtypes is not None:
        properties["dtype"] = {"enum": dtypes}
    if arg is not None:
        properties["arg"] = arg
    return _object(properties)


def _args(limits: Limits) -> dict[Ops, Schema]:
    bound = _integer(*VARIABLE_RANGE)
    axes = _list(_integer(0, limits.axes - 1), 1, limits.axes)
    return {
        Ops.DEFINE_GLOBAL: _object(
            {"slot": _integer(0, limits.buffers - 1), "size": _integer(1, limits.elements)},
        ),
        Ops.DEFINE_VAR: _object({"name": _NAME, "min": bound, "max": bound}),
        Ops.VIEW: _object({"views": _list({"$ref": "#/$defs/view"}, 1, limits.views)}),
        Ops.REDUCE_AXIS: _object({"op": {"enum": sorted(REDUCTIONS)}, "axes": axes | {"uniqueItems": True}}),
    }


def _constants() -> list[tuple[list[str], Schema]]:
    long_integer = {"type": "string", "pattern": "^-?[1-9][0-9]{15,19}$"}
    return [
        ([BOOL.name], {"type": "boolean"}),
        (_INTS, {"anyOf": [_integer(-EXACT_INTEGER, EXACT_INTEGER), long_integer]}),
        (_FLOATS, {"anyOf": [{"type": "number"}, {"enum": list(NOT_FINITE)}]}),
    ]
