"""Loads and stores in OpenCL C, and the definitions that a source needs before its kernel.

Vectors in memory are aligned as their elements are. Where the compiler is clang that is said by a type, which it turns
into one instruction; a CPU driver's vload and convert are calls into its library.
"""

from __future__ import annotations

import re
from dataclasses import replace

from kernels.dtypes import BFLOAT16, BOOL, UINT8, DType
from kernels.render.opencl import bfloat16_from_bits, converted, lane_of, ones
from kernels.render.types import memory_type, type_of, vector_type
from kernels.render.value import Value

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


def load(pointer: str, index: str, dtype: DType, width: int) -> Value:
    """`width` consecutive elements from `index` on. Vectors need no alignment beyond an element's."""
    text = f"{pointer}[{index}]"
    if width > 1:
        text = f"LOAD_{vector_type(memory_type(dtype), width)}({pointer} + ({index}))"
    if dtype is BOOL:
        zero = "0" if width == 1 else f"(uchar{width})(0)"
        return Value(f"({text} != {zero})", BOOL, width, 0 if width == 1 else 8)
    if dtype is BFLOAT16:
        return bfloat16_from_bits(text, width)
    return Value(text, dtype, width)


def store(pointer: str, index: str, value: Value) -> str:
    """The statement that stores `value`'s lanes as consecutive elements from `index` on."""
    if value.width == 1:
        return f"{pointer}[{index}] = {_stored(value)};"
    return f"STORE_{vector_type(memory_type(value.dtype), value.width)}({_stored(value)}, {pointer} + ({index}));"


def _stored(value: Value) -> str:
    """`value` as it lies in memory."""
    if value.dtype is BFLOAT16:
        return f"bf16_bits{value.width}({value.text})"
    if value.dtype is BOOL and value.width > 1:
        return converted(f"{value.text} & {ones(value)}", f"uchar{value.width}")
    return f"(uchar)({value.text})" if value.dtype is BOOL else value.text


def load_together(pointer: str, index: str, kind: str, aligned: bool) -> str:
    """A vector of type `kind` from element `index` on, which is aligned as the vector is or as an element is."""
    place = f"{pointer} + ({index})"
    return f"*((__global const {kind}*)({place}))" if aligned else f"LOAD_{kind}({place})"


def lane_loaded(vector: Value, lane: int) -> Value:
    """A lane of a vector as it lies in memory, as a value."""
    text = lane_of(replace(vector, dtype=UINT8), lane).text
    if vector.dtype is BOOL:
        return Value(f"({text} != 0)", BOOL)
    if vector.dtype is BFLOAT16:
        return bfloat16_from_bits(text, 1)
    return Value(text, vector.dtype, simple=True)


def store_together(pointer: str, index: str, lanes: list[Value], aligned: bool) -> str:
    """The statement that stores `lanes` as consecutive elements from `index` on, aligned as `load_together` has it."""
    kind = vector_type(memory_type(lanes[0].dtype), len(lanes))
    texts = ", ".join(_stored(lane) for lane in lanes)
    place, vector = f"{pointer} + ({index})", f"({kind})({texts})"
    return f"*((__global {kind}*)({place})) = {vector};" if aligned else f"STORE_{kind}(({vector}), {place});"


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
