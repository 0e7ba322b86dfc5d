"""Adding standalone tasks: one call however many they are. What many have in common travels once, as a frame."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from asyncpg import UniqueViolationError

from dibs.rules.large import size_of
from dibs.stores.plain import is_typical, micros, snapshots
from dibs.stores.postgres import copying, inserting
from dibs.stores.postgres.lanes import lane_keys
from dibs.stores.specs import specs_of
from dibs.stores.values import Inserted, Insertion

if TYPE_CHECKING:
    from dibs.stores.postgres.engine import Engine
    from dibs.stores.postgres.lanes import Lanes
    from dibs.stores.values import Draft, LateDrafts

_ADD_ONE = "SELECT dibs.add_one($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
_ADD = "SELECT dibs.add($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)"


async def add(engine: Engine, lanes: Lanes, insertion: Insertion) -> Inserted:
    """Add standalone tasks."""
    drafts = insertion.drafts
    one = len(drafts) == 1 and _is_usual(drafts[0])
    try:
        now = await (_add_one(engine, lanes, drafts) if one else _add_some(engine, lanes, drafts))
    except UniqueViolationError:
        # Some of them are here already: the connection was lost after an earlier call, or the ids were given twice.
        return await inserting.insert(engine, lanes, insertion)
    return Inserted(tasks=snapshots(drafts, now), existing=[False] * len(drafts))


async def _add_one(engine: Engine, lanes: Lanes, drafts: list[Draft]) -> int:
    [draft], [spec] = drafts, specs_of(drafts)
    task, lane = draft.task, draft.lane
    while True:
        numbers = lanes.known([lane]) or await lanes.numbers([lane])
        hint = engine.hint()
        began = monotonic()
        now: int | None = await engine.value(
            _ADD_ONE,
            engine.at,
            task.project,
            task.id,
            spec,
            size_of(draft.payload),
            task.type,
            numbers[lane],
            task.priority,
            lane.boost,
            task.max_attempts,
            task.timeout,
            hint,
        )
        if now is not None:
            engine.changed(hint is not None, monotonic() - began)
            return now
        await lanes.refresh()


async def _add_some(engine: Engine, lanes: Lanes, drafts: list[Draft]) -> int:
    specs = specs_of(drafts)
    ids = [draft.task.id for draft in drafts]
    sizes = [size_of(draft.payload) for draft in drafts]
    places, framed = _frames(drafts)
    while True:
        numbers = await lanes.numbers(lane_keys(framed))
        columns = list(zip(*(_frame(draft, numbers) for draft in framed), strict=True))
        now: int | None = await engine.value(
            _ADD, engine.at, lanes.version, drafts[0].task.project, ids, specs, sizes, places, *columns
        )
        if now is not None:
            engine.changed()
            return now
        await lanes.refresh()


async def add_late(engine: Engine, lanes: Lanes, drafts: LateDrafts) -> Inserted:
    """Add many standalone tasks that are being drafted meanwhile."""
    try:
        tasks = await copying.copy(engine, lanes, drafts, snapshots)
    except UniqueViolationError:
        drafts.finish()
        return await inserting.insert(engine, lanes, Insertion(drafts=list(drafts)))
    engine.changed()
    return Inserted(tasks=tasks, existing=[False] * len(tasks))


def _is_usual(draft: Draft) -> bool:
    """Whether it has nothing that `add_one` cannot keep."""
    return (
        is_typical(draft)
        and draft.fallback_lane is None
        and draft.task.user is None
        and draft.task.on_deadline == "keep"
    )


def _frames(drafts: list[Draft]) -> tuple[list[int], list[Draft]]:
    """For each draft the place of its frame, counted from 1; and a draft to make each frame from."""
    known: dict[int, int] = {}
    framed: list[Draft] = []
    places = []
    for draft in drafts:
        typical = is_typical(draft)
        place = known.get(id(draft.kind)) if typical else None
        if place is None:
            framed.append(draft)
            place = len(framed)
            if typical:
                known[id(draft.kind)] = place
        places.append(place)
    return places, framed


def _frame(draft: Draft, numbers: Any) -> tuple[Any, ...]:
    """The frame's columns, as `functions/add.sql` takes them."""
    task = draft.task
    return (
        task.type,
        numbers[draft.lane],
        None if draft.fallback_lane is None else numbers[draft.fallback_lane],
        task.priority,
        draft.lane.boost,
        draft.weight,
        task.max_attempts,
        task.timeout,
        task.user,
        micros(task.deadline),
        task.on_deadline,
        micros(task.run_after),
    )
