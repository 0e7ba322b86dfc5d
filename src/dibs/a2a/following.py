"""What happens to one task, as it happens: first where it is, then every change, until there is nothing more to tell.

Whoever follows has a place in the store's events, taken before the task was read. Progress is told as it was said; of
everything else the task itself is read again, and told if that makes a difference. So it does not matter which server
is asked, nor whether one died in between: where a task is, is always told.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from a2a.types.a2a_pb2 import TaskArtifactUpdateEvent, TaskState, TaskStatusUpdateEvent
from msgspec import Struct

from dibs.a2a import showing
from dibs.errors import Unavailable
from dibs.model.status import FINAL
from dibs.queue import Queue
from dibs.requests import get_task
from dibs.rules.hooks import GAP

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from contextlib import AbstractContextManager

    from dibs.a2a.showing import Seen
    from dibs.model.event import Event

    Update = TaskStatusUpdateEvent | TaskArtifactUpdateEvent

PROGRESS = "task.progress"
LOOK_S = 15.0
"""After so long a task is looked at though nothing was heard of it, and whether its reader may still read."""
AGAIN_S = 1.0
"""After so long a store that is away is asked again."""
TRUST_S = 1.0
"""How long a token is believed that was looked at."""
BATCH = 100


class Feed(Protocol):
    """The events of a store, shared by all who follow."""

    @property
    def is_closing(self) -> bool:
        """Whether the server is about to leave: whoever follows is let go."""
        ...

    def follow(self) -> AbstractContextManager[object]:
        """To be open for as long as somebody follows."""
        ...

    async def newest(self) -> int:
        """The number of the newest event."""
        ...

    async def after(self, seq: int, project: str, limit: int) -> tuple[list[Event], int]:
        """Events of a project after a number, and the number up to which these are all."""
        ...

    async def rest(self, seq: int, timeout_s: float) -> None:
        """Until there is something after this number, or it is closing, at most so long."""
        ...


class Visit(Struct):
    """Somebody who asks: the queue as they see it, who they are, and whether they still are."""

    queue: Queue
    name: str
    token_id: str
    is_trusted: Callable[[], Awaitable[bool]]
    record: Callable[[str, str], Awaitable[None]]
    """Notes an act and its outcome for the audit."""


async def read(queue: Queue, task_id: str) -> Seen:
    """A task and what it asks; in full once it has ended. Raises NotFound."""
    task = await get_task(queue.store, task_id, listed=True)
    if task.status in FINAL:
        task = await queue.get(task_id)
    return await showing.look(queue, task)


async def updates(
    feed: Feed, visit: Visit, seen: Seen, place: int, url: str, until: float
) -> AsyncGenerator[Update, None]:
    """What happens to a task that was `seen`, from a place before that; until it has ended, or asks something new, or
    the server leaves, or its reader is not trusted any more, or it is `until` (monotonic)."""
    task_id, project = seen.task.id, visit.queue.project
    looked = trusted = time.monotonic()
    changed = False
    with feed.follow():
        while not seen.has_ended and not feed.is_closing:
            try:
                found, end = await feed.after(place, project, BATCH)
            except Unavailable:
                # The store is away. Whoever follows need not know: it goes on where it was.
                found, end = [], place
            mine = [event for event in found if event.task_id == task_id or event.type == GAP]
            now = time.monotonic()
            if (mine or now - looked >= LOOK_S) and now - trusted >= TRUST_S:
                if not await visit.is_trusted():
                    return
                trusted = now
            for event in mine:
                if event.type == PROGRESS:
                    yield _status(seen, showing.working(seen.task, *_said(event), event.at))
            changed = changed or any(event.type != PROGRESS for event in mine) or now - looked >= LOOK_S
            if changed:
                before = seen
                try:
                    seen = await read(visit.queue, task_id)
                    looked, changed = now, False
                except Unavailable:
                    pass
                for update in _changes(before, seen, url):
                    yield update
                if seen.question is not None and _differs(before, seen):
                    return
            now = time.monotonic()
            if now >= until:
                return
            if end == place and not seen.has_ended:
                patience = AGAIN_S if changed else looked + LOOK_S - now
                await feed.rest(place, max(min(until - now, patience), 0.0))
            place = end


def _said(event: Event) -> tuple[str | None, float | None]:
    return event.data.get("note"), event.data.get("progress")


def _changes(before: Seen, seen: Seen, url: str) -> list[Update]:
    """What to tell of a task that was read again."""
    if not _differs(before, seen):
        return []
    task = seen.task
    context_id = showing.context_of(task)
    made: list[Update] = [
        TaskArtifactUpdateEvent(task_id=task.id, context_id=context_id, artifact=artifact, last_chunk=True)
        for artifact in showing.artifacts_of(task, url)
    ]
    return [*made, _status(seen, showing.status_of(seen))]


def _differs(before: Seen, seen: Seen) -> bool:
    if before.state != seen.state:
        return True
    if seen.state == TaskState.TASK_STATE_INPUT_REQUIRED:
        return before.question is None or seen.question is None or before.question.id != seen.question.id
    # Progress is told by itself; what is left is that an attempt ended, or another one began.
    return (before.task.status, before.task.fence) != (seen.task.status, seen.task.fence)


def _status(seen: Seen, status: object) -> TaskStatusUpdateEvent:
    task = seen.task
    return TaskStatusUpdateEvent(
        task_id=task.id,
        context_id=showing.context_of(task),
        status=status,  # type: ignore[arg-type]
        metadata=showing.facts_of(task),
    )
