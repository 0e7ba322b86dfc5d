"""Errors as answers: problem details for whatever was raised, and for what HTTP itself refuses.

Nothing of what went wrong inside is told to callers; it is in the log, under the request's id.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from litestar import Response
from litestar.exceptions import HTTPException
from msgspec.json import encode

from dibs.errors import Denied, DibsError, Invalid, NotFound, Unavailable
from dibs.wire.problems import MEDIA_TYPE, problem_of

if TYPE_CHECKING:
    from litestar import Request
    from litestar.types import Scope

log = logging.getLogger("dibs.server")

AWAY_S = 1.0
"""After so long a store that is away may be asked for again."""


class Busy(Unavailable):
    """The server has enough to do, or this caller has asked for enough: come back in `retry_after` seconds."""

    code = "too_many_requests"

    def __init__(self, message: str, *, code: str | None = None, retry_after: float = 1.0) -> None:
        super().__init__(message, code=code)
        self.retry_after = retry_after


class WrongMethod(Invalid):
    """The path is right, the method is not; `allow` names those that are."""

    code = "wrong_method"

    def __init__(self, message: str, allow: str = "") -> None:
        super().__init__(message)
        self.allow = allow


def answer(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """The answer for an error, whatever it is."""
    known = error if isinstance(error, DibsError) else _known(request, error)
    status, headers, body = problem(known, request.scope)
    return Response(body, status_code=status, media_type=MEDIA_TYPE, headers=headers)


def problem(error: DibsError, scope: Scope) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer for an error."""
    headers = {"cache-control": "no-store"}
    retry_after: float | None = None
    if isinstance(error, Busy):
        retry_after = error.retry_after
    elif isinstance(error, Unavailable):
        retry_after = AWAY_S
    told = problem_of(error, instance=scope.get("request_id"), retry_after=retry_after)  # type: ignore[arg-type]
    if told.status == 401:
        headers["www-authenticate"] = "Bearer"
    if retry_after is not None:
        headers["retry-after"] = str(max(1, round(retry_after)))
    if isinstance(error, WrongMethod) and error.allow:
        headers["allow"] = error.allow
    return told.status, headers, encode(told)


def _known(request: Request[Any, Any, Any], error: Exception) -> DibsError:
    """What the framework refused, in our words; anything else is a fault of ours."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    path = request.scope["path"]
    if status == 404:
        return NotFound(f"There is nothing at {path[:200]}. GET /v1/openapi.json says what there is.", field="path")
    if status == 405:
        allow = _allowed(request)
        what = f"{request.scope['method'][:20]} does not go with {path[:200]}"
        return WrongMethod(f"{what}; use {allow}." if allow else f"{what}.", allow)
    if status == 413:
        return Invalid("The body is larger than this server takes; send less at a time.", code="too_large")
    if status in (401, 403):
        return Denied("This needs another token.")
    if status < 500:
        return Invalid("The request cannot be read; see GET /v1/openapi.json.", code="not_http")
    log.error("%s %s failed", request.scope["method"], path, exc_info=error)
    return DibsError("Something went wrong in the server; its log says what.", code="internal")


def _allowed(request: Request[Any, Any, Any]) -> str:
    """The methods that the path takes."""
    parts = request.scope["path"].strip("/").split("/")
    found: set[str] = set()
    for route in request.app.routes:
        shape = route.path.strip("/").split("/")
        if len(shape) == len(parts) and all(
            want == part or want.startswith("{") for want, part in zip(shape, parts, strict=True)
        ):
            found |= set(getattr(route, "methods", ())) - {"OPTIONS"}
    return ", ".join(sorted(found))
