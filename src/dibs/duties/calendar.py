"""Schedules as they are kept: a document each, and one that says when somebody must look at them next.

All are kept under no project, so that one look finds those of every project; `PROJECT/NAME` is what tells them apart.
The clock document (`CLOCK`) is what a duty reads every second; the schedules themselves are read when it says so.
It is put ahead by whoever looked, never by more than `LOOK_EVERY_S`, and back by whoever makes something due earlier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.errors import Conflict
from dibs.model.instants import seconds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from dibs.model.schedule import Schedule
    from dibs.stores.contract import Store
    from dibs.stores.values import Document

EVERYWHERE = ""
"""The project of what belongs to the whole store."""
KIND = "schedule"
CLOCK = "clock"
LOOK_EVERY_S = 60.0
"""At least so often everything is looked at, whatever the clock document says."""
PAGE = 1_000
RACES = 50
"""How often a write is tried again that others were faster with."""


async def read_clock(store: Store, kind: str) -> Document | None:
    """When something of this kind must be looked at next; None if there is nothing of it."""
    found = await store.documents(EVERYWHERE, CLOCK, name=kind)
    return found[0] if found else None


def is_due(clock: Document, now: int) -> bool:
    """Whether it is time to look. A clock that was put back since must not keep everybody waiting."""
    at = int(clock.body)
    return at <= now or at > now + seconds(2 * LOOK_EVERY_S)


async def wake(store: Store, kind: str, at: int) -> None:
    """Let somebody look at this instant, if not before.

    Written even if the clock says so already: who is looking just now may have looked too early, and must not put it
    ahead.
    """
    for _ in range(RACES):
        clock = await read_clock(store, kind)
        first = at if clock is None else min(at, int(clock.body))
        try:
            await store.write_document(EVERYWHERE, CLOCK, kind, b"%d" % first, 0 if clock is None else clock.version)
        except Conflict:
            continue
        return


async def rest(store: Store, clock: Document, at: int) -> None:
    """Let nobody look before this instant, unless somebody said otherwise since the clock was read."""
    try:
        await store.write_document(EVERYWHERE, CLOCK, clock.name, b"%d" % at, clock.version)
    except Conflict:
        pass


def place_of(project: str, name: str) -> str:
    """The name of a document of a project. Names have no `/`."""
    return f"{project}/{name}"


async def pages(store: Store, kind: str, under: str = "") -> AsyncIterator[Document]:
    """All documents of a kind, of every project, by name; or those whose names begin so."""
    after = under
    while True:
        found = await store.documents(EVERYWHERE, kind, after=after, limit=PAGE)
        for document in found:
            if not document.name.startswith(under):
                return
            yield document
        if len(found) < PAGE:
            return
        after = found[-1].name


async def load(store: Store, project: str, name: str) -> Schedule | None:
    """The schedule of this name."""
    for document in await store.documents(EVERYWHERE, KIND, name=place_of(project, name)):
        return read(document)
    return None


def read(document: Document) -> Schedule:
    """The schedule that a document holds."""
    from msgspec.json import decode

    from dibs.model.schedule import Schedule

    schedule = decode(document.body, type=Schedule)
    schedule.version = document.version
    return schedule


async def save(store: Store, project: str, schedule: Schedule) -> None:
    """Keep a schedule in the place of the version that it was read with (0: there was none). Raises Conflict."""
    from msgspec.json import encode

    body = encode(schedule)
    schedule.version = await store.write_document(
        EVERYWHERE, KIND, place_of(project, schedule.name), body, schedule.version
    )
