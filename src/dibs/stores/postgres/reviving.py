"""A new life for a task that ended badly, and for everything that was cancelled because of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.rules.large import size_of
from dibs.stores.postgres.rows import tasks_from

if TYPE_CHECKING:
    from dibs.model.task import Task
    from dibs.stores.postgres.engine import Engine

_REVIVE = "SELECT at, whole FROM dibs.revive($1, $2, $3, $4, $5, $6, $7)"


async def revive(
    engine: Engine,
    task_id: str,
    payload: bytes | None,
    body_hash: str | None,
    delay_s: float,
    keep_steps: bool,
) -> Task:
    """All that comes back does so in one commit, or nothing does.

    Reviving twice is refused, so it is not simply repeated when the connection is lost.
    """
    text, size = (None, None) if payload is None else (payload.decode(), size_of(payload))
    [[at, whole]] = await engine.once(_REVIVE, engine.at, task_id, text, size, body_hash, float(delay_s), keep_steps)
    engine.changed()
    [task] = tasks_from(whole, at)
    return task
