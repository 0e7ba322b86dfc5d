-- What was spent. ?1 project, ?2 by: type, agent, model or dag, ?3 since, ?4 until, ?5 step.
-- Answers the columns of rules.spending.Sum. The index knows the attempts that used something by their ends.
SELECT
    (a.ended_at - ?3) / ?5,
    CASE ?2 WHEN 'type' THEN t.type WHEN 'agent' THEN a.agent WHEN 'model' THEN coalesce(a.model, '')
        ELSE coalesce(t.dag, '') END,
    count(*),
    sum(a.cost_usd),
    count(*) FILTER (
        WHERE a.cost_usd IS NULL AND (
            a.tokens_in > 0 OR a.tokens_out > 0 OR a.turns > 0
            OR (a.model IS NOT NULL AND a.outcome NOT IN ('released', 'suspended', 'rate_limited'))
        )
    ),
    sum(a.tokens_in),
    sum(a.tokens_out)
FROM attempts AS a INDEXED BY attempt_used CROSS JOIN tasks AS t ON t.n = a.n
WHERE (a.cost_usd IS NOT NULL OR a.model IS NOT NULL OR a.tokens_in IS NOT NULL OR a.tokens_out IS NOT NULL
        OR a.turns IS NOT NULL)
    AND a.ended_at >= ?3 AND a.ended_at < ?4 AND t.project = ?1
GROUP BY 1, 2
