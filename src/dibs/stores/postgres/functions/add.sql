-- Add standalone tasks, the common case: nothing to look up, nothing depends on anything. What tasks have in common
-- travels once, as a frame; `p_frame` says which frame (from 1) each task has.
-- Answers now; NULL if lanes changed meanwhile (read them again). A task that exists already: unique_violation.
-- Locks: floors (shared).
CREATE OR REPLACE FUNCTION dibs.add(
    p_now bigint, p_version bigint, p_project text,
    p_ids text[], p_specs text[], p_bytes integer[], p_frame integer[],
    f_type text[], f_lane integer[], f_fallback integer[], f_priority float8[], f_boost float8[], f_weight integer[],
    f_max_attempts integer[], f_timeout float8[], f_user text[], f_deadline bigint[], f_on_deadline text[],
    f_run_after bigint[]
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    at bigint;
    f_status text[];
    f_rank float8[];
    f_step bigint[];
BEGIN
    PERFORM dibs.hold_floors();
    IF (SELECT value::bigint FROM dibs.meta WHERE name = 'lanes') <> p_version THEN
        RETURN NULL;
    END IF;
    at := coalesce(p_now, dibs.micros());
    SELECT
        array_agg(CASE WHEN f.ready THEN 'ready' ELSE 'scheduled' END ORDER BY f.place),
        array_agg(CASE WHEN f.ready THEN dibs.rank(f.priority, f.boost, at, f.weight, f.deadline, at) END ORDER BY f.place),
        array_agg(CASE WHEN f.ready THEN dibs.next_step_at(f.deadline, at) END ORDER BY f.place)
    INTO f_status, f_rank, f_step
    FROM (
        SELECT *, f.run_after IS NULL OR f.run_after <= at AS ready
        FROM unnest(f_priority, f_boost, f_weight, f_deadline, f_run_after)
            WITH ORDINALITY AS f (priority, boost, weight, deadline, run_after, place)
    ) f;
    WITH drafts AS MATERIALIZED (
        SELECT nextval('dibs.specs_n_seq') AS n, d.*
        FROM unnest(p_ids, p_specs, p_bytes, p_frame) AS d (id, spec, bytes, frame)
    ), specs AS (
        INSERT INTO dibs.specs (
            n, created_at, deadline, timeout_s, max_attempts, fallback_lane, id, project, type, "user", on_deadline, spec
        )
        SELECT
            n, at, f_deadline[frame], f_timeout[frame], f_max_attempts[frame], f_fallback[frame], id, p_project,
            f_type[frame], f_user[frame], f_on_deadline[frame], spec
        FROM drafts
    )
    INSERT INTO dibs.waiting (
        n, rank, priority, boost, updated_at, ready_at, due_at, lane, bytes, weight, solo, status, timeout_s,
        run_after, deadline, step_at
    )
    SELECT
        n, f_rank[frame], f_priority[frame], f_boost[frame], at, CASE WHEN f_status[frame] = 'ready' THEN at END,
        CASE WHEN f_status[frame] = 'scheduled' THEN f_run_after[frame] END, f_lane[frame], bytes, f_weight[frame],
        f_max_attempts[frame] = 1, f_status[frame], f_timeout[frame],
        f_run_after[frame], f_deadline[frame], f_step[frame]
    FROM drafts;
    PERFORM dibs.note_lows(f_lane, f_rank);
    INSERT INTO dibs.outbox (at, count, body)
    SELECT at, 2 * sum(g.count), '[' || string_agg(g.body, ',' ORDER BY g.first) || ']'
    FROM (
        SELECT
            count(*) AS count, min(d.place) AS first,
            '[["task.added","task.' || f_status[d.frame] || '"],' || at || ',null,null,["'
                || string_agg(d.id, '","' ORDER BY d.place) || '"]]' AS body
        FROM unnest(p_ids, p_frame) WITH ORDINALITY AS d (id, frame, place)
        GROUP BY f_status[d.frame]
    ) g;
    RETURN at;
END $$;

-- One standalone task that is ready at once and has nothing unusual about it: most come like this. Each statement,
-- expression and column less is felt. `p_hint`: a hint that leaves with the commit, [channel, payload].
CREATE OR REPLACE FUNCTION dibs.add_one(
    p_now bigint, p_project text, p_id text, p_spec text, p_bytes integer, p_type text, p_lane integer,
    p_priority float8, p_boost float8, p_max_attempts integer, p_timeout float8, p_hint text[]
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    -- As hold_floors(), which would cost a statement.
    held boolean := pg_advisory_xact_lock_shared('dibs.lanes'::regclass::oid::integer, 0) IS NULL;
    at bigint;
    ranked float8;
    floor_of float8;
    number bigint;
BEGIN
    SELECT l.low, coalesce(p_now, dibs.micros()), nextval('dibs.specs_n_seq') INTO floor_of, at, number
    FROM dibs.lanes l WHERE l.id = p_lane AND l.retired_at IS NULL;
    IF number IS NULL THEN
        RETURN NULL;
    END IF;
    ranked := dibs.rank(p_priority, p_boost, at, 0, NULL, at);
    IF ranked < floor_of THEN
        INSERT INTO dibs.lows (lane, rank) VALUES (p_lane, ranked);
    END IF;
    -- Three rows, one statement: starting each of three costs more than its row.
    WITH spec AS (
        INSERT INTO dibs.specs (n, created_at, timeout_s, max_attempts, id, project, type, spec)
        VALUES (number, at, p_timeout, p_max_attempts, p_id, p_project, p_type, p_spec)
    ), event AS (
        INSERT INTO dibs.outbox (at, count, body)
        VALUES (at, 2, '[[["task.added","task.ready"],' || at || ',null,null,["' || p_id || '"]]]')
    )
    INSERT INTO dibs.waiting (
        n, rank, priority, boost, updated_at, ready_at, lane, bytes, solo, status, timeout_s
    ) VALUES (
        number, ranked, p_priority, p_boost, at, at, p_lane, p_bytes, p_max_attempts = 1, 'ready', p_timeout
    );
    IF p_hint IS NOT NULL THEN
        PERFORM pg_notify(p_hint[1], p_hint[2]);
    END IF;
    RETURN at;
END $$;

-- The specifications of many standalone tasks come through COPY, between these two, in one transaction.

-- Numbers for so many times a hundred tasks, of each hundred the first, and now.
CREATE OR REPLACE FUNCTION dibs.begin_copy(p_now bigint, p_hundreds integer, OUT at bigint, OUT firsts bigint[])
LANGUAGE plpgsql AS $$
BEGIN
    at := coalesce(p_now, dibs.micros());
    firsts := ARRAY (SELECT nextval('dibs.specs_n_seq') FROM generate_series(1, p_hundreds));
END $$;

-- Their specifications are there: let them wait, ready, and tell of them. `p_firsts`: as of begin_copy; `p_frame`: which
-- frame each has (NULL: there is but one), frames by lane and rank; `p_items`: their ids, quoted, with commas between.
-- Whether the lanes are as they were at `p_version`; if not, it must be undone.
-- Locks: floors (shared), from the look at them to the commit.
CREATE OR REPLACE FUNCTION dibs.end_copy(
    p_version bigint, p_at bigint, p_firsts bigint[], p_bytes integer[], p_frame integer[],
    f_lane integer[], f_rank float8[], f_priority float8[], f_boost float8[], f_weight integer[], f_solo boolean[],
    f_timeout float8[], p_items text
) RETURNS boolean LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    IF p_frame IS NULL THEN
        INSERT INTO dibs.waiting (
            n, spec_tid, bytes, rank, priority, boost, updated_at, ready_at, lane, weight, solo, timeout_s, status
        )
        SELECT
            s.n, s.ctid, p_bytes[100 * (h.nth - 1) + s.n - h.first + 1], f_rank[1], f_priority[1], f_boost[1], p_at, p_at,
            f_lane[1], f_weight[1], f_solo[1], f_timeout[1], 'ready'
        FROM unnest(p_firsts) WITH ORDINALITY AS h (first, nth)
        JOIN dibs.specs s ON s.n >= h.first AND s.n < h.first + 100;
    ELSE
        -- In the order in which they will be claimed: what one claim takes then lies on few pages.
        INSERT INTO dibs.waiting (
            n, spec_tid, bytes, rank, priority, boost, updated_at, ready_at, lane, weight, solo, timeout_s, status
        )
        SELECT
            d.n, d.spec_tid, p_bytes[d.place], f_rank[d.frame], f_priority[d.frame], f_boost[d.frame], p_at, p_at,
            f_lane[d.frame], f_weight[d.frame], f_solo[d.frame], f_timeout[d.frame], 'ready'
        FROM (
            SELECT d.*, p_frame[d.place] AS frame
            FROM (
                SELECT s.n, s.ctid AS spec_tid, 100 * (h.nth - 1) + s.n - h.first + 1 AS place
                FROM unnest(p_firsts) WITH ORDINALITY AS h (first, nth)
                JOIN dibs.specs s ON s.n >= h.first AND s.n < h.first + 100
            ) d
            ORDER BY frame, d.n
        ) d;
    END IF;
    PERFORM dibs.hold_floors();
    IF (SELECT value::bigint FROM dibs.meta WHERE name = 'lanes') <> p_version THEN
        RETURN false;
    END IF;
    PERFORM dibs.note_lows(f_lane, f_rank);
    INSERT INTO dibs.outbox (at, count, body) VALUES (
        p_at, 2 * cardinality(p_bytes),
        '[[["task.added","task.ready"],' || p_at || ',null,null,[' || p_items || ']]]'
    );
    RETURN true;
END $$;
