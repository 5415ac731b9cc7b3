"""Errors as HTTP answers. The only place that knows statuses of errors."""

from __future__ import annotations

from typing import Any

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kernels import AstError
from service import errors
from service.schemas import ErrorAnswer, ErrorBody

_log = structlog.get_logger(__name__)

#: Of an error's own class, or the nearest above it.
_STATUS: dict[type[Exception], int] = {
    AstError: 422,
    errors.RequestError: 422,
    errors.JsonError: 400,
    errors.MediaTypeError: 415,
    errors.BodyTooLargeError: 413,
    errors.NotFoundError: 404,
    errors.StateError: 409,
    errors.DatabaseError: 503,
    errors.ServiceError: 500,
}
_RETRY_AFTER_S = "1"

#: What the interface's description says of every call.
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": meaning}
    for status, meaning in {
        400: "The request cannot be read",
        404: "There is no such thing",
        409: "Not in this state",
        413: "The body is too large",
        415: "The body is not said to be JSON",
        422: "The request or its AST is not valid",
        503: "The database cannot be used just now",
    }.items()
}


def add_error_handlers(app: FastAPI) -> None:
    """Let every error be answered in one form."""
    app.add_exception_handler(AstError, _answer_known)
    app.add_exception_handler(errors.ServiceError, _answer_known)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(ValidationError, _answer_invalid)
    app.add_exception_handler(HTTPException, _answer_http)
    app.add_middleware(UnexpectedErrors)


class UnexpectedErrors:
    """Answers whatever else is raised with 500, and logs it.

    Starlette's own way would raise it again for the server, which then drops the connection under its client.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, noted)
        except ClientDisconnect:  # nobody is there to be answered
            _log.debug("client left", path=scope["path"])
        except Exception as error:
            if begun or scope["type"] != "http":
                raise
            _log.error("unexpected error", method=scope["method"], path=scope["path"], exc_info=error)
            answer = _answer(500, ErrorBody(code="internal", message="an error in the service; its log says more"))
            await answer(scope, receive, send)


async def _answer_known(request: Request, error: Exception) -> JSONResponse:
    status = next(_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS)
    code = getattr(error, "code", "internal")
    if status >= 500:
        _log.error("request failed", method=request.method, path=request.url.path, code=code, error=str(error))
    if isinstance(error, AstError):
        body = ErrorBody(code=code, message=error.message, rule=error.rule, node=error.node)
    else:
        body = ErrorBody(code=code, message=str(error), field=getattr(error, "field", None))
    return _answer(status, body, {"Retry-After": _RETRY_AFTER_S} if status == 503 else None)


async def _answer_invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError | ValidationError)
    first = error.errors()[0]
    parts = [part for part in first["loc"] if part not in ("body", "query", "path", "header")]
    field = ".".join(map(str, parts))[:200].encode("ascii", "backslashreplace").decode()  # may be what was sent
    body = ErrorBody(code="invalid_request", message=first["msg"], field=field or None)
    return _answer(422, body)


async def _answer_http(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "http_error")
    return _answer(error.status_code, ErrorBody(code=code, message=str(error.detail)), error.headers)


def _answer(status: int, body: ErrorBody, headers: Any = None) -> JSONResponse:
    content = ErrorAnswer(error=body).model_dump(exclude_none=True)
    if body.code == AstError.code:
        content["error"]["node"] = body.node  # None says that it is the document as a whole
    return JSONResponse(content, status, headers)
