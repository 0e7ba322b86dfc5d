"""Artifacts: bytes that are streamed up and down, never held whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litestar.response.base import ASGIResponse

from dibs.errors import Invalid
from dibs.rules.validation import whole
from dibs.server import given as givens
from dibs.server.handling import router_of

if TYPE_CHECKING:
    from litestar.types import Receive, Send

    from dibs.artifacts.verbs import Opened
    from dibs.model.artifact import Artifact
    from dibs.server.desk import Asking


class Download(ASGIResponse):
    """The bytes of an artifact. Where they are not what they were, they are cut off, and the client sees that."""

    _should_set_content_length = False

    def __init__(self, opened: Opened) -> None:
        super().__init__(
            media_type="application/octet-stream",
            headers={
                "content-length": str(opened.size),
                "etag": f'"{opened.digest}"',
                "cache-control": "no-store",
                # Other people's bytes are never shown as a page of ours.
                "content-disposition": "attachment",
                "x-content-type-options": "nosniff",
                "content-security-policy": "sandbox; default-src 'none'",
            },
        )
        self._opened = opened

    async def send_body(self, send: Send, receive: Receive) -> None:
        async for chunk in self._opened:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def put_artifact(asking: Asking, task_id: str, name: str, fence: Any, media_type: Any = None) -> Artifact:
    held = asking.claim_of(task_id, fence)
    return await _sent(asking.queue.put_artifact(held, name, asking.stream(), media_type=media_type))


async def keep_bytes(asking: Asking, name: str, media_type: Any = None) -> Artifact:
    return await _sent(asking.queue.keep_bytes(name, asking.stream(), media_type=media_type))


async def _sent(keeping: Any) -> Artifact:
    """More bytes than are kept is a body that is too large."""
    try:
        found: Artifact = await keeping
    except Invalid as error:
        if error.field == "data":
            raise Invalid(error.message, code="too_large", field="data") from None
        raise
    return found


async def refer_to_artifact(asking: Asking, task_id: str, fence: Any, artifact: Any) -> Artifact:
    [kept] = await asking.queue._passed_on([givens.artifact(artifact)])
    return await asking.queue.store.put_artifact(task_id, whole(fence, "fence", 0, 2**63 - 1), kept)


async def open_artifact(asking: Asking, ref: str, dag: str | None = None) -> Download:
    return Download(await asking.queue.open_artifact(ref, dag=dag))


router = router_of(
    "artifacts",
    {
        "put_artifact": put_artifact,
        "keep_bytes": keep_bytes,
        "refer_to_artifact": refer_to_artifact,
        "open_artifact": open_artifact,
    },
)
