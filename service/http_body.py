"""Bodies of requests: read up to a limit, and taken apart as strict JSON."""

from __future__ import annotations

import json
import re

from starlette.requests import Request

from service.errors import BodyTooLargeError, JsonError, MediaTypeError

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


async def read_json_body(request: Request, limit_bytes: int) -> bytes:
    """The body of a request that says that it holds JSON. Raises MediaTypeError and BodyTooLargeError.

    Asking for the media type also keeps other sites' pages from sending forms: browsers ask before they send JSON.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise MediaTypeError("send the body with the header Content-Type: application/json")
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > limit_bytes:
            raise BodyTooLargeError(f"the body is longer than {limit_bytes} bytes")
        parts.append(part)
    return b"".join(parts)


def members_of(body: bytes) -> dict[str, str]:
    """The members of the JSON object that `body` is, each as the text it stands there in. Raises JsonError.

    The texts are JSON, but it is their readers' business to refuse what strict JSON has not (see `strict_value`).
    """
    try:
        return _members(body.decode("utf-8"))
    except RecursionError:
        raise JsonError("the JSON nests too deep") from None
    except ValueError as error:  # what UTF-8, JSON and the length of integers do not allow
        raise JsonError("the body is no JSON object in UTF-8") from error


def _members(text: str) -> dict[str, str]:
    members: dict[str, str] = {}
    at = _after(text, 0, "{")
    if text[at : at + 1] != "}":
        while True:
            name, at = _DECODER.raw_decode(text, at)
            if not isinstance(name, str):
                raise ValueError("a member's name is a string")
            if name in members:
                raise JsonError(f"the body has the field {ascii(name)[:40]} twice")
            start = _after(text, at, ":")
            _, at = _DECODER.raw_decode(text, start)
            members[name] = text[start:at]
            at = _skipped(text, at)
            if text[at : at + 1] != ",":
                break
            at = _after(text, at, ",")
    at = _after(text, at, "}")
    if at != len(text):
        raise ValueError("there is more after the object")
    return members


def _skipped(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()


def _after(text: str, at: int, expected: str) -> int:
    """The place after `expected`, which must come next but for space, and after the space behind it."""
    at = _skipped(text, at)
    if text[at : at + 1] != expected:
        raise ValueError(f"{expected} is missing")
    return _skipped(text, at + 1)


def strict_value(text: str) -> object:
    """The value of a JSON text. Raises JsonError also for NaN, infinities and an object with a field twice."""
    try:
        return json.loads(text, object_pairs_hook=_object_of, parse_constant=_refused)
    except RecursionError:
        raise JsonError("the JSON nests too deep") from None
    except ValueError as error:
        raise JsonError("a value is no JSON") from error


def _object_of(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise JsonError("an object has the same field twice")
    return fields


def _refused(name: str) -> object:
    raise JsonError(f"{name} is no JSON number")
