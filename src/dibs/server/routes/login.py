"""Logging in and out, for browsers: the token goes into a cookie, and out of it."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, Router, get, post
from litestar.response.base import ASGIResponse

from dibs.errors import Denied, Invalid
from dibs.server import cookies, logins
from dibs.server.admitting import ANYBODY
from dibs.server.bodies import read_json
from dibs.server.desk import Desk
from dibs.server.routes.pages import page

MAX_BODY_BYTES = 4_096
_NO_STORE = {"Cache-Control": "no-store"}


@get("/login", opt={"roles": ANYBODY}, include_in_schema=False)
async def login_page(request: Request[Any, Any, Any]) -> ASGIResponse:
    """Where one logs in. Following a link does nothing yet: who looks at one for a preview does not use it up."""
    return page(request)


@post(
    "/login",
    opt={"roles": ANYBODY},
    operation_id="log_in",
    summary="A token, or the code of a link, for a cookie",
    status_code=200,
    request_max_body_size=MAX_BODY_BYTES,
)
async def log_in(request: Request[Any, Any, Any]) -> Response[dict[str, str]]:
    """Takes `{"token": …}` or `{"once": …}` from the dashboard's own page, and sets the cookie."""
    scope: Any = request.scope
    desk: Desk = request.app.state.desk
    await _refuse_others(desk, scope, "log_in")
    given = await _given(request)
    try:
        if "once" in given:
            secret: Any = (await logins.redeem(desk.queues.whole, given["once"])).secret
        else:
            secret = given.get("token")
        caller = await desk.authority.identify(secret) if isinstance(secret, str) and len(secret) <= 500 else None
        if caller is None:
            raise Denied("Nobody has this token, or it is not valid any more; ask for another.", code="unknown_login")
    except Denied as error:
        await desk.authority.record(None, "log_in", "/login", error.code)
        raise
    await desk.authority.record(caller, "log_in", "/login", "done")
    told = {"name": caller.name, "role": str(caller.role), "project": caller.project}
    return Response(told, headers={**_NO_STORE, "Set-Cookie": cookies.given(scope, secret)})


@post("/logout", opt={"roles": ANYBODY}, operation_id="log_out", summary="Take the cookie away", status_code=204)
async def log_out(request: Request[Any, Any, Any]) -> Response[None]:
    """From the dashboard's own page. A token that was made for this browser ends, too."""
    scope: Any = request.scope
    desk: Desk = request.app.state.desk
    await _refuse_others(desk, scope, "log_out")
    secret = cookies.secret_of(scope)
    caller = None if secret is None else await desk.authority.identify(secret)
    if caller is not None:
        await logins.leave(desk.queues.whole, caller.token_id)
        await desk.authority.record(caller, "log_out", "/logout", "done")
    return Response(None, status_code=204, headers={**_NO_STORE, "Set-Cookie": cookies.taken(scope)})


async def _refuse_others(desk: Desk, scope: Any, act: str) -> None:
    """What a page of another site made a browser send is refused, and that is recorded."""
    if not cookies.is_own(scope):
        await desk.authority.record(None, act, scope["path"], "wrong_origin")
        cookies.refuse_others(scope)


async def _given(request: Request[Any, Any, Any]) -> dict[str, Any]:
    """What was sent. Nothing but JSON: no form of another site can send that unasked."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Invalid(
            "A login is sent as Content-Type: application/json.", code="wrong_media_type", field="Content-Type"
        )
    found = read_json(await request.body(), 4)
    if not isinstance(found, dict):
        raise Invalid('A login is {"token": "dibs_…"} or {"once": "…"}.', field="token")
    return found


router = Router("/", route_handlers=[login_page, log_in, log_out], tags=["login"])
