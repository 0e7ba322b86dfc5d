"""Around every request: an id, a line in the log, a count.

This is plain ASGI around the whole app, so it also sees what the app refuses before any handler does.
"""

from __future__ import annotations

import logging
import os
from time import perf_counter
from typing import TYPE_CHECKING, Any

from dibs import tracing
from dibs.server.logs import REQUEST_ID

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from dibs.server.metering import Meter

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]

log = logging.getLogger("dibs.access")

ACCESS = ("all", "errors", "none")
"""Which requests are logged. Errors: those that were answered with 400 or above."""
MAX_ID_CHARS = 128
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")


class Accounting:
    """An ASGI app that gives each request of another one an id, logs and counts it."""

    def __init__(self, app: App, meter: Meter, access: str = "all") -> None:
        self._app = app
        self._meter = meter
        self._least = {"all": 0, "errors": 400}.get(access, 1_000)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id, trace = _from_headers(scope["headers"])
        shown = request_id.encode()
        scope["request_id"] = request_id
        status = 500
        began = perf_counter()

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", shown)]
            await send(message)

        known = REQUEST_ID.set(request_id)
        given = tracing.enter(*trace) if trace else None
        self._meter.in_flight += 1
        try:
            await self._app(scope, receive, answer)
        finally:
            self._meter.in_flight -= 1
            took = perf_counter() - began
            self._meter.answered(scope["method"], _route(scope), status, took)
            if "claimed" in scope:
                self._meter.claimed(scope["claimed"])
            if status >= self._least:
                _tell(scope, status, took)
            if given is not None:
                tracing.leave(given)
            REQUEST_ID.reset(known)


def _from_headers(headers: Any) -> tuple[str, tuple[str, str | None] | None]:
    """The request's id, its own if that can be used; and the trace it belongs to."""
    request_id = parent = state = None
    for name, value in headers:
        if name == b"x-request-id":
            if request_id is None and 0 < len(value) <= MAX_ID_CHARS and _PLAIN.issuperset(value):
                request_id = value.decode()
        elif name == b"traceparent":
            parent = value.decode("latin-1")
        elif name == b"tracestate":
            state = value.decode("latin-1")
    return request_id or os.urandom(8).hex(), (parent, state) if parent else None


def _route(scope: Scope) -> str:
    """The template of the path, such as /v1/tasks/{task_id}; paths themselves come in any number."""
    handler = scope.get("route_handler")
    verb = None if handler is None else handler.opt.get("verb")
    return scope.get("path_template") or "none" if verb is None else verb.path


def _tell(scope: Scope, status: int, took: float) -> None:
    caller = scope.get("caller")
    fields = {
        "method": scope["method"],
        "path": scope["path"][:500],
        "status": status,
        "duration_ms": round(took * 1000, 2),
        "client": (scope.get("client") or (None,))[0],
        "caller": getattr(caller, "name", None),
        "project": getattr(caller, "project", None),
    }
    level = logging.WARNING if status >= 500 else logging.INFO
    log.log(level, "%s %s %d", fields["method"], fields["path"], status, extra={"fields": fields})
