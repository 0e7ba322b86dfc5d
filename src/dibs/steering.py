"""The verbs about all tasks that a query finds, and about the tags of one. `Queue` has them; they are written here.

Each works through so many tasks a call, newest first, and answers where it stopped; whoever calls goes on from there.
Tasks are numbered, so none is met twice, whatever becomes of it. What each needs is imported when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dibs.errors import DibsError, Invalid, Unavailable
from dibs.requests import MAX_DELAY_S, MAX_NOTE_CHARS, id_of, optional
from dibs.rules import validation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from dibs.model.found import Count, Handled
    from dibs.model.task import Task
    from dibs.queue import Queue
    from dibs.rules.query import Completion
    from dibs.stores.contract import Store

AT_ONCE = 500
MOST_COUNTED = 10_000
MOST_LOOKS = 5
"""How often the store looks at as many tasks as it will in one go, for a count."""
_KNOWN_FROM = 300
"""So many of the newest tasks tell which types, tags and users there are."""


class Steering:
    """What is done to many tasks alike."""

    store: Store
    project: str

    async def count(self, query: str = "") -> Count:
        """How many tasks a query finds: exactly up to 10,000, and as far as the store looks."""
        from dibs.model.found import Count

        wanted = cast("Queue", self)._wanted(query)
        count, cursor = 0, None
        for _ in range(MOST_LOOKS):
            found = await self.store.find_ids(wanted, MOST_COUNTED - count, cursor)
            count, cursor = count + len(found.ids), found.cursor
            if cursor is None or count >= MOST_COUNTED:
                break
        return Count(count=count, more=cursor is not None)

    async def suggest(self, query: str = "", at: int | None = None) -> list[Completion]:
        """What may be written next in a query, with the cursor `at` this place (the end): keys, and values that were
        seen lately."""
        from dibs.rules import query as grammar

        text = validation.text(query, "query", max_chars=grammar.MAX_CHARS, blank=True)
        place = len(text) if at is None else validation.whole(at, "at", 0, len(text))
        key = grammar.open_key(text, place)
        return grammar.complete(text, place, {} if key is None else {key: await self._known(key)})

    async def _known(self, key: str) -> list[str]:
        """Values of a key: of what was added lately, or of who works. Most keys have none that must be looked for."""
        if key == "agent":
            return sorted(agent.id for agent in await self.store.agents(self.project))
        if key not in ("type", "tag", "user", "reason"):
            return []
        from dibs.stores.values import Filter

        tasks = (await self.store.find(Filter(project=self.project), _KNOWN_FROM, None)).items
        if key == "tag":
            return sorted({tag for task in tasks for tag in task.tags})
        return sorted({value for task in tasks if (value := getattr(task, key)) is not None})

    async def tag(self, task_id: Any, add: Sequence[str] = (), remove: Sequence[str] = ()) -> Task:
        """Give a task tags, or take them away, wherever it is in its life."""
        more, less = _tags(add, remove)
        return await self.store.retag(id_of(task_id), more, less)

    async def cancel_found(
        self, query: str, *, reason: str | None = None, limit: int = AT_ONCE, cursor: str | None = None
    ) -> Handled:
        """Cancel what a query finds, and what depends on it: up to `limit` (500) tasks, from `cursor` on."""
        queue = cast("Queue", self)
        if reason is not None:
            validation.text(reason, "reason", max_chars=MAX_NOTE_CHARS)

        async def cancel(task_id: str) -> bool:
            return bool(await queue.cancel(task_id, reason))

        return await self._handle(query, cancel, limit, cursor)

    async def retry_found(
        self,
        query: str,
        *,
        delay: Any = 0,
        keep_steps: bool = True,
        limit: int = AT_ONCE,
        cursor: str | None = None,
    ) -> Handled:
        """Retry what a query finds (see `retry`): up to `limit` (500) tasks, from `cursor` on."""
        queue = cast("Queue", self)
        validation.duration_s(delay, "delay", high=MAX_DELAY_S)
        validation.flag(keep_steps, "keep_steps")

        async def retry(task_id: str) -> bool:
            await queue.retry(task_id, delay=delay, keep_steps=keep_steps)
            return True

        return await self._handle(query, retry, limit, cursor)

    async def set_priority_found(
        self, query: str, priority: float, *, limit: int = AT_ONCE, cursor: str | None = None
    ) -> Handled:
        """Change how urgent is what a query finds: up to `limit` (500) tasks, from `cursor` on."""
        wanted = validation.number(priority, "priority", 0, 100)

        async def change(task_id: str) -> bool:
            await self.store.reprioritise(task_id, wanted)
            return True

        return await self._handle(query, change, limit, cursor)

    async def tag_found(
        self,
        query: str,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
        *,
        limit: int = AT_ONCE,
        cursor: str | None = None,
    ) -> Handled:
        """Give what a query finds tags, or take them away: up to `limit` (500) tasks, from `cursor` on."""
        more, less = _tags(add, remove)

        async def change(task_id: str) -> bool:
            await self.store.retag(task_id, more, less)
            return True

        return await self._handle(query, change, limit, cursor)

    async def _handle(self, query: Any, change: Callable[[str], Awaitable[bool]], limit: Any, cursor: Any) -> Handled:
        """Do it to each that fits, the oldest of them first: what they depend on lives again before they do. What is
        wrong with the request was said before; what is wrong with a task is told of that one, and the others go on."""
        from dibs.model.found import Handled, Untouched

        wanted = cast("Queue", self)._wanted(query)
        most = validation.whole(limit, "limit", 1, AT_ONCE)
        found = await self.store.find_ids(wanted, most, optional(cursor, "cursor"))
        handled = Handled(cursor=found.cursor)
        for task_id in reversed(found.ids):
            try:
                (handled.done if await change(task_id) else handled.left).append(task_id)
            except Unavailable:
                raise
            except DibsError as error:
                refused = Untouched(task_id=task_id, code=error.code, message=error.message, field=error.field)
                handled.refused.append(refused)
        return handled


def _tags(add: Any, remove: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    more, less = validation.names(add, "add"), validation.names(remove, "remove")
    if not more and not less:
        raise Invalid("Say which tags to add or remove.", field="add")
    return more, less
