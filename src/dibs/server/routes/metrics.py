"""Metrics for Prometheus, of the caller's project; what the server itself counts is for those who operate it."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, Router, get
from litestar.datastructures import State

from dibs.model.role import Role
from dibs.rules.access import OPERATORS
from dibs.rules.exposition import CONTENT_TYPE
from dibs.server.admitting import caller_of
from dibs.server.scraping import Scraping

READERS = frozenset({Role.VIEWER, Role.ORCHESTRATOR, Role.ADMIN})


@get("/metrics", opt={"roles": READERS}, operation_id="metrics", summary="Metrics in Prometheus' text format")
async def metrics(request: Request[Any, Any, State], state: State) -> Response[str]:
    """All metrics of the caller's project. Kept for some seconds, so that asking often costs the store nothing."""
    scraping: Scraping = state["scraping"]
    caller = caller_of(request)
    operates = caller.role is Role.ADMIN and caller.project == OPERATORS
    page = await scraping.page(caller.project, whole_server=operates)
    return Response(page, media_type=CONTENT_TYPE)


router = Router("/", route_handlers=[metrics], tags=["metrics"])
