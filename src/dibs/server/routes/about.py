"""The server about itself: what a client asks first, and OpenAPI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litestar import get
from litestar.response.base import ASGIResponse

import dibs
from dibs.model.role import EVERYONE
from dibs.server.handling import router_of
from dibs.wire.topics.about import About

if TYPE_CHECKING:
    from dibs.server.desk import Asking


async def about(asking: Asking) -> About:
    caller, store = asking.caller, asking.queue.store
    return About(
        dibs=dibs.__version__,
        now=store.now(),
        schema_version=store.schema_version,
        name=caller.name,
        role=caller.role,
        project=caller.project,
        types=None if caller.types is None else sorted(caller.types),
        limits=asking.desk.settings.shown(),
    )


@get("/v1/openapi.json", opt={"roles": EVERYONE}, name="openapi")
async def openapi() -> ASGIResponse:
    """This API, described."""
    from dibs.server.openapi import document

    return ASGIResponse(body=document())


router = router_of("about", {"about": about})
router.register(openapi)
