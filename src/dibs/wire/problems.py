"""Errors over HTTP: problem details (RFC 9457), with `code` and `field`; made on one end, raised on the other.

A status says only as much as HTTP can: which error it was is in `code`, and in `error`, the name of its class. So a
client that knows neither code nor class still has the right kind from the status alone.
"""

from __future__ import annotations

from typing import Any

from msgspec import DecodeError, Struct
from msgspec.json import decode

from dibs import errors
from dibs.errors import Conflict, Denied, DibsError, Invalid, NotFound, Unavailable
from dibs.wire.verbs import Refusal

MEDIA_TYPE = "application/problem+json"
ABOUT = "urn:dibs:problem:"
"""What `type` begins with; the code follows."""
MUST_BE_JUDGED = "must_be_judged"
"""The code by which a server refuses work whose contract wants commands to be run, by whoever has made it."""

_STATUS: dict[str, int] = {
    # Those of the HTTP request itself.
    "not_json": 400,
    "not_http": 400,
    "unknown_token": 401,
    "no_token": 401,
    "wrong_method": 405,
    "too_large": 413,
    "wrong_host": 421,
    "wrong_media_type": 415,
    "changed_meanwhile": 412,
    "too_many_requests": 429,
    "too_many_waiting": 429,
    "headers_too_large": 431,
}
_BY_KIND: tuple[tuple[type[DibsError], int], ...] = (
    (Invalid, 422),
    (NotFound, 404),
    (Conflict, 409),
    (Denied, 403),
    (Unavailable, 503),
    (DibsError, 500),
)
_KIND_OF = {400: Invalid, 401: Denied, 403: Denied, 404: NotFound, 405: Invalid, 409: Conflict, 412: Conflict}
_KIND_OF |= {413: Invalid, 415: Invalid, 421: Denied, 422: Invalid, 428: Invalid, 429: Unavailable, 502: Unavailable}
_KIND_OF |= {503: Unavailable, 504: Unavailable}
_CLASSES: dict[str, type[DibsError]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, DibsError) and kind is not errors.Moved
}


class Problem(Struct, kw_only=True, omit_defaults=True):
    """The body of every answer that is an error. `detail` is the message: one sentence that says what to do next."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    field: str | None = None
    error: str | None = None
    instance: str | None = None
    retry_after: float | None = None


def status_of(error: DibsError) -> int:
    """The status that says most about an error."""
    known = _STATUS.get(error.code)
    if known is not None:
        return known
    return next(status for kind, status in _BY_KIND if isinstance(error, kind))


def problem_of(error: DibsError, *, instance: str | None = None, retry_after: float | None = None) -> Problem:
    """An error as it goes over the wire."""
    return Problem(
        type=f"{ABOUT}{error.code}",
        title=error.code.replace("_", " ").capitalize(),
        status=status_of(error),
        detail=error.message,
        code=error.code,
        field=error.field,
        error=_class_of(error),
        instance=instance,
        retry_after=retry_after,
    )


def raised_from(status: int, body: bytes) -> DibsError:
    """The error that an answer with this status and body stands for, to be raised."""
    try:
        problem = decode(body, type=Problem)
    except DecodeError:
        kind = _KIND_OF.get(status, Unavailable if status >= 500 else Invalid)
        return kind(f"the server answered {status} without saying why: is it a dibs server?", code=None)
    kind = _CLASSES.get(problem.error or "") or _KIND_OF.get(problem.status, DibsError)
    return kind(problem.detail, code=problem.code, field=problem.field)


def refusal_of(error: DibsError) -> dict[str, Any]:
    """An error in the place of an item of a batch."""
    return {"code": error.code, "message": error.message, "field": error.field, "error": _class_of(error)}


def unrefused(item: Any) -> DibsError | None:
    """The error that stands in the place of an item of a batch; None if it is no error. For items as decoded JSON."""
    if not isinstance(item, dict) or "code" not in item or "message" not in item:
        return None
    kind = _CLASSES.get(item.get("error") or "", Conflict)
    return kind(item["message"], code=item["code"], field=item.get("field"))


def _class_of(error: DibsError) -> str:
    """The name under which the other end knows its class: its own, else the nearest above it that errors.py has."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _CLASSES)


__all__ = [
    "ABOUT",
    "MEDIA_TYPE",
    "Problem",
    "Refusal",
    "problem_of",
    "raised_from",
    "refusal_of",
    "status_of",
    "unrefused",
]
