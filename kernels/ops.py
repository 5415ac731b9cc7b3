"""The operations of an AST's nodes, and the groups that rules speak of."""

from enum import StrEnum


class Ops(StrEnum):
    """What a node does; the value is the wire form's name."""

    SINK = "SINK"
    DEFINE_GLOBAL = "DEFINE_GLOBAL"
    DEFINE_VAR = "DEFINE_VAR"
    VIEW = "VIEW"
    LOAD = "LOAD"
    STORE = "STORE"
    CONST = "CONST"
    VALID = "VALID"
    REDUCE_AXIS = "REDUCE_AXIS"
    CAST = "CAST"
    BITCAST = "BITCAST"
    EXP2 = "EXP2"
    LOG2 = "LOG2"
    SIN = "SIN"
    SQRT = "SQRT"
    RECIP = "RECIP"
    NEG = "NEG"
    ADD = "ADD"
    SUB = "SUB"
    MUL = "MUL"
    IDIV = "IDIV"
    FDIV = "FDIV"
    MOD = "MOD"
    MAX = "MAX"
    CMPLT = "CMPLT"
    CMPNE = "CMPNE"
    XOR = "XOR"
    OR = "OR"
    AND = "AND"
    SHL = "SHL"
    SHR = "SHR"
    POW = "POW"
    THREEFRY = "THREEFRY"
    WHERE = "WHERE"
    MULACC = "MULACC"


UNARY = frozenset({Ops.EXP2, Ops.LOG2, Ops.SIN, Ops.SQRT, Ops.RECIP, Ops.NEG})
BINARY = frozenset(
    {
        Ops.ADD, Ops.SUB, Ops.MUL, Ops.IDIV, Ops.FDIV, Ops.MOD, Ops.MAX, Ops.CMPLT, Ops.CMPNE, Ops.XOR, Ops.OR,
        Ops.AND, Ops.SHL, Ops.SHR, Ops.POW, Ops.THREEFRY,
    }
)  # fmt: skip
TERNARY = frozenset({Ops.WHERE, Ops.MULACC})
CONVERSIONS = frozenset({Ops.CAST, Ops.BITCAST})
ELEMENTWISE = UNARY | BINARY | TERNARY | CONVERSIONS
COMPARISONS = frozenset({Ops.CMPLT, Ops.CMPNE})

#: Nodes with a view of their own: the kernel's accesses.
ACCESSES = frozenset({Ops.LOAD, Ops.STORE, Ops.VALID, Ops.CONST, Ops.DEFINE_VAR})
#: The reductions that a REDUCE_AXIS can name.
REDUCTIONS = frozenset({Ops.ADD, Ops.MUL, Ops.MAX})
