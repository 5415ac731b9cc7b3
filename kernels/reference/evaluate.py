"""The NumPy reference: what a kernel's outputs must be, whole or for chosen elements only.

`evaluate` gives values. `expect` gives them with what a comparison needs: where each goes, whether it is stored at all,
and how far from it a right program may end. Both take one array per slot in storage form (formats.py): of the dtype
itself, bfloat16 as uint16 bit patterns; of more dimensions than one they count as flat, row-major. They are only read.
Slots that are not loaded may be left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from kernels.dtypes import DType
from kernels.ir import Ast
from kernels.ops import Ops
from kernels.reference.concrete import ConcreteAst, concrete_ast
from kernels.reference.engine import Engine, Valued
from kernels.reference.errors import EvaluationError
from kernels.reference.formats import Array, storage_type, to_storage
from kernels.reference.positions import Domain, Location, box_domain, boxes, locate, point_domain
from kernels.reference.regions import store_block

Buffers: TypeAlias = Mapping[int, Array] | Sequence[Array | None]
#: Flat row-major element numbers in the shape of the STORE's outermost view: for each slot, or for all stored slots.
Outputs: TypeAlias = Mapping[int, Array | Sequence[int]] | Array | Sequence[int]


@dataclass(frozen=True, slots=True)
class Expected:
    """What one stored slot must hold. All arrays have one entry per element that was asked for.

    `positions` says which element of the buffer each is; None means entry i is element i, and all elements are there.
    `values` are in storage form. `written` is False where a mask keeps the store from being done: of a whole buffer,
    `values` then has what was there before (0 where nothing was given). `errors` are float64 for chosen elements and
    float32 for a whole buffer: how far a right program's value may lie from `values`, 0 where it must be equal, inf
    where it is not compared.
    """

    slot: int
    dtype: DType
    positions: Array | None
    written: Array
    values: Array
    errors: Array


def evaluate(
    ast: Ast, buffers: Buffers, variables: Mapping[str, int] | None = None, outputs: Outputs | None = None
) -> dict[int, Array]:
    """The values of every stored slot, in storage form.

    Without `outputs`, whole buffers: as long as the one given for the slot, else as declared, and as given (else 0)
    where nothing is stored. With `outputs`, the values of those elements in the order asked for, at a cost that goes
    with their number; the slots that `outputs` does not name are left out. Raises EvaluationError.
    """
    return {slot: found.values for slot, found in _evaluated(ast, buffers, variables, outputs, False).items()}


def expect(
    ast: Ast, buffers: Buffers, variables: Mapping[str, int] | None = None, outputs: Outputs | None = None
) -> dict[int, Expected]:
    """As `evaluate`, with positions and errors: what `compare` takes. Costs about twice as much."""
    return _evaluated(ast, buffers, variables, outputs, True)


def _evaluated(
    ast: Ast, buffers: Buffers, variables: Mapping[str, int] | None, outputs: Outputs | None, bounded: bool
) -> dict[int, Expected]:
    kernel = concrete_ast(ast, variables or {})
    given = _checked_buffers(kernel, buffers)
    chosen = None if outputs is None else _checked_outputs(kernel, outputs)
    found = {}
    with np.errstate(all="ignore"):
        engine = Engine(kernel, given, bounded)
        for slot in sorted(kernel.stores):
            if chosen is None:
                found[slot] = _whole(engine, slot)
            elif slot in chosen:
                found[slot] = _chosen(engine, slot, chosen[slot])
    return found


# ---- what is given ---------------------------------------------------------------------------------------------------


def _checked_buffers(kernel: ConcreteAst, buffers: Buffers) -> dict[int, Array]:
    given: dict[int, Array | None] = dict(buffers.items() if isinstance(buffers, Mapping) else enumerate(buffers))
    unknown = sorted(given.keys() - set(range(len(kernel.slots))))
    if unknown:
        raise EvaluationError(f"the kernel has no slot {unknown[0]}")
    checked = {}
    loaded = {kernel.slot(number) for number, node in enumerate(kernel.nodes) if node.op is Ops.LOAD}
    for slot, facts in enumerate(kernel.slots):
        buffer = given.get(slot)
        if buffer is None:
            if slot in loaded:
                raise EvaluationError(f"slot {slot} is loaded, and no buffer is given for it")
            continue
        expected = storage_type(facts.dtype)
        if getattr(buffer, "dtype", None) != expected:
            kind = getattr(buffer, "dtype", type(buffer).__name__)
            raise EvaluationError(f"slot {slot} takes an array of {expected}, not {kind}")
        if buffer.size < facts.reach:
            raise EvaluationError(f"slot {slot} has {buffer.size} elements, and {facts.reach} are reached")
        checked[slot] = buffer.reshape(-1)
    return checked


def _checked_outputs(kernel: ConcreteAst, outputs: Outputs) -> dict[int, Array]:
    by_slot = outputs if isinstance(outputs, Mapping) else dict.fromkeys(kernel.stores, outputs)
    chosen = {}
    for slot, numbers in by_slot.items():
        if slot not in kernel.stores:
            raise EvaluationError(f"slot {slot} is not stored")
        elements = int(np.prod(kernel.shapes[kernel.stores[slot]], dtype=np.int64))
        flat = np.asarray(numbers).reshape(-1)
        if flat.size and (flat.dtype.kind not in "iu" or flat.min() < 0 or flat.max() >= elements):
            raise EvaluationError(f"the outputs of slot {slot} are element numbers from 0 to {elements - 1}")
        chosen[slot] = flat.astype(np.int64)
    return chosen


# ---- what is found ---------------------------------------------------------------------------------------------------


def _whole(engine: Engine, slot: int) -> Expected:
    facts = engine.kernel.slots[slot]
    before = engine.buffers.get(slot)
    length = max(facts.declared, facts.reach) if before is None else before.size
    values = np.zeros(length, storage_type(facts.dtype)) if before is None else before.copy()
    written = np.zeros(length, bool)
    errors = np.zeros(length if engine.bounded else 0, np.float32)
    shape = engine.kernel.shapes[engine.kernel.stores[slot]]
    for box in boxes(shape, _block(engine, slot, points=False)):
        location, valued = _stored(
            engine, slot, box_domain(box), slice(1, None), tuple(end - start for start, end in box)
        )
        keep = slice(None) if location.valid is None else location.valid
        positions = location.positions[keep]
        values[positions] = valued.value[keep]
        written[positions] = True
        if valued.error is not None:  # rounded up
            errors[positions] = valued.error[keep] * (1.0 + 2.0**-20)
    return Expected(slot, facts.dtype, None, written, values, errors)


def _chosen(engine: Engine, slot: int, flat: Array) -> Expected:
    dtype = engine.kernel.slots[slot].dtype
    shape = engine.kernel.shapes[engine.kernel.stores[slot]]
    found = Expected(
        slot,
        dtype,
        np.zeros(flat.size, np.int64),
        np.ones(flat.size, bool),
        np.zeros(flat.size, storage_type(dtype)),
        np.zeros(flat.size),
    )
    assert found.positions is not None
    for part in _slices(flat.size, _block(engine, slot, points=True)):
        location, valued = _stored(engine, slot, point_domain(flat[part], shape), slice(0, 1), (flat[part].size,))
        found.positions[part] = location.positions
        found.values[part] = valued.value
        if location.valid is not None:
            found.written[part] = location.valid
        if valued.error is not None:
            found.errors[part] = valued.error
    return found


def _slices(count: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


def _block(engine: Engine, slot: int, points: bool) -> int:
    kernel = engine.kernel
    return store_block(kernel, engine.region(kernel.nodes[kernel.stores[slot]].src[2]), points)


def _stored(engine: Engine, slot: int, domain: Domain, kept: slice, shape: tuple[int, ...]) -> tuple[Location, Valued]:
    """Where the elements of `domain` are stored, and their values in storage form: arrays of `shape`.

    `kept` are the domain's dimensions that `shape` has; the others have size 1.
    """
    _, view, value = engine.kernel.nodes[engine.kernel.stores[slot]].src
    positions, valid = locate(engine.kernel.stacks[view], domain)
    found = engine.evaluate(value, domain)
    stored = to_storage(found.value, engine.kernel.slots[slot].dtype)

    def spread(values: Array) -> Array:
        return np.broadcast_to(values.reshape(values.shape[kept]), shape)

    return (
        Location(spread(positions), None if valid is None else spread(valid)),
        Valued(spread(stored), None if found.error is None else spread(found.error)),
    )
