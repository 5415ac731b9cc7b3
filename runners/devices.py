"""Which devices this machine has: each driver is looked at in a child of its own, as a broken one crashes."""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runners.address import DeviceAddress
from runners.api import DeviceInfo, DeviceKind
from runners.backends.base import Listed
from runners.environment import child_environment, fresh_cache, with_cache
from runners.errors import ChildError
from runners.messages import ListDevices, OpenDevice, Opened, Request
from runners.process import START_S, Child

ICD_FOLDER = Path("/etc/OpenCL/vendors")
#: Platforms that only simulate a device.
_SIMULATORS = frozenset({"Oclgrind"})
_ORDER = {DeviceKind.GPU: 0, DeviceKind.ACCELERATOR: 1, DeviceKind.CPU: 2}


@dataclass(frozen=True, slots=True)
class FoundDevice:
    """A device that passed its self-check, and where it is."""

    address: DeviceAddress
    info: DeviceInfo


@dataclass(frozen=True, slots=True)
class BrokenDriver:
    """A driver, or one of its devices, that cannot be used, and why."""

    library: str
    reason: str


@dataclass(frozen=True, slots=True)
class Discovery:
    """What was found: GPUs first, then in the order of the drivers."""

    devices: tuple[FoundDevice, ...]
    broken: tuple[BrokenDriver, ...]


def discover(environment: Mapping[str, str] = os.environ) -> Discovery:
    """Every device of every OpenCL driver here, and of the PoCL that comes with pyopencl's extra.

    OCL_ICD_VENDORS in `environment` names the system's drivers, as it does for ICD loaders. A device that two drivers
    show under one identity is taken from the first of them.
    """
    found: list[FoundDevice] = []
    broken: list[BrokenDriver] = []
    taken: set[str] = set()
    for library in libraries(environment):
        devices, failures = _look_at(library, environment)
        broken += failures
        new = [device for device in devices if device.info.device_key not in taken]
        taken |= {device.info.device_key for device in new}
        found += _numbered(new)
    return Discovery(tuple(sorted(found, key=lambda device: _ORDER[device.info.kind])), tuple(broken))


def _numbered(devices: list[FoundDevice]) -> Iterator[FoundDevice]:
    """With a unit number for each of several of one identity."""
    seen: Counter[str] = Counter()
    for device in devices:
        key = device.info.device_key
        yield replace(device, info=replace(device.info, unit=seen[key]))
        seen[key] += 1


# ---- drivers ---------------------------------------------------------------------------------------------------------


def libraries(environment: Mapping[str, str] = os.environ) -> list[str]:
    """What an ICD loader is told to load, one driver each; the system's first."""
    named = environment.get("OCL_ICD_VENDORS", "")
    place = Path(named) if named else ICD_FOLDER
    found = sorted(place.glob("*.icd")) if place.is_dir() else [place] if named else []
    texts = [_driver_of(path) for path in found]
    bundled = bundled_pocl()
    every = [text for text in texts if text] + ([bundled] if bundled else [])
    return list({os.path.realpath(text) if os.path.isabs(text) else text: text for text in every}.values())


def _driver_of(path: Path) -> str:
    """The library that an .icd file names; anything else is a library itself."""
    if path.suffix != ".icd":
        return str(path)
    if not path.exists() and not path.is_absolute():
        path = ICD_FOLDER / path
    lines = path.read_text(errors="replace").split() if path.is_file() else []
    return lines[0] if lines else ""


def bundled_pocl() -> str | None:
    """The path of the PoCL that comes with pyopencl's extra; None where that is not installed."""
    spec = importlib.util.find_spec("pyopencl")
    if spec is None or spec.origin is None:
        return None
    return next(map(str, sorted((Path(spec.origin).parent / ".libs").glob("libpocl-*.so"))), None)


def _look_at(library: str, environment: Mapping[str, str]) -> tuple[list[FoundDevice], list[BrokenDriver]]:
    """The devices of a driver that pass their self-check, and what does not work."""
    usual = child_environment(library, environment)
    try:
        shown: tuple[Listed, ...] = _ask_once(usual, ListDevices())
    except ChildError as error:
        return [], [BrokenDriver(library, str(error))]
    found: list[FoundDevice] = []
    broken: list[BrokenDriver] = [] if shown else [BrokenDriver(library, "it shows no device")]
    for listed in shown:
        if listed.platform in _SIMULATORS:
            continue
        opened = _checked(usual, listed)
        if opened.info is None:
            broken.append(BrokenDriver(library, f"{listed.info.identity.name}: {opened.reason}"))
        else:
            address = DeviceAddress("opencl", library, listed.platform_index, listed.device_index)
            found.append(FoundDevice(address, opened.info))
    return found, broken


def _checked(environment: Mapping[str, str], listed: Listed) -> Opened:
    """Whether a device passes its self-check, if need be without what its driver kept from before."""
    request = OpenDevice(listed.platform_index, listed.device_index)
    with fresh_cache() as folder:
        for given in (environment, with_cache(environment, folder)):
            try:
                opened: Opened = _ask_once(given, request)
            except ChildError as error:
                opened = Opened(None, str(error))
            if opened.info is not None:
                break
    return opened


def _ask_once(environment: Mapping[str, str], request: Request) -> Any:
    """The answer of a child that is there for this one request. Raises ChildError."""
    child = Child(environment)
    try:
        child.start()
        return child.ask(request, {"start": START_S})
    finally:
        child.kill()
