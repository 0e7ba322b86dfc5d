-- What time does to tasks: duties and whose turn they are, due work, expired leases, ranks, deadlines.

-- The duties that are due and now the caller's: as rules.schedule.due. Of many that ask at once, one gets each.
-- Reads only while none is due. Locks: rows of duties, by name.
CREATE OR REPLACE FUNCTION dibs.elect(
    p_now bigint, p_names text[], p_intervals_s float8[], OUT won text[], OUT due_at bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    at bigint := coalesce(p_now, dibs.micros());
    due text[];
BEGIN
    won := '{}';
    SELECT array_agg(w.name) INTO due
    FROM unnest(p_names, p_intervals_s) AS w (name, interval_s) LEFT JOIN dibs.duties d ON d.name = w.name
    WHERE dibs.is_due(d.due_at, at, w.interval_s);
    IF due IS NOT NULL THEN
        WITH wanted AS (
            SELECT w.name, at + round(w.interval_s * 1000000)::bigint AS due_at
            FROM unnest(p_names, p_intervals_s) AS w (name, interval_s) WHERE w.name = ANY (due)
        ), elected AS (
            INSERT INTO dibs.duties AS d (name, due_at) SELECT w.name, w.due_at FROM wanted w ORDER BY w.name
            ON CONFLICT (name) DO UPDATE SET due_at = excluded.due_at
            -- Whoever came first has set it to its next time.
            WHERE dibs.is_due(d.due_at, at, p_intervals_s[array_position(p_names, d.name)])
            RETURNING d.name
        )
        SELECT coalesce(array_agg(e.name ORDER BY array_position(p_names, e.name)), '{}') INTO won FROM elected e;
    END IF;
    SELECT min(d.due_at) INTO due_at FROM dibs.duties d WHERE d.name = ANY (p_names);
END $$;

CREATE OR REPLACE FUNCTION dibs.is_due(due_at bigint, at bigint, interval_s float8) RETURNS boolean
LANGUAGE sql IMMUTABLE AS
$$ SELECT due_at IS NULL OR due_at <= at OR due_at - at > round(greatest(interval_s, 30) * 1000000)::bigint $$;

-- Nobody shall run this duty before then.
CREATE OR REPLACE FUNCTION dibs.postpone(p_now bigint, p_duty text, p_delay_s float8) RETURNS void LANGUAGE sql AS $$
    INSERT INTO dibs.duties AS d (name, due_at)
    VALUES (p_duty, coalesce(p_now, dibs.micros()) + round(p_delay_s * 1000000)::bigint)
    ON CONFLICT (name) DO UPDATE SET due_at = greatest(d.due_at, excluded.due_at)
$$;

-- Make due scheduled and retrying tasks ready, oldest due first, and note what time opened. How many of both; NULL: nothing
-- is due. Two who do this at once share the work. p_since: nothing was due before that.
-- Reads only while nothing is due. Locks: floors (shared), task rows without waiting.
CREATE OR REPLACE FUNCTION dibs.promote(p_now bigint, p_limit integer, p_since bigint) RETURNS integer LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    at bigint := coalesce(p_now, dibs.micros());
    due bigint[];
    opened integer := dibs.tend_gates(p_now, true);
BEGIN
    PERFORM 1 FROM dibs.waiting w
    WHERE w.status IN ('scheduled', 'retrying') AND w.due_at >= p_since AND w.due_at <= at LIMIT 1;
    IF NOT FOUND THEN
        RETURN nullif(opened, 0);
    END IF;
    PERFORM dibs.hold_floors();
    at := coalesce(p_now, dibs.micros());
    SELECT array_agg(f.n) INTO due FROM (
        SELECT w.n FROM dibs.waiting w
        WHERE w.status IN ('scheduled', 'retrying') AND w.due_at >= p_since AND w.due_at <= at
        ORDER BY w.due_at, w.n LIMIT p_limit FOR UPDATE SKIP LOCKED
    ) f;
    PERFORM dibs.publish(dibs.make_ready(due, at), at);
    RETURN coalesce(cardinality(due), 0) + opened;
END $$;

-- Held tasks whose time is over, longest first, as whole_held has them. Tasks cancelled while held whose lease is over
-- get their attempt written, at most 1,000 of them: `written` says how many. p_since: nothing held was due before that.
-- Reads only while there is none of these. Locks: floors (shared), rows of ended without waiting, locks.
CREATE OR REPLACE FUNCTION dibs.expired(
    p_now bigint, p_limit integer, p_since bigint, OUT at bigint, OUT written integer, OUT over text
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    stopped record;
    let_go bigint[] := '{}';
    late bigint[];
BEGIN
    at := coalesce(p_now, dibs.micros());
    written := 0;
    IF EXISTS (SELECT 1 FROM dibs.ended e WHERE e.due_at IS NOT NULL AND e.due_at <= at) THEN
        PERFORM dibs.hold_floors();
        FOR stopped IN
            SELECT e.n FROM dibs.ended e WHERE e.due_at IS NOT NULL AND e.due_at <= at
            ORDER BY e.due_at, e.n LIMIT 1000 FOR UPDATE SKIP LOCKED
        LOOP
            PERFORM dibs.write_cancelled_attempt(stopped.n, at);
            written := written + 1;
            let_go := let_go || stopped.n;
        END LOOP;
        PERFORM dibs.free_locks(let_go, at);
    END IF;
    SELECT array_agg(f.n ORDER BY f.due_at, f.n) INTO late FROM (
        SELECT h.n, h.due_at FROM dibs.held h WHERE h.due_at >= p_since AND h.due_at <= at
        ORDER BY h.due_at, h.n LIMIT p_limit
    ) f;
    IF late IS NOT NULL THEN
        over := dibs.whole_held(late, NULL, NULL, at);
    END IF;
END $$;

-- Refresh ranks that a deadline or the growth of a dag changed. How many tasks changed.
-- Reads only while there is nothing to do. Locks: floors (shared); rows of grown, then task rows, without waiting:
-- those who add hold a task's row while they note that its dag has grown. What is busy is left for the next time.
CREATE OR REPLACE FUNCTION dibs.rerank(p_now bigint, p_limit integer) RETURNS integer LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    at bigint := coalesce(p_now, dibs.micros());
    stepped bigint[];
    changed integer;
    seen bigint := 0;
    grown record;
    moved integer;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM dibs.work w WHERE w.step_at IS NOT NULL AND w.step_at <= at)
        AND NOT EXISTS (SELECT 1 FROM dibs.grown)
    THEN
        RETURN 0;
    END IF;
    PERFORM dibs.hold_floors();
    at := coalesce(p_now, dibs.micros());
    SELECT coalesce(array_agg(f.n), '{}') INTO stepped FROM (
        SELECT w.n FROM dibs.work w WHERE w.step_at IS NOT NULL AND w.step_at <= at
        ORDER BY w.step_at, w.n LIMIT p_limit FOR UPDATE SKIP LOCKED
    ) f;
    PERFORM dibs.refresh_ranks(stepped, NULL, at);
    changed := cardinality(stepped);
    WHILE changed < p_limit LOOP
        SELECT g.id, g.dag INTO grown FROM dibs.grown g WHERE g.id > seen ORDER BY g.id LIMIT 1 FOR UPDATE SKIP LOCKED;
        EXIT WHEN NOT FOUND;
        seen := grown.id;
        moved := dibs.reweigh(grown.dag, at);
        IF moved IS NOT NULL THEN
            changed := changed + moved;
            DELETE FROM dibs.grown g WHERE g.id = grown.id;
        END IF;
    END LOOP;
    RETURN changed;
END $$;

-- Compute ranks anew, as of now, with new weights where given. Task rows locked by the caller; needs hold_floors().
-- A rank is how dibs sees a task, not the task: `updated_at` stays.
CREATE OR REPLACE FUNCTION dibs.refresh_ranks(p_ns bigint[], p_weights integer[], p_at bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    lanes integer[];
    ranks float8[];
BEGIN
    WITH refreshed AS (
        UPDATE dibs.work w SET
            weight = coalesce(f.weight, w.weight),
            rank = CASE
                WHEN w.ready_at IS NOT NULL
                THEN dibs.rank(w.priority, w.boost, w.ready_at, coalesce(f.weight, w.weight), w.deadline, p_at)
            END,
            step_at = CASE
                WHEN w.status = 'ready' AND w.deadline IS NOT NULL THEN dibs.next_step_at(w.deadline, p_at)
            END
        FROM unnest(p_ns, p_weights) AS f (n, weight)
        WHERE w.n = f.n
        RETURNING w.lane, w.rank, w.status
    )
    SELECT array_agg(r.lane), array_agg(r.rank) INTO lanes, ranks FROM refreshed r WHERE r.status = 'ready';
    PERFORM dibs.note_lows(lanes, ranks);
    -- Whoever wanted to unpark one of them meanwhile has passed it over.
    PERFORM dibs.free_locks(p_ns, p_at);
END $$;

-- The critical path weights of a dag's live tasks: as rules.graph.weights. How many changed; NULL if somebody was in
-- the way, and it must be done again.
CREATE OR REPLACE FUNCTION dibs.reweigh(p_dag text, p_at bigint) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    members bigint[];
    parents bigint[];
    children bigint[];
    above bigint[];
    weighed bigint[] := '{}';
    weights integer[] := '{}';
    changed bigint[];
    free integer;
BEGIN
    SELECT array_agg(w.n) INTO members FROM (
        SELECT s.n FROM dibs.specs s WHERE s.dag = p_dag
        UNION ALL
        SELECT s.n FROM dibs.specs s WHERE s.id = 'task_' || substr(p_dag, 5) AND s.dag IS NULL
    ) s JOIN dibs.work w ON w.n = s.n;
    SELECT array_agg(e.parent), array_agg(e.child), array_agg(DISTINCT e.parent) INTO parents, children, above
    FROM unnest(members) AS m (n) JOIN dibs.edges e ON e.parent = m.n JOIN dibs.work w ON w.n = e.child;
    -- One generation further above the leaves each time.
    FOR weight IN 1 .. 20 LOOP
        EXIT WHEN above IS NULL;
        weighed := weighed || above;
        weights := weights || array_fill(weight, ARRAY[cardinality(above)]);
        SELECT array_agg(DISTINCT e.parent) INTO above FROM unnest(parents, children) AS e (parent, child)
        WHERE e.child = ANY (above);
    END LOOP;
    SELECT array_agg(m.n), array_agg(m.weight) INTO changed, weights FROM (
        SELECT m.n, max(m.weight) AS weight FROM (
            SELECT x.n, 0 AS weight FROM unnest(members) AS x (n)
            UNION ALL
            SELECT * FROM unnest(weighed, weights)
        ) m GROUP BY m.n
    ) m JOIN dibs.work w ON w.n = m.n AND w.weight <> m.weight;
    IF changed IS NULL THEN
        RETURN 0;
    END IF;
    SELECT count(*) INTO free FROM (
        SELECT 1 FROM dibs.work w WHERE w.n = ANY (changed) ORDER BY w.n FOR UPDATE SKIP LOCKED
    ) w;
    IF free < cardinality(changed) THEN
        RETURN NULL;
    END IF;
    PERFORM dibs.refresh_ranks(changed, weights, p_at);
    RETURN free;
END $$;

-- Mark tasks whose deadline passed, once each, and cancel those that asked for it; in the order of their deadlines.
-- Stops after one whose end has consequences, because they may take down some of the others: `marked` tells it, and the
-- caller spreads and goes on. `ids`: those that are overdue now.
-- Reads only while there is none. Locks: floors (shared), task rows without waiting, locks, dag rows.
CREATE OR REPLACE FUNCTION dibs.overdue(
    p_now bigint, p_limit integer, p_text text, OUT ids text[], OUT marked text
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    at bigint := coalesce(p_now, dibs.micros());
    late bigint[];
    ends bigint[];
    events text[];
    done record;
BEGIN
    ids := '{}';
    PERFORM 1 FROM dibs.work w WHERE w.deadline IS NOT NULL AND w.deadline <= at AND NOT w.overdue LIMIT 1;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    PERFORM dibs.hold_floors();
    -- All up to the first that is cancelled and has something below it.
    SELECT array_agg(f.n), array_agg(f.n) FILTER (WHERE f.ends), max(f.id) FILTER (WHERE f.ends AND f.ties > 0)
    INTO late, ends, marked
    FROM (
        SELECT f.*, count(*) FILTER (WHERE f.ends AND f.ties > 0) OVER (
            ORDER BY f.deadline, f.n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before
        FROM (
            SELECT w.n, w.deadline, w.ties, s.id, s.on_deadline = 'cancel' AS ends
            FROM dibs.work w JOIN dibs.specs s ON s.n = w.n
            WHERE w.deadline IS NOT NULL AND w.deadline <= at AND NOT w.overdue
            ORDER BY w.deadline, w.n LIMIT p_limit FOR UPDATE OF w SKIP LOCKED
        ) f
    ) f
    WHERE coalesce(f.before, 0) = 0;
    IF late IS NULL THEN
        RETURN;
    END IF;
    WITH passed AS (
        UPDATE dibs.work w SET overdue = true, updated_at = at WHERE w.n = ANY (late) RETURNING w.n, w.deadline
    )
    SELECT
        array_agg(s.id ORDER BY p.deadline, p.n),
        array_agg(dibs.event('task.overdue', at, s.id, s.dag) ORDER BY p.deadline, p.n)
    INTO ids, events
    FROM passed p JOIN dibs.specs s ON s.n = p.n;
    IF ends IS NOT NULL THEN
        SELECT c.* INTO done FROM (
            SELECT array_agg(e.n) AS ns, array_agg(e.ties > 0) AS tied, count(*)::integer AS count
            FROM (SELECT w.n, w.ties FROM dibs.work w WHERE w.n = ANY (ends)) e
        ) e
        CROSS JOIN LATERAL dibs.cancel_tasks(
            at, e.ns, array_fill('deadline'::text, ARRAY[e.count]), array_fill(p_text, ARRAY[e.count]),
            array_fill(NULL::text, ARRAY[e.count]), array_fill(false, ARRAY[e.count]), e.tied
        ) c;
        PERFORM dibs.free_locks(ends, at);
        events := events || done.events || dibs.follow(done.dags, at);
    END IF;
    PERFORM dibs.publish(events, at);
END $$;
