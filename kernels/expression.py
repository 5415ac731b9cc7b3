"""What a kernel computes, as text: one line per store over the kernel's axes, in the manner of numpy.

    for i < 512, j < 512:
        out0[i, j] = sum(a1[i, k] * a2[k, j] for k < 512)

Parts that are used more than once, or that would make a line very long, get a name and the axes that they depend on.
`idiv` and `mod` truncate, as Python's `//` and `%` do not. a + b * -1 is shown as a - b, the opposite of a != b as ==.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from kernels.index import Atom, axes_in
from kernels.index_text import axis_names, dimensions, index_text, validity_text
from kernels.ir import BufferArg, Node, ReduceArg, VariableArg
from kernels.nest import Nest
from kernels.ops import ACCESSES, ELEMENTWISE, Ops

LINE_CHARACTERS = 100
#: A part of more characters than this gets a name of its own.
PART_CHARACTERS = 240


class Level(IntEnum):
    """How tightly the outermost operator of a text binds, the loosest first; the order is Python's."""

    NOT = 0
    COMPARISON = 1
    OR = 2
    XOR = 3
    AND = 4
    SHIFT = 5
    SUM = 6
    PRODUCT = 7
    SIGN = 8
    POWER = 9
    ATOM = 10


_INFIX = {
    Ops.CMPLT: ("<", Level.COMPARISON),
    Ops.CMPNE: ("!=", Level.COMPARISON),
    Ops.OR: ("|", Level.OR),
    Ops.XOR: ("^", Level.XOR),
    Ops.AND: ("&", Level.AND),
    Ops.SHL: ("<<", Level.SHIFT),
    Ops.SHR: (">>", Level.SHIFT),
    Ops.ADD: ("+", Level.SUM),
    Ops.SUB: ("-", Level.SUM),
    Ops.MUL: ("*", Level.PRODUCT),
    Ops.FDIV: ("/", Level.PRODUCT),
    Ops.POW: ("**", Level.POWER),
}
_REDUCTIONS = {Ops.ADD: "sum", Ops.MUL: "prod", Ops.MAX: "max"}


@dataclass(frozen=True, slots=True)
class BufferText:
    """A buffer as the expression calls it: its `name`, and the `sizes` of the dimensions that it is shown with."""

    name: str
    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Expression:
    """The lines of a kernel's expression, and its buffers by slot."""

    lines: tuple[str, ...]
    buffers: tuple[BufferText, ...]


def expression_of(nest: Nest) -> Expression:
    """The readable expression of a kernel as it is before any Opt."""
    writer = _Writer(nest)
    lines = [line for number in range(len(writer.nodes)) for line in writer.write(number)]
    loops = writer.loops(range(nest.first_reduce))
    if not loops:
        return Expression(tuple(part for line in lines for part in _wrapped(line, "")), tuple(writer.buffers))
    inside = [part for line in lines for part in _wrapped(line, "    ")]
    return Expression((*_wrapped(f"for {loops}:", ""), *inside), tuple(writer.buffers))


def _wrapped(line: str, indent: str) -> list[str]:
    return textwrap.wrap(
        line,
        LINE_CHARACTERS,
        initial_indent=indent,
        subsequent_indent=indent + "    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


class _Writer:
    """Writes the nodes in post-order. texts, depends: per node its text with its level, and the axes it depends on."""

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.nodes = nest.ast.nodes
        self.taken = {variable.name for variable in nest.ast.variables}
        self.names: dict[Atom, str] = axis_names(nest.axes, self.taken)
        self.uses = Counter(source for node in self.nodes for source in node.src)
        self.stored = {node.src[2] for node in self.nodes if node.op is Ops.STORE}
        self.texts: dict[int, tuple[str, Level]] = {}
        self.depends: dict[int, frozenset[int]] = {}
        self.parts: set[int] = set()
        self.locations = {access.node: access.row.location for access in nest.accesses}
        self.buffers: list[BufferText] = []
        self.elements: dict[int, str] = {}  # of each LOAD and STORE, as `a1[i, k]`
        self._name_buffers()

    def loops(self, axes: Iterable[int]) -> str:
        """`i < 512, j < 512` for these axes."""
        found = [self.nest.axes[axis] for axis in axes]
        return ", ".join(f"{self.names[axis]} < {index_text(axis.size, self.names)}" for axis in found)

    def write(self, number: int) -> list[str]:
        """The lines that node `number` adds: a store's, and that of a part that gets a name."""
        node = self.nodes[number]
        if node.op is Ops.STORE:
            return [self._store_line(number)]
        if node.op not in ACCESSES | ELEMENTWISE | {Ops.REDUCE_AXIS}:
            return []
        self.texts[number] = text, _ = self._text(number)
        self.depends[number] = depends = self._dependence(number)
        if not self._is_part(number, text):
            return []
        subscripts = ", ".join(self.names[self.nest.axes[axis]] for axis in sorted(depends))
        name = self._free(f"t{len(self.parts)}") + (f"[{subscripts}]" if subscripts else "")
        self.parts.add(number)
        self.texts[number] = name, Level.ATOM
        return [f"{name} = {text}"]

    def _name_buffers(self) -> None:
        """Name each slot's buffer, and find the dimensions that all accesses to it allow."""
        stored = {node.src[0] for node in self.nodes if node.op is Ops.STORE}
        buffers = [(node.arg, n) for n, node in enumerate(self.nodes) if isinstance(node.arg, BufferArg)]
        for arg, number in sorted(buffers, key=lambda pair: pair[0].slot):
            name = self._free(f"{'out' if number in stored else 'a'}{arg.slot}")
            accesses = [access for access in self.locations if number in self.nodes[access].src]
            seen = dimensions([self.locations[access] for access in accesses], arg.size)
            self.buffers.append(BufferText(name, seen.sizes))
            for access, subscripts in zip(accesses, seen.subscripts, strict=True):
                self.elements[access] = f"{name}[{', '.join(index_text(s, self.names) for s in subscripts)}]"

    def _free(self, name: str) -> str:
        return name + "_" if name in self.taken else name

    def _store_line(self, number: int) -> str:
        value = self.nodes[number].src[2]
        line = f"{self.elements[number]} = {self.texts[value][0]}"
        validity = self.locations[number].validity
        always = validity.possible and not validity.conditions
        return line if always else f"if {validity_text(validity, self.names)}: {line}"

    def _dependence(self, number: int) -> frozenset[int]:
        location = self.locations.get(number)
        if location is not None:
            return frozenset(axes_in(location.position) | location.validity.axes)
        below = frozenset[int]().union(*(self.depends[source] for source in self.nodes[number].src))
        return below.difference(self._reduced(number)) if self.nodes[number].op is Ops.REDUCE_AXIS else below

    def _reduced(self, number: int) -> tuple[int, ...]:
        return self.nest.reduced_axes[self.nest.reduces.index(number)]

    def _is_part(self, number: int, text: str) -> bool:
        """Whether a node gets a name: it is used again and is not just `a1[i, k]` or a number, or its text is long."""
        if self.uses[number] > 1:
            return self.nodes[number].op not in ACCESSES or " if " in text
        return len(text) > PART_CHARACTERS and number not in self.stored

    # ---- the text of one node ----

    def _at(self, number: int, level: int) -> str:
        """The text of a source, in parentheses where its operator binds less tightly than `level`."""
        text, own = self.texts[number]
        return text if own >= level else f"({text})"

    def _text(self, number: int) -> tuple[str, Level]:
        node = self.nodes[number]
        if node.op in ACCESSES:
            return self._access_text(number, node)
        sources = [self.texts[source][0] for source in node.src]
        match node.op:
            case Ops.REDUCE_AXIS:
                assert isinstance(node.arg, ReduceArg)
                loops = self.loops(self._reduced(number))
                return f"{_REDUCTIONS[node.arg.op]}({sources[0]}{f' for {loops}' if loops else ''})", Level.ATOM
            case Ops.CAST:
                return f"{node.dtype}({sources[0]})", Level.ATOM
            case Ops.BITCAST:
                return f"bitcast({sources[0]}, {node.dtype})", Level.ATOM
            case Ops.NEG:
                return f"-{self._at(node.src[0], Level.SIGN)}", Level.SIGN
            case Ops.RECIP:
                return f"1 / {self._at(node.src[0], Level.SIGN)}", Level.PRODUCT
        if node.op in _INFIX:
            return self._idiom_text(node) or self._infix_text(node)
        return f"{node.op.lower()}({', '.join(sources)})", Level.ATOM

    def _access_text(self, number: int, node: Node) -> tuple[str, Level]:
        validity = self.locations[number].validity
        condition = validity_text(validity, self.names)
        if node.op is Ops.VALID:
            return condition, Level.NOT if " " in condition else Level.ATOM
        if node.op is Ops.LOAD:
            if not validity.possible:
                return "0", Level.ATOM
            element = self.elements[number]
            return (f"({element} if {condition} else 0)" if validity.conditions else element), Level.ATOM
        if isinstance(node.arg, VariableArg):
            return node.arg.name, Level.ATOM
        text = str(node.arg)
        return text, Level.SIGN if text.startswith("-") else Level.ATOM

    def _infix_text(self, node: Node) -> tuple[str, Level]:
        sign, level = _INFIX[node.op]
        left, right = node.src
        chains = level not in (
            Level.COMPARISON,
            Level.POWER,
        )  # a < b < c means something else, ** groups from the right
        return f"{self._at(left, level if chains else level + 1)} {sign} {self._at(right, level + 1)}", level

    def _idiom_text(self, node: Node) -> tuple[str, Level] | None:
        """The shorter form of what is written with other operations: a - b, -b, a == b, not a."""
        left, right = node.src
        if node.op is Ops.ADD:
            if self.nodes[right].op is Ops.CONST and self.texts[right][0].startswith("-"):
                return f"{self._at(left, Level.SUM)} - {self.texts[right][0][1:]}", Level.SUM
            if self._is_inner(right, Ops.MUL) and self._is_minus_one(self.nodes[right].src[1]):
                subtracted = self._at(self.nodes[right].src[0], Level.PRODUCT)
                return f"{self._at(left, Level.SUM)} - {subtracted}", Level.SUM
        if node.op is Ops.MUL and self._is_minus_one(right):
            return f"-{self._at(left, Level.SIGN)}", Level.SIGN
        if node.op is Ops.CMPNE and self.nodes[right].arg is True:
            if self._is_inner(left, Ops.CMPNE):
                first, second = (self._at(source, Level.COMPARISON + 1) for source in self.nodes[left].src)
                return f"{first} == {second}", Level.COMPARISON
            return f"not {self._at(left, Level.COMPARISON)}", Level.NOT
        return None

    def _is_inner(self, number: int, op: Ops) -> bool:
        """True for an `op` that only one node uses, and that has no name."""
        return self.nodes[number].op is op and self.uses[number] == 1 and number not in self.parts

    def _is_minus_one(self, number: int) -> bool:
        return self.nodes[number].op is Ops.CONST and self.nodes[number].arg == -1
