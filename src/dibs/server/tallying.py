"""Counting what happens from the outbox, so that it does not matter who did it: a client of this server or another
one, a worker beside it, a duty.

A tally begins with the first scrape, at the end of the outbox: who never scrapes pays nothing. It reads on once a
second, in batches, and gives way to everybody else between them. Should the outbox be pruned before it was read,
because the store was away from this server for days, what was lost is not counted.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from typing import TYPE_CHECKING

from dibs.errors import DibsError
from dibs.server.metering import family, histogram

if TYPE_CHECKING:
    from datetime import datetime

    from dibs.model.event import Event
    from dibs.model.task import Task
    from dibs.queue import Queue
    from dibs.rules.exposition import Family, Histogram

log = logging.getLogger("dibs.metrics")

TICK_S = 1.0
BATCH = 500
REMEMBERED = 20_000
"""How many attempts that have begun are remembered; of others the task itself knows when it was started last."""
ATTEMPTS = (1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 20.0)
_ENDED = {
    "task.completed": "completed",
    "task.retrying": "failed",
    "task.dead_lettered": "failed",
    "task.cancelled": "cancelled",
    "task.released": "released",
    "task.waiting": "suspended",
}
_COUNTED = frozenset({"task.added", "task.claimed", "task.started", "task.expired", *_ENDED})


class Tally:
    """The counters and histograms of one project's tasks."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self.cursor = 0
        """The last event that was counted."""
        self._began: OrderedDict[str, datetime] = OrderedDict()
        self._beginning = asyncio.Lock()
        self._reading: asyncio.Task[None] | None = None
        self._added = family("dibs_tasks_added_total")
        self._completed = family("dibs_tasks_completed_total")
        self._dead = family("dibs_tasks_dead_lettered_total")
        self._cancelled = family("dibs_tasks_cancelled_total")
        self._failed = family("dibs_attempts_failed_total")
        self._expired = family("dibs_attempts_expired_total")
        self._claims = family("dibs_claims_total")
        self._wait = histogram("dibs_task_wait_seconds")
        self._duration = histogram("dibs_attempt_duration_seconds")
        self._attempts = histogram("dibs_task_attempts", ATTEMPTS)

    async def begin(self) -> None:
        """Count from now on, if it does not yet."""
        async with self._beginning:
            if self._reading is None:
                self.cursor = await self._queue.store.last_seq()
                self._reading = asyncio.create_task(self._run(), name="dibs-tally")

    async def end(self) -> None:
        """Stop counting."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    def families(self) -> list[Family | Histogram]:
        """All of it, as far as it was read."""
        return [
            *(self._added, self._completed, self._dead, self._cancelled, self._failed, self._expired, self._claims),
            *(self._wait, self._duration, self._attempts),
        ]

    async def _run(self) -> None:
        while True:
            more = False
            try:
                more = await self.read()
            except DibsError:
                pass  # the store is away: it goes on where it was
            except Exception:
                log.exception("events could not be counted; it is tried again")
            await asyncio.sleep(0 if more else TICK_S)

    async def read(self) -> bool:
        """Count the next batch; whether there may be more."""
        events = await self._queue.read_events(self.cursor, BATCH)
        if not events:
            return False
        counted = [event for event in events if event.type in _COUNTED and event.task_id]
        ids = list(dict.fromkeys(event.task_id for event in counted if event.task_id))
        found = await self._queue.store.get(ids, listed=True) if ids else []
        tasks = {task.id: task for task in found if task is not None and task.project == self._queue.project}
        for event in counted:
            task = tasks.get(event.task_id or "")
            if task is not None:
                self._count(event, task)
        self.cursor = events[-1].seq
        return len(events) == BATCH

    def _count(self, event: Event, task: Task) -> None:
        match event.type:
            case "task.added":
                self._added.add(task.type)
            case "task.claimed":
                self._claims.add(task.type)
                if task.fence == 1 and task.ready_at is not None:
                    self._wait.observe(task.type, value=max(0.0, (event.at - task.ready_at).total_seconds()))
            case "task.started":
                self._begin(task.id, event.at)
            case "task.expired":
                self._expired.add(task.type)
            case ended:
                self._end(event, task, _ENDED[ended])

    def _begin(self, task_id: str, at: datetime) -> None:
        self._began[task_id] = at
        self._began.move_to_end(task_id)
        if len(self._began) > REMEMBERED:
            self._began.popitem(last=False)

    def _end(self, event: Event, task: Task, outcome: str) -> None:
        began = self._began.pop(task.id, None)
        if began is not None:
            self._duration.observe(task.type, outcome, value=max(0.0, (event.at - began).total_seconds()))
        match event.type:
            case "task.completed":
                self._completed.add(task.type)
                self._attempts.observe(task.type, value=task.attempts)
            case "task.dead_lettered":
                self._dead.add(task.type, event.reason)
                self._failed.add(task.type, event.reason)
                self._attempts.observe(task.type, value=task.attempts)
            case "task.cancelled":
                self._cancelled.add(task.type, event.reason)
            case "task.retrying":
                self._failed.add(task.type, event.reason)
