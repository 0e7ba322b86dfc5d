-- Tasks with all that belongs to them, as JSON. What users wrote is spliced in as it is kept, to the byte: numbers and the
-- order of keys survive. `stores.postgres.rows` reads these arrays, place by place.

-- `[[specification, state, output, decision, artifacts, blocked by], …]` in the order given; '[]' if there is none.
-- p_listed: as lists have them; payloads and outputs above 64 KiB are named, and such an output is not read.
CREATE OR REPLACE FUNCTION dibs.whole(p_ns bigint[], p_listed boolean DEFAULT false) RETURNS text LANGUAGE plpgsql STABLE
-- A setting of the database may round numbers.
SET extra_float_digits = 1
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN (
        SELECT '[' || coalesce(string_agg(
            '[' || CASE
                WHEN p_listed AND coalesce(w.bytes, e.bytes) > 65536
                THEN dibs.spec_with(s.spec, 'payload', '{"ref":"task:' || s.id || ':payload"}')
                ELSE s.spec
            END || ',' || json_build_array(
                s.dag, s.parent, s.created_at, coalesce(w.status, e.status), coalesce(w.priority, e.priority),
                coalesce(w.rank, e.rank), coalesce(w.boost, e.boost), coalesce(w.fence, e.fence),
                coalesce(w.updated_at, e.updated_at), coalesce(w.ready_at, e.ready_at),
                coalesce(w.claimed_at, e.claimed_at), coalesce(w.started_at, e.started_at),
                coalesce(w.renewed_at, e.renewed_at), w.lease_expires_at, e.ended_at, coalesce(w.agent, e.agent),
                coalesce(w.attempts, e.attempts), coalesce(w.crashes, e.crashes), coalesce(w.releases, e.releases),
                coalesce(w.run_after, e.run_after), coalesce(w.retry_at, e.retry_at), coalesce(w.progress, e.progress),
                coalesce(w.note, e.note), coalesce(w.reason, e.reason), coalesce(w.error, e.error),
                coalesce(w.exit_code, e.exit_code), coalesce(w.overdue, e.overdue),
                coalesce(w.poison_pill, e.poison_pill), coalesce(w.cost_usd, e.cost_usd),
                coalesce(w.tokens_in, e.tokens_in), coalesce(w.tokens_out, e.tokens_out), coalesce(w.turns, e.turns),
                coalesce(e.output_sanitized, u.output_sanitized, false), e.cancel_reason, e.cause, w.parked_on
            ) || ',' || CASE
                WHEN p_listed AND octet_length(coalesce(e.output, u.output)) > 65536
                    THEN '{"ref":"task:' || s.id || ':output"}'
                ELSE coalesce(e.output, u.output, 'null')
            END || ',' || coalesce(e.decision, u.decision, 'null') || ','
                || coalesce(CASE
                    -- Whatever is left behind confirms the start: a first claim that was just made has none.
                    WHEN e.fence > 0 OR w.fence > 1 OR (
                        w.fence = 1 AND (w.confirmed OR w.status NOT IN ('claimed', 'running'))
                    ) THEN dibs.artifacts_of(s.n)
                END, 'null') || ',[' || CASE
                    WHEN coalesce(w.open, e.open) > 0 THEN coalesce(
                        (
                            SELECT string_agg('"' || p.id || '"', ',' ORDER BY x.id)
                            FROM dibs.edges x
                            CROSS JOIN LATERAL (SELECT p.id FROM dibs.specs p WHERE p.n = x.parent OFFSET 0) p
                            WHERE x.child = s.n AND x.resolved_at IS NULL
                        ), ''
                    )
                    ELSE ''
                END || ']]',
            ',' ORDER BY o.place
        ), '') || ']'
        FROM unnest(p_ns) WITH ORDINALITY AS o (n, place)
        -- Laterally, each by itself: a planner that last saw these tables nearly empty would read them from end to end.
        CROSS JOIN LATERAL (SELECT * FROM dibs.specs s WHERE s.n = o.n OFFSET 0) s
        LEFT JOIN LATERAL (SELECT * FROM dibs.work w WHERE w.n = o.n OFFSET 0) w ON true
        LEFT JOIN LATERAL (SELECT * FROM dibs.ended e WHERE e.n = o.n OFFSET 0) e ON true
        LEFT JOIN LATERAL (
            SELECT * FROM dibs.submitted u WHERE w.status IN ('validating', 'waiting') AND u.n = o.n OFFSET 0
        ) u ON true
        WHERE w.n IS NOT NULL OR e.n IS NOT NULL
    );
END $$;

-- Claims: those of these tasks that are held — under these fences, by this agent, where these are given —
-- `[tasks as whole() has them, [[[agent, model, lease, timeout, timeout_at, confirmed], parents, attempts, checkpoint,
-- answers], …]]`,
-- both in the order given. A parent is `[whether it was spawned, id, ref, output]`; attempts are the last ten, oldest first.
CREATE OR REPLACE FUNCTION dibs.whole_held(p_ns bigint[], p_fences bigint[], p_agent text, p_at bigint) RETURNS text
LANGUAGE plpgsql STABLE
SET extra_float_digits = 1
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    held bigint[];
    claims text;
BEGIN
    SELECT
        array_agg(w.n ORDER BY o.place),
        string_agg(
            '[' || json_build_array(
                w.agent, w.model, w.lease_s, w.timeout_s, w.timeout_at, w.confirmed
            ) || ',[' || CASE
                WHEN w.deps > 0 THEN coalesce(
                    (
                        SELECT string_agg(
                            '[' || CASE x.kind WHEN 'child' THEN 'true' ELSE 'false' END || ',"' || p.id || '",'
                            || CASE
                                WHEN strpos(p.spec, '"ref":"') > 0 THEN coalesce((p.spec::json -> 'ref')::text, 'null')
                                ELSE 'null'
                            END || ',' || CASE
                                -- As rules.handover: a large output is named, not carried.
                                WHEN octet_length(f.output) > 1048576 THEN '{"ref":"task:' || p.id || ':output"}'
                                ELSE coalesce(f.output, 'null')
                            END || ']',
                            ',' ORDER BY x.id
                        )
                        FROM dibs.edges x
                        CROSS JOIN LATERAL (SELECT p.id, p.spec FROM dibs.specs p WHERE p.n = x.parent OFFSET 0) p
                        LEFT JOIN LATERAL (SELECT f.output FROM dibs.ended f WHERE f.n = x.parent OFFSET 0) f ON true
                        WHERE x.child = w.n AND x.kind <> 'judge'
                    ), ''
                )
                ELSE ''
            END || '],[' || CASE
                WHEN w.fence > 1 THEN coalesce(
                    (
                        SELECT string_agg(
                            json_build_array(
                                a.number, a.fence, a.agent, a.outcome, a.model, a.reason, a.error, a.fingerprint, a.exit_code,
                                a.started_at, a.ended_at, a.cost_usd, a.tokens_in, a.tokens_out, a.turns, a.price
                            )::text,
                            ',' ORDER BY a.fence
                        )
                        FROM (SELECT * FROM dibs.attempts a WHERE a.n = w.n ORDER BY a.fence DESC LIMIT 10) a
                    ), ''
                )
                ELSE ''
            END || '],' || coalesce(
                (
                    SELECT j.value FROM dibs.journal j
                    WHERE j.n = w.n AND j.kind = 'checkpoint' AND j.name = '' AND j.kind <> 'log'
                ), 'null'
            ) || ',{' || CASE
                WHEN w.fence > 1 THEN coalesce(
                    (
                        SELECT string_agg(to_json(q.id) || ':' || q.answer, ',') FROM dibs.questions q
                        WHERE q.n = w.n AND q.name IS NOT NULL AND q.status = 'answered'
                    ), ''
                )
                ELSE ''
            END || '}]',
            ',' ORDER BY o.place
        )
    INTO held, claims
    FROM unnest(p_ns, p_fences) WITH ORDINALITY AS o (n, fence, place)
    CROSS JOIN LATERAL (SELECT * FROM dibs.work w WHERE w.n = o.n OFFSET 0) w
    WHERE w.status IN ('claimed', 'running')
        AND (p_fences IS NULL OR w.fence = o.fence) AND (p_agent IS NULL OR w.agent = p_agent);
    RETURN '[' || dibs.whole(coalesce(held, '{}')) || ',[' || coalesce(claims, '') || ']]';
END $$;
