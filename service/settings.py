"""What can be set from outside, by environment variables that begin with BEAMTUNE_ (BEAMTUNE_PORT=8000)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from service.database import BUSY_TIMEOUT_S


class Settings(BaseSettings):
    """The service's and the worker's settings. A database's path is relative to the working directory."""

    model_config = SettingsConfigDict(env_prefix="BEAMTUNE_", extra="ignore", frozen=True)

    database_url: str = "sqlite:///data/beamtune.db"
    database_busy_s: float = Field(default=BUSY_TIMEOUT_S, gt=0, le=600)
    host: str = "127.0.0.1"
    port: int = Field(default=8637, ge=0, le=65535)  # 0: any that is free
    body_limit_bytes: int = Field(default=2 * 2**20, ge=1024)
    waiting_expires_s: float = Field(default=24 * 3600.0, gt=0)  # of a job that waits for a runner
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "text"] = "text"
