"""Server-sent events as a client reads them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2


@dataclass(frozen=True)
class Event:
    name: str
    id: str
    data: Any


def events_of(url: str, last_id: str | None = None, deadline_s: float = 30.0) -> Iterator[Event]:
    """The events of a stream until the server ends it."""
    headers = {} if last_id is None else {"Last-Event-ID": last_id}
    deadline = time.monotonic() + deadline_s
    with httpx2.stream("GET", url, headers=headers, timeout=deadline_s) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        fields: dict[str, str] = {}
        for line in response.iter_lines():
            assert time.monotonic() < deadline, "the stream goes on and on"
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif "event" in fields:
                yield Event(fields["event"], fields["id"], json.loads(fields["data"]))
                fields = {}
