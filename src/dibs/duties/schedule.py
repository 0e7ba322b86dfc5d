"""Make what schedules say, once for each tick.

A tick is taken first, by writing into the schedule's document that something is made for it: of any number of servers
one gets through. Then it is made, under an id that follows from schedule and tick, and then the document says so. Who
is killed in between leaves a tick that was taken; the next look makes it again, and finds what is there. Who was slow,
and looks at an old version, writes nothing and makes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.duties import calendar
from dibs.errors import Conflict, DibsError, NotFound, Unavailable
from dibs.model.instants import from_micros, seconds, to_micros

if TYPE_CHECKING:
    from dibs.duties.desk import Desk
    from dibs.model.schedule import Schedule
    from dibs.stores.contract import Store

KIND = calendar.KIND


async def schedule(desk: Desk) -> int:
    """Make what is due; how many ticks. One read of one document, where there are no schedules or none is due."""
    store = desk.store
    clock = await calendar.read_clock(store, KIND)
    if clock is None or not calendar.is_due(clock, store.now()):
        return 0
    from msgspec import DecodeError

    made, earliest = 0, store.now() + seconds(calendar.LOOK_EVERY_S)
    async for document in calendar.pages(store, KIND):
        project = document.name.rpartition("/")[0]
        try:
            found = calendar.read(document)
        except DecodeError:
            continue  # of a later version, which knows what to do with it
        count, due_at = await fire(store, project, found)
        made += count
        if due_at is not None:
            earliest = min(earliest, due_at)
    await calendar.rest(store, clock, earliest)
    return made


async def fire(store: Store, project: str, found: Schedule) -> tuple[int, int | None]:
    """Make what is due of one schedule; for how many ticks, and when there is more to do, as far as is known."""
    from dibs.rules import ticks

    whose = calendar.place_of(project, found.name)
    try:
        if not found.firing and not await take(store, project, found):
            return 0, _due_at(found, whose)
        count = await make(store, project, found)
    except Conflict:
        # Somebody else was faster, or changed it: it is looked at again.
        return 0, store.now()
    if ticks.look(found, whose, store.now()) is not None and not found.paused:
        return count, store.now()
    return count, _due_at(found, whose)


async def take(store: Store, project: str, found: Schedule) -> bool:
    """Take the ticks that are due, so that nobody else does; whether there is something to make."""
    from dibs.rules import ticks

    if found.paused:
        return False
    due = ticks.look(found, calendar.place_of(project, found.name), store.now())
    if due is None:
        return False
    if found.overlap != ticks.ALLOW:
        found.live = tuple(await _live(store, found.live))
        due = ticks.without_overlap(found, due, busy=bool(found.live))
    found.next_at = None if due.next_at is None else from_micros(due.next_at)
    found.skipped += due.skipped
    found.firing = tuple(from_micros(tick) for tick in due.ticks)
    await calendar.save(store, project, found)
    return bool(found.firing)


async def make(store: Store, project: str, found: Schedule) -> int:
    """Make something for each tick that was taken, and say so; for how many."""
    from dibs import templates
    from dibs.rules import ticks

    if found.overlap == ticks.CANCEL:
        for id in found.live:
            await _cancel(store, id, f"schedule {found.name} is due again")
        found.live = ()
    firing, found.firing = found.firing, ()
    for tick in firing:
        order = templates.Order(
            project=project,
            key=ticks.key_of(found.name, to_micros(tick)),
            at=to_micros(tick),
            created_by=f"cron:{found.name}",
            known={"schedule": {"name": found.name, "tick": ticks.local_time(found, tick)}},
        )
        try:
            made = await templates.make(store, found.task, found.dag, order)
        except Unavailable:
            raise
        except DibsError as error:
            found.error = error.message
            continue
        found.error = None
        found.made += 1
        found.last_at, found.last_id = tick, made.id
        if found.overlap != ticks.ALLOW:
            found.live = (*found.live, made.id)[-ticks.MAX_LIVE :]
    await calendar.save(store, project, found)
    return len(firing)


def _due_at(found: Schedule, whose: str) -> int | None:
    from dibs.rules import ticks

    if found.paused or found.next_at is None or not ticks.is_known_here(found):
        return None
    return ticks.due_at(found, whose, to_micros(found.next_at))


async def _live(store: Store, ids: tuple[str, ...]) -> list[str]:
    """Those of these tasks and dags that have not ended."""
    from dibs.model.status import FINAL, DagStatus

    over = (DagStatus.COMPLETED, DagStatus.FAILED, DagStatus.CANCELLED)
    left = []
    for id in ids:
        if id.startswith("dag_"):
            dag = await store.dag(id)
            ended = dag is None or dag.status in over
        else:
            [task] = await store.get([id], listed=True)
            ended = task is None or task.status in FINAL
        if not ended:
            left.append(id)
    return left


async def _cancel(store: Store, id: str, reason: str) -> None:
    try:
        ended = await store.cancel(id, reason)
    except NotFound:
        return  # pruned
    if ended:
        while await store.spread(cause=id):
            pass
