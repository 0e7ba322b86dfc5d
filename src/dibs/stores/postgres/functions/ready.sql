-- Tasks that nobody holds find their place: pending, scheduled or ready. All of these answer events, for `publish`.

-- Ready now; its age counts from the first time. Rows of `work`, locked by the caller; needs hold_floors().
CREATE OR REPLACE FUNCTION dibs.make_ready(
    p_ns bigint[], p_at bigint, p_agent text DEFAULT NULL, p_reason text DEFAULT NULL, p_data text DEFAULT NULL
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    events text[];
    lanes integer[];
    ranks float8[];
BEGIN
    IF cardinality(p_ns) = 0 OR p_ns IS NULL THEN
        RETURN '{}';
    END IF;
    WITH made AS (
        UPDATE dibs.work w SET
            status = 'ready',
            due_at = NULL,
            retry_at = NULL,
            ready_at = coalesce(w.ready_at, p_at),
            rank = dibs.rank(w.priority, w.boost, coalesce(w.ready_at, p_at), w.weight, w.deadline, p_at),
            step_at = CASE WHEN w.deadline IS NOT NULL THEN dibs.next_step_at(w.deadline, p_at) END,
            updated_at = p_at
        FROM unnest(p_ns) WITH ORDINALITY AS m (n, place)
        WHERE w.n = m.n
        RETURNING w.n, w.lane, w.rank, m.place
    )
    SELECT
        array_agg(dibs.event('task.ready', p_at, s.id, s.dag, p_agent, p_reason, p_data) ORDER BY m.place),
        array_agg(m.lane), array_agg(m.rank)
    INTO events, lanes, ranks
    FROM made m JOIN dibs.specs s ON s.n = m.n;
    PERFORM dibs.note_lows(lanes, ranks);
    RETURN coalesce(events, '{}');
END $$;

-- Put pending tasks without open edges where they belong: scheduled while their time is to come, else ready.
-- As make_ready: locked by the caller, needs hold_floors(). Tasks with open edges stay (or become) pending.
CREATE OR REPLACE FUNCTION dibs.settle_down(p_ns bigint[], p_at bigint) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    events text[];
    free bigint[];
BEGIN
    UPDATE dibs.work w SET status = 'pending', due_at = NULL, step_at = NULL, updated_at = p_at
    WHERE w.n = ANY (p_ns) AND w.open > 0;
    WITH later AS (
        UPDATE dibs.work w SET status = 'scheduled', due_at = w.run_after, step_at = NULL, updated_at = p_at
        WHERE w.n = ANY (p_ns) AND w.open = 0 AND w.run_after > p_at
        RETURNING w.n
    )
    SELECT coalesce(array_agg(dibs.event('task.scheduled', p_at, s.id, s.dag) ORDER BY s.n), '{}') INTO events
    FROM later JOIN dibs.specs s ON s.n = later.n;
    SELECT array_agg(w.n ORDER BY w.n) INTO free FROM dibs.work w
    WHERE w.n = ANY (p_ns) AND w.open = 0 AND (w.run_after IS NULL OR w.run_after <= p_at);
    RETURN events || dibs.make_ready(free, p_at);
END $$;

-- Resolve open edges: each lowers its child's count once — two parents in one call lower it by two — and frees the child
-- at the last. Children are locked here, in the order of their numbers; the parents' rows are locked by the caller.
CREATE OR REPLACE FUNCTION dibs.resolve(p_edges bigint[], p_at bigint) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    children bigint[];
    lowered integer[];
    left_over bigint[];
    free bigint[];
BEGIN
    WITH resolved AS (
        UPDATE dibs.edges SET resolved_at = p_at WHERE id = ANY (p_edges) AND resolved_at IS NULL RETURNING child
    ), counted AS (
        SELECT child, count(*)::integer AS count FROM resolved GROUP BY child
    )
    SELECT array_agg(c.child ORDER BY c.child), array_agg(c.count ORDER BY c.child) INTO children, lowered FROM counted c;
    IF children IS NULL THEN
        RETURN '{}';
    END IF;
    left_over := children;
    LOOP
        PERFORM 1 FROM dibs.work w WHERE w.n = ANY (left_over) ORDER BY w.n FOR UPDATE;
        WITH reached AS (
            UPDATE dibs.work w SET open = w.open - c.count, updated_at = p_at
            FROM unnest(children, lowered) AS c (n, count) WHERE w.n = c.n AND w.n = ANY (left_over)
            RETURNING w.n
        )
        SELECT array_agg(o.n) INTO left_over FROM unnest(left_over) AS o (n)
        WHERE NOT o.n = ANY (ARRAY(SELECT r.n FROM reached r));
        EXIT WHEN left_over IS NULL;
        WITH reached AS (
            UPDATE dibs.ended e SET open = e.open - c.count
            FROM unnest(children, lowered) AS c (n, count) WHERE e.n = c.n AND e.n = ANY (left_over)
            RETURNING e.n
        )
        SELECT array_agg(s.n) INTO left_over FROM dibs.specs s
        WHERE s.n = ANY (left_over) AND NOT s.n = ANY (ARRAY(SELECT r.n FROM reached r));
        -- A child that was given a new life while we waited for its row is in `work` now.
        EXIT WHEN left_over IS NULL;
    END LOOP;
    SELECT array_agg(w.n) INTO free FROM dibs.work w
    WHERE w.n = ANY (children) AND w.status = 'pending' AND w.open = 0;
    RETURN CASE WHEN free IS NULL THEN '{}' ELSE dibs.settle_down(free, p_at) END;
END $$;
