"""tinygrad 0.10.2 as a black-box oracle: wire documents in, its Kernel's answers out. No device is opened."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tinygrad.codegen.kernel import Kernel, KernelOptError, Opt, OptOps
from tinygrad.dtype import DType, dtypes
from tinygrad.helpers import Context
from tinygrad.ops import Ops, UOp, sym_infer
from tinygrad.renderer import Renderer
from tinygrad.renderer.cstyle import CUDARenderer, OpenCLRenderer
from tinygrad.shape.shapetracker import ShapeTracker
from tinygrad.shape.view import View

Document = Mapping[str, Any]
DTYPES: dict[str, DType] = {
    "bool": dtypes.bool,
    "int8": dtypes.int8,
    "uint8": dtypes.uint8,
    "int16": dtypes.int16,
    "uint16": dtypes.uint16,
    "int32": dtypes.int32,
    "uint32": dtypes.uint32,
    "int64": dtypes.int64,
    "uint64": dtypes.uint64,
    "float16": dtypes.float16,
    "bfloat16": dtypes.bfloat16,
    "float32": dtypes.float32,
    "float64": dtypes.float64,
}
SIZE_OPS = {"+": Ops.ADD, "-": Ops.SUB, "*": Ops.MUL, "//": Ops.IDIV, "%": Ops.MOD, "max": Ops.MAX}


# ---- wire document -> UOps -------------------------------------------------------------------------------------------


class _Sizes:
    """Turns the wire form's sizes (integer, variable name or `[op, a, b]`) into integers or UOps of one document."""

    def __init__(self, variables: Mapping[str, Mapping[str, int]]) -> None:
        self.variables = {name: UOp.variable(name, v["min"], v["max"]) for name, v in variables.items()}

    def read(self, size: Any) -> Any:
        if isinstance(size, str):
            return self.variables[size]
        if not isinstance(size, list):
            return size
        op, *operands = size
        left, right = (self.read(operand) for operand in operands)
        as_uop = [UOp.const(dtypes.int, side) if isinstance(side, int) else side for side in (left, right)]
        return UOp(SIZE_OPS[op], dtypes.int, tuple(as_uop))

    def tracker(self, views: Iterable[Mapping[str, Any]]) -> ShapeTracker:
        return ShapeTracker(tuple(self._view(view) for view in views))

    def _view(self, view: Mapping[str, Any]) -> View:
        mask = view["mask"]
        return View.create(
            tuple(self.read(size) for size in view["shape"]),
            tuple(self.read(stride) for stride in view["strides"]),
            self.read(view["offset"]),
            None if mask is None else tuple((self.read(low), self.read(high)) for low, high in mask),
        )


def constant(value: Any, dtype: DType) -> Any:
    """The Python value of a CONST's arg: JSON number, bool, `inf`, `-inf`, `nan` or an integer in a string."""
    if dtype == dtypes.bool:
        return bool(value)
    return float(value) if dtypes.is_float(dtype) else int(value)


def document_to_uop(document: Document) -> UOp:
    """The SINK of `document` as tinygrad's kernel AST; nodes are built in the order sent, so depth does not matter."""
    sizes = _Sizes(document.get("vars", {}))
    built: list[UOp] = []
    for node in document["nodes"]:
        sources = tuple(built[i] for i in node["src"])
        dtype = DTYPES[node["dtype"]] if "dtype" in node else dtypes.void
        built.append(_node_to_uop(node, sources, dtype, sizes))
    return built[-1]


def _node_to_uop(node: Mapping[str, Any], sources: tuple[UOp, ...], dtype: DType, sizes: _Sizes) -> UOp:
    op, arg = node["op"], node.get("arg")
    match op:
        case "DEFINE_GLOBAL":
            return UOp(Ops.DEFINE_GLOBAL, dtype.ptr(arg["size"]), (), arg["slot"])
        case "DEFINE_VAR":
            return UOp(Ops.DEFINE_VAR, dtype, sources, (arg["name"], arg["min"], arg["max"]))
        case "VIEW":
            return sizes.tracker(arg["views"]).to_uop()
        case "CONST":
            return UOp(Ops.CONST, dtype, sources, constant(arg, dtype))
        case "REDUCE_AXIS":
            return UOp(Ops.REDUCE_AXIS, dtype, sources, (Ops[arg["op"]], tuple(arg["axes"])))
    return UOp(Ops[op], dtype, sources)


# ---- targets ---------------------------------------------------------------------------------------------------------


@functools.cache
def oracle_renderer(name: str) -> Renderer:
    """The renderer for a target's name, which is `opencl` or a CUDA arch, then any of the suffixes in `SUFFIXES`."""
    base, suffixes = split_target(name)
    renderer = OpenCLRenderer() if base == "opencl" else CUDARenderer(base)
    if "no_local" in suffixes:
        renderer.has_local = False
    if suffixes & {"no_local", "no_shared"}:
        renderer.has_shared = False
    # tinygrad reads ALLOW_TF32 once, at import: here that core is put in (or left out) per renderer.
    cores = [core for core in renderer.tensor_cores if core.dtype_in != dtypes.float32]
    if "tf32" in suffixes:
        half = next(core for core in cores if core.dims == (8, 16, 8) and core.dtype_out == dtypes.float32)
        cores.append(dataclasses.replace(half, dtype_in=dtypes.float32))
    renderer.tensor_cores = [] if "no_cores" in suffixes else cores
    return renderer


SUFFIXES = ("no_local", "no_shared", "no_cores", "tf32", "mode0", "mode2", "mode3")


def split_target(name: str) -> tuple[str, set[str]]:
    """`sm_80_tf32_mode2` -> (`sm_80`, {`tf32`, `mode2`})."""
    suffixes = set()
    while suffix := next((s for s in SUFFIXES if name.endswith("_" + s)), None):
        suffixes.add(suffix)
        name = name.removesuffix("_" + suffix)
    return name, suffixes


def tc_mode(name: str) -> int:
    """The tensor-core mode in a target's name; 1 where it names none."""
    return next((int(s[-1]) for s in split_target(name)[1] if s.startswith("mode")), 1)


def oracle_kernel(document: Document, target: str) -> Kernel:
    """The oracle's Kernel of `document` on the target named `target`."""
    return Kernel(document_to_uop(document), opts=oracle_renderer(target))


# ---- Opts and answers ------------------------------------------------------------------------------------------------

# An Opt that belongs to neither side: its op's name, axis and arg.
OptTriple = tuple[str, Any, Any]
Assignments = tuple[Mapping[str, int], ...]


class Shown(NamedTuple):
    """What a Kernel shows of itself. A size with variables is the tuple of its values under the assignments."""

    full_shape: tuple[Any, ...]
    output_shape: tuple[Any, ...]
    colors: tuple[str, ...]
    applied: tuple[OptTriple, ...]
    first_reduce: int
    first_upcast: int
    global_dims: int
    shape_len: int


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """The end of one try: `accepted` (with the kernel), `refused` (KernelOptError) or `raised` (anything else)."""

    end: str
    kernel: Any = None
    reason: str = ""


def oracle_opt(triple: OptTriple) -> Opt:
    op, axis, arg = triple
    return Opt(OptOps[op], axis, arg)


def opt_triple(opt: Any) -> OptTriple:
    """The triple of either side's Opt."""
    return opt.op.name, opt.axis, opt.arg


def oracle_try(kernel: Kernel, triple: OptTriple, mode: int = 1) -> Answer:
    """Applies one Opt to a copy of `kernel`; `mode` is the tensor-core mode of `tc_mode`."""
    copy = kernel.copy()
    try:
        with Context(TC=mode) if mode != 1 else contextlib.nullcontext():
            copy.apply_opt(oracle_opt(triple))
        copy.colors()  # asserts that its own counts of axes agree: after some accepted Opts they do not
    except KernelOptError as error:
        return Answer("refused", reason=str(error))
    except Exception as error:  # noqa: BLE001 - the oracle's own slips (ValueError, TypeError, AssertionError)
        return Answer("raised", reason=type(error).__name__)
    return Answer("accepted", copy)


def assignments(document: Document) -> Assignments:
    """A few values for the variables of `document`: their bounds, and some between."""
    variables = document.get("vars", {})
    if not variables:
        return ()
    rows = []
    for part in (0.0, 1.0, 0.5, 0.31, 0.77):
        shift = {name: (i * 0.17 if 0 < part < 1 else 0.0) for i, name in enumerate(sorted(variables))}
        rows.append(
            {
                name: v["min"] + round((part + shift[name]) % 1.0001 * (v["max"] - v["min"]))
                for name, v in variables.items()
            }
        )
    return tuple(rows)


def oracle_size(size: Any, values: Assignments) -> Any:
    """An integer as it is; a size with variables as its values."""
    if not isinstance(size, UOp):
        return size
    names = {uop.arg[0]: uop for uop in size.toposort if uop.op is Ops.DEFINE_VAR}
    return tuple(sym_infer(size, {names[name]: row[name] for name in names}) for row in values)


def oracle_shown(kernel: Kernel, values: Assignments = ()) -> Shown:
    return Shown(
        tuple(oracle_size(size, values) for size in kernel.full_shape),
        tuple(oracle_size(size, values) for size in kernel.output_shape),
        tuple(kernel.colors()),
        tuple(opt_triple(opt) for opt in kernel.applied_opts),
        kernel.first_reduce,
        kernel.first_upcast,
        kernel.global_dims,
        kernel.shape_len,
    )
