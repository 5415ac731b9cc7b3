"""OpenCL C: operations on scalars and on vectors of 2 to 16 lanes.

A bfloat16 is held as the float that it stands for and rounded after every operation. A vector of bool is a mask of
integers (0 or -1), as wide as what it came from; it is only made 0 or 1 where it is converted or stored.
"""

from __future__ import annotations

from kernels.dtypes import BFLOAT16, BOOL, FLOAT32, INT32, INT64, UINT64, DType, Kind
from kernels.ops import Ops
from kernels.render.types import MASKS, TYPES, literal, type_of, vector_type
from kernels.render.value import Value

_LANES = "0123456789abcdef"
_INFIX = {
    Ops.ADD: "+", Ops.SUB: "-", Ops.MUL: "*", Ops.FDIV: "/", Ops.CMPLT: "<", Ops.CMPNE: "!=", Ops.XOR: "^", Ops.OR: "|",
    Ops.AND: "&", Ops.SHL: "<<", Ops.SHR: ">>",
}  # fmt: skip
#: Functions of the device's mathematical library.
CALLS = frozenset({Ops.EXP2, Ops.LOG2, Ops.SIN, Ops.POW})
_FUNCTIONS = {Ops.EXP2: "exp2", Ops.LOG2: "log2", Ops.SIN: "sin", Ops.SQRT: "sqrt", Ops.POW: "pow"}
_BOOL_INFIX = {Ops.ADD: "|", Ops.MAX: "|", Ops.OR: "|", Ops.MUL: "&", Ops.AND: "&", Ops.XOR: "^", Ops.CMPNE: "^"}


def widen(value: Value, width: int) -> Value:
    """A scalar in every lane of a vector; a vector as it is."""
    if value.width == width:
        return value
    if value.dtype is BOOL:
        return Value(f"((char{width})(-(char)({value.text})))", BOOL, width, 8)
    return Value(f"(({vector_type(TYPES[value.dtype.name], width)})({value.text}))", value.dtype, width)


def from_lanes(lanes: list[Value]) -> Value:
    """A vector of scalars, or of shorter vectors one after the other."""
    first = lanes[0]
    if len(lanes) == 1:
        return first
    width = sum(lane.width for lane in lanes)
    if first.dtype is BOOL:
        texts = [lane.text if lane.mask_bits else f"-(char)({lane.text})" for lane in lanes]
        return Value(f"((char{width})({', '.join(texts)}))", BOOL, width, first.mask_bits or 8)
    texts = [lane.text for lane in lanes]
    return Value(f"(({vector_type(TYPES[first.dtype.name], width)})({', '.join(texts)}))", first.dtype, width)


def lane_of(value: Value, lane: int) -> Value:
    """One lane of a vector as a scalar."""
    if value.width == 1:
        return value
    text = f"{value.text}.s{_LANES[lane]}"
    return Value(f"({text} != 0)" if value.mask_bits else text, value.dtype, simple=True)


def halves(value: Value) -> tuple[Value, Value]:
    """The lower and the upper half of a vector."""
    width = value.width // 2
    if width == 1:
        return lane_of(value, 0), lane_of(value, 1)
    return (
        Value(f"{value.text}.lo", value.dtype, width, value.mask_bits),
        Value(f"{value.text}.hi", value.dtype, width, value.mask_bits),
    )


def _mask(value: Value, bits: int) -> str:
    """The text of a mask with lanes of another width."""
    if value.mask_bits == bits:
        return value.text
    return converted(value.text, vector_type(MASKS[bits], value.width))


def assignable(value: Value, variable: Value) -> str:
    """The text of `value` as `variable`'s type, which may be a mask of another width."""
    return _mask(value, variable.mask_bits) if variable.mask_bits else value.text


def ones(mask: Value) -> str:
    """1 in every lane, of the mask's own type."""
    return f"({type_of(mask)})(1)"


def called_in_parts(op: Ops, dtype: DType, values: list[Value], most: int) -> Value:
    """A library function of at most `most` lanes at a time: wider ones a CPU's library takes through memory."""
    if max(value.width for value in values) <= most:
        return operation(op, dtype, values)
    width = max(value.width for value in values)
    pairs = [halves(widen(value, width)) for value in values]
    return from_lanes([called_in_parts(op, dtype, [pair[half] for pair in pairs], most) for half in (0, 1)])


def operation(op: Ops, dtype: DType, values: list[Value]) -> Value:
    """An elementwise operation on values of one width or scalars, giving `dtype`. CAST and BITCAST have their own."""
    width = max(value.width for value in values)
    if op is Ops.WHERE:
        return _select(values[0], values[1], values[2], width)
    if op is Ops.MULACC:
        return operation(Ops.ADD, dtype, [operation(Ops.MUL, dtype, values[:2]), values[2]])
    operand = values[0].dtype
    if operand is BOOL:
        return _bool_operation(op, dtype, values, width)
    if op in (Ops.CMPLT, Ops.CMPNE):
        left, right = values
        text = f"({left.text} {_INFIX[op]} {right.text})"
        return Value(text, BOOL, width, 0 if width == 1 else _element_bits(operand))
    text = _arithmetic(
        op, dtype, [widen(value, width) for value in values] if _needs_equal_widths(op) else values, width
    )
    if dtype is BFLOAT16:
        return round_bfloat16(Value(text, dtype, width))
    return Value(_wrapped(text, dtype, width), dtype, width)


def _element_bits(dtype: DType) -> int:
    return 32 if dtype is BFLOAT16 else dtype.bits


def _needs_equal_widths(op: Ops) -> bool:
    return op in (Ops.MAX, Ops.POW, Ops.IDIV, Ops.MOD, Ops.SHL, Ops.SHR, Ops.THREEFRY)


def _wrapped(text: str, dtype: DType, width: int) -> str:
    """C computes short integers as int: cut back to the dtype. Vectors keep their type."""
    return f"(({TYPES[dtype.name]}){text})" if width == 1 and dtype.is_int and dtype.itemsize < 4 else text


def _arithmetic(op: Ops, dtype: DType, values: list[Value], width: int) -> str:
    texts = [value.text for value in values]
    if op in (Ops.IDIV, Ops.MOD):
        return _divide(op, dtype, texts[0], values[1], width)
    if op is Ops.MAX:
        both = "||" if width == 1 else "|"
        loses = f"{texts[0]} < {texts[1]}" + (f" {both} {texts[0]} != {texts[0]}" if dtype.is_float else "")
        return f"({loses} ? {texts[1]} : {texts[0]})"
    if op is Ops.RECIP:
        one = literal(1.0, dtype).text
        return f"({one}/{texts[0]})"
    if op is Ops.NEG:
        return f"(-{texts[0]})"
    if op is Ops.THREEFRY:
        return _threefry(values, width)
    if op in (Ops.SHL, Ops.SHR) and width == 1:
        return f"({texts[0]} {_INFIX[op]} ({texts[1]} & {dtype.bits - 1}))"
    if op in _FUNCTIONS:
        return f"{_FUNCTIONS[op]}({', '.join(texts)})"
    return f"({texts[0]} {_INFIX[op]} {texts[1]})"


def _divide(op: Ops, dtype: DType, dividend: str, divisor: Value, width: int) -> str:
    """Truncating division; a divisor of 0, or of -1 that would overflow, must not trap on a CPU."""
    sign = "/" if op is Ops.IDIV else "%"
    kind = vector_type(TYPES[dtype.name], width)
    zero, one = f"(({kind})(0))", f"(({kind})(1))"
    safe = f"({divisor.text} == {zero} ? {one} : {divisor.text})"
    if dtype.kind is Kind.UNSIGNED:
        return f"({dividend} {sign} {safe})"
    minus = f"({divisor.text} == (({kind})(-1)))"
    safe = f"(({divisor.text} == {zero}) || {minus} ? {one} : {divisor.text})"
    at_minus = f"(({kind})(0) - {dividend})" if op is Ops.IDIV else zero
    return f"({minus} ? {at_minus} : ({dividend} {sign} {safe}))"


def _threefry(values: list[Value], width: int) -> str:
    if width == 1:
        return f"threefry2x32({values[0].text}, {values[1].text})"
    lanes = [f"threefry2x32({values[0].text}.s{_LANES[i]}, {values[1].text}.s{_LANES[i]})" for i in range(width)]
    return f"((ulong{width})({', '.join(lanes)}))"


def _bool_operation(op: Ops, dtype: DType, values: list[Value], width: int) -> Value:
    if op is Ops.CMPLT:  # false < true alone
        text = "((!({0})) & ({1}))" if width == 1 else "((~{0}) & {1})"
        return _combine_masks(text, values, width)
    return _combine_masks("({0} " + _BOOL_INFIX[op] + " {1})", values, width)


def _combine_masks(template: str, values: list[Value], width: int) -> Value:
    if width == 1:
        return Value(f"((bool){template.format(*(value.text for value in values))})", BOOL)
    bits = max(value.mask_bits for value in values)
    texts = [_mask(widen(value, width), bits) for value in values]
    return Value(template.format(*texts), BOOL, width, bits)


def _select(condition: Value, yes: Value, no: Value, width: int) -> Value:
    dtype = yes.dtype
    if condition.width == 1:
        if width > 1 and dtype is BOOL:
            bits = max(yes.mask_bits, no.mask_bits, 8)
            yes_text, no_text = (_mask(widen(value, width), bits) for value in (yes, no))
            return Value(f"({condition.text} ? {yes_text} : {no_text})", dtype, width, bits)
        return Value(f"({condition.text} ? {widen(yes, width).text} : {widen(no, width).text})", dtype, width)
    yes, no = widen(yes, width), widen(no, width)
    if dtype is BOOL:
        bits = max(yes.mask_bits, no.mask_bits)
        texts = [_mask(no, bits), _mask(yes, bits), _mask(condition, bits)]
        return Value(f"({texts[2]} ? {texts[1]} : {texts[0]})", dtype, width, bits)
    return Value(f"({_mask(condition, _element_bits(dtype))} ? {yes.text} : {no.text})", dtype, width)


def select(condition: Value, yes: Value, no: Value) -> Value:
    """`yes` where `condition` holds, else `no`. A scalar condition has only the one evaluated that is wanted."""
    return _select(condition, yes, no, max(value.width for value in (condition, yes, no)))


def compared(base: str, offsets: list[int], lo: int | None, hi: int | None, width: int) -> Value:
    """A mask of the lanes in which lo <= base + offset <= hi, compared as 64 bits where 32 are not enough."""
    wide = any(abs(bound) >= 2**30 for bound in (*offsets, lo or 0, hi or 0))
    kind, bits = ("long", 64) if wide else ("int", 32)
    lanes = f"(({kind}{width})({base}) + ({kind}{width})({', '.join(map(str, offsets))}))"
    sides = [f"({lanes} {sign} ({kind}){bound})" for sign, bound in ((">=", lo), ("<=", hi)) if bound is not None]
    return Value("(" + " & ".join(sides) + ")", BOOL, width, bits)


def cast(value: Value, dtype: DType) -> Value:
    """A conversion as C's: towards zero from float to integer, wrapping between integers, `!= 0` to bool."""
    if value.dtype is dtype:
        return value
    width = value.width
    if dtype is BOOL:
        zero = literal(0, value.dtype).text
        return Value(f"({value.text} != {zero})", BOOL, width, 0 if width == 1 else _element_bits(value.dtype))
    if value.mask_bits:
        value = Value(f"({value.text} & {ones(value)})", INT32, width)
    elif value.dtype is BFLOAT16:
        value = Value(value.text, FLOAT32, width)
        if dtype is FLOAT32:
            return value
    if value.dtype.is_float and dtype.is_int:
        value = _to_wide_integer(value, dtype)
    kind = TYPES[dtype.name]
    text = f"(({kind})({value.text}))" if width == 1 else converted(value.text, vector_type(kind, width))
    return round_bfloat16(Value(text, dtype, width)) if dtype is BFLOAT16 else Value(text, dtype, width)


def _to_wide_integer(value: Value, dtype: DType) -> Value:
    """Through a signed integer that holds any float within range, so that the same bits come out everywhere."""
    if dtype is UINT64:
        return value
    kind = INT32 if dtype.itemsize < 4 or dtype is INT32 else INT64
    if kind is dtype:
        return value
    name = TYPES[kind.name]
    width = value.width
    text = f"(({name})({value.text}))" if width == 1 else converted(value.text, vector_type(name, width))
    return Value(text, kind, value.width)


def bitcast(value: Value, dtype: DType) -> Value:
    """The same bits as another dtype of the same width."""
    width = value.width
    if value.dtype is dtype:
        return value
    if value.dtype is BOOL:
        return cast(value, dtype)
    if dtype is BOOL:
        return cast(value, dtype)
    if value.dtype is BFLOAT16:
        bits = f"bf16_bits{width}({value.text})"
        value = Value(bits, dtype, width)
        return (
            value
            if dtype.name == "uint16"
            else Value(f"as_{vector_type(TYPES[dtype.name], width)}({bits})", dtype, width)
        )
    if dtype is BFLOAT16:
        return bfloat16_from_bits(f"as_{vector_type('ushort', width)}({value.text})", width)
    return Value(f"as_{vector_type(TYPES[dtype.name], width)}({value.text})", dtype, width)


def round_bfloat16(value: Value) -> Value:
    """The nearest bfloat16, ties to even, as the float that it stands for."""
    return bfloat16_from_bits(f"bf16_bits{value.width}({value.text})", value.width)


def bfloat16_from_bits(bits: str, width: int) -> Value:
    """The bfloat16 of `bits`, an expression of ushorts, as the float that it stands for."""
    wide = f"(uint)({bits})" if width == 1 else converted(bits, vector_type("uint", width))
    return Value(f"as_{vector_type('float', width)}({wide} << 16)", BFLOAT16, width)


def converted(text: str, kind: str) -> str:
    """A vector converted lane by lane to the vector type `kind`; the macro is defined by memory.helpers."""
    return f"CONVERT({text}, {kind})"


def accumulated(op: Ops, dtype: DType, accumulator: Value, term: Value) -> str:
    """The expression of `accumulator` with `term` taken in. An accumulator is never NaN under MAX, where NaN loses."""
    if op is Ops.MAX and dtype is not BOOL:
        term = widen(term, accumulator.width)
        return f"({accumulator.text} < {term.text} ? {term.text} : {accumulator.text})"
    return assignable(operation(op, dtype, [accumulator, term]), accumulator)
