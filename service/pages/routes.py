"""The page's addresses."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles

from service import BEAMTUNE_VERSION
from service.pages.board import Board, read_board
from service.routers.context import WithContext

STATIC = Path(__file__).parent / "static"

router = APIRouter(include_in_schema=False)

_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)

#: Nothing from elsewhere, and no script or style that is not a file of this service.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


@router.get("/")
def get_page(context: WithContext) -> HTMLResponse:
    """The whole page."""
    return _rendered("page.html", read_board(context.database, time.time()))


@router.get("/board")
def get_board(context: WithContext) -> HTMLResponse:
    """What of the page changes: the script puts it in place of what is there."""
    return _rendered("board.html", read_board(context.database, time.time()))


class PageFiles(StaticFiles):
    """The page's style, script and icon. A browser asks each time whether they are still the same."""

    def file_response(self, *arguments: Any, **options: Any) -> Response:
        """The file, or that it is unchanged."""
        response = super().file_response(*arguments, **options)
        response.headers["Cache-Control"] = "no-cache"
        return response


def _rendered(template: str, board: Board) -> HTMLResponse:
    text = _templates.get_template(template).render(board=board, version=BEAMTUNE_VERSION)
    return HTMLResponse(text, headers=_HEADERS)
