"""Works out regions of a kernel's graph, block by block.

    STORE --region of its value--> for each block of outputs: nodes in order, each an array that broadcasts
                reduce --region of its source--> for each box of the reduced axes: the same, into a collector

A value has size 1 along the axes it does not depend on, so that a broadcast is never materialised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import NamedTuple

import numpy as np

from kernels.ir import VariableArg
from kernels.ops import Ops
from kernels.reference.bounds import Error, Step, operation_error
from kernels.reference.concrete import ConcreteAst
from kernels.reference.contraction import add_products, is_matrix_product
from kernels.reference.formats import Array, held_type, rounded, to_held
from kernels.reference.operations import apply_operation
from kernels.reference.positions import Box, Domain, Location, boxes, locate, with_sides
from kernels.reference.reductions import Collector, Sum, collector
from kernels.reference.regions import BLOCK, CONTRACTION_BLOCK, Region, is_boundary, region_of, summed_product

#: The results of reduces of no more positions than this are kept for the next block that asks for the same ones.
_KEPT_POSITIONS = 1 << 12


class Valued(NamedTuple):
    """A value in held form with its error; both broadcast to the domain that they were worked out for."""

    value: Array
    error: Error


class Engine:
    """Values of one kernel with one set of buffers. Where `bounded` is False no errors are worked out."""

    def __init__(self, kernel: ConcreteAst, buffers: Mapping[int, Array], bounded: bool) -> None:
        self.kernel = kernel
        self.buffers = buffers
        self.bounded = bounded
        self._regions: dict[int, Region] = {}
        self._kept: dict[int, tuple[Domain, Valued]] = {}

    def region(self, root: int) -> Region:
        """The region of `root`, made once."""
        found = self._regions.get(root)
        if found is None:
            found = self._regions[root] = region_of(self.kernel, root)
        return found

    def evaluate(self, root: int, domain: Domain) -> Valued:
        """The value of node `root` on `domain`."""
        region = self.region(root)
        left = dict(region.uses)
        values: dict[int, Valued] = {}
        places: dict[int, Location] = {}
        for number in region.order:
            if self.kernel.nodes[number].op is Ops.VIEW:
                places[number] = locate(self.kernel.stacks[number], domain)
                continue
            values[number] = self._node(number, domain, values, places)
            for source in () if is_boundary(self.kernel, number) else self.kernel.nodes[number].src:
                if source in left:
                    left[source] -= 1
                    if not left[source]:
                        values.pop(source, None)
                        places.pop(source, None)
        return values[root]

    def _node(
        self, number: int, domain: Domain, values: Mapping[int, Valued], places: Mapping[int, Location]
    ) -> Valued:
        node = self.kernel.nodes[number]
        match node.op:
            case Ops.LOAD:
                return Valued(self._load(number, places[node.src[1]]), None)
            case Ops.CONST | Ops.DEFINE_VAR | Ops.VALID:
                return Valued(self._made(number, places[node.src[0]]), None)
            case Ops.REDUCE_AXIS:
                return self._reduce(number, domain, values)
        return self._elementwise(number, [values[source] for source in node.src])

    def _elementwise(self, number: int, operands: list[Valued]) -> Valued:
        node = self.kernel.nodes[number]
        assert node.dtype is not None
        arrays = [operand.value for operand in operands]
        dtypes = [dtype for source in node.src if (dtype := self.kernel.nodes[source].dtype) is not None]
        result = apply_operation(node.op, node.dtype, arrays, dtypes)
        if not self.bounded:
            return Valued(result, None)
        errors = [operand.error for operand in operands]
        same = len(set(node.src)) == 1
        return Valued(result, operation_error(Step(node.op, node.dtype, arrays, errors, dtypes, result, same)))

    def _load(self, number: int, location: Location) -> Array:
        slot = self.kernel.slot(number)
        dtype = self.kernel.slots[slot].dtype
        positions, valid = location
        if valid is not None and not valid.any():  # and then the buffer may be empty
            return np.zeros(valid.shape, held_type(dtype))
        loaded = to_held(self.buffers[slot][positions], dtype)
        return loaded if valid is None else np.where(valid, loaded, np.zeros(1, held_type(dtype)))

    def _made(self, number: int, location: Location) -> Array:
        """A CONST, VALID or DEFINE_VAR."""
        node = self.kernel.nodes[number]
        one = (1,) * location.positions.ndim
        if node.op is Ops.VALID:
            return np.ones(one, bool) if location.valid is None else location.valid
        assert node.dtype is not None
        if isinstance(node.arg, VariableArg):
            return np.full(one, self.kernel.variables[node.arg.name], np.int32)
        assert isinstance(node.arg, bool | int | float)
        if node.dtype.is_float:
            return rounded(np.full(one, node.arg, np.float64), node.dtype)
        if node.dtype.is_int:
            # senders write -1 for an unsigned dtype's greatest: it wraps
            return np.full(one, int(node.arg) % (1 << 64), np.uint64).astype(held_type(node.dtype))
        return np.full(one, node.arg, held_type(node.dtype))

    # ---- reduces -----------------------------------------------------------------------------------------------------

    def _reduce(self, number: int, domain: Domain, values: Mapping[int, Valued]) -> Valued:
        if not is_boundary(self.kernel, number):
            into = self._collector(number)
            into.add(*values[self.kernel.nodes[number].src[0]], over=())
            return self._collected(into)
        kept_axes = self.kernel.depends[number]
        zero = np.zeros((1,) * domain[0].ndim, np.int64)
        outer = tuple(side if axis in kept_axes else zero for axis, side in enumerate(domain))
        kept = self._kept.get(number)
        if kept is not None and all(kept[0][axis] is outer[axis] for axis in kept_axes):
            return kept[1]
        product = summed_product(self.kernel, number)
        result = self._gather(number, outer) if product is None else self._sum_products(number, product, outer)
        if result.value.size <= _KEPT_POSITIONS:
            self._kept[number] = outer, result
        return result

    def _collector(self, number: int) -> Collector:
        node, reduction = self.kernel.nodes[number], self.kernel.reduction(number)
        assert node.dtype is not None
        repeats = self.kernel.repeats(number)
        length = repeats * prod(self.kernel.sizes[axis] for axis in self.kernel.live_axes(number))
        return collector(reduction.op, node.dtype, length, repeats, self.bounded)

    def _collected(self, into: Collector) -> Valued:
        value, error = into.result()
        return Valued(value, error if self.bounded else None)

    def _gather(self, number: int, outer: Domain) -> Valued:
        """A reduce, its source worked out box by box."""
        source = self.kernel.nodes[number].src[0]
        block = self.region(source).block
        into = self._collector(number)
        over = tuple(axis + 1 for axis in self.kernel.live_axes(number))
        for domain in self._parts(number, outer, lambda part: _count(part, self.kernel.depends[source]) <= block):
            value, error = self.evaluate(source, domain)
            into.add(_along(value, over, domain), error, over)
        return self._collected(into)

    def _sum_products(self, number: int, product: int, outer: Domain) -> Valued:
        """A sum of products, the two factors worked out box by box, each on the axes that it depends on alone."""
        first, second = self.kernel.nodes[product].src
        axes = (self.kernel.depends[first], self.kernel.depends[second])
        dtype = self.kernel.nodes[product].dtype
        into = self._collector(number)
        assert isinstance(into, Sum) and dtype is not None
        over = tuple(axis + 1 for axis in self.kernel.live_axes(number))

        def is_small(part: Domain) -> bool:
            shapes = [_shape(part, used) for used in axes]
            if is_matrix_product(*shapes):
                return max(map(prod, shapes)) <= CONTRACTION_BLOCK
            return prod(np.broadcast_shapes(*shapes)) <= BLOCK

        for domain in self._parts(number, outer, is_small):
            left = self.evaluate(first, domain)
            right = left if second == first else self.evaluate(second, domain)
            shared = tuple(dimension for dimension in over if right.value.shape[dimension] == 1)
            factors = (_along(left.value, shared, domain), right.value)
            add_products(into, dtype, factors, (left.error, right.error), over)
        return self._collected(into)

    def _parts(self, number: int, outer: Domain, is_small: Callable[[Domain], bool]) -> Iterator[Domain]:
        """`outer` with all positions of the reduced axes that matter, in parts as large as `is_small` allows."""
        live = self.kernel.live_axes(number)
        sizes = [self.kernel.sizes[axis] for axis in live]

        def part(box: Box) -> Domain:
            return with_sides(outer, dict(zip(live, box, strict=True)))

        limit = prod(sizes)
        while limit > 1 and not is_small(part(next(boxes(sizes, limit)))):
            limit = (limit + 1) // 2
        return map(part, boxes(sizes, limit))


def _along(value: Array, dimensions: tuple[int, ...], domain: Domain) -> Array:
    """`value` as large as `domain` along some dimensions: a mask, say, may be the same all along one it depends on."""
    shape = list(value.shape)
    for dimension in dimensions:
        shape[dimension] = domain[dimension - 1].shape[dimension]
    return np.broadcast_to(value, shape)


def _shape(domain: Domain, axes: frozenset[int]) -> tuple[int, ...]:
    """The shape that a value on `domain` has if it depends on `axes`."""
    return np.broadcast_shapes((1,) * domain[0].ndim, *(domain[axis].shape for axis in axes))


def _count(domain: Domain, axes: frozenset[int]) -> int:
    return prod(_shape(domain, axes))
