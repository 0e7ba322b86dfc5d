-- What was spent: the columns of rules.spending.Sum. Claims that ended are in `attempts`, but for the simple completions,
-- which `ended` tells of.
CREATE OR REPLACE FUNCTION dibs.spent(p_project text, p_by text, p_since bigint, p_until bigint, p_step bigint)
RETURNS TABLE (
    place bigint, name text, attempts bigint, cost_usd float8, unpriced bigint, tokens_in bigint, tokens_out bigint
) LANGUAGE sql STABLE
AS $$
    SELECT
        (a.ended_at - p_since) / p_step,
        CASE p_by WHEN 'type' THEN s.type WHEN 'agent' THEN a.agent WHEN 'model' THEN coalesce(a.model, '')
            ELSE coalesce(s.dag, '') END::text,
        count(*),
        sum(a.cost_usd),
        count(*) FILTER (
            WHERE a.cost_usd IS NULL AND (
                a.tokens_in > 0 OR a.tokens_out > 0 OR a.turns > 0
                OR (a.model IS NOT NULL AND a.outcome NOT IN ('released', 'suspended', 'rate_limited'))
            )
        ),
        sum(a.tokens_in)::bigint,
        sum(a.tokens_out)::bigint
    FROM (
        SELECT n, agent, model, outcome, ended_at, cost_usd, tokens_in, tokens_out, turns FROM dibs.attempts
        WHERE ended_at >= p_since AND ended_at < p_until AND (
            cost_usd IS NOT NULL OR model IS NOT NULL OR tokens_in IS NOT NULL OR tokens_out IS NOT NULL
            OR turns IS NOT NULL
        )
        UNION ALL
        SELECT n, coalesce(agent, ''), model, 'completed', ended_at, NULL, NULL, NULL, NULL FROM dibs.ended
        WHERE ended_at >= p_since AND ended_at < p_until AND digest IS NOT NULL AND model IS NOT NULL
    ) a JOIN dibs.specs s ON s.n = a.n
    WHERE s.project = p_project
    GROUP BY 1, 2
$$;

-- The same, of a day or less: each task is looked up by itself, and not the long table of specifications read for a few.
CREATE OR REPLACE FUNCTION dibs.spent_lately(p_project text, p_by text, p_since bigint, p_until bigint, p_step bigint)
RETURNS TABLE (
    place bigint, name text, attempts bigint, cost_usd float8, unpriced bigint, tokens_in bigint, tokens_out bigint
) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
BEGIN
    RETURN QUERY SELECT * FROM dibs.spent(p_project, p_by, p_since, p_until, p_step);
END $$;

-- The one or the other. Compiling such a statement would take longer than running it.
CREATE OR REPLACE FUNCTION dibs.spending(p_project text, p_by text, p_since bigint, p_until bigint, p_step bigint)
RETURNS TABLE (
    place bigint, name text, attempts bigint, cost_usd float8, unpriced bigint, tokens_in bigint, tokens_out bigint
) LANGUAGE plpgsql STABLE
SET jit = off
AS $$
BEGIN
    IF p_until - p_since <= 86400000001 THEN
        RETURN QUERY SELECT * FROM dibs.spent_lately(p_project, p_by, p_since, p_until, p_step);
    ELSE
        RETURN QUERY SELECT * FROM dibs.spent(p_project, p_by, p_since, p_until, p_step);
    END IF;
END $$;
