"""`lower`: a kernel's state to its program."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from kernels.dtypes import FLOAT16, FLOAT64
from kernels.errors import ProgramError
from kernels.estimate import estimate
from kernels.index import Index, upper
from kernels.ir import BufferArg, Node
from kernels.lowering.accesses import first_only
from kernels.lowering.context import Context, Point
from kernels.lowering.dependence import dependence_of
from kernels.lowering.guards import common_to_stores
from kernels.lowering.integers import Integers
from kernels.lowering.lanes import choose_lanes, local_order
from kernels.lowering.launch import launch_of
from kernels.lowering.scope import Scope
from kernels.lowering.values import Values
from kernels.lowering.widening import widened
from kernels.nest import Nest
from kernels.ops import Ops
from kernels.program import BufferArgument, Program, VariableArgument
from kernels.render import memory, types
from kernels.state import KernelState
from kernels.target import Target
from kernels.validity import Validity

#: The most lanes (upcast times unroll) and the most characters of source that a program may have.
LANES_MAX = 4096
SOURCE_MAX = 1 << 20


def lower(state: KernelState, nest: Nest, target: Target, name: str) -> Program:
    """The program of `state`. Raises ProgramError where the target's limits, or ours, are in the way."""
    if target.backend != "opencl":
        raise ProgramError("backend", f"programs are made for opencl so far, not for {target.backend}")
    _check_lanes(state)
    _check_dtypes(nest, target)
    shaped = widened(state, nest, target) if target.vector_widths else state
    dependence = dependence_of(shaped, nest)
    lanes = choose_lanes(dependence, nest, bool(target.vector_widths))
    loops = frozenset(dependence.loops)
    launch = launch_of(shaped, target, local_order(shaped, dependence, nest, lanes))
    context = Context(nest, shaped, target, dependence, lanes, launch, Integers(loops))
    body, alignments = _body(context)
    if context.shared_bytes > target.shared_max:
        raise ProgramError(
            "shared_max", f"{context.shared_bytes} bytes of shared memory, and the target has {target.shared_max}"
        )
    args = _arguments(nest, alignments)
    source = _source(name, args, context, body)
    if len(source) > SOURCE_MAX:
        raise ProgramError("source", f"{len(source)} characters of source, above {SOURCE_MAX}")
    operations, size_bytes = estimate(nest, state)
    return Program(
        name, source, target, launch.global_size, launch.local_size, args, context.shared_bytes, operations, size_bytes,
        state.opts,
    )  # fmt: skip


def _check_lanes(state: KernelState) -> None:
    lanes = prod(upper(size) for size in state.sizes[state.first_upcast :])
    if lanes > LANES_MAX:
        raise ProgramError("lanes", f"{lanes} lanes upcast and unrolled, above {LANES_MAX}")


def _check_dtypes(nest: Nest, target: Target) -> None:
    for node in nest.ast.nodes:
        if node.dtype is FLOAT16 and not target.fp16:
            raise ProgramError("fp16", "the kernel has float16 values, and the target does not compute them")
        if node.dtype is FLOAT64 and not target.fp64:
            raise ProgramError("fp64", "the kernel has float64 values, and the target does not compute them")


def _body(context: Context) -> tuple[list[str], dict[int, int]]:
    """The statements of the kernel, and the alignment in bytes that they ask of some slots' buffers.

    Reductions come first, then stores inside of loops, then the others with what they need.
    """
    top = Scope(None, frozenset())
    values = Values(context)
    nodes = context.nest.ast.nodes
    by_loops: dict[tuple[int, ...], list[int]] = {}
    for number, node in enumerate(nodes):
        if node.op is Ops.STORE:
            stored = context.dependence.stored[number]
            by_loops.setdefault(tuple(axis for axis in context.dependence.loops if axis in stored), []).append(number)
    if len(by_loops) > 1 and _stores_in_place(nodes):
        raise ProgramError("aliasing", "stores over different axes, and one of their buffers is loaded as well")
    outside = by_loops.pop((), [])
    in_place = _stores_in_place(nodes)
    roots = tuple(nodes[number].src[2] for number in outside)
    grouped = bool(_group_axes(context))
    given = common_to_stores(context)
    asked = _asked(context, given)
    everywhere = not grouped or (values.reductions.in_one_stage and not by_loops)
    if everywhere:
        context.integers.given = given
    values.prepare_reductions(roots, top)
    after = Scope(None, frozenset()) if grouped else top
    context.integers.given = given
    between = values.reductions.meet(top, after)
    if in_place or by_loops:
        values.prepare(roots, after)
    for loops, stores in by_loops.items():
        scope = values.reductions.open_loops(loops, after)
        values.prepare(tuple(nodes[number].src[2] for number in stores), scope)
        lines = [line for number in stores for line in _all_stores(context, values, number, scope, frozenset())]
        scope.lines += lines
        values.reductions.close_loops(loops, scope)
    alone = frozenset() if by_loops else _group_axes(context)
    if in_place:
        after.lines += [line for number in outside for line in _all_stores(context, values, number, after, alone)]
    else:
        for number in outside:
            for points in _store_points(context, values, number):
                for point in points:
                    values.prepare((nodes[number].src[2],), after, point)
                after.lines += _stores(context, values, number, after, alone, points)
    first = _block(asked, top.lines) if everywhere else top.lines
    if not grouped:
        return first, values.accesses.alignments
    last = _block([*asked, *_first_of_group(context, alone)], after.lines)
    return [*first, *between, *last], values.accesses.alignments


def _group_axes(context: Context) -> frozenset[int]:
    return frozenset(axis for reduction in context.dependence.reductions.values() for axis in reduction.groups)


def _first_of_group(context: Context, groups: frozenset[int]) -> list[str]:
    """The condition that a work-item is the first of its group, which has the results."""
    position: Index = 0
    for axis in sorted(groups):
        position = position + context.launch.positions[axis]
    return [] if position == 0 else [f"{context.integers.expression(position)} == 0"]


def _asked(context: Context, given: Validity) -> list[str]:
    """The texts of the bounds of `given`."""
    texts = []
    for condition in given.conditions:
        text = context.integers.expression(condition.expr)
        texts += [f"{text} >= {condition.lo}"] if condition.lo is not None else []
        texts += [f"{text} <= {condition.hi}"] if condition.hi is not None else []
    return texts


def _block(conditions: list[str], lines: list[str]) -> list[str]:
    """`lines`, done where all conditions hold."""
    if not conditions:
        return lines
    whole = conditions[0] if len(conditions) == 1 else " && ".join(f"({each})" for each in conditions)
    return [f"if ({whole}) {{", *(f"  {line}" for line in lines), "}"]


def _stores_in_place(nodes: tuple[Node, ...]) -> bool:
    loaded = {node.src[0] for node in nodes if node.op is Ops.LOAD}
    return any(node.op is Ops.STORE and node.src[0] in loaded for node in nodes)


def _all_stores(context: Context, values: Values, number: int, scope: Scope, alone: frozenset[int]) -> list[str]:
    """The statements of STORE number `number` at every upcast position that it has."""
    together = _store_points(context, values, number)
    return [line for points in together for line in _stores(context, values, number, scope, alone, points)]


def _stores(
    context: Context, values: Values, number: int, scope: Scope, alone: frozenset[int], points: list[Point]
) -> list[str]:
    """The statements of STORE number `number` at `points`, which are the lanes of one access where there are several.

    Only the work-items at 0 of launched axes that it does not have do it; of the axes in `alone` only those are there.
    """
    launched = frozenset(context.launch.positions) - alone
    once = first_only(launched - context.dependence.stored[number], context)
    source = context.nest.ast.nodes[number].src[2]
    found = [values.value(source, point, scope) for point in points]
    if len(points) > 1:
        return values.accesses.store_together(number, found, points[0], once, scope)
    return values.accesses.store(number, found[0], points[0], once, scope)


def _store_points(context: Context, values: Values, number: int) -> list[list[Point]]:
    """The upcast positions of STORE number `number`, those together that are one access to memory, in its order."""
    points = list(context.points(_store_axes(context, number)))
    lanes = values.accesses.lanes_in_memory(number)
    if lanes.width == 1:
        return [[point] for point in points]
    together: dict[tuple[int, ...], dict[int, Point]] = {}
    for point in points:
        first, lane = lanes.place(point)
        together.setdefault(tuple(first.values()), {})[lane] = point
    return [[places[lane] for lane in range(lanes.width)] for places in together.values()]


def _store_axes(context: Context, number: int) -> tuple[int, ...]:
    lanes = set(context.lanes.axes)
    return tuple(a for a in context.dependence.lanes if a not in lanes and a in context.dependence.stored[number])


def _arguments(nest: Nest, alignments: Mapping[int, int]) -> tuple[BufferArgument | VariableArgument, ...]:
    nodes = nest.ast.nodes
    read = {nodes[node.src[0]].arg for node in nodes if node.op is Ops.LOAD}
    written = {nodes[node.src[0]].arg for node in nodes if node.op is Ops.STORE}
    buffers: list[BufferArgument] = []
    for node in nodes:
        if isinstance(node.arg, BufferArg) and node.dtype is not None:
            arg = node.arg
            length = nest.ast.reaches[arg.slot]
            alignment = alignments.get(arg.slot, node.dtype.itemsize)
            buffers.append(BufferArgument(arg.slot, node.dtype, arg in read, arg in written, length, alignment))
    variables = sorted((VariableArgument(v.name, v.min, v.max) for v in nest.ast.variables), key=lambda v: v.name)
    return (*sorted(buffers, key=lambda buffer: buffer.slot), *variables)


def _source(name: str, args: tuple[BufferArgument | VariableArgument, ...], context: Context, body: list[str]) -> str:
    parameters = []
    for arg in args:
        if isinstance(arg, VariableArgument):
            parameters.append(f"const int {arg.name}")
        else:
            const = "" if arg.written else "const "
            parameters.append(f"__global {const}{types.memory_type(arg.dtype)}* restrict p{arg.slot}")
    local = context.launch.local_size
    attribute = "" if local is None else f"__attribute__((reqd_work_group_size({local[0]}, {local[1]}, {local[2]}))) "
    functions = {"group": "get_group_id", "item": "get_local_id", "global": "get_global_id"}
    ids = [f"int {variable.name} = {functions[kind]}({dimension});" for variable, kind, dimension in context.launch.ids]
    lines = [*context.shared, *ids, *_looped(context, body)]
    text = (
        f"__kernel {attribute}void {name}({', '.join(parameters)}) {{\n"
        + "".join(f"  {line}\n" for line in lines)
        + "}\n"
    )
    return _extensions(context.nest) + memory.helpers(text) + text


def _looped(context: Context, body: list[str]) -> list[str]:
    """The statements inside of the loops over what other targets launch; as they are where there is a launch."""
    for variable, size in reversed(context.launch.loops):
        name = variable.name
        opening = f"for (int {name} = 0; {name} < {context.integers.expression(size)}; {name}++) {{"
        body = [opening, *(f"  {line}" for line in body), "}"]
    return body


def _extensions(nest: Nest) -> str:
    dtypes = {node.dtype for node in nest.ast.nodes}
    text = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n" if FLOAT16 in dtypes else ""
    return text + ("#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" if FLOAT64 in dtypes else "")
