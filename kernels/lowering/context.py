"""What every part of the lowering of one kernel shares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from kernels.index import Atom, Axis, Index, substitute
from kernels.lowering.dependence import Dependence
from kernels.lowering.integers import Integers
from kernels.lowering.lanes import Lanes
from kernels.lowering.launch import Launch
from kernels.lowering.scope import Scope
from kernels.nest import Nest
from kernels.render import types
from kernels.render.value import Value
from kernels.state import KernelState
from kernels.target import Target
from kernels.view_stack import Location

#: A position on some upcast axes, by id.
Point = dict[int, int]


@dataclass(slots=True)
class Context:
    """One kernel on its way to source.

    launched: the launched axes as expressions of the ids that the launch gives. outer: per node, the upcast axes that
    it depends on and that are not lanes of a vector, in order.
    """

    nest: Nest
    state: KernelState
    target: Target
    dependence: Dependence
    lanes: Lanes
    launch: Launch
    integers: Integers
    launched: dict[Atom, Index] = field(default_factory=dict)
    outer: list[tuple[int, ...]] = field(default_factory=list)
    loop_axes: list[frozenset[int]] = field(default_factory=list)
    locations: dict[int, Location] = field(default_factory=dict)
    native_widths: dict[str, int] = field(default_factory=dict)
    shared: list[str] = field(default_factory=list)
    shared_bytes: int = 0
    count: int = 0

    def __post_init__(self) -> None:
        self.native_widths = dict(self.target.vector_widths)
        sizes = dict(zip(self.state.ids, self.state.sizes, strict=True))
        self.launched = {Axis(axis, sizes[axis]): position for axis, position in self.launch.positions.items()}
        lanes = set(self.lanes.axes)
        loops = self.integers.loops
        for axes in self.dependence.axes:
            self.outer.append(tuple(axis for axis in self.dependence.lanes if axis in axes and axis not in lanes))
            self.loop_axes.append(axes & loops)
        for node, location in self.dependence.locations.items():
            position = substitute(location.position, self.launched)
            self.locations[node] = Location(position, location.validity.substitute(self.launched))

    def is_vector(self, node: int) -> bool:
        """Whether the value of `node` has lanes."""
        return not self.dependence.axes[node].isdisjoint(self.lanes.axes)

    def points(self, axes: tuple[int, ...], at: Point | None = None) -> Iterator[Point]:
        """Every position on some upcast axes, the last axis fastest; those in `at` stay where it says."""
        fixed = at or {}
        ranges = [(fixed[axis],) if axis in fixed else range(self.dependence.lanes[axis]) for axis in axes]
        for position in product(*ranges):
            yield dict(zip(axes, position, strict=True))

    def lane_points(self, axes: tuple[int, ...]) -> list[Point]:
        """The position on some of the lanes' axes of each lane, in the lanes' order (the first axis fastest)."""
        points: list[Point] = [{}]
        for axis in axes:
            points = [{**point, axis: i} for i in range(self.dependence.lanes[axis]) for point in points]
        return points

    def at(self, point: Point) -> dict[Atom, Index]:
        """The substitution that puts upcast axes at `point`."""
        return {Axis(axis, self.dependence.lanes[axis]): i for axis, i in point.items()}

    def variable(self, prefix: str = "v") -> str:
        """A name that is not used yet."""
        self.count += 1
        return f"{prefix}{self.count}"

    def declare(self, value: Value, scope: Scope) -> Value:
        """A variable of `scope` that holds `value`; a value that is simple already stays as it is."""
        if value.simple:
            return value
        name = self.variable()
        scope.lines.append(f"{types.type_of(value)} {name} = {value.text};")
        return Value(name, value.dtype, value.width, value.mask_bits, simple=True)
