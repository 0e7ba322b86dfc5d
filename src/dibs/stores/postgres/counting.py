"""The queue at a glance. Exact: one statement, one snapshot.

Tasks are counted by their lanes, which know project and type. What completed is what is left of all tasks: the
table of ended tasks is long and wide, and would have to be read from end to end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dibs.model.instants import seconds
from dibs.model.status import Status
from dibs.model.views import Lane, Stats
from dibs.rules import priority
from dibs.stores.postgres import registry
from dibs.stores.postgres.rows import instant
from dibs.stores.values import LaneKey

if TYPE_CHECKING:
    from dibs.stores.postgres.engine import Engine

_DAY_S = 86_400.0
_STATS = """
WITH live AS MATERIALIZED (
    SELECT lane, status, count(*) AS count, sum(cost_usd) AS cost,
        min(ready_at) FILTER (WHERE status = 'ready') AS oldest
    FROM dibs.work GROUP BY lane, status
)
SELECT
    (SELECT json_agg(json_build_array(l.id, l.key)) FROM dibs.lanes l WHERE l.project = $1)::text AS lanes,
    (SELECT json_agg(json_build_array(lane, status, count, oldest)) FROM live)::text AS live,
    (
        SELECT json_agg(json_build_array(b.lane, b.status, b.count)) FROM (
            SELECT lane, status, count(*) AS count FROM dibs.ended WHERE status <> 'completed' GROUP BY lane, status
        ) b
    )::text AS badly,
    (
        SELECT json_agg(json_build_array(s.type, s.count)) FROM (
            SELECT type, count(*) AS count FROM dibs.specs WHERE project = $1 GROUP BY type
        ) s
    )::text AS every,
    (
        SELECT w.due_at FROM dibs.waiting w
        WHERE w.status IN ('scheduled', 'retrying') AND w.due_at IS NOT NULL
            AND w.lane = ANY (ARRAY(SELECT id FROM dibs.lanes WHERE project = $1))
        ORDER BY w.due_at LIMIT 1
    ) AS next_due_at,
    (
        SELECT sum(c.cost) FROM (
            SELECT lane, cost FROM live UNION ALL SELECT lane, cost_usd FROM dibs.ended WHERE cost_usd IS NOT NULL
        ) c JOIN dibs.lanes l ON l.id = c.lane
        WHERE l.project = $1
    ) AS cost_usd,
    (
        SELECT json_agg(json_build_array(t.tier, t.count)) FROM (
            SELECT width_bucket(w.rank - l.boost * $2::float8, $3::float8[]) AS tier, count(*) AS count
            FROM dibs.waiting w JOIN dibs.lanes l ON l.id = w.lane
            WHERE w.status = 'ready' AND w.parked_on IS NULL AND w.rank IS NOT NULL AND l.project = $1
            GROUP BY 1
        ) t
    )::text AS tiers
"""


_READY = """
SELECT l.id, l.key, w.count, w.oldest FROM (
    SELECT lane, count(*) AS count, min(ready_at) AS oldest FROM dibs.waiting WHERE status = 'ready' GROUP BY lane
) w JOIN dibs.lanes l ON l.id = w.lane WHERE l.project = $1 ORDER BY l.id
"""

_decode_key = msgspec.json.Decoder(LaneKey).decode
_decode_lanes = msgspec.json.Decoder(list[tuple[int, str]]).decode
_decode_live = msgspec.json.Decoder(list[tuple[int, str, int, int | None]]).decode
_decode_badly = msgspec.json.Decoder(list[tuple[int, str, int]]).decode
_decode_tiers = msgspec.json.Decoder(list[tuple[int, int]]).decode
_decode_every = msgspec.json.Decoder(list[tuple[str, int]]).decode


async def stats(engine: Engine, project: str) -> Stats:
    """Counts by status and type, lanes with something ready, agents heard of in the last day."""
    row = await engine.row(_STATS, project, priority.minutes(engine.now()), list(priority.TIER_BOUNDS))
    assert row is not None
    keys = {id: _decode_key(key) for id, key in _decode_lanes(row["lanes"] or "[]")}
    live = [each for each in _decode_live(row["live"] or "[]") if each[0] in keys]
    badly = [each for each in _decode_badly(row["badly"] or "[]") if each[0] in keys]
    by_type: dict[str, dict[str, int]] = {}
    left = dict(_decode_every(row["every"] or "[]"))
    for lane, status, count in [each[:3] for each in live] + badly:
        type = keys[lane].type
        found = by_type.setdefault(type, {})
        found[status] = found.get(status, 0) + count
        left[type] = left.get(type, 0) - count
    for type, count in left.items():
        if count:
            by_type.setdefault(type, {})["completed"] = count
    tiers = dict(_decode_tiers(row["tiers"] or "[]"))
    lanes = [_lane(id, keys[id], count, oldest) for id, status, count, oldest in sorted(live) if status == "ready"]
    totals = {status.value: sum(found.get(status, 0) for found in by_type.values()) for status in Status}
    return Stats(
        by_status={status: count for status, count in totals.items() if count},
        by_type={
            type: {status.value: found[status] for status in Status if status in found}
            for type, found in sorted(by_type.items())
        },
        lanes=lanes,
        agents=await registry.agents(engine, project, engine.now() - seconds(_DAY_S)),
        oldest_ready_at=min((lane.oldest_ready_at for lane in lanes if lane.oldest_ready_at), default=None),
        next_due_at=instant(row["next_due_at"]),
        cost_usd=row["cost_usd"],
        by_tier=priority.by_tier(tiers.get(tier, 0) for tier in range(len(priority.TIERS))),
    )


async def ready(engine: Engine, project: str) -> list[Lane]:
    """Lanes with something ready."""
    rows = await engine.fetch(_READY, project)
    return [_lane(row["id"], _decode_key(row["key"]), row["count"], row["oldest"]) for row in rows]


def _lane(id: int, key: LaneKey, ready: int, oldest: int | None) -> Lane:
    return Lane(
        id=id,
        type=key.type,
        assignee=key.assignee,
        requires=key.requires,
        models=key.models,
        boost=key.boost,
        provider=key.provider,
        ready=ready,
        oldest_ready_at=instant(oldest),
    )
