"""Triggers as they are kept, and what happens when one goes off.

A trigger is a document, as a schedule is (`duties.calendar`). What it makes has an id and a key that follow from the
trigger and what happened; so the same thing that happens twice, or is looked at twice, makes one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.duties import calendar
from dibs.errors import Conflict, DibsError, Unavailable
from dibs.model.instants import from_micros, to_micros

if TYPE_CHECKING:
    from dibs.model.trigger import Receipt, Trigger
    from dibs.stores.contract import Store
    from dibs.stores.values import Document

KIND = "trigger"


async def load(store: Store, project: str, name: str) -> Trigger | None:
    """The trigger of this name, with its secrets."""
    for document in await store.documents(calendar.EVERYWHERE, KIND, name=calendar.place_of(project, name)):
        return read(document)
    return None


def read(document: Document) -> Trigger:
    """The trigger that a document holds."""
    from msgspec.json import decode

    from dibs.model.trigger import Trigger

    trigger = decode(document.body, type=Trigger)
    trigger.version = document.version
    return trigger


async def save(store: Store, project: str, trigger: Trigger) -> None:
    """Keep a trigger in the place of the version that it was read with (0: there was none). Raises Conflict."""
    from msgspec.json import encode

    place = calendar.place_of(project, trigger.name)
    trigger.version = await store.write_document(calendar.EVERYWHERE, KIND, place, encode(trigger), trigger.version)


async def fire(
    store: Store, project: str, name: str, event: dict[str, Any], event_id: str, *, depth: int = 1
) -> Receipt | None:
    """Make what a trigger makes for something that fits it, unless that was made before, is too much, or is a loop.

    None if there is no such trigger (any more), or it is paused.
    """
    from dibs.model.trigger import Receipt
    from dibs.rules import triggers

    for _ in range(calendar.RACES):
        trigger = await load(store, project, name)
        if trigger is None or trigger.paused:
            return None
        id = id_for(project, trigger, event_id)
        receipt = Receipt(trigger=name, event=event_id, id=id)
        if await _is_there(store, id):
            receipt.existing = True
            return receipt
        if event_id in trigger.recent:
            # Somebody is about to make it, or was killed before: it is made once, and was counted.
            return await made(store, project, trigger, event, event_id, depth=depth)
        now = store.now()
        reason = None
        if depth > trigger.max_depth:
            reason = f"a loop: {trigger.max_depth} triggers lie before it already"
        elif not triggers.has_token(trigger, now):
            reason = f"its rate is {trigger.rate}"
        if reason is not None:
            trigger.dropped += 1
            trigger.error = f"dropped: {reason}"
        else:
            trigger.full_at = triggers.token_taken(trigger, now)
            trigger.recent = (*trigger.recent, event_id)[-triggers.MAX_RECENT :]
            note(trigger, id, now)
        try:
            # Written first: what was made must have been counted.
            await save(store, project, trigger)
        except Conflict:
            continue
        if reason is not None:
            return Receipt(trigger=name, event=event_id, reason=reason)
        return await made(store, project, trigger, event, event_id, depth=depth)
    raise Unavailable(f"Trigger {name} is changed by too many at once: try again.", code="busy")


async def made(
    store: Store, project: str, trigger: Trigger, event: dict[str, Any], event_id: str, *, depth: int
) -> Receipt:
    """Make it; where its template cannot be made, that is noted on the trigger and told."""
    from dibs import templates
    from dibs.model.trigger import Receipt
    from dibs.rules import triggers

    order = templates.Order(
        project=project,
        key=triggers.key_of(trigger.name, event_id),
        at=to_micros(trigger.created_at),
        created_by=f"trigger:{trigger.name}",
        known={"event": {"id": event_id, **event}},
        context=triggers.context_of(trigger, event_id, depth),
    )
    try:
        result = await templates.make(store, trigger.task, trigger.dag, order)
    except Unavailable:
        raise
    except DibsError as error:
        trigger.error = error.message
        try:
            await save(store, project, trigger)
        except Conflict:
            pass  # somebody else has something to say about it
        return Receipt(trigger=trigger.name, event=event_id, reason=error.message)
    return Receipt(trigger=trigger.name, event=event_id, id=result.id, existing=result.existing)


def note(trigger: Trigger, id: str, now: int) -> None:
    """One more was made, or is about to be."""
    trigger.made += 1
    trigger.last_at, trigger.last_id, trigger.error = from_micros(now), id, None


def id_for(project: str, trigger: Trigger, event_id: str) -> str:
    """The id of what this trigger makes for this."""
    from dibs.model.ids import derived_id
    from dibs.rules import triggers

    prefix = "dag" if trigger.task is None else "task"
    return derived_id(prefix, to_micros(trigger.created_at), project, triggers.key_of(trigger.name, event_id))


async def _is_there(store: Store, id: str) -> bool:
    if id.startswith("dag_"):
        return await store.dag(id) is not None
    [task] = await store.get([id], listed=True)
    return task is not None
