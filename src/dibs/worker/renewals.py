"""Renews every lease of a worker from a thread of its own, which no handler can block.

The thread has its own way to the store. Besides renewing it gives back work that was claimed ahead and could
not begin because the loop is blocked, or shall not because its provider had enough, and stops work whose lease is about
to end without having been renewed.
"""

from __future__ import annotations

import logging
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, cast

from dibs import settling
from dibs.errors import DibsError
from dibs.stores.values import Renewal
from dibs.sync import SyncQueue, connect_sync
from dibs.worker.work import Stop, Work

if TYPE_CHECKING:
    from collections import deque

    from dibs.queue import Queue
    from dibs.remote.queue import RemoteQueue

log = logging.getLogger("dibs.worker")

LONGEST_TICK_S = 0.5
STALE_S = 1.0
"""Work claimed ahead that has not begun after this long is given back."""
SPENT_S = 2.0
"""What was spent is told at the latest so long after the last renewal, not only with the next: a budget that others
share may be used up meanwhile."""


class Renewals:
    """Keeps the leases of `held` alive. `ready` is the part of it that has not begun."""

    def __init__(self, queue: Queue, held: set[Work], ready: deque[Work], lease_s: float) -> None:
        self._queue = queue
        self._held = held
        self._ready = ready
        self._lease_s = lease_s
        self._tick_s = min(lease_s / 6, LONGEST_TICK_S)
        self._ended = Event()
        self._leaving = False
        self._away = False
        self._thread = Thread(target=self._run, name="dibs-renewals", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def leave(self) -> None:
        """Renew only what still runs. An outcome that cannot be written is waited for until its lease ends, so a
        leaving worker must let it end.
        """
        self._leaving = True

    def close(self) -> None:
        """End the thread; at most one call to the store is waited for, and not for long."""
        self._ended.set()
        self._thread.join(self._lease_s / 3)

    def _run(self) -> None:
        store: SyncQueue | None = None
        try:
            while not self._ended.wait(self._tick_s):
                try:
                    if store is None:
                        store = _own_way(self._queue)
                    self._renew(store)
                    self._give_back(store)
                    self._away = False
                except Exception as error:
                    # Whatever it is, the leases run on: say so once and try again at the next tick.
                    if not self._away:
                        log.warning("leases cannot be renewed: %s", error, exc_info=not isinstance(error, DibsError))
                    self._away = True
                self._stop_the_unrenewed()
        finally:
            if store is not None and store.queue is not self._queue:
                store.close()

    def _renew(self, store: SyncQueue) -> None:
        now = monotonic()
        # Due when a third of the lease is gone, rounded to the nearest tick.
        latest = now + self._lease_s * 2 / 3 + self._tick_s / 2
        leaving = self._leaving
        spent = now + self._lease_s - min(SPENT_S, self._lease_s / 3)
        due = [
            work
            for work in list(self._held)
            if (work.lease_until <= latest or (work.usage_changed and work.lease_until <= spent))
            and not (leaving and work.over)
        ]
        if not due:
            return
        renewals = []
        for work in due:
            renewal = Renewal(task_id=work.claim.task.id, fence=work.claim.fence, lease_s=self._lease_s)
            if work.usage_changed:
                work.usage_changed = False
                renewal.usage = work.usage
            renewals.append(renewal)
        for work, news in zip(due, store.renew_many(renewals), strict=True):
            if isinstance(news, DibsError):
                # Work that has just been settled is nobody's any more, which is no loss.
                if not (work.over or work.suspended) and work.stopped is None and work in self._held:
                    log.warning("stopping %s: %s", work.claim.task.id, news)
                    work.stop(Stop.LOST)
            elif news.cancel:
                work.stop(Stop.CANCELLED)
            else:
                work.lease_until = now + self._lease_s
                work.hear(news)

    def _give_back(self, store: SyncQueue) -> None:
        earliest = monotonic() - STALE_S
        stale = []
        for work in list(self._ready):
            # Before it begins is the best moment to spare its provider.
            if work.arrived < earliest or work.slow_down:
                try:
                    self._ready.remove(work)
                except ValueError:  # it has just begun
                    continue
                stale += [work, *work.members]
        if not stale:
            return
        try:
            store.settle([settling.untouched(work.claim, "not_begun") for work in stale])
        except BaseException:
            # Held, but neither ready nor running, it would be renewed for ever and never done.
            self._ready.extendleft(work for work in reversed(stale) if work.forget is None)
            raise
        self._held.difference_update(stale)

    def _stop_the_unrenewed(self) -> None:
        """The store judges leases, but a worker that cannot ask it must stop before they end."""
        latest = monotonic() + self._tick_s * 1.5
        for work in list(self._held):
            if work.lease_until < latest and not work.over and work.stopped is None:
                log.warning("stopping %s: its lease ends and cannot be renewed", work.claim.task.id)
                work.stop(Stop.LOST)


def _own_way(queue: Queue) -> SyncQueue:
    """A blocking handle of this thread's own; a memory store is shared, being in this process only."""
    if queue.url.startswith("memory:"):
        return SyncQueue(queue)
    if queue.far:
        return SyncQueue(cast("RemoteQueue", queue).beside())
    return connect_sync(
        queue.url,
        clock=queue.store.clock,
        project=queue.project,
        # A lost lease makes it run duties: they must keep to what this worker was told.
        retention=queue.retention_s,
        poison=queue.poison,
        artifacts=queue.artifacts_at,
    )
