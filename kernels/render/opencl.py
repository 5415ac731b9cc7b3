"""OpenCL C: types, literals, operations and memory accesses, for scalars and for vectors of 2 to 16 lanes.

A bfloat16 is held as the float that it stands for and rounded after every operation. A vector of bool is a mask of
integers (0 or -1), as wide as what it came from; it is only made 0 or 1 where it is converted or stored.
"""

from __future__ import annotations

import math
import re

from kernels.constants import rounded
from kernels.dtypes import BFLOAT16, BOOL, FLOAT16, FLOAT32, FLOAT64, INT32, INT64, UINT64, DType, Kind
from kernels.ops import Ops
from kernels.render.value import Value

_TYPES = {
    "bool": "bool", "int8": "char", "uint8": "uchar", "int16": "short", "uint16": "ushort", "int32": "int",
    "uint32": "uint", "int64": "long", "uint64": "ulong", "float16": "half", "bfloat16": "float", "float32": "float",
    "float64": "double",
}  # fmt: skip
#: How elements lie in memory, where that is not the type they are computed in.
_MEMORY_TYPES = {"bool": "uchar", "bfloat16": "ushort"}
_MASKS = {8: "char", 16: "short", 32: "int", 64: "long"}
_LANES = "0123456789abcdef"
_INFIX = {
    Ops.ADD: "+", Ops.SUB: "-", Ops.MUL: "*", Ops.FDIV: "/", Ops.CMPLT: "<", Ops.CMPNE: "!=", Ops.XOR: "^", Ops.OR: "|",
    Ops.AND: "&", Ops.SHL: "<<", Ops.SHR: ">>",
}  # fmt: skip
_FUNCTIONS = {Ops.EXP2: "exp2", Ops.LOG2: "log2", Ops.SIN: "sin", Ops.SQRT: "sqrt", Ops.POW: "pow"}
_BOOL_INFIX = {Ops.ADD: "|", Ops.MAX: "|", Ops.OR: "|", Ops.MUL: "&", Ops.AND: "&", Ops.XOR: "^", Ops.CMPNE: "^"}

_BF16_ROUNDED = "(x != x ? ((u >> 16) | 0x40u) : ((u + 0x7fffu + ((u >> 16) & 1u)) >> 16))"
_BF16_FUNCTION = """\
static inline {ushort} bf16_bits{w}(float{v} x) {{
  uint{v} u = as_uint{v}(x);
  return {body};
}}
"""

THREEFRY_HELPER = """\
static inline ulong threefry2x32(ulong x, ulong key) {
  uint k0 = (uint)key, k1 = (uint)(key >> 32), k2 = k0 ^ k1 ^ 0x1BD11BDAu;
  uint a = (uint)x + k0, b = (uint)(x >> 32) + k1;
  const uint turns[8] = {13u, 15u, 26u, 6u, 17u, 29u, 16u, 24u};
  const uint keys[3] = {k0, k1, k2};
  for (uint i = 0; i < 5; i++) {
    for (uint j = 0; j < 4; j++) {
      a += b;
      uint turn = turns[(i & 1) * 4 + j];
      b = ((b << turn) | (b >> (32 - turn))) ^ a;
    }
    a += keys[(i + 1) % 3];
    b += keys[(i + 2) % 3] + i + 1;
  }
  return ((ulong)b << 32) | a;
}
"""


def vector_type(scalar: str, width: int) -> str:
    """`float`, 4 -> `float4`."""
    return scalar if width == 1 else f"{scalar}{width}"


def type_of(value: Value) -> str:
    """The type that a variable holding `value` is declared with."""
    if value.mask_bits:
        return vector_type(_MASKS[value.mask_bits], value.width)
    return vector_type(_TYPES[value.dtype.name], value.width)


def memory_type(dtype: DType) -> str:
    """The element type of a buffer."""
    return _MEMORY_TYPES.get(dtype.name, _TYPES[dtype.name])


def literal(number: float, dtype: DType) -> Value:
    """A constant, exactly as its dtype holds it."""
    if dtype is BOOL:
        return Value("true" if number else "false", dtype, simple=True)
    if dtype.kind is Kind.FLOAT:
        return Value(_float_literal(float(number), dtype), dtype, simple=True)
    number = int(number)
    suffix = {"int64": "L", "uint64": "UL", "uint32": "u"}.get(dtype.name, "")
    if number == dtype.min and number < 0 and dtype in (INT32, INT64):
        text = f"({number + 1}{suffix}-1)"
    else:
        text = f"{number}{suffix}" if number >= 0 else f"({number}{suffix})"
    return Value(text if dtype.itemsize >= 4 else f"(({_TYPES[dtype.name]}){text})", dtype, simple=True)


def _float_literal(number: float, dtype: DType) -> str:
    suffix = "" if dtype is FLOAT64 else "f"
    number = rounded(number, dtype)
    if math.isnan(number):
        text = "NAN"
    elif math.isinf(number):
        text = _signed("INFINITY", number)
    else:
        text = _signed(f"{abs(number)!r}{suffix}", number)
    return f"(({_TYPES[dtype.name]}){text})" if dtype is FLOAT16 or text[-1] not in "0123456789f)" else text


def _signed(text: str, number: float) -> str:
    return f"(-{text})" if math.copysign(1.0, number) < 0 else text


def widen(value: Value, width: int) -> Value:
    """A scalar in every lane of a vector; a vector as it is."""
    if value.width == width:
        return value
    if value.dtype is BOOL:
        return Value(f"((char{width})(-(char)({value.text})))", BOOL, width, 8)
    return Value(f"(({vector_type(_TYPES[value.dtype.name], width)})({value.text}))", value.dtype, width)


def from_lanes(lanes: list[Value]) -> Value:
    """A vector of scalars, or of shorter vectors one after the other."""
    first = lanes[0]
    width = sum(lane.width for lane in lanes)
    if first.dtype is BOOL:
        texts = [lane.text if lane.mask_bits else f"-(char)({lane.text})" for lane in lanes]
        return Value(f"((char{width})({', '.join(texts)}))", BOOL, width, first.mask_bits or 8)
    texts = [lane.text for lane in lanes]
    return Value(f"(({vector_type(_TYPES[first.dtype.name], width)})({', '.join(texts)}))", first.dtype, width)


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
    return _converted(value.text, vector_type(_MASKS[bits], value.width))


def assignable(value: Value, variable: Value) -> str:
    """The text of `value` as `variable`'s type, which may be a mask of another width."""
    return _mask(value, variable.mask_bits) if variable.mask_bits else value.text


def _ones(mask: Value) -> str:
    """1 in every lane, of the mask's own type."""
    return f"({type_of(mask)})(1)"


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
    return f"(({_TYPES[dtype.name]}){text})" if width == 1 and dtype.is_int and dtype.itemsize < 4 else text


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
    kind = vector_type(_TYPES[dtype.name], width)
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
        value = Value(f"({value.text} & {_ones(value)})", INT32, width)
    elif value.dtype is BFLOAT16:
        value = Value(value.text, FLOAT32, width)
        if dtype is FLOAT32:
            return value
    if value.dtype.is_float and dtype.is_int:
        value = _to_wide_integer(value, dtype)
    kind = _TYPES[dtype.name]
    text = f"(({kind})({value.text}))" if width == 1 else _converted(value.text, vector_type(kind, width))
    return round_bfloat16(Value(text, dtype, width)) if dtype is BFLOAT16 else Value(text, dtype, width)


def _to_wide_integer(value: Value, dtype: DType) -> Value:
    """Through a signed integer that holds any float within range, so that the same bits come out everywhere."""
    if dtype is UINT64:
        return value
    kind = INT32 if dtype.itemsize < 4 or dtype is INT32 else INT64
    if kind is dtype:
        return value
    name = _TYPES[kind.name]
    width = value.width
    text = f"(({name})({value.text}))" if width == 1 else _converted(value.text, vector_type(name, width))
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
            else Value(f"as_{vector_type(_TYPES[dtype.name], width)}({bits})", dtype, width)
        )
    if dtype is BFLOAT16:
        return _bfloat16_from_bits(f"as_{vector_type('ushort', width)}({value.text})", width)
    return Value(f"as_{vector_type(_TYPES[dtype.name], width)}({value.text})", dtype, width)


def round_bfloat16(value: Value) -> Value:
    """The nearest bfloat16, ties to even, as the float that it stands for."""
    return _bfloat16_from_bits(f"bf16_bits{value.width}({value.text})", value.width)


def _bfloat16_from_bits(bits: str, width: int) -> Value:
    wide = f"(uint)({bits})" if width == 1 else _converted(bits, vector_type("uint", width))
    return Value(f"as_{vector_type('float', width)}({wide} << 16)", BFLOAT16, width)


def load(pointer: str, index: str, dtype: DType, width: int) -> Value:
    """`width` consecutive elements from `index` on. Vectors need no alignment beyond an element's."""
    text = f"{pointer}[{index}]"
    if width > 1:
        text = f"LOAD_{vector_type(memory_type(dtype), width)}({pointer} + ({index}))"
    if dtype is BOOL:
        zero = "0" if width == 1 else f"(uchar{width})(0)"
        return Value(f"({text} != {zero})", BOOL, width, 0 if width == 1 else 8)
    if dtype is BFLOAT16:
        return _bfloat16_from_bits(text, width)
    return Value(text, dtype, width)


def store(pointer: str, index: str, value: Value) -> str:
    """The statement that stores `value`'s lanes as consecutive elements from `index` on."""
    text = value.text
    if value.dtype is BFLOAT16:
        text = f"bf16_bits{value.width}({text})"
    elif value.dtype is BOOL:
        text = f"(uchar)({text})" if value.width == 1 else _converted(f"{text} & {_ones(value)}", f"uchar{value.width}")
    if value.width == 1:
        return f"{pointer}[{index}] = {text};"
    return f"STORE_{vector_type(memory_type(value.dtype), value.width)}({text}, {pointer} + ({index}));"


def _converted(text: str, kind: str) -> str:
    return f"CONVERT({text}, {kind})"


def accumulated(op: Ops, dtype: DType, accumulator: Value, term: Value) -> str:
    """The expression of `accumulator` with `term` taken in. An accumulator is never NaN under MAX, where NaN loses."""
    if op is Ops.MAX and dtype is not BOOL:
        term = widen(term, accumulator.width)
        return f"({accumulator.text} < {term.text} ? {term.text} : {accumulator.text})"
    return assignable(operation(op, dtype, [accumulator, term]), accumulator)


def load_shared(name: str, index: str, like: Value) -> Value:
    """Partial results of `like`'s type from shared memory. A scalar bool lies there as a char."""
    if like.width == 1:
        text = f"({name}[{index}] != 0)" if like.dtype is BOOL else f"{name}[{index}]"
    else:
        text = f"LOCAL_LOAD_{type_of(like)}({name} + {index})"
    return Value(text, like.dtype, like.width, like.mask_bits)


def store_shared(name: str, index: str, value: Value) -> str:
    """The statement that puts partial results into shared memory."""
    if value.width == 1:
        text = f"(char)({value.text})" if value.dtype is BOOL else value.text
        return f"{name}[{index}] = {text};"
    return f"LOCAL_STORE_{type_of(value)}({value.text}, {name} + {index});"


def helpers(source: str) -> str:
    """What `source` uses of this file's macros and functions, defined.

    Vectors in memory are aligned as their elements are. Where the compiler is clang that is said by a type, which it
    turns into one instruction; a CPU driver's vload and convert are calls into its library.
    """
    parts = []
    if "CONVERT(" in source or "bf16_bits" in source:
        parts.append(
            "#ifdef __clang__\n#define CONVERT(x, kind) __builtin_convertvector(x, kind)\n#else\n"
            "#define CONVERT(x, kind) convert_##kind(x)\n#endif\n"
        )
    accesses = set(re.findall(r"\b(LOCAL_)?(?:LOAD|STORE)_([a-z]+)(\d+)\(", source))
    for kind, width in sorted({(kind, int(width)) for _, kind, width in accesses}):
        spaces = sorted({space for space, *rest in accesses if rest == [kind, str(width)]})
        parts.append(_memory_macros(kind, width, spaces))
    for width in (1, 2, 4, 8, 16):
        if f"bf16_bits{width}(" in source:
            ushort, lanes = vector_type("ushort", width), "" if width == 1 else width
            body = f"(ushort){_BF16_ROUNDED}" if width == 1 else f"CONVERT({_BF16_ROUNDED}, {ushort})"
            parts.append(_BF16_FUNCTION.format(ushort=ushort, w=width, v=lanes, body=body))
    if "threefry2x32(" in source:
        parts.append(THREEFRY_HELPER)
    return "".join(parts)


def _memory_macros(kind: str, width: int, spaces: list[str]) -> str:
    vector = f"{kind}{width}"
    size = {"char": 1, "uchar": 1, "short": 2, "ushort": 2, "half": 2, "long": 8, "ulong": 8, "double": 8}.get(kind, 4)
    clang = [f"typedef {vector} {vector}_packed __attribute__((aligned({size})));"]
    other = []
    for space in spaces:
        name = "__local" if space else "__global"
        clang.append(f"#define {space}LOAD_{vector}(p) (*(const {name} {vector}_packed*)(p))")
        clang.append(f"#define {space}STORE_{vector}(x, p) (*({name} {vector}_packed*)(p) = (x))")
        other.append(f"#define {space}LOAD_{vector}(p) vload{width}(0, p)")
        other.append(f"#define {space}STORE_{vector}(x, p) vstore{width}(x, 0, p)")
    return "\n".join(["#ifdef __clang__", *clang, "#else", *other, "#endif", ""])
