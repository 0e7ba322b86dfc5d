"""Is it alive, is it ready: for whoever starts, watches and replaces servers. Needs no token, and tells no secrets."""

from __future__ import annotations

from typing import Any

from litestar import Response, Router, get
from litestar.datastructures import State

from dibs.server.admitting import ANYBODY
from dibs.server.readiness import Readiness

NO_STORE = {"Cache-Control": "no-store"}


@get("/healthz", opt={"roles": ANYBODY}, operation_id="healthz", summary="Whether the process answers")
async def healthz() -> Response[dict[str, str]]:
    """Always, as long as the process answers at all: restart it when it does not."""
    return Response({"status": "ok"}, headers=NO_STORE)


@get("/readyz", opt={"roles": ANYBODY}, operation_id="readyz", summary="Whether work is handed out, and on time")
async def readyz(state: State) -> Response[dict[str, Any]]:
    """503 and what is the matter, while it is not: send it no requests then, but leave it alone."""
    readiness: Readiness | None = state.get("readiness")
    troubles = [] if readiness is None else await readiness.troubles()
    if not troubles:
        return Response({"status": "ready"}, headers=NO_STORE)
    told = [{"code": trouble.code, "detail": trouble.detail} for trouble in troubles]
    return Response({"status": "not consuming", "troubles": told}, status_code=503, headers=NO_STORE)


router = Router("/", route_handlers=[healthz, readyz], tags=["health"])
