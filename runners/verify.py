"""Whether a program's outputs are right: held against a yardstick over everything, and the reference in a sample.

Where an output lies further from a yardstick program's than rounding explains, or differs from it in what must be
equal, the reference works out that very element and decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from kernels import Ast, compare, expect, tolerance
from kernels.compare import count_compared
from kernels.dtypes import DType
from kernels.reference import Expected
from kernels.reference.concrete import ConcreteAst
from kernels.reference.formats import Array, to_held
from kernels.reference.positions import box_domain, locate
from kernels.tolerance import Tolerance, expected_of
from runners.api import Numerics, Verification
from runners.sample import sample_elements
from runners.workload import InputSet, Slot

#: So many elements that differ from a yardstick program's are worked out; where more do, the program is wrong.
MAX_DISPUTED = 65536
#: How many of them at once.
_DISPUTED_PIECE = 4096


@dataclass(frozen=True, slots=True)
class Standard:
    """What the outputs of one input set must be, by slot.

    whole: of the reference (then `sampled` is empty), or a yardstick program's outputs. exact: the unoptimised
    program's outputs, or others that every right program's must equal to the bit; None where they are not known.
    """

    inputs: InputSet
    whole: Mapping[int, Expected]
    sampled: Mapping[int, Expected]
    exact: Mapping[int, Array] | None


class Judge:
    """Holds outputs against the standards of a workload."""

    def __init__(self, ast: Ast, kernel: ConcreteAst) -> None:
        self._ast = ast
        self._kernel = kernel
        self._tolerances: Mapping[int, Tolerance] = tolerance(ast, kernel.variables)
        self._elements = sample_elements(kernel)

    # ---- making standards --------------------------------------------------------------------------------------------

    def by_reference(self, inputs: InputSet) -> Standard:
        """The reference over everything."""
        return Standard(inputs, expect(self._ast, inputs.inputs, self._kernel.variables), {}, None)

    def by_program(self, inputs: InputSet, outputs: Iterable[tuple[Slot, Array]], unoptimised: bool) -> Standard:
        """A yardstick program's outputs, not yet held against the reference themselves."""
        found = {slot.number: output for slot, output in outputs}
        dtypes = {number: self._kernel.slots[number].dtype for number in found}
        whole = {
            number: expected_of(number, dtypes[number], found[number], self._tolerances[number]) for number in found
        }
        sampled = expect(self._ast, inputs.inputs, self._kernel.variables, self._elements)
        one_right = all(each.rtol == each.atol == 0.0 and not each.discontinuous for each in self._tolerances.values())
        return Standard(inputs, whole, sampled, found if unoptimised or one_right else None)

    # ---- judging -----------------------------------------------------------------------------------------------------

    def complaint(self, standard: Standard, outputs: Iterable[tuple[Slot, Array]]) -> str | None:
        """What is wrong with a program's outputs; None where nothing is."""
        for slot, output in outputs:
            wrong = self._wrong(standard, slot, output)
            if wrong is not None:
                return f"{wrong} (inputs with extreme values)" if standard.inputs.kind == "extremes" else wrong
        return None

    def _wrong(self, standard: Standard, slot: Slot, output: Array) -> str | None:
        whole = standard.whole[slot.number]
        if not standard.sampled:
            mismatch = compare(whole, output, standard.inputs.before(slot))
            return None if mismatch is None else str(mismatch)
        mismatch = compare(standard.sampled[slot.number], output)
        return self._settled(standard, slot, output, differing(whole, output)) if mismatch is None else str(mismatch)

    def _settled(self, standard: Standard, slot: Slot, output: Array, disputed: Array) -> str | None:
        """What the reference says of the elements of a slot's buffer in which a program and the yardstick differ."""
        if disputed.size > MAX_DISPUTED:
            return (
                f"slot {slot.number}, {disputed.size} elements lie further from the yardstick's than rounding explains"
            )
        if not disputed.size:
            return None
        elements = self._elements_at(slot, disputed)
        if elements.min() < 0:
            place = disputed[int(elements.argmin())]
            return f"slot {slot.number}, element {place} was written, and no element of the kernel goes there"
        for start in range(0, elements.size, _DISPUTED_PIECE):
            part = {slot.number: elements[start : start + _DISPUTED_PIECE]}
            expected = expect(self._ast, standard.inputs.inputs, self._kernel.variables, part)[slot.number]
            mismatch = compare(expected, output)
            if mismatch is not None:
                return str(mismatch)
        return None

    def _elements_at(self, slot: Slot, positions: Array) -> Array:
        """The number of the element that is stored at each position of a slot's buffer; -1 where none is."""
        store = self._kernel.stores[slot.number]
        shape = self._kernel.shapes[store]
        domain = box_domain(tuple((0, size) for size in shape))
        location = locate(self._kernel.stacks[self._kernel.nodes[store].src[1]], domain)
        stored = np.broadcast_to(location.positions, (1, *shape)).reshape(-1)
        numbers = np.arange(stored.size)
        if location.valid is not None:
            valid = np.broadcast_to(location.valid, (1, *shape)).reshape(-1)
            stored, numbers = stored[valid], numbers[valid]
        elements = np.full(slot.elements, -1, np.int64)
        elements[stored] = numbers
        return elements[positions]

    # ---- what is reported --------------------------------------------------------------------------------------------

    def verification(self, yardstick: str, standard: Standard, exact: bool) -> Verification:
        """Of a program that is right, of the standard of normal inputs. `exact`: its bits are the unoptimised one's."""
        counts = [count_compared(expected) for expected in standard.whole.values()]
        elements = sum(counts) if all(counts) else 0
        sampled = sum(map(count_compared, standard.sampled.values())) if standard.sampled else elements
        return Verification(yardstick, elements, sampled, Numerics.BIT_EXACT if exact else Numerics.REORDERED)


def differing(whole: Expected, output: Array) -> Array:
    """Positions at which `output` is not a yardstick program's, give or take what is allowed; none for the NaN of both.

    Where a comparison of rounded values decides, everything that is not equal counts as different.
    """
    same = same_values(whole.dtype, whole.values, output)
    if whole.dtype.is_float and not same.all():
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.subtract(to_held(output, whole.dtype), to_held(whole.values, whole.dtype), dtype=np.float64)
            same |= np.abs(apart, out=apart) <= whole.errors
    found: Array = np.flatnonzero(~same)
    return found


def same_values(dtype: DType, first: Array, second: Array) -> Array:
    """Where both are one value: all NaN are, and 0.0 is -0.0."""
    one, other = to_held(first, dtype), to_held(second, dtype)
    equal: Array = one == other
    return equal | (np.isnan(one) & np.isnan(other)) if dtype.is_float else equal


def same_bits(dtype: DType, first: Array, second: Array) -> bool:
    """Whether all are equal to the bit, but for which NaN it is."""
    kind = f"u{dtype.itemsize}"
    equal: Array = first.view(kind) == second.view(kind)
    if dtype.is_float and not equal.all():
        equal = equal | (np.isnan(to_held(first, dtype)) & np.isnan(to_held(second, dtype)))
    return bool(equal.all())


def are_exact(standard: Standard, outputs: Iterable[tuple[Slot, Array]]) -> bool:
    """Whether outputs equal to the bit what the unoptimised program wrote; False where that is not known."""
    exact = standard.exact
    return exact is not None and all(same_bits(slot.dtype, exact[slot.number], output) for slot, output in outputs)
