"""What a kernel needs of its inputs, so that its outputs are numbers and a comparison of them says something.

One walk from the stores down to the loads carries what the operations above ask for: a sign that keeps logarithms,
roots and divisions defined, a divisor that is not 0, a shift within the width, an index that is in range, and how long
the sums and products are that a value goes into.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from math import prod

from kernels.dtypes import DType
from kernels.ops import COMPARISONS, Ops
from kernels.reference.concrete import ConcreteAst


class Role(Enum):
    """What an input's values are for; of two roles the later one here decides."""

    NUMBER = 0  # arithmetic
    BITS = 1  # any pattern of bits will do
    FLOAT_BITS = 2  # the bits of a float
    INDEX = 3  # compared with positions
    SHIFT = 4  # the second operand of a shift
    DIVISOR = 5  # the second operand of IDIV or MOD


@dataclass(frozen=True, slots=True)
class Need:
    """What the uses of a value ask of it.

    `sign` is 1 or -1 where it must be positive or negative, else 0; `small` where both are asked, so that it may be
    subtracted from what is positive and not small. `bound` belongs to the role: of INDEX how many
    positions there are, of SHIFT the width. `pattern` is the float whose bits FLOAT_BITS are. `summed` and `multiplied`
    are the lengths of the sums and products that the value goes into.
    """

    sign: int = 0
    role: Role = Role.NUMBER
    bound: int = 0
    pattern: DType | None = None
    summed: int = 1
    multiplied: int = 1
    small: bool = False

    def joined(self, other: Need) -> Need:
        """What both ask; where they cannot both be had, a positive sign and the later role win."""
        chosen = self if self.role.value >= other.role.value else other
        return Need(
            max(self.sign, other.sign) or min(self.sign, other.sign),
            chosen.role,
            max(need.bound for need in (self, other) if need.role is chosen.role),
            chosen.pattern,
            max(self.summed, other.summed),
            max(self.multiplied, other.multiplied),
            self.small or other.small or self.sign * other.sign < 0,
        )


#: Operations below which the value may have any sign and role; what they give does not ask for more.
_OPAQUE = frozenset({Ops.EXP2, Ops.SIN, Ops.BITCAST, Ops.THREEFRY, Ops.XOR, Ops.OR, Ops.AND, Ops.SHL, Ops.SHR})
_BIT_OPERATIONS = frozenset({Ops.XOR, Ops.OR, Ops.AND, Ops.THREEFRY})


def input_needs(kernel: ConcreteAst) -> dict[int, Need]:
    """What is asked of every loaded slot."""
    needs: dict[int, Need] = {}
    slots: dict[int, Need] = {}
    for number in range(len(kernel.nodes) - 1, -1, -1):
        node = kernel.nodes[number]
        need = needs.get(number, Need())
        if node.op is Ops.LOAD:
            slot = kernel.slot(number)
            slots[slot] = need.joined(slots[slot]) if slot in slots else need
            continue
        for place, source in enumerate(node.src):
            asked = _asked(kernel, number, place, need)
            needs[source] = asked.joined(needs[source]) if source in needs else asked
    return slots


def _asked(kernel: ConcreteAst, number: int, place: int, need: Need) -> Need:
    """What node `number`, of which `need` is asked, asks of its operand `place`."""
    node = kernel.nodes[number]
    lengths = Need(summed=need.summed, multiplied=need.multiplied)
    if node.op is Ops.REDUCE_AXIS:
        return _asked_by_reduce(kernel, number, need)
    if node.op in COMPARISONS:
        return _asked_by_comparison(kernel, number, place)
    if node.op in _OPAQUE:
        return _asked_by_opaque(kernel, number, place, lengths)
    match node.op:
        case Ops.LOG2 | Ops.SQRT:
            return replace(lengths, sign=1)
        case Ops.RECIP:
            return replace(lengths, sign=need.sign or 1)
        case Ops.NEG:
            return replace(need, sign=-need.sign)
        case Ops.SUB:
            return replace(need, sign=-need.sign if place else need.sign)
        case Ops.POW:
            return lengths if place else replace(lengths, sign=1)
        case Ops.FDIV:
            return replace(lengths, sign=1) if place else need
        case Ops.IDIV | Ops.MOD:
            return replace(lengths, sign=1, role=Role.DIVISOR) if place else need
        case Ops.WHERE if place == 0:
            return Need()
        case Ops.MUL | Ops.MULACC if place < 2:
            return replace(need, sign=_factor_sign(kernel, number, place, need.sign))
        case Ops.CAST if node.dtype is not None and node.dtype.is_int and node.dtype.min == 0:
            return replace(need, sign=need.sign or 1)  # a negative float is out of an unsigned integer's range
    return need


def _factor_sign(kernel: ConcreteAst, number: int, place: int, sign: int) -> int:
    """The sign that a factor needs: the other's is that of a constant, or else the first has the product's sign."""
    arg = kernel.nodes[kernel.nodes[number].src[1 - place]].arg
    if isinstance(arg, int | float):
        return -sign if arg < 0 else sign
    return sign if place == 0 else abs(sign)


def _asked_by_reduce(kernel: ConcreteAst, number: int, need: Need) -> Need:
    source = kernel.nodes[number].src[0]
    reduction = kernel.reduction(number)
    length = prod(kernel.shapes[source][axis] for axis in reduction.axes)
    if reduction.op is Ops.ADD:
        return replace(need, summed=need.summed * length)
    return replace(need, multiplied=need.multiplied * length) if reduction.op is Ops.MUL else need


def _asked_by_opaque(kernel: ConcreteAst, number: int, place: int, lengths: Need) -> Need:
    node = kernel.nodes[number]
    assert node.dtype is not None
    if node.op in (Ops.SHL, Ops.SHR) and place == 1:
        return replace(lengths, role=Role.SHIFT, bound=node.dtype.bits)
    if node.op in _BIT_OPERATIONS or node.op in (Ops.SHL, Ops.SHR):
        return replace(lengths, role=Role.BITS)
    source = kernel.nodes[node.src[0]].dtype
    if node.op is Ops.BITCAST and node.dtype.is_float and source is not None and not source.is_float:
        return replace(lengths, role=Role.FLOAT_BITS, pattern=node.dtype)
    return lengths


def _asked_by_comparison(kernel: ConcreteAst, number: int, place: int) -> Need:
    """An integer that is compared with what runs along an axis is an index into that axis."""
    node = kernel.nodes[number]
    own, other = node.src[place], node.src[1 - place]
    dtype = kernel.nodes[own].dtype
    if dtype is None or not dtype.is_int:
        return Need()
    arg = kernel.nodes[other].arg
    if isinstance(arg, int):
        return Need(role=Role.INDEX, bound=max(2 * abs(arg), 1))
    along = kernel.depends[other] - kernel.depends[own]
    if not along:
        return Need()
    return Need(role=Role.INDEX, bound=prod(kernel.sizes[axis] for axis in along))
