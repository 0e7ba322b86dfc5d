-- Forgetting what ended long ago, in short transactions: whole dags, never while something live depends on any of it.

-- Whether a final task has to stay: it ended lately, something live depends on it, its agent has not stopped since it was
-- cancelled, or it is a dead letter about which nobody decided, or not long ago, or not what rules.review.lets_go.
CREATE OR REPLACE FUNCTION dibs.is_kept(e dibs.ended, p_before bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    -- `ties` does not tell: nobody writes there that a dependent was added after a completion.
    SELECT coalesce(CASE
        WHEN e.status IN ('completed', 'cancelled') THEN e.ended_at WHEN e.resolution = 'kept' THEN e.reviewed_at
    END >= p_before, true) OR e.due_at IS NOT NULL OR EXISTS (
        SELECT 1 FROM dibs.edges x JOIN dibs.work w ON w.n = x.child WHERE x.parent = e.n
    )
$$;

-- Whether any of a dag's tasks has to stay.
CREATE OR REPLACE FUNCTION dibs.keeps_dag(p_dag text, p_before bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT 1 FROM dibs.specs s LEFT JOIN dibs.ended e ON e.n = s.n
        WHERE s.dag = p_dag AND (e.n IS NULL OR dibs.is_kept(e, p_before))
    )
$$;

-- Delete tasks that ended before then with all that belongs to them: about p_limit, more only to make a dag whole.
-- How many. What somebody is busy with is left for the next time.
-- Locks: rows of ended, then dag rows, without waiting.
CREATE OR REPLACE FUNCTION dibs.prune_tasks(p_now bigint, p_retention_s float8, p_limit integer) RETURNS integer
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
DECLARE
    before bigint := coalesce(p_now, dibs.micros()) - round(p_retention_s * 1000000)::bigint;
    alone bigint[];
    whole text[];
    joined text;
    members bigint[];
    total integer;
    gone bigint[];
BEGIN
    -- Candidates: single tasks, and dags of which something ended long enough ago.
    SELECT
        array_agg(c.n) FILTER (WHERE c.dag IS NULL), array_agg(DISTINCT c.dag) FILTER (WHERE c.dag IS NOT NULL)
    INTO alone, whole
    FROM (
        SELECT e.n, s.dag FROM dibs.ended e JOIN dibs.specs s ON s.n = e.n
        WHERE e.ended_at < before AND (coalesce(e.status) IN ('completed', 'cancelled') OR e.resolution = 'kept')
            AND CASE WHEN s.dag IS NULL THEN NOT dibs.is_kept(e, before) ELSE NOT dibs.keeps_dag(s.dag, before) END
        LIMIT p_limit
    ) c;
    alone := coalesce(alone, '{}');
    total := cardinality(alone);
    gone := alone;
    FOREACH joined IN ARRAY coalesce(whole, '{}') LOOP
        EXIT WHEN total >= p_limit;
        SELECT array_agg(s.n) INTO members FROM dibs.specs s WHERE s.dag = joined;
        gone := gone || members;
        total := total + cardinality(members);
    END LOOP;
    IF total = 0 THEN
        RETURN 0;
    END IF;

    SELECT coalesce(array_agg(f.n), '{}') INTO gone FROM (
        SELECT e.n FROM dibs.ended e WHERE e.n = ANY (gone) ORDER BY e.n FOR UPDATE SKIP LOCKED
    ) f;
    SELECT array_agg(f.id) INTO whole FROM (
        SELECT d.id FROM dibs.dags d WHERE d.id = ANY (whole) ORDER BY d.id FOR UPDATE SKIP LOCKED
    ) f;
    SELECT array_agg(d.id) INTO whole FROM unnest(whole) AS d (id)
    WHERE NOT dibs.keeps_dag(d.id, before)
        AND NOT EXISTS (SELECT 1 FROM dibs.specs s WHERE s.dag = d.id AND NOT s.n = ANY (gone));
    SELECT coalesce(array_agg(e.n), '{}') INTO gone
    FROM unnest(gone) AS g (n) JOIN dibs.ended e ON e.n = g.n JOIN dibs.specs s ON s.n = e.n
    WHERE CASE WHEN s.dag IS NULL THEN NOT dibs.is_kept(e, before) ELSE s.dag = ANY (whole) END;

    -- A dependent that ended keeps its count true: the edge it never resolved goes with its parent.
    UPDATE dibs.ended e SET open = e.open - lost.count
    FROM (
        SELECT x.child, count(*)::integer AS count FROM unnest(gone) AS g (n)
        JOIN dibs.edges x ON x.parent = g.n AND x.resolved_at IS NULL WHERE NOT x.child = ANY (gone) GROUP BY x.child
    ) lost
    WHERE e.n = lost.child;
    DELETE FROM dibs.edges x WHERE x.parent = ANY (gone);
    DELETE FROM dibs.edges x WHERE x.child = ANY (gone);
    DELETE FROM dibs.artifacts a WHERE a.n = ANY (gone);
    DELETE FROM dibs.attempts a WHERE a.n = ANY (gone);
    DELETE FROM dibs.journal j WHERE j.n = ANY (gone);
    DELETE FROM dibs.questions q WHERE q.n = ANY (gone);
    DELETE FROM dibs.needs d WHERE d.n = ANY (gone);
    DELETE FROM dibs.budgets b USING dibs.specs s
    WHERE s.n = ANY (gone) AND b.project = s.project AND b.scope = 'dag:' || coalesce(s.dag, dibs.dag_of(s.id));
    DELETE FROM dibs.ladders l USING dibs.specs s
    WHERE s.n = ANY (gone) AND l.project = s.project AND l.scope = 'dag:' || coalesce(s.dag, dibs.dag_of(s.id));
    DELETE FROM dibs.keys k USING dibs.specs s
    WHERE s.n = ANY (gone) AND s.key IS NOT NULL AND k.project = s.project AND k.key = s.key AND k.n = s.n;
    DELETE FROM dibs.specs s WHERE s.n = ANY (gone);
    DELETE FROM dibs.ended e WHERE e.n = ANY (gone);
    DELETE FROM dibs.dags d WHERE d.id = ANY (whole);
    DELETE FROM dibs.grown g WHERE g.dag = ANY (whole);
    RETURN cardinality(gone);
END $$;

-- Delete old events and claim ids, oldest events first, at most p_limit rows of each; whether that many were found.
-- Events without a number get one first. The newest row stays, if need be empty: the numbers go on from it.
-- Locks: numbering.
CREATE OR REPLACE FUNCTION dibs.prune_log(p_now bigint, p_retention_s float8, p_limit integer) RETURNS boolean
LANGUAGE plpgsql
SET enable_seqscan = off SET jit = off
AS $$
DECLARE
    before bigint := coalesce(p_now, dibs.micros()) - round(p_retention_s * 1000000)::bigint;
    newest bigint;
    deleted bigint;
    more boolean := false;
BEGIN
    -- Only if the oldest that nobody has read is so old; else there is no hurry.
    IF (SELECT o.at FROM dibs.outbox o WHERE o.last_seq IS NULL ORDER BY o.last_seq, o.id LIMIT 1) < before THEN
        more := dibs.number_events(p_limit) >= p_limit;
    END IF;
    SELECT max(o.last_seq) INTO newest FROM dibs.outbox o WHERE o.last_seq IS NOT NULL;
    DELETE FROM dibs.outbox o USING (
        SELECT p.last_seq, bool_and(p.at < before) OVER (ORDER BY p.last_seq) AS old FROM (
            SELECT p.last_seq, p.at FROM dibs.outbox p
            WHERE p.last_seq IS NOT NULL AND p.last_seq < newest ORDER BY p.last_seq LIMIT p_limit
        ) p
    ) p
    WHERE o.last_seq = p.last_seq AND o.last_seq IS NOT NULL AND p.old;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    more := more OR deleted >= p_limit;
    UPDATE dibs.outbox o SET count = 0, body = '[]'
    WHERE o.last_seq = newest AND o.last_seq IS NOT NULL AND o.at < before AND o.count > 0
        AND NOT EXISTS (SELECT 1 FROM dibs.outbox p WHERE p.last_seq IS NOT NULL AND p.last_seq < newest);
    DELETE FROM dibs.claims c WHERE c.ctid = ANY (
        ARRAY(SELECT o.ctid FROM dibs.claims o WHERE o.at < before LIMIT p_limit)
    );
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN more OR deleted >= p_limit;
END $$;

-- Forget agents that were not heard of since, and note which lanes are idle. Answers the lanes that were idle for so
-- long and in which nothing waits or runs: they may be retired.
CREATE OR REPLACE FUNCTION dibs.prune_agents(p_now bigint, p_retention_s float8, p_idle_s float8) RETURNS integer[]
LANGUAGE plpgsql AS $$
DECLARE
    at bigint := coalesce(p_now, dibs.micros());
    idle integer[];
    ruled boolean;
BEGIN
    ruled := dibs.forget_agents(at - round(p_retention_s * 1000000)::bigint);
    UPDATE dibs.lanes l SET idle_since = CASE WHEN l.idle_since IS NULL THEN at END
    WHERE l.retired_at IS NULL
        AND (l.idle_since IS NULL) <> EXISTS (
            SELECT 1 FROM dibs.waiting w WHERE w.status = 'ready' AND w.parked_on IS NULL AND w.lane = l.id
        );
    IF ruled THEN
        -- After the lanes' rows, as everybody else.
        PERFORM dibs.change_lanes();
    END IF;
    SELECT array_agg(l.id) INTO idle FROM dibs.lanes l
    WHERE l.retired_at IS NULL AND l.idle_since <= at - round(p_idle_s * 1000000)::bigint;
    IF idle IS NULL THEN
        RETURN '{}';
    END IF;
    RETURN coalesce(
        (
            SELECT array_agg(i.lane) FROM unnest(idle) AS i (lane)
            WHERE NOT i.lane = ANY (SELECT DISTINCT w.lane FROM dibs.work w WHERE w.lane = ANY (idle))
        ), '{}'
    );
END $$;

-- Retire those of these lanes in which still nothing is. How many; none if somebody is adding all the time.
-- Everybody reads the lanes again then. Locks: floors (alone), lane rows.
CREATE OR REPLACE FUNCTION dibs.retire_lanes(p_now bigint, p_lanes integer[]) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    used integer[];
    retired integer;
BEGIN
    IF NOT dibs.hold_floors_alone() THEN
        RETURN 0;
    END IF;
    SELECT coalesce(array_agg(DISTINCT w.lane), '{}') INTO used FROM dibs.work w WHERE w.lane = ANY (p_lanes);
    UPDATE dibs.lanes l SET retired_at = coalesce(p_now, dibs.micros())
    WHERE l.id = ANY (p_lanes) AND l.retired_at IS NULL AND l.idle_since IS NOT NULL AND NOT l.id = ANY (used);
    GET DIAGNOSTICS retired = ROW_COUNT;
    IF retired > 0 THEN
        PERFORM dibs.change_lanes();
    END IF;
    RETURN retired;
END $$;
