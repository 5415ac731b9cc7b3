"""What a device's child finds in its environment."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def fresh_cache() -> tempfile.TemporaryDirectory[str]:
    """A folder for what drivers keep, for when the usual one is suspected: they trust a file in it that was cut off."""
    return tempfile.TemporaryDirectory(prefix="beamtune-cache-", ignore_cleanup_errors=True)


def with_cache(environment: Mapping[str, str], folder: str) -> dict[str, str]:
    """`environment` with another folder for what drivers keep."""
    return {**environment, "POCL_CACHE_DIR": folder}


def child_environment(library: str, mine: Mapping[str, str] = os.environ) -> dict[str, str]:
    """For the one driver that `library` names (a path, or a name that the system's loader finds).

    POCL_CACHE_DIR in this process's own environment says where PoCL keeps what it compiled; else the user's cache does.
    """
    return {
        "OCL_ICD_VENDORS": library,
        "PYOPENCL_NO_CACHE": "1",
        "POCL_CACHE_DIR": mine.get("POCL_CACHE_DIR") or str(_user_cache(mine) / "beamtune" / "pocl"),
        # idle threads of the reference's matrix products would spin beside what is timed
        "OPENBLAS_NUM_THREADS": "1",
    }


def _user_cache(mine: Mapping[str, str]) -> Path:
    """Where this user keeps what can be made again; a folder of the user's own where there is no home."""
    given = mine.get("XDG_CACHE_HOME")
    if given:
        return Path(given)
    home = Path(mine.get("HOME") or "/nonexistent")
    if os.access(home, os.W_OK):
        return home / ".cache"
    return Path(tempfile.gettempdir()) / f"beamtune-{os.getuid()}"
