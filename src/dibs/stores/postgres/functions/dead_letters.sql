-- Dead letters that fit, whatever their order.
--
-- p_wanted: what `stores.deadletters.DeadFilter` says; `alone`, the ids that the one task of a virtual dag may have; `like`
-- with `capitals` and `smalls`, for texts made small. `mark` is what rules.review.mark_of says.
CREATE OR REPLACE FUNCTION dibs.dead(p_wanted jsonb)
RETURNS TABLE (
    n bigint, id text, type text, mark text, at bigint, cost_usd float8, poison_pill boolean, resolution text
) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    w_project CONSTANT text := p_wanted->>'project';
    w_type CONSTANT text := p_wanted->>'type';
    w_mark CONSTANT text := p_wanted->>'fingerprint';
    w_tag CONSTANT text := p_wanted->>'tag';
    w_dag CONSTANT text := p_wanted->>'dag';
    w_alone CONSTANT text[] := ARRAY(SELECT jsonb_array_elements_text(p_wanted->'alone'));
    w_user CONSTANT text := p_wanted->>'user';
    w_since CONSTANT bigint := (p_wanted->>'since')::bigint;
    w_until CONSTANT bigint := (p_wanted->>'until')::bigint;
    w_reviewed CONSTANT boolean := (p_wanted->>'reviewed')::boolean;
    w_like CONSTANT text := p_wanted->>'like';
    w_capitals CONSTANT text := p_wanted->>'capitals';
    w_smalls CONSTANT text := p_wanted->>'smalls';
BEGIN
    RETURN QUERY
    SELECT
        e.n, s.id::text, s.type::text, coalesce(a.fingerprint, a.outcome, 'unknown')::text, e.ended_at, e.cost_usd,
        e.poison_pill, e.resolution::text
    FROM dibs.ended e
    -- Laterally, each by itself: a planner that last saw these tables nearly empty would read them from end to end.
    CROSS JOIN LATERAL (SELECT s.* FROM dibs.specs s WHERE s.n = e.n OFFSET 0) s
    LEFT JOIN LATERAL (
        SELECT a.fingerprint, a.outcome FROM dibs.attempts a WHERE a.n = e.n AND a.fence = e.fence OFFSET 0
    ) a ON true
    WHERE e.status = 'dead_lettered' AND e.status <> 'completed'
        AND (w_since IS NULL OR e.ended_at >= w_since)
        AND (w_until IS NULL OR e.ended_at < w_until)
        AND (w_reviewed IS NULL OR (e.resolution IS NOT NULL) = w_reviewed)
        AND s.project = w_project
        AND (w_type IS NULL OR s.type = w_type)
        AND (w_user IS NULL OR s."user" = w_user)
        AND (w_dag IS NULL OR s.dag = w_dag OR s.dag IS NULL AND s.id = ANY (w_alone))
        AND (w_mark IS NULL OR coalesce(a.fingerprint, a.outcome, 'unknown') = w_mark)
        AND (w_tag IS NULL OR EXISTS (
            SELECT 1 FROM json_array_elements_text(s.spec::json -> 'tags') AS t (tag) WHERE t.tag = w_tag
        ))
        AND (w_like IS NULL OR EXISTS (
            SELECT 1 FROM unnest(
                ARRAY[
                    s.type::text, e.error::text, s.spec::json ->> 'title',
                    CASE WHEN e.bytes <= 65536 THEN (s.spec::json -> 'payload')::text END
                ]
            ) AS p (part)
            WHERE translate(lower(p.part COLLATE "C"), w_capitals, w_smalls) LIKE w_like
        ));
END $$;

-- Dead letters that fit, in groups, the largest first: `[[type, mark, first at, last at, reason, error, count, unreviewed,
-- poison pills, cost, unpriced, [id, …]], …]`. p_shown ids of each, at most p_most groups.
CREATE OR REPLACE FUNCTION dibs.dead_groups(p_wanted jsonb, p_shown integer, p_most integer) RETURNS text
LANGUAGE plpgsql STABLE
SET extra_float_digits = 1 SET enable_seqscan = off SET jit = off
AS $$
BEGIN
    RETURN (
        WITH placed AS (
            SELECT d.*, row_number() OVER (PARTITION BY d.type, d.mark ORDER BY d.at DESC, d.n DESC) AS place
            FROM dibs.dead(p_wanted) d
        ), grouped AS (
            SELECT
                p.type COLLATE "C" AS type, p.mark COLLATE "C" AS mark, min(p.at) AS first_at, max(p.at) AS last_at,
                count(*) AS count, count(*) FILTER (WHERE p.resolution IS NULL) AS unreviewed,
                count(*) FILTER (WHERE p.poison_pill) AS poison_pills, sum(p.cost_usd) AS cost_usd,
                count(*) FILTER (WHERE p.cost_usd IS NULL) AS unpriced,
                array_agg(p.id ORDER BY p.place) FILTER (WHERE p.place <= p_shown) AS ids,
                max(p.n) FILTER (WHERE p.place = 1) AS newest
            FROM placed p GROUP BY p.type, p.mark
            ORDER BY count(*) DESC, max(p.at) DESC, p.type COLLATE "C", p.mark COLLATE "C"
            LIMIT p_most
        )
        SELECT coalesce(json_agg(
            json_build_array(
                g.type, g.mark, g.first_at, g.last_at, e.reason, e.error, g.count, g.unreviewed, g.poison_pills, g.cost_usd,
                g.unpriced, g.ids
            ) ORDER BY g.count DESC, g.last_at DESC, g.type, g.mark
        ), '[]')::text
        FROM grouped g CROSS JOIN LATERAL (SELECT e.reason, e.error FROM dibs.ended e WHERE e.n = g.newest OFFSET 0) e
    );
END $$;

-- Their ids, the task added last first: those added before p_before, at most p_limit (NULL: all).
CREATE OR REPLACE FUNCTION dibs.dead_ids(p_wanted jsonb, p_limit integer, p_before text) RETURNS text[]
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET jit = off
AS $$
DECLARE
    start bigint;
BEGIN
    IF p_before IS NOT NULL THEN
        SELECT s.n INTO start FROM dibs.specs s WHERE s.id = p_before;
        IF NOT FOUND THEN
            PERFORM dibs.refuse('no_task', json_build_array(p_before, 'before'));
        END IF;
    END IF;
    RETURN ARRAY(
        SELECT d.id FROM dibs.dead(p_wanted) d WHERE start IS NULL OR d.n < start ORDER BY d.n DESC LIMIT p_limit
    );
END $$;
