-- What the holder of a claim does meanwhile: start and renew (each item is answered by itself, in the order given), and write
-- under it.

-- What to say of (task, fence) pairs that do not hold: `words` are the names of refusals, or 'cancelled' where the task
-- was cancelled while this fence held it; NULL where it holds. `facts` are what the refusal says, as JSON; of a
-- cancelled one its id, its text or else its reason, and its reason.
CREATE OR REPLACE FUNCTION dibs.not_held(p_ids text[], p_fences bigint[], OUT words text[], OUT facts text[])
LANGUAGE sql STABLE AS $$
    SELECT
        array_agg(
            CASE
                WHEN s.n IS NULL THEN 'no_task'
                WHEN e.stopped THEN 'cancelled'
                WHEN w.n IS NULL THEN 'lease_lost'
            END ORDER BY h.place
        ),
        array_agg(
            CASE
                WHEN s.n IS NULL THEN json_build_array(h.id)
                WHEN e.stopped THEN json_build_array(h.id, coalesce(e.cancel_reason, e.reason), e.reason)
                WHEN w.n IS NULL THEN json_build_array(h.id, h.fence)
            END::text ORDER BY h.place
        )
    FROM unnest(p_ids, p_fences) WITH ORDINALITY AS h (id, fence, place)
    LEFT JOIN dibs.specs s ON s.id = h.id
    LEFT JOIN dibs.held w ON w.n = s.n AND w.fence = h.fence
    LEFT JOIN LATERAL (
        SELECT e.cancel_reason, e.reason, e.due_at IS NOT NULL OR EXISTS (
            SELECT 1 FROM dibs.attempts a WHERE a.n = e.n AND a.fence = e.fence AND a.outcome = 'cancelled'
        ) AS stopped
        FROM dibs.ended e WHERE e.n = s.n AND e.fence = h.fence AND coalesce(e.status) = 'cancelled'
    ) e ON true
$$;

-- Mark claimed tasks as running; running ones are only confirmed. Answers as not_held; `words` is NULL if all hold.
-- Locks: task rows by number, dag rows.
CREATE OR REPLACE FUNCTION dibs.start(p_now bigint, p_ids text[], p_fences bigint[], OUT words text[], OUT facts text[])
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
DECLARE
    at bigint;
    held bigint[];
    events text[];
    in_dags text[];
BEGIN
    SELECT array_agg(f.n) INTO held FROM (
        SELECT w.n FROM unnest(p_ids, p_fences) AS h (id, fence)
        JOIN dibs.specs s ON s.id = h.id JOIN dibs.held w ON w.n = s.n AND w.fence = h.fence
        ORDER BY w.n FOR UPDATE OF w
    ) f;
    at := coalesce(p_now, dibs.micros());
    WITH started AS (
        UPDATE dibs.held w SET
            status = 'running',
            confirmed = true,
            started_at = at,
            timeout_at = at + round(w.timeout_s * 1000000)::bigint,
            due_at = least(w.lease_expires_at, at + round(w.timeout_s * 1000000)::bigint),
            updated_at = at
        WHERE w.n = ANY (held) AND w.status = 'claimed'
        RETURNING w.n, w.agent
    )
    SELECT
        array_agg(dibs.event('task.started', at, s.id, s.dag, b.agent) ORDER BY b.n),
        array_agg(DISTINCT s.dag) FILTER (WHERE s.dag IS NOT NULL)
    INTO events, in_dags
    FROM started b JOIN dibs.specs s ON s.n = b.n;
    UPDATE dibs.held w SET confirmed = true WHERE w.n = ANY (held) AND NOT w.confirmed;
    IF events IS NOT NULL THEN
        PERFORM dibs.publish(events || dibs.dags_started(in_dags, at), at);
    END IF;
    IF cardinality(held) = cardinality(p_ids) THEN
        RETURN;
    END IF;
    SELECT f.words, f.facts INTO words, facts FROM dibs.not_held(p_ids, p_fences) f;
END $$;

-- Extend leases, also expired ones that nobody has taken away yet. A task is named at most once.
--
-- p_leases: NULL for the lease that it was claimed with. p_progress, p_notes, p_usages (JSON): kept where given.
-- p_said: what the event of progress carries, as JSON; NULL: no event.
-- Answers `expires` in the order given; `words` is NULL if all are renewed, else as not_held, or 'over_timeout'.
-- `spending`: of those that told what they use, and whose task has limits, these limits, what earlier attempts used, and what
-- this one has, as JSON. `overdrawn`: the budget that is overdrawn with it, if any; NULL if nobody reserved in one.
-- Locks: task rows by number, agents by name.
CREATE OR REPLACE FUNCTION dibs.renew(
    p_now bigint, p_ids text[], p_fences bigint[], p_leases float8[], p_progress float8[], p_notes text[],
    p_usages text[], p_said text[],
    OUT expires bigint[], OUT words text[], OUT facts text[], OUT spending text[], OUT slow float8[],
    OUT overdrawn text[]
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
DECLARE
    at bigint;
    held bigint[];
    places integer[];
    over integer[];
    limits float8[];
    events text[];
    reserved boolean;
BEGIN
    SELECT array_agg(f.n), array_agg(f.place) INTO held, places FROM (
        SELECT w.n, h.place FROM unnest(p_ids, p_fences) WITH ORDINALITY AS h (id, fence, place)
        JOIN dibs.specs s ON s.id = h.id JOIN dibs.held w ON w.n = s.n AND w.fence = h.fence
        ORDER BY w.n FOR UPDATE OF w
    ) f;
    at := coalesce(p_now, dibs.micros());
    expires := array_fill(NULL::bigint, ARRAY[cardinality(p_ids)]);
    WITH renewed AS (
        UPDATE dibs.held w SET
            lease_expires_at = at + round(coalesce(r.lease_s, w.lease_s, 0) * 1000000)::bigint,
            due_at = least(at + round(coalesce(r.lease_s, w.lease_s, 0) * 1000000)::bigint, w.timeout_at),
            renewed_at = at,
            confirmed = w.confirmed OR w.status <> 'claimed',
            progress = coalesce(r.progress, w.progress),
            note = coalesce(r.note, w.note),
            usage = CASE WHEN r.usage IS NULL THEN w.usage ELSE dibs.merge_usage(w.usage, r.usage::jsonb)::text END,
            updated_at = at
        FROM (
            SELECT
                h.n, h.place, p_leases[h.place] AS lease_s, p_progress[h.place] AS progress, p_notes[h.place] AS note,
                p_usages[h.place] AS usage
            FROM unnest(held, places) AS h (n, place)
        ) r
        WHERE w.n = r.n AND (w.timeout_at IS NULL OR w.timeout_at > at)
        RETURNING w.n, w.agent, w.lease_expires_at, r.place, w.usage, w.cost_usd, w.tokens_in, w.tokens_out, w.turns,
            w.ties
    )
    SELECT
        array_agg(r.lease_expires_at ORDER BY h.place),
        array_agg(dibs.event('task.progress', at, s.id, s.dag, r.agent, NULL, p_said[r.place]) ORDER BY r.place)
            FILTER (WHERE p_said[r.place] IS NOT NULL),
        array_agg(CASE
            WHEN r.usage IS NOT NULL AND strpos(s.spec, '"max_') > 0 THEN json_build_array(
                s.spec::json->'max_cost', s.spec::json->'max_tokens', s.spec::json->'max_turns', r.cost_usd, r.tokens_in,
                r.tokens_out, r.turns, r.usage::json
            )::text
        END ORDER BY h.place),
        bool_or(r.ties & 8 > 0)
    INTO expires, events, spending, reserved
    FROM generate_series(1, cardinality(p_ids)) AS h (place)
    LEFT JOIN renewed r ON r.place = h.place
    LEFT JOIN dibs.specs s ON s.n = r.n AND (p_said[r.place] IS NOT NULL OR r.usage IS NOT NULL);
    IF events IS NOT NULL THEN
        PERFORM dibs.publish(events, at);
    END IF;
    PERFORM dibs.hear_renewals(held, at);
    IF EXISTS (SELECT 1 FROM dibs.backoffs b WHERE b.until > at) THEN
        slow := dibs.slow_downs(held, places, cardinality(p_ids), at);
    END IF;
    IF reserved THEN
        overdrawn := dibs.overdrawn(held, places, cardinality(p_ids), at);
    END IF;
    IF array_position(expires, NULL) IS NULL THEN
        RETURN;
    END IF;
    SELECT f.words, f.facts INTO words, facts FROM dibs.not_held(p_ids, p_fences) f;
    SELECT array_agg(h.place), array_agg(w.timeout_s) INTO over, limits
    FROM unnest(held, places) AS h (n, place) JOIN dibs.held w ON w.n = h.n WHERE expires[h.place] IS NULL;
    FOR i IN 1 .. coalesce(cardinality(over), 0) LOOP
        words[over[i]] := 'over_timeout';
        facts[over[i]] := json_build_array(p_ids[over[i]], p_fences[over[i]], limits[i]);
    END LOOP;
END $$;

-- The task that is held under this fence, by its number, with its row locked, and the instant. Whoever writes something
-- of an attempt under way begins here; it confirms the start. Refused: unknown, not held like this, over its time.
-- Locks: the task's row.
CREATE OR REPLACE FUNCTION dibs.held_for(p_now bigint, p_id text, p_fence bigint, OUT n bigint, OUT at bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    w dibs.work%ROWTYPE;
BEGIN
    SELECT s.n INTO held_for.n FROM dibs.specs s WHERE s.id = p_id;
    IF NOT FOUND THEN
        PERFORM dibs.refuse('no_task', json_build_array(p_id));
    END IF;
    SELECT * INTO w FROM dibs.work x WHERE x.n = held_for.n FOR UPDATE;
    IF NOT FOUND OR w.fence <> p_fence OR w.status NOT IN ('claimed', 'running') THEN
        PERFORM dibs.refuse('lease_lost', json_build_array(p_id, p_fence));
    END IF;
    held_for.at := coalesce(p_now, dibs.micros());
    IF w.timeout_at <= held_for.at THEN
        PERFORM dibs.refuse('over_timeout', json_build_array(p_id, p_fence, w.timeout_s));
    END IF;
    IF NOT w.confirmed THEN
        UPDATE dibs.work x SET confirmed = true WHERE x.n = held_for.n;
    END IF;
END $$;
