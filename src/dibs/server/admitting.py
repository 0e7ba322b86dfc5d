"""Who may come in: before any handler, a token is looked at, and whether its role may ask this at all.

Denied by default: a handler that does not say who may call it keeps the app from starting, and none is reached by
anybody whose role it does not name. Refusals are recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.errors import Denied
from dibs.model.role import Role
from dibs.server import cookies
from dibs.server.refusing import WrongMethod

if TYPE_CHECKING:
    from litestar import Litestar
    from litestar.connection import ASGIConnection
    from litestar.handlers.base import BaseRouteHandler
    from litestar.types import Scope

    from dibs.server.callers import Authority, Caller
    from dibs.server.pacing import Pace

ANYBODY: frozenset[Role] = frozenset()
"""`opt={"roles": ANYBODY}`: no token is looked at."""
_SCHEME = b"bearer "


class Admission:
    """The guard of all routes."""

    def __init__(self, authority: Authority, pace: Pace) -> None:
        self._authority = authority
        self._pace = pace

    async def __call__(self, connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
        roles = handler.opt.get("roles")
        if roles is None:
            # Only what the framework itself adds to every path.
            raise WrongMethod("OPTIONS is not answered here.")
        if roles != ANYBODY:
            verb = handler.opt.get("verb")
            await self.admit(connection.scope, handler.handler_name if verb is None else verb.name, roles)

    async def admit(self, scope: Scope, act: str, roles: frozenset[Role]) -> Caller:
        """Whose request this is, if one of these roles; it is in the scope from then on. Raises Denied or Busy."""
        secret = secret_of(scope)
        if cookies.BY_COOKIE in scope and not cookies.is_own(scope):
            await self._authority.record(None, act, scope["path"], "wrong_origin")
            cookies.refuse_others(scope)
        caller = None if secret is None else await self._authority.identify(secret)
        if caller is None:
            code = "no_token" if secret is None else "unknown_token"
            await self._authority.record(None, act, scope["path"], code)
            if secret is None:
                raise Denied("Send a token: Authorization: Bearer dibs_…", code=code)
            raise Denied("This token is unknown here, or not valid any more; ask for another.", code=code)
        self._pace.take(caller.token_id or caller.name)
        scope["caller"] = caller  # type: ignore[typeddict-unknown-key]
        if caller.role not in roles:
            await self._authority.record(caller, act, scope["path"], "denied")
            may = ", ".join(sorted(roles))
            raise Denied(f"{act} is not for {caller.role} tokens; it takes one of: {may}.", field="role")
        return caller


def caller_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Caller:
    """Who a request that came through the guard is from."""
    found: Caller = connection.scope["caller"]  # type: ignore[typeddict-item]
    return found


def refuse_unguarded(app: Litestar) -> None:
    """Every handler must say who may call it; else RuntimeError names those that do not."""
    unguarded = [
        f"{'/'.join(sorted(handler.http_methods))} {route.path}"
        for route in app.routes
        for handler in getattr(route, "route_handlers", ())
        if handler.opt.get("roles") is None and handler.http_methods != {"OPTIONS"}
    ]
    if unguarded:
        raise RuntimeError(f'these handlers do not say who may call them (opt={{"roles": …}}): {unguarded}')


def secret_of(scope: Scope) -> str | None:
    """The token of a request: what it is authorised by, else what its cookie holds (then the scope says so). None if
    there is none, or more than one."""
    found = [value for name, value in scope["headers"] if name == b"authorization"]
    if not found:
        kept = cookies.secret_of(scope)
        if kept is not None:
            scope[cookies.BY_COOKIE] = True  # type: ignore[literal-required]
        return kept
    if len(found) != 1 or found[0][: len(_SCHEME)].lower() != _SCHEME:
        return None
    secret = found[0][len(_SCHEME) :].strip()
    return secret.decode() if secret.isascii() and 0 < len(secret) <= 500 else None
