"""Where a record comes from: what a worker says of itself when a search ends."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from runners.api import DeviceInfo
from search.settings import SearchSettings
from service import BEAMTUNE_VERSION


@dataclass(frozen=True, slots=True)
class Provenance:
    """The device that a search ran on, its settings, and the Beamtune that made it."""

    device: DeviceInfo
    settings: SearchSettings
    beamtune_version: str = BEAMTUNE_VERSION

    def to_wire(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "device": asdict(self.device.identity) | {"kind": str(self.device.kind), "unit": self.device.unit},
            "fingerprint": asdict(self.device.fingerprint),
            "settings": asdict(self.settings),
            "beamtune_version": self.beamtune_version,
        }
