"""The page that Prometheus reads, for each project that somebody scrapes."""

from __future__ import annotations

import time
from copy import copy
from typing import TYPE_CHECKING

from dibs.errors import Unavailable
from dibs.hooks import projects_with_hooks
from dibs.rules.exposition import text
from dibs.server.metering import Gauges, family
from dibs.server.tallying import Tally

if TYPE_CHECKING:
    from dibs.keeper import Keeper
    from dibs.queue import Queue
    from dibs.rules.exposition import Family, Histogram
    from dibs.server.metering import Meter

MOST_PROJECTS = 100


class Scraping:
    """Everything that is counted, put together when somebody asks."""

    def __init__(self, queue: Queue, meter: Meter, keeper: Keeper) -> None:
        self._queue = queue
        self._meter = meter
        self._keeper = keeper
        self._projects: dict[str, tuple[Gauges, Tally]] = {}

    async def page(self, project: str, *, whole_server: bool) -> str:
        """The metrics of this project; and those of the server, which tell of all projects. Raises Unavailable."""
        gauges, tally = self._of(project)
        await tally.begin()
        families: list[Family | Histogram] = [*await gauges.families(), *tally.families()]
        if whole_server:
            families += [*self._meter.families(), *await self._outbox(tally), self._keeping(), _version()]
        return text(families)

    async def end(self) -> None:
        """Stop counting."""
        for _, tally in self._projects.values():
            await tally.end()

    def _of(self, project: str) -> tuple[Gauges, Tally]:
        found = self._projects.get(project)
        if found is None:
            if len(self._projects) >= MOST_PROJECTS:
                raise Unavailable(f"{MOST_PROJECTS} projects are scraped already: scrape the others on another server.")
            queue = self._in(project)
            found = self._projects[project] = (Gauges(queue), Tally(queue))
        return found

    def _in(self, project: str) -> Queue:
        """The queue of a project: what it counts is for whoever may see that project."""
        queue = copy(self._queue)
        queue.project = project
        return queue

    async def _outbox(self, tally: Tally) -> list[Family]:
        store = self._queue.store
        last_seq = await store.last_seq()
        events, backlog = family("dibs_events_total"), family("dibs_outbox_backlog_events")
        events.put(value=last_seq)
        backlog.put("metrics", value=max(0, last_seq - tally.cursor))
        for project in await projects_with_hooks(store):
            for hook in await self._in(project).hooks():
                backlog.put(f"hook {project}/{hook.name}", value=max(0, last_seq - hook.seq))
        return [events, backlog]

    def _keeping(self) -> Family:
        keeping = family("dibs_keeper_last_run_seconds")
        if self._keeper.ran_at is not None:
            keeping.put(value=time.monotonic() - self._keeper.ran_at)
        return keeping


def _version() -> Family:
    from importlib.metadata import PackageNotFoundError, version

    known = family("dibs_up_info")
    try:
        known.put(version("dibs"), value=1)
    except PackageNotFoundError:  # run from its sources
        known.put("unknown", value=1)
    return known
