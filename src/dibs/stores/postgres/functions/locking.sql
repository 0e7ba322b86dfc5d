-- What everybody does who decides about tasks that exist: refuse, lock rows in one order, look for cycles.

-- Undo the whole call. `stores.postgres.refused` knows the names and puts the facts into words.
CREATE OR REPLACE FUNCTION dibs.refuse(p_name text, p_facts json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'DB001', MESSAGE = p_name, DETAIL = p_facts::text;
END $$;

-- Somebody else changed what this call has looked at: undo it and let the caller do it again.
CREATE OR REPLACE FUNCTION dibs.look_again() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'serialization_failure', MESSAGE = 'changed meanwhile';
END $$;

-- Lock the rows of these tasks, wherever they are: in `work` or, if they ended, in `ended`. A task may move between the
-- two while we wait; then the row that was waited for is gone, and we look again. If it moves within `work`, the server
-- undoes the call (serialization_failure) and the caller makes it again.
CREATE OR REPLACE FUNCTION dibs.lock_tasks(p_ns bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    missing bigint[] := p_ns;
    got bigint[];
BEGIN
    LOOP
        SELECT array_agg(l.n) INTO got
        FROM (SELECT w.n FROM dibs.work w WHERE w.n = ANY (missing) ORDER BY w.n FOR UPDATE) l;
        IF got IS NOT NULL THEN
            SELECT array_agg(m.n) INTO missing FROM unnest(missing) AS m (n) WHERE NOT m.n = ANY (got);
        END IF;
        EXIT WHEN missing IS NULL;
        SELECT array_agg(l.n) INTO got
        FROM (SELECT e.n FROM dibs.ended e WHERE e.n = ANY (missing) ORDER BY e.n FOR UPDATE) l;
        SELECT array_agg(s.n) INTO missing FROM dibs.specs s
        WHERE s.n = ANY (missing) AND NOT s.n = ANY (coalesce(got, '{}'));
        EXIT WHEN missing IS NULL;
    END LOOP;
END $$;

-- No claim of the project is under way, nor begins before this transaction has ended.
CREATE OR REPLACE FUNCTION dibs.hold_claims(p_project text) RETURNS void LANGUAGE sql AS
$$ SELECT pg_advisory_xact_lock('dibs.work'::regclass::oid::integer, hashtext(p_project)) $$;

-- Edges between tasks that exist are added, and tasks brought back to life, by one at a time: what one of two has
-- looked at is not changed by the other. Taken before any row.
CREATE OR REPLACE FUNCTION dibs.hold_links() RETURNS void LANGUAGE sql AS
$$ SELECT pg_advisory_xact_lock('dibs.edges'::regclass::oid::integer, 0) $$;

-- Refuse new edges from `p_parents` into a task if one of these parents is, or waits for, that task. Needs the lock
-- of links.
CREATE OR REPLACE FUNCTION dibs.refuse_cycle(p_n bigint, p_parents bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    below bigint[];
    path bigint[];
    at bigint;
BEGIN
    WITH RECURSIVE under (n) AS (
        SELECT p_n UNION SELECT e.child FROM under u JOIN dibs.edges e ON e.parent = u.n
    )
    SELECT array_agg(u.n) INTO below FROM under u;
    SELECT p.n INTO at FROM unnest(p_parents) WITH ORDINALITY AS p (n, place)
    WHERE p.n = ANY (below) ORDER BY p.place LIMIT 1;
    IF at IS NULL THEN
        RETURN;
    END IF;
    -- The way down from the task to that parent, walked upwards; what exists has no cycle, so it leads to the task.
    path := ARRAY[at];
    WHILE at <> p_n LOOP
        SELECT e.parent INTO at FROM dibs.edges e WHERE e.child = at AND e.parent = ANY (below) ORDER BY e.id LIMIT 1;
        path := at || path;
    END LOOP;
    PERFORM dibs.refuse('cycle', (
        SELECT json_agg(s.id ORDER BY c.place)
        FROM unnest(path[cardinality(path)] || path) WITH ORDINALITY AS c (n, place) JOIN dibs.specs s ON s.n = c.n
    ));
END $$;

-- A specification with one part replaced (JSON); the rest stays as it is, to the byte.
CREATE OR REPLACE FUNCTION dibs.spec_with(p_spec text, p_name text, p_value text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT '{' || coalesce(string_agg(to_json(j.key) || ':' || j.value, ',' ORDER BY j.place) || ',', '')
        || to_json(p_name) || ':' || p_value || '}'
    FROM json_each(p_spec::json) WITH ORDINALITY AS j (key, value, place) WHERE j.key <> p_name
$$;
