"""The first to see a request: how many there are at a time, and a short way for what agents ask all day.

The framework's own way from a request to a handler costs more than claiming a task does. The hot verbs are served by
the same code (`handling.respond`) without it; everything else goes through the framework.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from litestar.enums import ScopeType
from litestar.response.base import ASGIResponse

from dibs.errors import DibsError, Invalid
from dibs.server.handling import QUOTED, Serve, respond
from dibs.server.refusing import Busy, problem
from dibs.wire.problems import MEDIA_TYPE

if TYPE_CHECKING:
    from litestar import Litestar
    from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

    from dibs.server.admitting import Admission
    from dibs.server.desk import Desk
    from dibs.wire.verbs import Verb

log = logging.getLogger("dibs.server")

HOT = frozenset(
    {
        *("add", "add_many", "claim", "start", "renew", "renew_many", "complete", "fail", "release"),
        *("settle_outcomes", "log", "record"),
    }
)
_JSON = b"application/json"
MAX_HEADER_BYTES = 32 << 10


class Entrance:
    """Lets requests in, up to so many at a time.

    The names in a path are percent-encoded, and the framework gets it decoded: there a slash in a name would end it. So
    a path that has one is passed on as it was sent, and what is found in it is decoded afterwards.
    """

    def __init__(self, app: ASGIApp, routes: Litestar, desk: Desk, admission: Admission, max_at_once: int) -> None:
        self._app = app
        self._desk = desk
        self._admission = admission
        self._max_at_once = max_at_once
        self._inside = 0
        self._hot: dict[tuple[str, ...], tuple[Verb, Serve]] = {}
        for route in routes.routes:
            for handler in getattr(route, "route_handlers", ()):
                verb = handler.opt.get("verb")
                if verb is not None and verb.name in HOT:
                    parts = verb.path.split("/")
                    fixed = [part for part in parts if not part.startswith("{")]
                    self._hot[verb.method, str(len(parts)), *fixed] = (verb, handler.opt["serve"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        if self._inside >= self._max_at_once:
            busy = Busy("The server has as much to do as it takes at a time; try again.", code="unavailable")
            await _send(send, *problem(busy, scope))
            return
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEADER_BYTES:
            large = Invalid(f"The headers have more than {MAX_HEADER_BYTES:,} bytes.", code="headers_too_large")
            await _send(send, *problem(large, scope))
            return
        self._inside += 1
        try:
            if scope["method"] not in ("POST", "PUT") or not await self._served(scope, receive, send):
                raw: bytes = scope.get("raw_path") or b""
                if b"%2f" in raw.lower():
                    scope["path"] = raw.partition(b"?")[0].decode("latin-1")
                    scope[QUOTED] = True  # type: ignore[literal-required]
                await self._app(scope, receive, send)
        finally:
            self._inside -= 1

    async def _served(self, scope: HTTPScope, receive: Receive, send: Send) -> bool:
        """Whether it was one of the hot verbs, and is answered."""
        parts = scope["path"].split("/")
        given: dict[str, Any] = {}
        if len(parts) == 5:
            given = {"task_id": parts.pop(3)}
            found = self._hot.get((scope["method"], "5", *parts))
        else:
            found = self._hot.get((scope["method"], str(len(parts)), *parts))
        if found is None or b"%" in (scope.get("raw_path") or b""):
            return False
        verb, serve = found
        scope["path_template"] = verb.path
        try:
            caller = await self._admission.admit(scope, verb.name, verb.roles)
            value = await respond(self._desk, verb, serve, caller, scope, receive, given)
        except DibsError as error:
            await _send(send, *problem(error, scope))
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            wrong = DibsError("Something went wrong in the server; its log says what.", code="internal")
            await _send(send, *problem(wrong, scope))
        else:
            if isinstance(value, ASGIResponse):
                await value(scope, receive, send)
            else:
                await _send(send, verb.status, {"cache-control": "no-store"}, value, _JSON)
        return True


async def _send(
    send: Send, status: int, headers: dict[str, str], body: bytes, media_type: bytes = MEDIA_TYPE.encode()
) -> None:
    sent = [(name.encode(), value.encode()) for name, value in headers.items()]
    sent += [(b"content-type", media_type), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": body, "more_body": False})
