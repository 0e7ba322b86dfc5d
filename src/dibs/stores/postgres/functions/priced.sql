-- Complete, in one statement however many they are, those of a batch that need nothing but that what they used is added up:
-- nothing depends on them, they hold no locks, and at most they reserved in budgets, which the caller charges afterwards.
--
-- Called by settle, whose arguments these are; p_done: the places that are settled already. Answers the places that are now.
-- Their rows are locked by the caller.
CREATE OR REPLACE FUNCTION dibs.complete_priced(
    p_at bigint, p_ns bigint[], p_fences bigint[], p_ids text[], p_digests text[], p_outputs text[], p_decisions text[],
    p_data text[], p_more text[], p_done bigint[]
) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    told record;
    places bigint[] := '{}';
    bodies text[] := '{}';
BEGIN
    FOR told IN
        WITH gone AS (
            DELETE FROM dibs.held w
            USING unnest(p_ns, p_fences, p_ids, p_digests, p_outputs, p_decisions, p_data, p_more)
                WITH ORDINALITY AS s (n, fence, id, digest, output, decision, data, more, place)
            WHERE w.n = ANY (ARRAY[s.n]) AND w.fence = s.fence AND w.ties IN (0, 8)
                AND (w.timeout_at IS NULL OR w.timeout_at > p_at)
                AND (
                    s.more IS NULL
                    OR s.more::jsonb - '{usage,delay_s}'::text[] = '{"outcome":"completed","next":"completed"}'
                )
                AND NOT s.place = ANY (p_done)
                -- Of several that are said of one task the first counts.
                AND array_position(p_ns, s.n) = s.place
            RETURNING
                w.*, s.id, s.digest, s.output, s.decision, s.data, s.place,
                dibs.merge_usage(w.usage, s.more::jsonb->'usage') AS used
        ), tried AS (
            INSERT INTO dibs.attempts (
                n, fence, number, agent, model, outcome, status, digest, started_at, ended_at, cost_usd, tokens_in,
                tokens_out, turns, price
            )
            SELECT
                g.n, g.fence, g.attempts + 1, coalesce(g.agent, ''), coalesce(g.used->>'model', g.model), 'completed',
                'completed', g.digest, g.started_at, p_at, (g.used->>'cost_usd')::float8, (g.used->>'tokens_in')::bigint,
                (g.used->>'tokens_out')::bigint, (g.used->>'turns')::bigint, g.used->>'price'
            FROM gone g
        ), kept AS (
            INSERT INTO dibs.ended (
                n, ended_at, updated_at, fence, ready_at, claimed_at, started_at, renewed_at, rank, priority, boost, lane,
                bytes, open, deps, attempts, crashes, weight, ties, overdue, status, agent, model, output, decision,
                timeout_s, run_after, deadline, lease_s, progress, note, usage, cost_usd, tokens_in, tokens_out, turns
            )
            SELECT
                g.n, p_at, p_at, g.fence, g.ready_at, g.claimed_at, g.started_at, g.renewed_at, g.rank, g.priority, g.boost,
                g.lane, g.bytes, g.open, g.deps, g.attempts + 1, g.crashes, g.weight, g.ties, g.overdue, 'completed',
                g.agent, g.model, g.output, g.decision, g.timeout_s, g.run_after, g.deadline, g.lease_s, g.progress, g.note,
                g.usage, dibs.plus(g.cost_usd, (g.used->>'cost_usd')::float8),
                dibs.plus(g.tokens_in, (g.used->>'tokens_in')::bigint),
                dibs.plus(g.tokens_out, (g.used->>'tokens_out')::bigint), dibs.plus(g.turns, (g.used->>'turns')::bigint)
            FROM gone g
        )
        SELECT
            g.agent, array_agg(g.place) AS places,
            string_agg(
                CASE WHEN g.data IS NULL THEN '"' || g.id || '"' ELSE '["' || g.id || '",null,' || g.data || ']' END, ','
                ORDER BY g.place
            ) AS items
        FROM gone g GROUP BY g.agent
    LOOP
        places := places || told.places;
        bodies := bodies
            || ('[["task.completed"],' || p_at || ',' || to_json(told.agent) || ',null,[' || told.items || ']]');
    END LOOP;
    IF cardinality(places) > 0 THEN
        INSERT INTO dibs.outbox (at, count, body)
        VALUES (p_at, cardinality(places), '[' || array_to_string(bodies, ',') || ']');
    END IF;
    RETURN places;
END $$;
