"""Look whether something happened that triggers wait for: events of tasks and dags, and friction.

Events are read from where a cursor document says that everybody got to; it is put ahead once something was made for
each of them. Who is killed in between leaves it where it was, and what is made again is there already. Triggers are
remembered until somebody adds, changes or removes one, which the clock document tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.duties import calendar, firing
from dibs.errors import Conflict
from dibs.model.instants import from_micros, seconds, to_micros

if TYPE_CHECKING:
    from dibs.duties.desk import Desk
    from dibs.model.event import Event
    from dibs.model.task import Task
    from dibs.model.trigger import Trigger
    from dibs.stores.contract import Store
    from dibs.stores.values import Document

KIND = firing.KIND
CURSOR = "cursor"
FRICTION = "friction"
EVENTS_AT_ONCE = 1_000
BATCHES = 5
"""How many events one pass reads at most; the next one goes on a second later."""
FRICTION_EVERY_S = 60.0
MOST_PARENTS = 12
"""How far up it is looked for a trigger: a little more than tasks may be spawned deep."""


async def trigger(desk: Desk) -> int:
    """Make what triggers wait for; how many. One read of one document, where there are no triggers."""
    store = desk.store
    clock = await calendar.read_clock(store, KIND)
    if clock is None or not calendar.is_due(clock, store.now()):
        return 0
    known = await _known(desk, clock)
    waiting = [(project, each) for project, each in known if each.on == "event" and not each.paused]
    rubbing = [(project, each) for project, each in known if each.on == "friction" and not each.paused]
    made = await _follow(store, waiting) if waiting else 0
    if rubbing and await _may_look(store):
        for project, each in rubbing:
            made += await feel(store, project, each)
    if not waiting:
        pause_s = FRICTION_EVERY_S if rubbing else calendar.LOOK_EVERY_S
        await calendar.rest(store, clock, store.now() + seconds(pause_s))
    return made


async def _known(desk: Desk, clock: Document) -> list[tuple[str, Trigger]]:
    """Every trigger of every project."""
    if desk.triggers is None or desk.triggers[0] != clock.version:
        from msgspec import DecodeError

        found = []
        async for document in calendar.pages(desk.store, KIND):
            try:
                found.append((document.name.rpartition("/")[0], firing.read(document)))
            except DecodeError:
                continue  # of a later version, which knows what to do with it
        desk.triggers = (clock.version, found)
    return desk.triggers[1]


# Events


async def read_cursor(store: Store) -> tuple[int, int]:
    """Up to which event everything was looked at, and the version of who says so."""
    for document in await store.documents(calendar.EVERYWHERE, CURSOR, name=KIND):
        return int(document.body), document.version
    return 0, 0


async def _follow(store: Store, waiting: list[tuple[str, Trigger]]) -> int:
    """Go through what happened since somebody looked."""
    reached, version = await read_cursor(store)
    # What happened before all of them were there is nobody's.
    reached = max(reached, min(each.after_seq for _, each in waiting))
    made = 0
    for _ in range(BATCHES):
        events = await store.events(reached, EVENTS_AT_ONCE)
        if not events:
            break
        made += await _answer(store, waiting, events)
        reached = events[-1].seq
        try:
            version = await store.write_document(calendar.EVERYWHERE, CURSOR, KIND, b"%d" % reached, version)
        except Conflict:
            break  # somebody else goes on
        if len(events) < EVENTS_AT_ONCE:
            break
    return made


async def _answer(store: Store, waiting: list[tuple[str, Trigger]], events: list[Event]) -> int:
    """Make what triggers wait for, of these events."""
    from dibs.rules import triggers

    wanted = [
        (event, [(project, each) for project, each in waiting if triggers.waits_for(each, event)]) for event in events
    ]
    wanted = [(event, those) for event, those in wanted if those]
    if not wanted:
        return 0
    ids = list({event.task_id for event, _ in wanted if event.task_id is not None})
    tasks = {task.id: task for task in await store.get(ids, listed=True) if task is not None}
    made = 0
    for event, those in wanted:
        told = await _told(store, event, tasks)
        if told is None:
            continue
        project, happened, task = told
        for whose, each in those:
            if whose == project and triggers.fits(each, happened):
                depth = 1 + await _depth(store, task)
                receipt = await firing.fire(store, whose, each.name, happened, str(event.seq), depth=depth)
                made += receipt is not None and receipt.id is not None and not receipt.existing
    return made


async def _told(store: Store, event: Event, tasks: dict[str, Task]) -> tuple[str, dict[str, Any], Task | None] | None:
    """The project of an event, what is told of it, and the task where it began; None if that is gone."""
    from dibs.rules import triggers

    happened: dict[str, Any] = {
        "type": event.type,
        "seq": event.seq,
        "at": event.at.isoformat(),
        "reason": event.reason,
        "agent": event.agent,
        "task_id": event.task_id,
        "dag_id": event.dag_id,
        "data": event.data,
    }
    if event.task_id is not None:
        task = tasks.get(event.task_id)
        if task is None:
            return None
        return task.project, {**happened, "task": triggers.told_of_task(task)}, task
    dag = await store.dag(event.dag_id or "")
    if dag is None:
        return None
    said = {name: getattr(dag, name) for name in ("id", "title", "key", "user", "created_by", "counts", "cost_usd")}
    return dag.project, {**happened, "dag": {**said, "status": str(dag.status)}}, dag.tasks[0] if dag.tasks else None


async def _depth(store: Store, task: Task | None) -> int:
    """How many triggers lie before a task: its own word, or that of who spawned it."""
    from dibs.rules import triggers

    for _ in range(MOST_PARENTS):
        if task is None:
            return 0
        said = triggers.depth_of(task.context)
        if said is not None:
            return said
        if task.parent_id is None:
            return 0
        [task] = await store.get([task.parent_id], listed=True)
    return 0


# Friction


async def _may_look(store: Store) -> bool:
    """Whether nobody looked lately: measuring takes long where there is much to measure."""
    clock = await calendar.read_clock(store, FRICTION)
    now = store.now()
    if clock is None:
        await calendar.wake(store, FRICTION, now + seconds(FRICTION_EVERY_S))
        return True
    if not calendar.is_due(clock, now):
        return False
    await calendar.rest(store, clock, now + seconds(FRICTION_EVERY_S))
    return True


async def feel(store: Store, project: str, found: Trigger) -> int:
    """Make something if a type fails or costs too much, once until that has cooled down; how many.

    It is made first, under an id that counts how many there were, and then written down: who is killed in between, or
    looks at the same time, finds it.
    """
    from dibs.rules import triggers

    now = store.now()
    each = await firing.load(store, project, found.name)
    if each is None or each.paused or (each.cools_until is not None and to_micros(each.cools_until) > now):
        return 0
    measured = await store.metrics(project, "type", now - seconds(each.window or triggers.WINDOW_S))
    rubs = triggers.friction(each, next((group for group in measured if group.name == each.type), None))
    if rubs is None or not triggers.fits(each, rubs):
        return 0
    event_id = f"friction-{each.made + 1}"
    receipt = await firing.made(store, project, each, {**rubs, "at": from_micros(now).isoformat()}, event_id, depth=1)
    if receipt.id is not None:
        firing.note(each, receipt.id, now)
    each.cools_until = from_micros(triggers.cools_until(each, now))
    try:
        await firing.save(store, project, each)
    except Conflict:
        return 0  # somebody else was faster, or changed it
    return int(receipt.id is not None)
