"""A task's journal: steps and spawns that are never done twice, the last checkpoint, log lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.stores import refusals
from dibs.stores.values import Entry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.stores.postgres.engine import Engine

_WRITE = "SELECT digests, vals FROM dibs.write_journal($1, $2, $3, $4, $5, $6, $7)"
_READ = """
SELECT j.kind, j.name, j.digest, j.value FROM dibs.specs s LEFT JOIN dibs.journal j ON j.n = s.n
WHERE s.id = $1 ORDER BY j.id
"""
_NAMELESS = ("checkpoint", "log", "made")


async def write_journal(engine: Engine, task_id: str, fence: int, entries: Sequence[Entry]) -> list[Entry]:
    """Write entries under a held fence; what is now recorded for each. All or nothing."""
    # Steps and checkpoints may be said twice; a line that is said twice would be there twice.
    run = engine.once if any(entry.kind == "log" for entry in entries) else engine.fetch
    [(digests, values)] = await run(
        _WRITE,
        engine.at,
        task_id,
        fence,
        [entry.kind for entry in entries],
        ["" if entry.kind in _NAMELESS else entry.name for entry in entries],
        [entry.digest for entry in entries],
        [entry.value.decode() for entry in entries],
    )
    engine.changed()
    return [
        Entry(kind=entry.kind, name=entry.name, digest=digest, value=value.encode())
        for entry, digest, value in zip(entries, digests, values, strict=True)
    ]


async def read_journal(engine: Engine, task_id: str) -> list[Entry]:
    """All entries, in the order they were first written."""
    found = await engine.fetch(_READ, task_id)
    if not found:
        raise refusals.no_task(task_id)
    return [
        Entry(kind=kind, name=name, digest=digest, value=value.encode())
        for kind, name, digest, value in found
        if kind is not None
    ]
