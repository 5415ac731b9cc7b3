"""What the handlers of requests share."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from service.database import Database
from service.settings import Settings


@dataclass(frozen=True, slots=True)
class Context:
    """The service's settings and its database. stopping: set once the service is told to end."""

    settings: Settings
    database: Database
    stopping: threading.Event = field(default_factory=threading.Event)


def _context_of(request: Request) -> Context:
    context: Context = request.app.state.context
    return context


#: Asked for by a handler's parameter of this type.
WithContext = Annotated[Context, Depends(_context_of)]
