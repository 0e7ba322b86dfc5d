-- How it has been going. ?1 project, ?2 since, ?3 by: type, agent, model or day, ?4 now.
-- Answers the columns of rules.metrics.Counts. Percentiles are nearest ranks: the value at place ⌈count · p⌉.
WITH tries AS MATERIALIZED (
    SELECT
        CASE ?3 WHEN 'type' THEN t.type WHEN 'agent' THEN a.agent WHEN 'model' THEN coalesce(a.model, '')
            ELSE CAST(a.ended_at / 86400000000 AS TEXT) END AS name,
        a.outcome, a.status, a.model, a.cost_usd, a.tokens_in, a.tokens_out, a.turns,
        CASE WHEN a.fence = 1 THEN a.started_at - t.ready_at END AS wait,
        CASE WHEN a.outcome IN ('completed', 'failed', 'timed_out', 'rejected') THEN a.ended_at - a.started_at END AS run
    FROM attempts AS a CROSS JOIN tasks AS t ON t.n = a.n
    WHERE t.project = ?1 AND a.ended_at >= ?2
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
        sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out, sum(turns) AS turns,
        count(wait) AS waited, count(run) AS ran
    FROM tries GROUP BY name
), waits AS (
    SELECT p.name, max(p.wait) FILTER (WHERE p.place = (c.waited * 50 + 99) / 100) AS p50,
        max(p.wait) FILTER (WHERE p.place = (c.waited * 95 + 99) / 100) AS p95
    FROM (
        SELECT name, wait, row_number() OVER (PARTITION BY name ORDER BY wait) AS place FROM tries WHERE wait IS NOT NULL
    ) AS p CROSS JOIN claims AS c ON c.name = p.name GROUP BY 1
), runs AS (
    SELECT p.name, max(p.run) FILTER (WHERE p.place = (c.ran * 50 + 99) / 100) AS p50,
        max(p.run) FILTER (WHERE p.place = (c.ran * 95 + 99) / 100) AS p95
    FROM (
        SELECT name, run, row_number() OVER (PARTITION BY name ORDER BY run) AS place FROM tries WHERE run IS NOT NULL
    ) AS p CROSS JOIN claims AS c ON c.name = p.name GROUP BY 1
), created AS (
    SELECT CASE ?3 WHEN 'type' THEN type ELSE CAST(created_at / 86400000000 AS TEXT) END AS name, count(*) AS created
    FROM tasks NOT INDEXED WHERE ?3 IN ('type', 'day') AND project = ?1 AND created_at >= ?2 GROUP BY 1
), cancelled AS (
    SELECT CASE ?3 WHEN 'type' THEN type ELSE CAST(cancelled_at / 86400000000 AS TEXT) END AS name, count(*) AS cancelled
    FROM tasks INDEXED BY task_status
    WHERE ?3 IN ('type', 'day') AND project = ?1 AND status = 'cancelled' AND status <> 'ready' AND cancelled_at >= ?2
    GROUP BY 1
), held AS (
    SELECT
        CASE ?3 WHEN 'type' THEN type WHEN 'agent' THEN coalesce(agent, '') ELSE coalesce(model, '') END AS name,
        count(*) AS held, max(?4 - max(claimed_at, coalesce(renewed_at, 0))) AS delay
    FROM tasks INDEXED BY task_status
    WHERE ?3 <> 'day' AND project = ?1 AND status IN ('claimed', 'running') AND status <> 'ready'
    GROUP BY 1
), names AS (
    SELECT name FROM claims UNION SELECT name FROM created UNION SELECT name FROM cancelled UNION SELECT name FROM held
)
SELECT
    name, coalesce(r.created, 0), coalesce(c.completed, 0), coalesce(c.failed, 0), coalesce(c.dead_lettered, 0),
    coalesce(CASE WHEN ?3 IN ('type', 'day') THEN x.cancelled ELSE c.cancelled END, 0),
    w.p50, w.p95, u.p50, u.p95, coalesce(h.held, 0), h.delay,
    c.cost_usd, coalesce(c.unpriced, 0), c.tokens_in, c.tokens_out, c.turns
FROM names
LEFT JOIN claims AS c USING (name) LEFT JOIN waits AS w USING (name) LEFT JOIN runs AS u USING (name)
LEFT JOIN created AS r USING (name) LEFT JOIN cancelled AS x USING (name) LEFT JOIN held AS h USING (name)
