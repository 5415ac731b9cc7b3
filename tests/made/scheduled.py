"""Kernels as tinygrad schedules them from tensor programs that the corpus has not: no device is opened, nothing runs.

They are kept in tests/data/made/scheduled.jsonl and written anew by `python -m tests.made --write`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType
from tinygrad.helpers import Context
from tinygrad.ops import Ops, UOp

from tests.made.build import Document, constant_to_wire, names_in, view_to_wire
from tests.oracle import DTYPES

DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}
Program = Callable[[], Tensor | Sequence[Tensor]]


def empty(*shape: int, dtype: DType = dtypes.float32, grad: bool = False) -> Tensor:
    return Tensor.empty(*shape, dtype=dtype, device="PYTHON", requires_grad=grad)


def gradients(loss: Callable[..., Tensor], *inputs: Tensor) -> list[Tensor]:
    """The gradients of a loss in all of its inputs."""
    loss(*inputs).backward()
    return [tensor.grad for tensor in inputs if tensor.grad is not None]


def variable(name: str, low: int, high: int) -> UOp:
    return UOp.variable(name, low, high).bind(low + 1)


def seeded(make: Callable[..., Tensor], *shape: int) -> Tensor:
    Tensor.manual_seed(1)
    return make(*shape, device="PYTHON")


half, bfloat, i32, u32 = dtypes.float16, dtypes.bfloat16, dtypes.int32, dtypes.uint32

PROGRAMS: dict[str, Program] = {
    "conv_grouped": lambda: empty(2, 8, 14, 15).conv2d(empty(16, 4, 3, 3), empty(16), groups=2, stride=2, padding=1),
    "conv_dilated": lambda: empty(1, 4, 16, 16, dtype=half).conv2d(empty(8, 4, 3, 3, dtype=half), dilation=2),
    "conv_3d": lambda: empty(1, 4, 8, 8, 8).conv2d(empty(8, 4, 3, 3, 3), padding=1),
    "conv_transposed": lambda: empty(2, 8, 5, 6).conv_transpose2d(empty(8, 6, 3, 3), stride=2, padding=1),
    "conv_gradients": lambda: gradients(
        lambda x, w: x.conv2d(w, stride=2, padding=1).relu().sum(),
        empty(2, 3, 9, 8, grad=True),
        empty(8, 3, 3, 3, grad=True),
    ),
    "max_pool": lambda: empty(2, 3, 9, 10).max_pool2d((3, 2), stride=2, padding=1),
    "max_pool_int": lambda: empty(2, 3, 9, 10, dtype=i32).max_pool2d((3, 3), stride=1, padding=1),
    "max_pool_gradient": lambda: gradients(
        lambda x: x.max_pool2d((2, 2), stride=1).sum(), empty(2, 3, 9, 8, grad=True)
    ),
    "average_pool": lambda: empty(2, 3, 9, 10).avg_pool2d((3, 3), stride=2, padding=1, count_include_pad=False),
    "attention_causal": lambda: empty(2, 2, 16, 8, dtype=half).scaled_dot_product_attention(
        empty(2, 2, 16, 8, dtype=half), empty(2, 2, 16, 8, dtype=half), is_causal=True
    ),
    "attention_gradients": lambda: gradients(
        lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True).sum(),
        *(empty(2, 2, 12, 8, grad=True) for _ in range(3)),
    ),
    "matmul_bfloat16": lambda: empty(3, 33, 48, dtype=bfloat) @ empty(3, 48, 77, dtype=bfloat),
    "matmul_half_half": lambda: empty(48, 64, dtype=half).matmul(empty(64, 40, dtype=half), acc_dtype=half),
    "matmul_loads_cast": lambda: empty(100, 64).half() @ empty(64, 32).half(),
    "matmul_transposed": lambda: empty(64, 48, dtype=half).T @ empty(32, 64, dtype=half).T,
    "matmul_lower_triangle": lambda: empty(32, 32, dtype=half).tril() @ empty(32, 16, dtype=half),
    "matmul_padded": lambda: empty(30, 30, dtype=half).pad(((1, 1), (1, 1))) @ empty(32, 16, dtype=half),
    "matmul_int8": lambda: empty(32, 48, dtype=dtypes.int8).matmul(empty(48, 16, dtype=dtypes.int8), acc_dtype=i32),
    "matrix_vector": lambda: empty(256, 512) @ empty(512),
    "vector_matrix": lambda: empty(128, dtype=half) @ empty(128, 64, dtype=half),
    "einsum": lambda: Tensor.einsum("abc,cbd->ad", empty(16, 6, 12), empty(12, 6, 10)),
    "cumulative_sum": lambda: empty(7, 600).cumsum(1),
    "cumulative_max": lambda: empty(30, 7).cummax(0),
    "arange_steps": lambda: Tensor.arange(10, 300, 3, device="PYTHON"),
    "identity_matrix": lambda: Tensor.eye(33, device="PYTHON").contiguous(),
    "triangles": lambda: empty(3, 9, 10).tril(-1) + empty(3, 9, 10).triu(2),
    "one_hot": lambda: empty(20, dtype=i32).one_hot(33),
    "index_rows": lambda: empty(50, 16)[empty(12, dtype=i32)],
    "index_columns": lambda: empty(16, 20, 8)[:, empty(5, dtype=i32)],
    "gather": lambda: empty(8, 12).gather(1, empty(8, 5, dtype=i32)),
    "scatter": lambda: empty(3, 6).scatter(1, empty(2, 3, dtype=i32), empty(2, 3)),
    "argmax": lambda: empty(16, 33).argmax(1),
    "cross_entropy": lambda: gradients(
        lambda x: x.sparse_categorical_crossentropy(empty(16, dtype=i32)), empty(16, 10, grad=True)
    ),
    "standard_deviation": lambda: empty(5, 33, 4).std((0, 2)),
    "stacked": lambda: Tensor.stack(empty(3, 4), empty(3, 4), empty(3, 4), dim=1) * 2,
    "pad_reflect": lambda: empty(1, 2, 8, 7).pad((1, 2, 0, 1), mode="reflect"),
    "pad_circular": lambda: empty(1, 2, 8, 7).pad((1, 2, 0, 1), mode="circular"),
    "rolled": lambda: empty(12, 5).roll(-2, dims=0),
    "strided": lambda: empty(24, 15)[1::3, ::-2] + 1,
    "repeated": lambda: empty(4, 5).repeat_interleave(3, dim=0) + 1,
    "interpolated": lambda: empty(1, 2, 5, 6).interpolate((8, 9), mode="linear"),
    "random_uniform": lambda: seeded(Tensor.rand, 33, 16),
    "random_normal": lambda: seeded(Tensor.randn, 10, 16),
    "unsigned_bits": lambda: (empty(33, 16, dtype=u32) >> 3) ^ (empty(16, dtype=u32) << 2),
    "floor_divide": lambda: empty(33, 16, dtype=i32) // 7 + empty(33, 16, dtype=i32) % 3,
    "powers": lambda: empty(10, 16) ** empty(10, 16) + empty(10, 16) ** 0.5,
    "rotary": lambda: (empty(2, 16, 4, 8) * empty(1, 16, 1, 8)).chunk(2, dim=-1)[1] + 1,
    "logcumsumexp": lambda: empty(5, 20).logcumsumexp(1),
    "dynamic_rows": lambda: empty(64, 12).shrink(((0, variable("i", 1, 64)), None)).softmax(0),
    "dynamic_pad": lambda: empty(64, 12).shrink(((0, variable("i", 1, 64)), None)).pad(((0, 2), (1, 0))) + 1,
    "dynamic_product": lambda: (
        empty(64, 16).shrink(((0, variable("i", 1, 64)), None))
        @ empty(16, 64).shrink((None, (0, variable("j", 1, 64))))
    ),
    "dynamic_offset": lambda: dynamic_offset(),
    "dynamic_cache": lambda: dynamic_cache(),
}


def dynamic_offset() -> Tensor:
    start = variable("i", 0, 48)
    return empty(64, 6).shrink(((start, start + 16), None)) * 2


def dynamic_cache() -> Tensor:
    """One query of four heads against the first start_pos + 1 rows of a cache."""
    length = variable("start_pos", 1, 127) + 1
    keys = empty(2, 128, 4, 8).shrink(((0, 2), (0, length), (0, 4), (0, 8))).transpose(1, 2)
    return empty(2, 4, 1, 8).scaled_dot_product_attention(keys, keys)


def uop_to_document(sink: UOp) -> Document:
    """A tinygrad kernel AST as a wire document; the inverse of `tests.oracle.document_to_uop`."""
    numbers: dict[UOp, int] = {}
    nodes: list[dict[str, Any]] = []
    bounds: dict[str, dict[str, int]] = {}
    for uop in sink.toposort:
        node: dict[str, Any] = {"op": uop.op.name, "src": [numbers[source] for source in uop.src]}
        if uop.op not in (Ops.VIEW, Ops.STORE, Ops.SINK):
            node["dtype"] = DTYPE_NAMES[uop.dtype.base]
        match uop.op:
            case Ops.DEFINE_GLOBAL:
                node["arg"] = {"slot": uop.arg, "size": uop.dtype.size}  # type: ignore[attr-defined]
            case Ops.DEFINE_VAR:
                node["arg"] = dict(zip(("name", "min", "max"), uop.arg, strict=True))
            case Ops.VIEW:
                node["arg"] = {"views": [view_to_wire(view) for view in uop.arg.views]}
                bounds.update({v.arg[0]: {"min": v.arg[1], "max": v.arg[2]} for v in uop.arg.vars()})
            case Ops.CONST:
                node["arg"] = constant_to_wire(uop.arg)
            case Ops.REDUCE_AXIS:
                node["arg"] = {"op": uop.arg[0].name, "axes": list(uop.arg[1])}
        numbers[uop] = len(nodes)
        nodes.append(node)
    document: Document = {"format": "kernel-ast/1", "nodes": nodes}
    if used := {name: bounds[name] for name in sorted(names_in(nodes))}:
        document["vars"] = used
    return document


def scheduled_documents() -> dict[str, Document]:
    """Every kernel of every program, equal ones once: `scheduled/max_pool/0`, ..."""
    documents: dict[str, Document] = {}
    seen: set[str] = set()
    for name, program in PROGRAMS.items():
        for fused in (0, 1):
            with Context(FUSE_ARANGE=fused):
                given = program()
                tensors = [given] if isinstance(given, Tensor) else list(given)
                items, _ = tensors[0].schedule_with_vars(*tensors[1:])
            kernels = [uop_to_document(item.ast) for item in items if item.ast.op is Ops.SINK]
            for document in kernels:
                text = json.dumps(document)
                if text not in seen:
                    seen.add(text)
                    documents[f"scheduled/{name}/{sum(key.split('/')[1] == name for key in documents)}"] = document
    return documents
