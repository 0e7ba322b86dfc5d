"""`subscriptions/listen` of protocol 2026-07-28, for the tasks of the Tasks extension: `notifications/tasks`.

The answer to such a request is a stream. It says first which tasks will be told of, then where each of them is, and
again whenever that has changed, in the words of `tasks/get`; it ends when all of them have ended. Nothing is kept for
it: who lost its stream listens anew, at any server. Lists of tools and resources do not change here, so nothing is told
of them.
"""

from __future__ import annotations

from collections import Counter
from contextlib import aclosing, contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from pydantic import BaseModel

from dibs.errors import DibsError, NotFound, Unavailable
from dibs.mcp import handles

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator

    from mcp.server.context import ServerRequestContext

    from dibs.queue import Queue

    Context = ServerRequestContext[Any, Any]

TASK_IDS = "taskIds"
"""What the extension adds to the filter of a subscription."""
MOST_IDS = 100
MOST_STREAMS = 1_000
MOST_OF_ONE = 100
"""How many streams one token may have open, so that it leaves room for others."""
LOOK_S = 15.0
"""After so long tasks are looked at though nothing was heard."""
PACE_S = 0.5
"""Between two looks, however much happens."""


class Told(BaseModel):
    """A notification as it goes out. What a task says is sent as it is, with what is null in it."""

    method: str
    params: dict[str, Any]


class Streams:
    """All streams that are open here."""

    def __init__(self) -> None:
        self._open: Counter[Queue] = Counter()
        self._scopes: set[anyio.CancelScope] = set()
        self._closed = False

    def close(self) -> None:
        """End all of them, in order; begin no more."""
        self._closed = True
        for scope in list(self._scopes):
            scope.cancel()

    @contextmanager
    def entered(self, queue: Queue) -> Iterator[None]:
        """One more, until it ends or all do. Raises MCPError if there are too many."""
        if self._open.total() >= MOST_STREAMS or self._open[queue] >= MOST_OF_ONE:
            raise MCPError(types.INTERNAL_ERROR, "Too many subscriptions are open: ask with tasks/get instead.")
        self._open[queue] += 1
        try:
            with anyio.CancelScope() as scope:
                self._scopes.add(scope)
                if self._closed:
                    scope.cancel()
                yield
        finally:
            self._scopes.discard(scope)
            self._open -= Counter({queue: 1})


async def listen(
    ctx: Context,
    params: types.SubscriptionsListenRequestParams,
    streams: Streams,
    queue: Queue,
    *,
    may_ask: bool,
) -> types.SubscriptionsListenResult:
    """Serve one stream. `may_ask`: as for `handles.get`."""
    meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}
    wanted = asked_for(params)

    async def tell(method: str, said: dict[str, Any]) -> None:
        told = Told(method=method, params={**said, "_meta": meta})
        await ctx.session.send_notification(cast("Any", told), related_request_id=ctx.request_id)

    with streams.entered(queue):
        honored = {} if wanted is None else {TASK_IDS: await _known(queue, wanted)}
        await tell("notifications/subscriptions/acknowledged", {"notifications": honored})
        if wanted is None:
            await anyio.sleep_forever()
        async with aclosing(changes(queue, honored[TASK_IDS], may_ask=may_ask)) as found:
            async for handle in found:
                await tell("notifications/tasks", handle)
    return types.SubscriptionsListenResult(_meta=meta)


def asked_for(params: types.SubscriptionsListenRequestParams) -> list[str] | None:
    """The tasks that a client wants to hear of; None if it says nothing of tasks."""
    ids = (params.notifications.model_extra or {}).get(TASK_IDS)
    if ids is None:
        return None
    if not isinstance(ids, list) or len(ids) > MOST_IDS or not all(isinstance(id, str) for id in ids):
        raise MCPError(types.INVALID_PARAMS, f"{TASK_IDS} must be a list of at most {MOST_IDS} ids of tasks.")
    return list(dict.fromkeys(ids))


async def _known(queue: Queue, ids: list[str]) -> list[str]:
    """Those of them that there are, for whoever asks."""
    found = []
    for id in ids:
        try:
            await handles.created(queue, id)
        except NotFound:
            continue
        except DibsError as error:
            raise MCPError(types.INVALID_REQUEST, error.message, {"code": error.code}) from None
        found.append(id)
    return found


async def changes(
    queue: Queue, ids: list[str], *, may_ask: bool, clock: Callable[[], float] = monotonic
) -> AsyncGenerator[handles.Handle, None]:
    """Where each task is, then whatever changes, until all have ended, or whoever asks may not know any more."""
    told: dict[str, handles.Handle] = {}
    left = list(ids)
    while left:
        began = clock()
        try:
            seen = await queue.store.news()
            for id in list(left):
                try:
                    handle = await handles.get(queue, id, may_ask=may_ask)
                except NotFound:
                    left.remove(id)
                    continue
                if _differs(told.get(id), handle):
                    told[id] = handle
                    yield handle
                if handles.has_ended(handle):
                    left.remove(id)
            if left:
                await queue.store.wait_for_news(seen, LOOK_S)
        except Unavailable:
            pass  # it may come back, and nothing is missed
        except DibsError:
            return
        if left:
            await anyio.sleep(max(began + PACE_S - clock(), 0.0))


def _differs(before: handles.Handle | None, now: handles.Handle) -> bool:
    """Whether there is something to tell. That a lease was renewed is nothing."""
    return before is None or {**before, "lastUpdatedAt": None} != {**now, "lastUpdatedAt": None}
