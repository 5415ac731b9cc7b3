"""`Kernel`: an AST on its way to a program for one target. What users and the search engine hold."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernels import apply, colours, heuristic, tensor_core_search
from kernels.heuristic import DEFAULT_SETTINGS, HeuristicSettings
from kernels.index import Index, substitute
from kernels.ir import Ast
from kernels.lowering.lower import lower
from kernels.nest import Nest, build_nest
from kernels.ops import Ops
from kernels.opt import Opt
from kernels.program import Program, with_names
from kernels.renaming import canonical_names, renamed_ast, renaming
from kernels.state import KernelState
from kernels.target import Target


class Kernel:
    """The axes of `ast` as Opts shape them for `target`.

    Behaves as tinygrad 0.10.2's Kernel: the same Opts are legal, and the axes and colours are the same after each.
    A kernel holds one immutable state, which `apply_opt` replaces; `copy` shares all of it.
    """

    __slots__ = ("nest", "state", "target")

    def __init__(self, ast: Ast, target: Target) -> None:
        self.nest: Nest = build_nest(ast)
        self.target = target
        nest = self.nest
        n_global, n_axes = nest.first_reduce, len(nest.sizes)
        ids = tuple(range(n_axes))
        self.state = KernelState(
            nest.sizes, ids, n_global, n_global, n_global, n_axes, (), None, n_axes, False, None, ()
        )

    def copy(self) -> Kernel:
        """An independent kernel with the same Opts applied."""
        other = _new(Kernel)
        other.nest = self.nest
        other.target = self.target
        other.state = self.state
        return other

    def apply_opt(self, opt: Opt) -> None:
        """Apply `opt`, or raise KernelOptError with the reason and leave the kernel as it was."""
        self.state = _apply(self.state, opt, self.nest, self.target)

    @property
    def ast(self) -> Ast:
        """The AST that the kernel was made of."""
        return self.nest.ast

    @property
    def applied_opts(self) -> tuple[Opt, ...]:
        """The Opts applied so far, as they were given."""
        return self.state.opts

    @property
    def full_shape(self) -> tuple[Index, ...]:
        """The sizes of all axes: global, local, group, reduce loop, then upcast and unroll."""
        return self.state.sizes

    @property
    def output_shape(self) -> tuple[Index, ...]:
        """The sizes of all axes with the reduced ones as 1."""
        state = self.state
        tail = zip(state.sizes[state.first_upcast :], state.unrolled, strict=True)
        reduced = (1,) * (state.first_upcast - state.first_reduce)
        return (*state.sizes[: state.first_reduce], *reduced, *(1 if unrolled else size for size, unrolled in tail))

    @property
    def shape_len(self) -> int:
        """How many axes there are."""
        return len(self.state.sizes)

    @property
    def global_dims(self) -> int:
        """How many axes are global; they come first."""
        return self.state.n_global

    @property
    def first_reduce(self) -> int:
        """Where group and reduce axes begin."""
        return self.state.first_reduce

    @property
    def first_upcast(self) -> int:
        """Where upcast and unroll axes begin."""
        return self.state.first_upcast

    def colors(self) -> list[str]:
        """The colour of each axis: blue (BLUE under NOLOCALS), cyan, green, red, yellow or magenta."""
        return colours.colours_of(self.state)

    def colored_shape(self, pad: int | None = None, dense: bool = False) -> str:
        """The sizes in their axes' terminal colours, padded with spaces to `pad` printed characters.

        A plain integer takes four places, or with `dense` only those it needs; sizes are separated by a space.
        """
        return colours.coloured_shape(self.state, pad, dense)

    @property
    def name(self) -> str:
        """A plain identifier made of the kernel's kind and sizes alone, so the same everywhere."""
        stores = sum(node.op is Ops.STORE for node in self.ast.nodes)
        kind = ("r" if self.nest.reduces else "E") + (str(stores) if stores > 1 else "")
        sizes = self.full_shape
        if self.nest.has_variables:
            values = renaming(self.ast.variables, canonical_names(self.ast))
            sizes = tuple(substitute(size, values) for size in sizes)
        return "_".join((kind, *(re.sub(r"\W+", "_", str(size)).strip("_") for size in sizes)))

    def to_program(self) -> Program:
        """The program of the kernel as it is. Raises ProgramError where a limit of the target is in the way."""
        if not self.nest.has_variables:
            return lower(self.state, self.nest, self.target, self.name)
        names = canonical_names(self.ast)
        values = renaming(self.ast.variables, names)
        nest = build_nest(renamed_ast(self.ast, names))
        state = self.state.replaced(sizes=tuple(substitute(size, values) for size in self.state.sizes))
        program = lower(state, nest, self.target, self.name)
        return with_names(program, {new: old for old, new in names.items()})

    def apply_tensor_cores(
        self,
        use: int = 1,
        extra_opts: Sequence[Opt] | None = None,
        axis: int = 0,
        tc_select: int = -1,
        tc_opt: int = 0,
    ) -> bool:
        """Apply TC(axis, (tc_select, tc_opt)) and then `extra_opts` or the defaults; False leaves the kernel as it was.

        `use` 0 applies nothing.
        """
        state = tensor_core_search.with_tensor_core(
            self.state, self.nest, self.target, use, extra_opts, axis, tc_select, tc_opt
        )
        if state is None:
            return False
        self.state = state
        return True

    def required_optimizations(self) -> Kernel:
        """Apply the Opts without which no program can be made (none so far: image buffers are refused)."""
        return self

    def hand_coded_optimizations(self, settings: HeuristicSettings = DEFAULT_SETTINGS) -> Kernel:
        """Apply the Opts that the heuristic chooses without tensor cores. Never raises for an Opt that is refused."""
        self.state = heuristic.hand_coded(self.state, self.nest, self.target, settings)
        return self

    def default_opts(self) -> Kernel:
        """Apply what is meant by "the heuristic" and "the baseline" everywhere.

        Required optimisations, then tensor cores if one applies, else the hand-coded ones.
        """
        self.required_optimizations()
        return self if self.apply_tensor_cores(self.target.tc_mode) else self.hand_coded_optimizations()


_new = object.__new__
_apply = apply.apply_opt
