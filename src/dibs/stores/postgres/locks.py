"""Locks: who holds them, how many they admit, and those who wait for them. functions/locks.sql does the deciding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from dibs.model.views import Lock, LockHolder
from dibs.rules.locks import PASSED_OVER_S
from dibs.stores.postgres.rows import instant

if TYPE_CHECKING:
    from dibs.stores.postgres.engine import Engine


class _Holder(Struct, array_like=True):
    task_id: str
    fence: int
    agent: str | None
    since: int | None


class _Lock(Struct, array_like=True):
    name: str
    slots: int
    holders: list[_Holder]
    waiting: int
    reserved_for: str | None


_decode = msgspec.json.Decoder(list[_Lock]).decode


async def unpark(engine: Engine, limit: int) -> int:
    """Let what was passed over for long reserve its locks, and look at all of them. How many had been forgotten."""
    unparked = int(await engine.value("SELECT dibs.unpark($1, $2, $3)", engine.at, limit, PASSED_OVER_S))
    if unparked:
        engine.changed()
    return unparked


async def set_slots(engine: Engine, project: str, name: str, slots: int) -> Lock:
    """How many may hold it at once."""
    [lock] = _shown(await engine.value("SELECT dibs.set_slots($1, $2, $3, $4)", engine.at, project, name, slots))
    engine.changed()
    return lock


async def locks(engine: Engine, project: str) -> list[Lock]:
    """All that there is something to tell of, by name."""
    return _shown(await engine.value("SELECT dibs.locks_of($1, NULL)", project))


def _shown(text: str) -> list[Lock]:
    return [
        Lock(
            name=lock.name,
            slots=lock.slots,
            holders=[
                LockHolder(task_id=each.task_id, fence=each.fence, agent=each.agent, since=instant(each.since))
                for each in lock.holders
            ],
            waiting=lock.waiting,
            reserved_for=lock.reserved_for,
        )
        for lock in _decode(text)
    ]
