"""The queue at a glance, from indexes alone."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec.json import encode

from dibs.model.instants import seconds
from dibs.model.status import Status
from dibs.model.views import Lane, Stats
from dibs.rules import priority
from dibs.stores.sqlite import registry
from dibs.stores.sqlite.rows import instant

if TYPE_CHECKING:
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.lanes import Lanes

_DAY_S = 86_400.0
_COUNTS = """
SELECT type, status, count(*) FROM tasks INDEXED BY task_status
WHERE project = ? AND status <> 'ready' GROUP BY type, status
"""
_READY = """
SELECT lane, sum(count), min(oldest) FROM (
    SELECT lane, count(*) AS count, min(ready_at) AS oldest FROM tasks INDEXED BY task_ready
    WHERE status = 'ready' AND parked_on IS NULL GROUP BY lane
    UNION ALL
    SELECT lane, count(*), min(ready_at) FROM tasks INDEXED BY task_parked WHERE parked_on IS NOT NULL GROUP BY lane
) GROUP BY lane
"""
_REACHED = """
SELECT sum(rank < ?), sum(rank < ?), sum(rank < ?), sum(rank < ?), count(*) FROM tasks INDEXED BY task_ready
WHERE status = 'ready' AND parked_on IS NULL AND lane IN (SELECT value FROM json_each(?))
"""
_NEXT_DUE = """
SELECT min(due_at) FROM (
    SELECT * FROM (SELECT due_at FROM tasks WHERE status = 'scheduled' AND due_at IS NOT NULL AND project = ?1
        ORDER BY due_at LIMIT 1)
    UNION ALL
    SELECT * FROM (SELECT due_at FROM tasks WHERE status = 'retrying' AND due_at IS NOT NULL AND project = ?1
        ORDER BY due_at LIMIT 1)
)
"""


def stats(tx: Transaction, lanes: Lanes, project: str) -> Stats:
    """Counts by status and type, lanes with something ready, agents heard of in the last day."""
    by_type: dict[str, dict[str, int]] = {}
    for type, status, count in tx.connection.execute(_COUNTS, (project,)):
        by_type.setdefault(type, {})[status] = count
    ready_lanes = ready(tx, lanes, project)
    for lane in ready_lanes:
        found = by_type.setdefault(lane.type, {})
        found["ready"] = found.get("ready", 0) + lane.ready
    return Stats(
        by_status=_ordered(by_type),
        by_type={
            type: {status.value: found[status] for status in Status if status in found}
            for type, found in sorted(by_type.items())
        },
        lanes=ready_lanes,
        agents=registry.agents(tx, project, tx.now - seconds(_DAY_S)),
        oldest_ready_at=min((lane.oldest_ready_at for lane in ready_lanes if lane.oldest_ready_at), default=None),
        next_due_at=instant(tx.row(_NEXT_DUE, (project,))[0]),
        cost_usd=tx.row("SELECT sum(cost_usd) FROM tasks WHERE project = ? AND cost_usd IS NOT NULL", (project,))[0],
        by_tier=_tiers(tx, ready_lanes),
    )


def _tiers(tx: Transaction, ready: list[Lane]) -> dict[str, int]:
    """One look for each boost that there is: they are few, and tasks of one boost change tiers at one rank."""
    counts = [0] * len(priority.TIERS)
    lanes: dict[float, list[int]] = {}
    for lane in ready:
        lanes.setdefault(lane.boost, []).append(lane.id)
    for boost, ids in lanes.items():
        reached = tx.row(_REACHED, (*priority.tier_ranks(boost, tx.now), encode(ids).decode()))
        for tier, (below, upto) in enumerate(pairwise((0, *(count or 0 for count in reached)))):
            counts[tier] += upto - below
    return priority.by_tier(counts)


def _ordered(by_type: dict[str, dict[str, int]]) -> dict[str, int]:
    totals = {status.value: sum(found.get(status, 0) for found in by_type.values()) for status in Status}
    return {status: count for status, count in totals.items() if count}


def ready(tx: Transaction, lanes: Lanes, project: str) -> list[Lane]:
    """Lanes with something ready."""
    lanes.current(tx)
    found = []
    for id, count, oldest in tx.connection.execute(_READY):
        key = lanes.keys[id]
        if key.project == project:
            found.append(
                Lane(
                    id=id,
                    type=key.type,
                    assignee=key.assignee,
                    requires=key.requires,
                    models=key.models,
                    boost=key.boost,
                    provider=key.provider,
                    ready=count,
                    oldest_ready_at=instant(oldest),
                )
            )
    return found
