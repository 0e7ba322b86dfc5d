"""Requests that wait: whoever leaves in the meantime need not be waited for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from dibs.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from litestar.types import Receive

T = TypeVar("T")


async def gone(receive: Receive) -> None:
    """Until the client has closed the connection."""
    message: Any = await receive()
    while message["type"] != "http.disconnect":
        message = await receive()


async def while_there(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """What the work comes to; it is given up when the client leaves, and nobody hears of it."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(gone(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise Unavailable("the client left.", code="client_left")
    finally:
        leaving.cancel()
        working.cancel()
