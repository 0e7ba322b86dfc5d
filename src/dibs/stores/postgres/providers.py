"""The gates of providers as people see them. What settled claims do to them is in `functions/providers.sql`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.rules.providers import Backoff

if TYPE_CHECKING:
    from dibs.stores.postgres.engine import Engine

_CLOSED = """
SELECT gate, limits, since, until, shut FROM dibs.backoffs WHERE project = $1 AND until > $2 ORDER BY gate
"""


async def backoffs(engine: Engine, project: str) -> dict[str, Backoff]:
    """What is closed now."""
    return {
        gate: Backoff(limits=limits, since=since, until=until, shut=shut)
        for gate, limits, since, until, shut in await engine.fetch(_CLOSED, project, engine.now())
    }
