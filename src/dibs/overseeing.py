"""The verbs for whoever keeps an eye on everything: the strip, costs, dags in a row, what happened lately. `Queue` has
them; they are written here, and what each needs is imported when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dibs.errors import Invalid, NotFound
from dibs.requests import MAX_LIMIT, id_of, optional
from dibs.rules import validation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.model.overview import Overview, Pace
    from dibs.model.spending import Spent
    from dibs.model.views import DagPage, EventPage, TaskAttempts
    from dibs.queue import Queue
    from dibs.stores.contract import Store

MOST = 1_000
"""So many questions and dead letters are counted."""
MOST_STALLED = 100
HOUR_US = 3_600_000_000
EVENTS_AT_ONCE = 1_000
MOST_EVENTS = 20_000
"""So many events are looked at in one call."""


class Overseeing:
    """A queue from above."""

    store: Store
    project: str

    async def overview(self) -> Overview:
        """What waits for a person, what is wrong, and what it costs, in one look."""
        from dibs.model.found import Count
        from dibs.model.instants import from_micros
        from dibs.model.overview import Overview
        from dibs.rules import agents, overview
        from dibs.rules.closing import why_shut
        from dibs.stores.values import Filter

        now = self.store.now()
        lanes = await self.store.ready(self.project)
        known = await self.store.agents(self.project)
        inbox = await self.store.inbox(self.project, None, MOST)
        undecided = Filter(project=self.project, status=("dead_lettered",), reviewed=False)
        dead = await self.store.find_ids(undecided, MOST, None)
        held = await self.store.find(Filter(project=self.project, status=("claimed", "running")), MOST, None)
        pauses, breakers = await cast("Queue", self)._shut()
        return Overview(
            at=from_micros(now),
            questions=Count(count=len(inbox), more=len(inbox) == MOST),
            dead_letters=Count(count=len(dead.ids), more=dead.cursor is not None),
            stalled=[task.id for task in held.items if overview.is_stalled(task, now)][:MOST_STALLED],
            open_breakers=sorted(type for type, breaker in breakers.items() if why_shut(breaker)),
            paused=[pause.gate for pause in pauses],
            pace=await self._pace(now),
            oldest_ready_at=min((lane.oldest_ready_at for lane in lanes if lane.oldest_ready_at), default=None),
            tasks={"ready": sum(lane.ready for lane in lanes), "held": len(held.items)},
            agents=sum(agents.is_live(agent, now) for agent in known),
        )

    async def _pace(self, now: int) -> Pace:
        from dibs.rules import overview
        from dibs.rules.spending import day_of

        day, hour = day_of(now), now - HOUR_US
        today = await self.store.spending(self.project, "type", day, now + 1, now + 1 - day)
        last_hour = await self.store.spending(self.project, "type", hour, now + 1, HOUR_US + 1)
        return overview.pace(today, last_hour, await self.store.budgets(self.project), now)

    async def costs(self, by: str = "type", since: Any = None, until: Any = None) -> list[Spent]:
        """What was spent on each day (UTC), by `type`, `agent`, `model` or `dag`: from the day of `since` (a month ago)
        to the day of `until` (today), which are instants, or how long ago. Days without anything are left out."""
        from dibs.rules import spending
        from dibs.rules.metrics import DAY_US
        from dibs.rules.review import past_instant

        now = self.store.now()
        begin, end = spending.days(
            None if since is None else past_instant(since, "since", now),
            None if until is None else past_instant(until, "until", now),
            now,
        )
        sums = await self.store.spending(self.project, spending.check_by(by), begin, end, DAY_US)
        return spending.spent(sums, begin, DAY_US)

    async def dags(
        self,
        status: str | Iterable[str] | None = None,
        text: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> DagPage:
        """Dags of more than one task, or with a title, budget or key, the newest first: counts by status and costs, but
        neither tasks nor edges. `text` is in the title. A page may be short and still have a cursor."""
        from dibs.model.status import DagStatus
        from dibs.model.views import DagPage
        from dibs.stores.overseen import DagFilter

        statuses: tuple[str, ...] | None = None
        if status is not None:
            if not isinstance(status, str) and not hasattr(status, "__iter__"):
                raise Invalid(f"status must be a status or a list of them, not {status!r:.80}.", field="status")
            statuses = (status,) if isinstance(status, str) else tuple(status)
            for word in statuses:
                if word not in set(DagStatus):
                    raise Invalid(f"status must be one of {', '.join(DagStatus)}, not {word!r:.80}.", field="status")
        wanted = DagFilter(project=self.project, status=statuses, text=optional(text, "text"))
        most = validation.whole(limit, "limit", 1, MAX_LIMIT)
        found = await self.store.dags(wanted, most, optional(cursor, "cursor"))
        return DagPage(items=found.items, cursor=found.rest)

    async def dag_attempts(self, dag_id: Any) -> list[TaskAttempts]:
        """Every claim that ended of each task of a dag, in the order in which the tasks were added."""
        from dibs.model.views import TaskAttempts

        id = id_of(dag_id)
        dag = await self.store.dag(id)
        if dag is None:
            raise NotFound(f"There is no dag {id}.", field="dag_id")
        ids = [task.id for task in dag.tasks]
        found = await self.store.histories(ids)
        return [TaskAttempts(task_id=id, attempts=attempts) for id, attempts in zip(ids, found, strict=True)]

    async def recent_events(
        self,
        types: str | Iterable[str] | None = None,
        task: Any = None,
        dag: Any = None,
        before: int | None = None,
        limit: int = 100,
    ) -> EventPage:
        """What happened lately, the last first: of these types, about this task or dag. A page may be short, or empty,
        and still say where to go on (`before`): only so many events are looked at."""
        from dibs.model.views import EventPage

        wanted = (
            None if types is None else set((types,) if isinstance(types, str) else validation.names(types, "types"))
        )
        about_task = None if task is None else id_of(task, "task")
        about_dag = None if dag is None else id_of(dag, "dag")
        most = validation.whole(limit, "limit", 1, MAX_LIMIT)
        newest = await self.store.last_seq() + 1
        end = newest if before is None else min(newest, validation.whole(before, "before", 1, 2**63 - 1))
        page = EventPage()
        stop = max(1, end - MOST_EVENTS)
        while end > stop:
            start = max(stop, end - EVENTS_AT_ONCE)
            events = await self.store.events(start - 1, end - start)
            if events and events[0].type == "gap" and events[0].seq >= end:
                return page
            for event in reversed([event for event in events if event.seq < end]):
                if event.type == "gap":
                    return page
                if (
                    (wanted is None or event.type in wanted)
                    and (about_task is None or event.task_id == about_task)
                    and (about_dag is None or event.dag_id == about_dag)
                ):
                    page.items.append(event)
                    if len(page.items) == most:
                        page.before = event.seq
                        return page
            end = start
        page.before = end if end > 1 else None
        return page
