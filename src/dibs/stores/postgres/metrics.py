"""How it has been going, by type, agent, model or day. Exact: one statement, one snapshot.

Claims that ended are in `attempts`, but for the simple completions, which `ended` tells of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.rules.metrics import Counts, measured

if TYPE_CHECKING:
    from dibs.model.metrics import Metrics
    from dibs.stores.postgres.engine import Engine

# $1 project, $2 since, $3 by, $4 now. The answer has the columns of rules.metrics.Counts.
_METRICS = """
WITH tries AS MATERIALIZED (
    SELECT
        CASE $3::text WHEN 'type' THEN s.type WHEN 'agent' THEN a.agent WHEN 'model' THEN coalesce(a.model, '')
            ELSE (a.ended_at / 86400000000)::text END AS name,
        a.outcome, a.status, a.model, a.cost_usd, a.tokens_in, a.tokens_out, a.turns, a.started_at - a.ready_at AS wait,
        CASE WHEN a.outcome IN ('completed', 'failed', 'timed_out', 'rejected')
            THEN a.ended_at - a.started_at END AS run
    FROM (
        SELECT
            t.n, t.agent, t.model, t.outcome, t.status, t.started_at, t.ended_at, t.cost_usd, t.tokens_in, t.tokens_out,
            t.turns, coalesce(w.ready_at, e.ready_at) AS ready_at
        FROM dibs.attempts t
        LEFT JOIN dibs.work w ON w.n = t.n AND t.fence = 1
        LEFT JOIN dibs.ended e ON e.n = t.n AND t.fence = 1
        WHERE t.ended_at >= $2
        UNION ALL
        SELECT
            n, coalesce(agent, ''), model, 'completed', 'completed', started_at, ended_at, NULL, NULL, NULL, NULL,
            CASE WHEN fence = 1 THEN ready_at END
        FROM dibs.ended WHERE digest IS NOT NULL AND ended_at >= $2
    ) a JOIN dibs.specs s ON s.n = a.n
    WHERE s.project = $1
), claims AS (
    SELECT
        name,
        count(*) FILTER (WHERE outcome = 'completed') AS completed,
        count(*) FILTER (WHERE outcome IN ('failed', 'timed_out', 'expired', 'rejected')) AS failed,
        count(*) FILTER (WHERE status = 'dead_lettered') AS dead_lettered,
        count(*) FILTER (WHERE outcome = 'cancelled') AS cancelled,
        sum(cost_usd) AS cost_usd,
        count(*) FILTER (
            WHERE cost_usd IS NULL AND (
                tokens_in > 0 OR tokens_out > 0 OR turns > 0
                OR (model IS NOT NULL AND outcome NOT IN ('released', 'suspended', 'rate_limited'))
            )
        ) AS unpriced,
        sum(tokens_in)::bigint AS tokens_in, sum(tokens_out)::bigint AS tokens_out, sum(turns)::bigint AS turns,
        percentile_disc(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY wait) AS waits,
        percentile_disc(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY run) AS runs
    FROM tries GROUP BY name
), created AS (
    SELECT CASE $3 WHEN 'type' THEN type ELSE (created_at / 86400000000)::text END AS name, count(*) AS created
    FROM dibs.specs WHERE $3 IN ('type', 'day') AND project = $1 AND created_at >= $2 GROUP BY 1
), cancelled AS (
    SELECT CASE $3 WHEN 'type' THEN s.type ELSE (e.ended_at / 86400000000)::text END AS name, count(*) AS cancelled
    FROM dibs.ended e JOIN dibs.specs s ON s.n = e.n
    WHERE $3 IN ('type', 'day') AND e.status = 'cancelled' AND e.ended_at >= $2 AND s.project = $1 GROUP BY 1
), held AS (
    SELECT
        CASE $3 WHEN 'type' THEN s.type WHEN 'agent' THEN coalesce(h.agent, '') ELSE coalesce(h.model, '') END AS name,
        count(*) AS held, max($4::bigint - greatest(h.claimed_at, h.renewed_at)) AS delay
    FROM dibs.held h JOIN dibs.specs s ON s.n = h.n WHERE $3 <> 'day' AND s.project = $1 GROUP BY 1
), names AS (
    SELECT name FROM claims UNION SELECT name FROM created UNION SELECT name FROM cancelled UNION SELECT name FROM held
)
SELECT
    name, coalesce(r.created, 0), coalesce(c.completed, 0), coalesce(c.failed, 0), coalesce(c.dead_lettered, 0),
    coalesce(CASE WHEN $3 IN ('type', 'day') THEN x.cancelled ELSE c.cancelled END, 0),
    c.waits[1], c.waits[2], c.runs[1], c.runs[2], coalesce(h.held, 0), h.delay,
    c.cost_usd, coalesce(c.unpriced, 0), c.tokens_in, c.tokens_out, c.turns
FROM names
LEFT JOIN claims c USING (name) LEFT JOIN created r USING (name) LEFT JOIN cancelled x USING (name)
LEFT JOIN held h USING (name)
"""


async def metrics(engine: Engine, project: str, by: str, since: int) -> list[Metrics]:
    """The groups, as `rules.metrics` orders them."""
    rows = await engine.fetch(_METRICS, project, since, by, engine.now())
    return measured(by, [Counts(*row) for row in rows])
