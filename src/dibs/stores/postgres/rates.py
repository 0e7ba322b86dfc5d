"""Rates of types: buckets, and when each will be full. functions/rates.sql takes from them with the claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.rules import rates as rules
from dibs.rules.rates import Rate

if TYPE_CHECKING:
    from dibs.model.views import TypeRate
    from dibs.stores.postgres.engine import Engine

_SET = "SELECT at, full_at FROM dibs.set_rate($1, $2, $3, $4, $5, $6, $7)"
_ALL = """
SELECT coalesce($2::bigint, dibs.micros()) AS now, r.type, r.amount, r.per_s, r.burst, r.full_at
FROM dibs.rates r WHERE r.project = $1 ORDER BY r.type
"""


async def set_rate(engine: Engine, project: str, type: str, rate: Rate | None) -> TypeRate | None:
    """How many may be handed out in a time; None: any number."""
    wanted = (None,) * 4 if rate is None else (rate.amount, rate.per_s, rate.burst, rate.interval)
    [(at, full_at)] = await engine.fetch(_SET, engine.at, project, type, *wanted)
    engine.changed()
    return None if rate is None else rules.shown(type, rate, full_at, at)


async def rates(engine: Engine, project: str) -> list[TypeRate]:
    """The types that have a rate, by name."""
    return [
        rules.shown(type, Rate(amount, per_s, burst), full_at, now)
        for now, type, amount, per_s, burst, full_at in await engine.fetch(_ALL, project, engine.at)
    ]
