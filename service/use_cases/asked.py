"""What requests name: a device, values of variables, an amount of work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from kernels import Ast
from kernels.canonical import variable_numbers
from kernels.renaming import renamed_ast
from runners.api import DeviceIdentity
from search.settings import EFFORT_S, Effort, settings_for
from service.errors import DeviceRequiredError, VariablesError
from service.repositories.devices import StoredDevice, all_devices, find_device
from service.schemas import AskedDevice, SubmitOptions


@dataclass(frozen=True, slots=True)
class AskedWork:
    """How much a search may do."""

    effort: Effort
    budget_s: float
    max_trials: int
    action_set: str


def asked_work(options: SubmitOptions) -> AskedWork:
    """The work that an effort stands for; a budget stands for the greatest effort within it."""
    budget = options.budget
    effort = options.effort or Effort.NORMAL
    if budget is not None and budget.device_seconds is not None:
        within = [effort for effort in Effort if EFFORT_S[effort] <= budget.device_seconds]
        effort = max(within, key=EFFORT_S.__getitem__, default=Effort.QUICK)
    settings = settings_for(effort)
    seconds = budget.device_seconds if budget is not None else None
    trials = budget.trials if budget is not None else None
    return AskedWork(
        effort,
        settings.budget_s if seconds is None else seconds,
        settings.max_trials if trials is None else trials,
        settings.action_set,
    )


def asked_device(connection: Connection, asked: str | AskedDevice | None) -> tuple[str, StoredDevice | None]:
    """The device_key that is meant, and the device where a runner of it was ever there.

    Raises DeviceRequiredError where none is named and not exactly one is known.
    """
    if isinstance(asked, AskedDevice):
        identity = DeviceIdentity(asked.backend, asked.vendor, asked.name, asked.arch, asked.compute_units)
        return identity.device_key, find_device(connection, identity.device_key)
    if asked is not None:
        return asked, find_device(connection, asked)
    known = all_devices(connection)
    if len(known) == 1:
        return known[0].key, known[0]
    names = ", ".join(f"{device.key} ({device.info.identity.name})" for device in known[:8])
    raise DeviceRequiredError(f"name a device: {names}" if known else "name a device: none is known yet", "device")


def canonical_variables(ast: Ast) -> dict[str, str]:
    """What each of the AST's variables is called here: v0, v1, ... by the part it plays, whoever sent it."""
    return {name: f"v{number}" for name, number in variable_numbers(ast).items()} if ast.variables else {}


def with_canonical_variables(ast: Ast) -> Ast:
    """The AST with its variables called v0, v1, ..."""
    return renamed_ast(ast, canonical_variables(ast)) if ast.variables else ast


def asked_values(ast: Ast, values: Mapping[str, int] | None) -> dict[str, int]:
    """The values of the AST's variables by their names in it: the middle of their bounds where none are given.

    Raises VariablesError unless they are given for exactly the variables that there are, each within its bounds.
    """
    if values is None:
        return {variable.name: (variable.min + variable.max) // 2 for variable in ast.variables}
    names = {variable.name for variable in ast.variables}
    if set(values) != names:
        shown = ", ".join(sorted(names)) or "none"
        raise VariablesError(f"the kernel's variables are: {shown}", "variables")
    for variable in ast.variables:
        if not variable.min <= values[variable.name] <= variable.max:
            raise VariablesError(f"{variable.name} lies in [{variable.min}, {variable.max}]", "variables")
    return dict(values)
