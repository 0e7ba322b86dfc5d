"""Circuit breakers as people set, steer and see them. What settled claims do to them is in `functions/breakers.sql`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.rules import breaker
from dibs.rules.breaker import BY_HAND, Override, Record, State

if TYPE_CHECKING:
    from dibs.stores.postgres.engine import Engine

_SET = "SELECT dibs.set_breaker($1, $2, $3, $4, $5, $6, $7)"
_STEER = "SELECT dibs.steer_breaker($1, $2, $3, $4, $5)"
_SETTINGS = """
SELECT type, failure_threshold, cooldown_s, half_open_after_s, enabled FROM dibs.breaker_settings WHERE project = $1
"""
_RECORDS = """
SELECT type, state, failed_at, last_failure_at, opened_at, half_open_at, due_at, probe_id, probe_fence, reason
FROM dibs.breakers WHERE project = $1
"""


async def set_breaker(engine: Engine, project: str, type: str, wanted: Override) -> None:
    """What holds for a type from now on. Switched off, it is closed."""
    await engine.fetch(
        _SET,
        engine.at,
        project,
        type,
        wanted.failure_threshold,
        wanted.cooldown_s,
        wanted.half_open_after_s,
        wanted.enabled,
    )
    engine.changed()


async def steer_breaker(engine: Engine, project: str, type: str, to: str, reason: str | None) -> None:
    """Open or close it by hand, or reset it: closed, and nothing known or set."""
    await engine.once(_STEER, engine.at, project, type, to, reason or BY_HAND)
    engine.changed()


async def breakers(engine: Engine, project: str) -> tuple[dict[str, Override], dict[str, Record]]:
    """What was set, and what is remembered, by type; as of now."""
    now = engine.now()
    overrides = {
        type: Override(failure_threshold=limit, cooldown_s=cooldown_s, half_open_after_s=after_s, enabled=enabled)
        for type, limit, cooldown_s, after_s, enabled in await engine.fetch(_SETTINGS, project)
    }
    records = {row["type"]: breaker.due(_record(row), now) for row in await engine.fetch(_RECORDS, project)}
    return overrides, records


def _record(row: Any) -> Record:
    return Record(
        state=State(row["state"]),
        failed_at=tuple(row["failed_at"]),
        last_failure_at=row["last_failure_at"],
        opened_at=row["opened_at"],
        half_open_at=row["half_open_at"],
        due_at=row["due_at"],
        probe=None if row["probe_id"] is None else (row["probe_id"], row["probe_fence"]),
        reason=row["reason"],
    )
