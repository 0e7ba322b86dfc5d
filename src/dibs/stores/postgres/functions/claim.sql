-- Hand out the best ready tasks of some lanes, best first. Claims of a project take turns: no false empties, exact order.
--
-- p_lanes, p_boosts, p_models: the lanes that the agent may serve, and the model each would be served with (NULL: none).
-- p_reads: how many tasks to look at in each of them at first (NULL: p_limit); a guess, it decides nothing but the time this takes.
-- p_offer: written down with the agent, if given. p_claim_id: remembered with what was claimed; it may have been used
-- before, in a call whose answer was lost. p_raise: raise floors too.
-- Answers one row. `state`: 'taken', 'none' (due_at: when time alone may change that), 'stale' (lanes changed: read them
-- again), 'again' (what the claim id stands for: `whole`). The arrays go together, best first. `whole`: those with a
-- history or dependencies, with all that belongs to them (JSON).
-- Locks: claims of the project, floors (alone, if raising), task rows, dag rows.
CREATE OR REPLACE FUNCTION dibs.claim(
    p_now bigint, p_version bigint, p_project text, p_agent text, p_offer text,
    p_lanes integer[], p_boosts float8[], p_models text[], p_reads integer[],
    p_limit integer, p_max_bytes bigint, p_lease_s float8, p_start boolean,
    p_claim_id text, p_raise boolean,
    OUT state text, OUT at bigint, OUT due_at bigint, OUT ns bigint[], OUT fences bigint[], OUT specs text, OUT dags text[],
    OUT parents text[], OUT priorities float8[], OUT effectives float8[], OUT created bigint[], OUT ready bigint[],
    OUT models text[], OUT timeouts float8[], OUT whole text, OUT shares integer[]
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_variable
DECLARE
    lows float8[];
    aged float8[];
    reads integer[];
    ranked bigint[];
    worths float8[];
    sizes integer[];
    alone boolean[];
    unread integer[];
    total bigint;
    some_alone boolean;
    some_lows boolean;
    places integer[];
    body text;
    in_dags text[];
    strange bigint[];
    lease_until bigint;
    started bigint;
    raising boolean := false;
BEGIN
    PERFORM pg_advisory_xact_lock('dibs.work'::regclass::oid::integer, hashtext(p_project));
    IF p_raise THEN
        raising := dibs.hold_floors_alone();
    END IF;
    at := coalesce(p_now, dibs.micros());
    IF (SELECT value::bigint FROM dibs.meta WHERE name = 'lanes') <> p_version THEN
        state := 'stale';
        RETURN;
    END IF;
    IF p_offer IS NOT NULL THEN
        INSERT INTO dibs.agents AS a (project, id, offer, heard_at) VALUES (p_project, p_agent, p_offer, at)
        ON CONFLICT (project, id) DO UPDATE SET offer = excluded.offer, heard_at = excluded.heard_at;
    END IF;
    SELECT dibs.whole_held(c.ns, c.fences, p_agent, at) INTO whole
    FROM dibs.claims c WHERE c.project = p_project AND c.claim_id = p_claim_id;
    IF FOUND THEN
        state := 'again';
        RETURN;
    END IF;

    -- Worth is rank, less how much older everything in its lane has become.
    some_lows := EXISTS (SELECT 1 FROM dibs.lows);
    IF p_limit = 1 AND NOT some_lows THEN
        -- The best of the heads.
        SELECT ARRAY[w.n], ARRAY[w.rank - s.boost * dibs.minutes(at)], ARRAY[s.place] INTO ranked, worths, places
        FROM unnest(p_lanes, p_boosts) WITH ORDINALITY AS s (lane, boost, place)
        JOIN dibs.lanes l ON l.id = ANY (ARRAY[s.lane])
        CROSS JOIN LATERAL (
            SELECT w.n, w.rank FROM dibs.work w
            WHERE w.status = 'ready' AND w.lane = s.lane AND w.rank >= l.low
            ORDER BY w.rank, w.n LIMIT 1
        ) w
        ORDER BY w.rank - s.boost * dibs.minutes(at), w.n LIMIT 1;
    ELSE
        SELECT array_agg(l.low ORDER BY s.place), array_agg(s.boost * dibs.minutes(at) ORDER BY s.place)
        INTO lows, aged
        FROM unnest(p_lanes, p_boosts) WITH ORDINALITY AS s (lane, boost, place)
        JOIN dibs.lanes l ON l.id = ANY (ARRAY[s.lane]);
    END IF;
    IF some_lows THEN
        SELECT array_agg(least(l.low, (SELECT min(o.rank) FROM dibs.lows o WHERE o.lane = l.lane)) ORDER BY l.place) INTO lows
        FROM unnest(p_lanes, lows) WITH ORDINALITY AS l (lane, low, place);
    END IF;

    -- A few of every lane; then more of those lanes that could still have better ones.
    reads := coalesce(p_reads, array_fill(p_limit, ARRAY[cardinality(p_lanes)]));
    WHILE p_limit > 1 OR some_lows LOOP
        WITH found AS MATERIALIZED (
            SELECT w.n, w.rank - s.aged AS worth, w.bytes, w.solo, s.place, w.seen = s.reads AS last
            FROM unnest(p_lanes, aged, lows, reads) WITH ORDINALITY AS s (lane, aged, low, reads, place)
            CROSS JOIN LATERAL (
                SELECT w.n, w.rank, w.bytes, w.solo, row_number() OVER (ORDER BY w.rank, w.n) AS seen FROM dibs.work w
                WHERE w.status = 'ready' AND w.lane = s.lane AND w.rank >= s.low
                ORDER BY w.rank, w.n LIMIT s.reads
            ) w
        ), best AS MATERIALIZED (
            SELECT * FROM found ORDER BY worth, n LIMIT p_limit
        )
        SELECT
            b.ns, b.worths, b.sizes, b.alone, b.total, b.some_alone, b.places,
            -- Lanes that were not read to their end, if what comes next there may be better than the last of the best.
            (
                SELECT array_agg(f.place) FROM found f
                WHERE f.last AND reads[f.place] < p_limit AND (
                    cardinality(b.ns) < p_limit OR (f.worth, f.n) < (b.worths[p_limit], b.ns[p_limit])
                )
            )
        INTO ranked, worths, sizes, alone, total, some_alone, places, unread
        FROM (
            SELECT
                array_agg(b.n) AS ns, array_agg(b.worth) AS worths, array_agg(b.bytes) AS sizes,
                array_agg(b.solo) AS alone, sum(b.bytes) AS total, bool_or(b.solo) AS some_alone,
                array_agg(b.place) AS places
            FROM best b
        ) b;
        EXIT WHEN unread IS NULL;
        -- Of the other lanes, what is among the best already is all that will be. One more of each shows that.
        reads := array_fill(0, ARRAY[cardinality(p_lanes)]);
        FOR i IN 1 .. cardinality(places) LOOP
            reads[places[i]] := greatest(reads[places[i]], 1) + 1;
        END LOOP;
        FOR i IN 1 .. cardinality(unread) LOOP
            reads[unread[i]] := least(p_limit, 2 * reads[unread[i]] + 2 * p_limit / cardinality(unread) + 1);
        END LOOP;
    END LOOP;

    IF ranked IS NULL THEN
        state := 'none';
        SELECT min(d.due_at) INTO due_at FROM (
            (SELECT w.due_at FROM dibs.work w WHERE w.status IN ('scheduled', 'retrying') AND w.lane = ANY (p_lanes)
                ORDER BY w.due_at LIMIT 1)
            UNION ALL
            (SELECT w.due_at FROM dibs.work w WHERE w.status IN ('claimed', 'running', 'validating')
                AND w.lane = ANY (p_lanes) ORDER BY w.due_at LIMIT 1)
        ) d;
        IF raising THEN
            PERFORM dibs.raise_floors(p_lanes);
        END IF;
        RETURN;
    END IF;

    -- What fits into one batch: so many bytes, and a solo task alone.
    IF total > p_max_bytes OR some_alone THEN
        total := sizes[1];
        FOR i IN 2 .. cardinality(ranked) LOOP
            total := total + sizes[i];
            IF total > p_max_bytes OR alone[i] OR alone[1] THEN
                ranked := ranked[1 : i - 1];
                EXIT;
            END IF;
        END LOOP;
    END IF;

    lease_until := at + round(p_lease_s * 1000000)::bigint;
    started := CASE WHEN p_start THEN at END;
    WITH taken AS (
        UPDATE dibs.work w SET
            status = CASE WHEN p_start THEN 'running' ELSE 'claimed' END,
            fence = w.fence + 1,
            agent = p_agent,
            model = CASE WHEN p_models IS NOT NULL THEN p_models[array_position(p_lanes, w.lane)] END,
            lease_s = p_lease_s,
            lease_expires_at = lease_until,
            claimed_at = at,
            started_at = started,
            renewed_at = NULL,
            confirmed = w.solo,
            progress = NULL,
            note = NULL,
            usage = NULL,
            retry_at = NULL,
            step_at = NULL,
            timeout_at = started + round(w.timeout_s * 1000000)::bigint,
            due_at = least(lease_until, started + round(w.timeout_s * 1000000)::bigint),
            updated_at = at
        FROM unnest(ranked, worths) WITH ORDINALITY AS c (n, worth, place)
        -- Somebody may have cancelled it since the last statement. (The plain status would tempt a planner that sees few
        -- ready tasks to look at all of them; a plain join of the numbers one that last saw the table nearly empty.)
        WHERE w.n = ANY (ARRAY[c.n]) AND w.status || '' = 'ready'
        RETURNING w.n, w.fence, w.priority, w.ready_at, w.model, w.timeout_s, c.worth, c.place, w.ties,
            w.fence > 1 OR w.deps > 0 OR w.run_after IS NOT NULL OR w.deadline IS NOT NULL AS strange
    )
    SELECT
        array_agg(t.n), array_agg(t.fence), '[' || string_agg(t.spec, ',') || ']', array_agg(t.dag), array_agg(t.parent),
        array_agg(t.priority), array_agg(t.worth), array_agg(t.created_at), array_agg(t.ready_at), array_agg(t.model),
        array_agg(t.timeout_s),
        string_agg(CASE WHEN t.dag IS NULL THEN '"' || t.id || '"' ELSE '["' || t.id || '","' || t.dag || '"]' END, ','),
        array_agg(t.dag) FILTER (WHERE t.ties & 2 > 0), array_agg(t.n) FILTER (WHERE t.strange)
    INTO ns, fences, specs, dags, parents, priorities, effectives, created, ready, models, timeouts, body, in_dags, strange
    FROM (
        SELECT t.*, s.id, s.spec, s.dag, s.parent, s.created_at
        FROM taken t JOIN dibs.specs s ON s.n = ANY (ARRAY[t.n]) ORDER BY t.place
    ) t;
    IF ns IS NULL THEN
        -- All of them were taken away in this very moment. Ask again, with the next ones.
        state := 'stale';
        RETURN;
    END IF;

    state := 'taken';
    IF cardinality(p_lanes) > 1 THEN
        shares := array_fill(0, ARRAY[cardinality(p_lanes)]);
        FOR i IN 1 .. cardinality(ranked) LOOP
            shares[places[i]] := shares[places[i]] + 1;
        END LOOP;
    END IF;
    INSERT INTO dibs.outbox (at, count, body) VALUES (
        at, cardinality(ns) * CASE WHEN p_start THEN 2 ELSE 1 END,
        '[[["task.claimed"' || CASE WHEN p_start THEN ',"task.started"' ELSE '' END || '],' || at || ','
            || to_json(p_agent) || ',null,[' || body || ']]]'
    );
    INSERT INTO dibs.claims AS c (project, claim_id, at, ns, fences) VALUES (p_project, p_claim_id, at, ns, fences);
    IF in_dags IS NOT NULL AND p_start THEN
        PERFORM dibs.publish(dibs.dags_started(in_dags, at), at);
    END IF;
    IF strange IS NOT NULL THEN
        whole := dibs.whole_held(strange, NULL, p_agent, at);
    END IF;
    IF raising THEN
        PERFORM dibs.raise_floors(p_lanes);
    END IF;
END $$;
