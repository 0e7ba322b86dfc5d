"""Triggers, and where webhooks come in: `/in/NAME`, or `/in/PROJECT/NAME`. No token is asked for there, but a signature
over what was sent, with a secret that only the sender knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litestar import Request, post
from litestar.response.base import ASGIResponse
from msgspec.json import encode

from dibs.errors import Denied, Invalid, Unavailable
from dibs.rules import validation
from dibs.rules.access import DEFAULT, Rights
from dibs.rules.triggers import MAX_BODY_BYTES
from dibs.server.admitting import ANYBODY
from dibs.server.handling import router_of
from dibs.server.versions import edited, looked_at
from dibs.tenancy import homes_of, seen_by

if TYPE_CHECKING:
    from dibs.model.trigger import Trigger
    from dibs.server.desk import Asking, Desk


async def _trigger(asking: Asking, given: dict[str, Any]) -> Trigger:
    return await asking.queue.get_trigger(given["name"])


@post(["/in/{first:str}", "/in/{first:str}/{second:str}"], opt={"roles": ANYBODY}, name="receive", status_code=200)
async def receive(request: Request[Any, Any, Any]) -> ASGIResponse:
    """Take in a webhook for a trigger: of the default project, or of the one that is named."""
    first, second = request.path_params["first"], request.path_params.get("second")
    return await _receive(request, *((DEFAULT, first) if second is None else (first, second)))


async def _receive(request: Request[Any, Any, Any], project: str, name: str) -> ASGIResponse:
    desk: Desk = request.app.state.desk
    project = validation.text(project, "project")
    body = await _body(request)
    headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in request.scope["headers"]}
    whole = desk.queues.whole
    queue = seen_by(whole, Rights(project=project), homes_of(whole))
    try:
        receipt = await queue.receive(name, headers, body)
    except Denied as error:
        await desk.authority.record(None, "receive", request.scope["path"], error.code)
        raise
    return ASGIResponse(body=encode(receipt), headers={"cache-control": "no-store"})


async def _body(request: Request[Any, Any, Any]) -> bytes:
    parts, size = [], 0
    while True:
        message: Any = await request.receive()
        if message["type"] == "http.disconnect":
            raise Unavailable("the sender left before all was sent.", code="client_left")
        parts.append(message["body"])
        size += len(message["body"])
        if size > MAX_BODY_BYTES:
            raise Invalid(f"The body is larger than the {MAX_BODY_BYTES:,} bytes that are taken.", code="too_large")
        if not message.get("more_body"):
            return b"".join(parts)


router = router_of(
    "triggers",
    {
        "get_trigger": looked_at(_trigger),
        "add_trigger": edited(_trigger),
        "remove_trigger": edited(_trigger),
    },
)
router.register(receive)
