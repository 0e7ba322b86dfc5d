"""The dashboard: one page for all of its screens, and the files that it loads. It asks the API for everything else.

A browser that was sent astray gets the page, too, which says so and leads back; whoever else asks for nothing that
there is gets a problem as from the API.
"""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, Router, get
from litestar.datastructures.headers import Accept
from litestar.response.base import ASGIResponse

from dibs.errors import NotFound
from dibs.server import refusing
from dibs.server.admitting import ANYBODY
from dibs.server.pages import EVERY_TIME, HEADERS, INDEX, MISSING, File, Files
from dibs.wire.problems import MEDIA_TYPE

SCREENS = [
    "/",
    "/tasks",
    "/tasks/{id:str}",
    "/dags",
    "/dags/{id:str}",
    "/submit",
    "/dead-letters",
    "/agents",
    "/gates",
    "/schedules",
    "/triggers",
    "/hooks",
    "/cost",
    "/events",
    "/tokens",
    "/audit",
]
"""The routes of web/src/app.tsx but /login, which is with what is sent there; a test compares them."""
NOT_FOR_EYES = frozenset({".well-known", "a2a", "assets", "healthz", "in", "logout", "mcp", "metrics", "readyz", "v1"})
"""How the paths begin that programs ask for; a test compares them with the routes."""
HTML = "text/html"
files = Files()


@get(SCREENS, opt={"roles": ANYBODY}, include_in_schema=False)
async def screen(request: Request[Any, Any, Any]) -> ASGIResponse:
    """The page, whichever screen is asked for: it knows its own address."""
    return page(request)


def page(request: Request[Any, Any, Any]) -> ASGIResponse:
    """The page, or how to get it."""
    found = files.find(INDEX)
    if found is None:
        return ASGIResponse(
            body=MISSING.encode(),
            status_code=501,
            media_type="text/html",
            headers={**HEADERS, "cache-control": "no-store"},
        )
    return _sent(request, found)


@get(["/assets/{name:str}"], opt={"roles": ANYBODY}, include_in_schema=False)
async def asset(request: Request[Any, Any, Any], name: str) -> ASGIResponse:
    """One of the page's files."""
    return _sent(request, _found(f"assets/{name}"))


@get("/icon.svg", opt={"roles": ANYBODY}, include_in_schema=False)
async def icon(request: Request[Any, Any, Any]) -> ASGIResponse:
    """The picture in the tab."""
    return _sent(request, _found("icon.svg"))


def astray(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """The answer where there is nothing: to a browser the page, which says so; to everybody else a problem."""
    found = files.find(INDEX)
    if found is None or not _is_for_eyes(request):
        return refusing.answer(request, error)
    headers = {**HEADERS, "cache-control": "no-store", "vary": "accept"}
    return Response(found.body, status_code=404, media_type=HTML, headers=headers)


def _is_for_eyes(request: Request[Any, Any, Any]) -> bool:
    if request.method != "GET" or request.scope["path"].lstrip("/").partition("/")[0] in NOT_FOR_EYES:
        return False
    # Whoever takes anything gets what programs get.
    return Accept(request.headers.get("accept", "*/*")).best_match([MEDIA_TYPE, "application/json", HTML]) == HTML


def _found(name: str) -> File:
    found = files.find(name)
    if found is None:
        # A page from before the last build asks for files that are gone: it must be loaded anew.
        raise NotFound("There is no such file; load the page again.", field="path")
    return found


def _sent(request: Request[Any, Any, Any], file: File) -> ASGIResponse:
    headers = {**HEADERS, "cache-control": file.keep, "etag": file.tag, "vary": "accept-encoding"}
    if file.keep == EVERY_TIME and request.headers.get("if-none-match") == file.tag:
        return ASGIResponse(status_code=304, headers=headers, media_type=file.kind)
    body = file.body
    if file.packs and "gzip" in request.headers.get("accept-encoding", ""):
        body = file.gzipped()
        headers["content-encoding"] = "gzip"
    return ASGIResponse(body=body, media_type=file.kind, headers=headers)


router = Router("/", route_handlers=[screen, asset, icon], tags=["dashboard"])
