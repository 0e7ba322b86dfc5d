"""Pauses, and what time opens: the gates that close whole lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from dibs.model.views import Lane
from dibs.rules import closing
from dibs.rules.closing import Pause
from dibs.stores.postgres import windows
from dibs.stores.values import LaneKey

if TYPE_CHECKING:
    from dibs.stores.postgres.engine import Engine

_PAUSE = "SELECT since, lane FROM dibs.pause($1, $2, $3, $4, $5, $6, $7, $8, $9)"
_RESUME = "SELECT dibs.resume($1, $2, $3)"
_TEND = "SELECT dibs.tend_gates($1, false)"
_ALL = """
SELECT p.scope, p.name, p.since, p.until, p.reason, p.by, l.key
FROM dibs.pauses p LEFT JOIN dibs.lanes l ON l.id = CASE p.scope WHEN 'lane' THEN p.name::integer END
WHERE p.project = $1 AND (p.until IS NULL OR p.until > $2) ORDER BY p.gate COLLATE "C"
"""

_encode = msgspec.json.Encoder().encode
_decode_key = msgspec.json.Decoder(LaneKey).decode


async def pause(engine: Engine, project: str, wanted: Pause) -> Pause:
    """Close it; what is closed already keeps its beginning."""
    [(since, key)] = await engine.fetch(
        _PAUSE,
        engine.at,
        project,
        wanted.gate,
        wanted.scope,
        wanted.name,
        wanted.until,
        wanted.reason,
        wanted.by,
        _encode(closing.event_data(wanted)).decode(),
    )
    engine.changed()
    return replace(wanted, since=since, lane=_lane(wanted.name, key))


async def resume(engine: Engine, project: str, gate: str) -> bool:
    """Open it; whether it was closed."""
    [(was_closed,)] = await engine.once(_RESUME, engine.at, project, gate)
    engine.changed()
    return bool(was_closed)


async def pauses(engine: Engine, project: str) -> list[Pause]:
    """What is paused now, by name."""
    return [
        Pause(scope=scope, name=name, since=since, until=until, reason=reason, by=by, lane=_lane(name, key))
        for scope, name, since, until, reason, by, key in await engine.fetch(_ALL, project, engine.now())
    ]


async def tend(engine: Engine) -> None:
    """Note what time opened, free probes whose claim is gone, and let budgets begin anew."""
    if await engine.value(_TEND, engine.at):
        engine.changed()
    await windows.roll(engine)


def _lane(name: str, text: str | None) -> Lane | None:
    if text is None:
        return None
    key = _decode_key(text)
    return Lane(
        id=int(name),
        type=key.type,
        assignee=key.assignee,
        requires=key.requires,
        models=key.models,
        boost=key.boost,
        provider=key.provider,
    )
