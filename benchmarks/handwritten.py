"""Hand-written OpenCL kernels for a CPU: what a programmer would write for the work that bench_reach measures.

All compute in explicit vectors, one or more to a work-item, and take the output first. Sizes are part of the source.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Handwritten:
    """A kernel's source and launch: sizes in work-items."""

    label: str
    source: str
    name: str
    items: tuple[int, int, int]
    local: tuple[int, int, int]


def matmul(size: int, rows: int, vectors: int, width: int, unroll: int, group: int = 8) -> Handwritten:
    """C = A B, square and row-major; a work-item holds `rows` times `vectors` float vectors of C in registers.

    `unroll` steps along the reduced axis are written out. `group` work-items below each other read the same columns
    of B while these are in the cache. Where `rows` do not divide the size, the last tiles overlap: the rows that two
    work-items compute are the same.
    """
    vector = f"float{width}"
    tile = [(i, j) for i in range(rows) for j in range(vectors)]
    step: list[str] = []
    for u in range(unroll):
        step += [f"{vector} b{u}_{j} = *(__global const packed*)(b + (k + {u})*{size} + n + {j * width});"
                 for j in range(vectors)]  # fmt: skip
        step += [f"float a{u}_{i} = a[(m + {i})*{size} + k + {u}];" for i in range(rows)]
        step += [f"c{i}_{j} += a{u}_{i} * b{u}_{j};" for i, j in tile]
    lines = [
        f"int m = min((int)get_global_id(0)*{rows}, {size - rows}), n = get_global_id(1)*{vectors * width};",
        *(f"{vector} c{i}_{j} = 0.0f;" for i, j in tile),
        f"for (int k = 0; k < {size}; k += {unroll}) {{",
        *(f"  {line}" for line in step),
        "}",
        *(f"*(__global packed*)(c + (m + {i})*{size} + n + {j * width}) = c{i}_{j};" for i, j in tile),
    ]
    parameters = "__global float* restrict c, __global const float* restrict a, __global const float* restrict b"
    tiles = -(-size // rows)
    items = (-(-tiles // group) * group, size // (vectors * width), 1)
    label = f"{rows} x {vectors} {vector}, {unroll} steps"
    return Handwritten(label, _source(vector, "matmul", group, parameters, lines), "matmul", items, (group, 1, 1))


def exp_sum(rows: int, columns: int, accumulators: int, group: int) -> Handwritten:
    """The sum of exp(x - m) of each row, m one number a row; a work-item adds up a row in some float16 accumulators."""
    load = "*(__global const packed*)(x + row*{0} + i + {1})"
    terms = [f"s{j} += exp2({load.format(columns, 16 * j)} * 1.4426950f - shift);" for j in range(accumulators)]
    lines = [
        "int row = get_global_id(0);",
        "float shift = m[row] * 1.4426950f;",
        *(f"float16 s{j} = 0.0f;" for j in range(accumulators)),
        f"for (int i = 0; i < {columns}; i += {16 * accumulators}) {{",
        *(f"  {term}" for term in terms),
        "}",
        f"float16 all = {' + '.join(f's{j}' for j in range(accumulators))};",
        "float8 half8 = all.lo + all.hi;",
        "float4 half4 = half8.lo + half8.hi;",
        "float2 half2 = half4.lo + half4.hi;",
        "y[row] = half2.x + half2.y;",
    ]
    parameters = "__global float* restrict y, __global const float* restrict x, __global const float* restrict m"
    source = _source("float16", "exp_sum", group, parameters, lines)
    return Handwritten(f"{accumulators} float16, groups of {group}", source, "exp_sum", (rows, 1, 1), (group, 1, 1))


def gelu(size: int, vectors: int, group: int) -> Handwritten:
    """GELU in its tanh form, written with one exp2: x / (1 + exp2(x (p x^2 + q))); `vectors` float16 a work-item."""
    lines = [
        f"int first = get_global_id(0)*{16 * vectors};",
        f"for (int i = first; i < first + {16 * vectors}; i += 16) {{",
        "  float16 v = *(__global const packed*)(x + i);",
        "  float16 e = exp2(v * (v * v * -0.10294324f - 2.3022082f));",
        "  *(__global packed*)(y + i) = v / (1.0f + e);",
        "}",
    ]
    parameters = "__global float* restrict y, __global const float* restrict x"
    items = (size // (16 * vectors), 1, 1)
    source = _source("float16", "gelu", group, parameters, lines)
    return Handwritten(f"{vectors} float16, groups of {group}", source, "gelu", items, (group, 1, 1))


def _source(vector: str, name: str, group: int, parameters: str, lines: list[str]) -> str:
    """A kernel whose vectors in memory are aligned as floats are."""
    attribute = f"__attribute__((reqd_work_group_size({group}, 1, 1)))"
    body = "".join(f"  {line}\n" for line in lines)
    packed = f"typedef {vector} packed __attribute__((aligned(4)));\n"
    return f"{packed}__kernel {attribute} void {name}({parameters}) {{\n{body}}}\n"
