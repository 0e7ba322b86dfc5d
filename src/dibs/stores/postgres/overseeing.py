"""What people look at from above: dags in a row, many histories, what was spent, what was completed lately."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dibs.model.dag import Dag
from dibs.model.instants import from_micros
from dibs.model.status import DagStatus, Status
from dibs.rules.flow import End
from dibs.rules.spending import Sum
from dibs.rules.usage import plus
from dibs.stores.overseen import Dags, Ends
from dibs.stores.postgres.rows import Past, attempt_of, instant
from dibs.stores.values import LaneKey

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from dibs.model.attempt import Attempt
    from dibs.stores.overseen import DagFilter
    from dibs.stores.postgres.engine import Engine

MAX_LOOKED_AT = 10_000
# All ids of dags begin with `dag_`.
_DAGS = """
SELECT d.id, d.project, d.title, d.key, d.status, d.on_failure, d."user", d.created_by, d.created_at,
    d.started_at, d.ended_at
FROM dibs.dags d WHERE d.project = $1 AND d.id < coalesce($2::text, 'dah') ORDER BY d.id DESC LIMIT $3
"""
_COUNTS = """
SELECT s.dag, coalesce(w.status, e.status) AS status, count(*) AS count, sum(coalesce(w.cost_usd, e.cost_usd)) AS cost
FROM dibs.specs s LEFT JOIN dibs.work w ON w.n = s.n LEFT JOIN dibs.ended e ON e.n = s.n
WHERE s.dag = ANY ($1) GROUP BY 1, 2
"""
_HISTORIES = """
SELECT s.id, a.* FROM dibs.specs s CROSS JOIN LATERAL (
    SELECT number, fence, agent, outcome, model, reason, error, fingerprint, exit_code, started_at, ended_at, cost_usd,
        tokens_in, tokens_out, turns, price
    FROM dibs.attempts WHERE n = s.n
    UNION ALL
    SELECT attempts, fence, agent, 'completed', model, NULL, NULL, NULL, NULL, started_at, ended_at, NULL,
        NULL, NULL, NULL, NULL
    FROM dibs.ended WHERE n = s.n AND digest IS NOT NULL
) a
WHERE s.id = ANY ($1) ORDER BY s.n, a.fence
"""
_SPENDING = "SELECT * FROM dibs.spending($1, $2, $3, $4, $5)"
_ENDS = """
SELECT
    (SELECT json_agg(json_build_array(l.id, l.key)) FROM dibs.lanes l WHERE l.project = $1)::text AS lanes,
    (
        SELECT json_agg(json_build_array(f.lane, f.ended_at, f.wait)) FROM (
            SELECT e.lane, e.ended_at, CASE WHEN e.fence = 1 THEN e.started_at - e.ready_at END AS wait
            FROM dibs.ended e
            WHERE e.ended_at >= $2 AND e.status = 'completed'
                AND e.lane = ANY (ARRAY(SELECT id FROM dibs.lanes WHERE project = $1))
            ORDER BY e.ended_at DESC LIMIT $3
        ) f
    )::text AS ends
"""

_decode_key = msgspec.json.Decoder(LaneKey).decode
_decode_lanes = msgspec.json.Decoder(list[tuple[int, str]]).decode
_decode_ends = msgspec.json.Decoder(list[End]).decode


async def dags(engine: Engine, wanted: DagFilter, limit: int, before: str | None) -> Dags:
    """Rows of dags that fit, without tasks and edges, by id, the greatest first. No other project's is looked at, so
    that none is named as the place to go on from."""
    found: list[Dag] = []
    last, looked_at, portion = before, 0, 2 * limit
    while len(found) <= limit and looked_at < MAX_LOOKED_AT:
        rows = await engine.fetch(_DAGS, wanted.project, last, portion)
        found += [_dag(row) for row in rows if _matches(row, wanted)]
        looked_at += len(rows)
        if len(rows) < portion:
            last = None
            break
        last, portion = rows[-1]["id"], 1_000
    if len(found) > limit:
        found = found[:limit]
        last = found[-1].id
    await _count(engine, found)
    return Dags(items=found, rest=last)


def _matches(row: Mapping[str, Any], wanted: DagFilter) -> bool:
    return (wanted.status is None or row["status"] in wanted.status) and (
        wanted.text is None or wanted.text.lower() in (row["title"] or "").lower()
    )


def _dag(row: Mapping[str, Any]) -> Dag:
    return Dag(
        id=row["id"],
        project=row["project"],
        title=row["title"],
        key=row["key"],
        status=DagStatus(row["status"]),
        on_failure=row["on_failure"],
        user=row["user"],
        created_by=row["created_by"],
        created_at=from_micros(row["created_at"]),
        started_at=instant(row["started_at"]),
        ended_at=instant(row["ended_at"]),
    )


async def _count(engine: Engine, found: list[Dag]) -> None:
    """Where their tasks are, and what those cost."""
    known = {dag.id: dag for dag in found}
    counted: dict[str, dict[str, int]] = {}
    for row in await engine.fetch(_COUNTS, list(known)) if known else ():
        counted.setdefault(row["dag"], {})[row["status"]] = row["count"]
        known[row["dag"]].cost_usd = plus(known[row["dag"]].cost_usd, row["cost"])
    for dag_id, counts in counted.items():
        known[dag_id].counts = {status.value: counts[status] for status in Status if status in counts}


async def histories(engine: Engine, task_ids: Sequence[str]) -> list[list[Attempt]]:
    """Every ended claim of each, oldest first."""
    found: dict[str, list[Attempt]] = {}
    for row in await engine.fetch(_HISTORIES, list(dict.fromkeys(task_ids))):
        task_id, *past = tuple(row)
        found.setdefault(task_id, []).append(attempt_of(msgspec.convert(past, Past)))
    return [found.get(task_id, []) for task_id in task_ids]


async def spending(engine: Engine, project: str, by: str, since: int, until: int, step: int) -> list[Sum]:
    """Attempts that used something, added up."""
    return [Sum(*row) for row in await engine.fetch(_SPENDING, project, by, since, until, step)]


async def ends(engine: Engine, project: str, since: int, limit: int) -> Ends:
    """Tasks that were completed since then, the last one first."""
    row = await engine.row(_ENDS, project, since, limit)
    assert row is not None
    found = _decode_ends(row["ends"] or "[]")
    seen = {end.lane for end in found}
    keys = {id: _decode_key(key) for id, key in _decode_lanes(row["lanes"] or "[]") if id in seen}
    return Ends(lanes=keys, ends=found)
