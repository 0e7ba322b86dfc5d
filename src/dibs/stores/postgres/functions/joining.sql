-- Parts of `insert`: new tasks find those that were there before, and the dags they belong to.

-- Lock the tasks that new ones depend on, join or are waited for by. Answers those of them that get an edge.
CREATE OR REPLACE FUNCTION dibs.lock_for_insert(
    p_ns bigint[], p_fresh boolean[], p_parents bigint[], p_parent_ids text[], e_child integer[], e_parent integer[],
    e_kind text[], p_dags text[], p_dag text, p_spawner bigint, p_waits boolean, p_joined boolean
) RETURNS bigint[] LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
    unknown record;
    old bigint[];
    virtual bigint[];
BEGIN
    IF array_position(p_parents, NULL) IS NOT NULL THEN
        SELECT p_parent_ids[-u.parent] AS id, u.kind INTO unknown
        FROM unnest(e_child, e_parent, e_kind) WITH ORDINALITY AS u (child, parent, kind, place)
        WHERE p_fresh[u.child] AND u.parent < 0 AND p_parents[-u.parent] IS NULL
        ORDER BY u.place LIMIT 1;
        IF FOUND THEN
            PERFORM dibs.refuse('no_parent', json_build_array(unknown.id, unknown.kind));
        END IF;
    END IF;
    SELECT coalesce(array_agg(DISTINCT x.n ORDER BY x.n), '{}') INTO old
    FROM (
        SELECT CASE WHEN u.parent > 0 THEN p_ns[u.parent] ELSE p_parents[-u.parent] END AS n
        FROM unnest(e_child, e_parent) AS u (child, parent)
        WHERE p_fresh[u.child] AND NOT (u.parent > 0 AND p_fresh[u.parent])
    ) x;
    IF p_waits THEN
        old := old || ARRAY(SELECT u.n FROM unnest(p_ns, p_fresh) AS u (n, fresh) WHERE NOT u.fresh);
    END IF;
    IF p_dags IS NOT NULL THEN
        -- A standalone task whose dag is named.
        SELECT array_agg(s.n) INTO virtual
        FROM (SELECT DISTINCT u.dag FROM unnest(p_dags) AS u (dag) WHERE u.dag IS DISTINCT FROM p_dag) u
        JOIN dibs.specs s ON s.id IN ('task_' || substr(u.dag, 5), substr(u.dag, 5)) AND s.dag IS NULL
            AND dibs.dag_of(s.id) = u.dag;
    END IF;
    IF p_joined THEN
        PERFORM dibs.refuse('unfinished_parent', json_build_array(s.id))
        FROM dibs.specs s JOIN dibs.work w ON w.n = s.n
        WHERE s.n = ANY (old) AND NOT dibs.is_ours(s.xmin) ORDER BY s.n LIMIT 1;
        PERFORM dibs.refuse('unfinished_dag', json_build_array(dibs.dag_of(s.id)))
        FROM dibs.specs s JOIN dibs.work w ON w.n = s.n
        WHERE s.n = ANY (virtual) AND NOT dibs.is_ours(s.xmin) ORDER BY s.n LIMIT 1;
    END IF;
    IF cardinality(old) > 0 OR p_spawner IS NOT NULL OR virtual IS NOT NULL THEN
        PERFORM dibs.lock_tasks(old || p_spawner || virtual);
    END IF;
    RETURN old;
END $$;

-- Whether a row that can be seen was written by the transaction under way: then that is still in progress.
CREATE OR REPLACE FUNCTION dibs.is_ours(p_xmin xid) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    mine bigint := pg_current_xact_id()::text::bigint;
    since bigint := p_xmin::text::bigint - (mine & 4294967295);
BEGIN
    -- A row says only the last 32 bits of who wrote it. Those of a transaction come after its own first number.
    IF since < -2147483648 THEN
        since := since + 4294967296;
    ELSIF since > 2147483647 THEN
        since := since - 4294967296;
    END IF;
    RETURN since >= 0 AND coalesce(pg_xact_status((mine + since)::text::xid8) = 'in progress', false);
END $$;

-- A dag that is declared: `ns` if its key belongs to another dag that says the same, whose tasks these are; `joined`
-- if it is there already.
CREATE OR REPLACE FUNCTION dibs.insert_dag(
    p_dag jsonb, p_ids text[], p_at bigint, OUT id text, OUT ns bigint[], OUT joined text[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    same record;
BEGIN
    id := p_dag->>'id';
    joined := '{}';
    INSERT INTO dibs.dags (
        id, project, title, key, body_hash, status, on_failure, "user", created_by, drafted, created_at
    ) VALUES (
        p_dag->>'id', p_dag->>'project', p_dag->>'title', p_dag->>'key', p_dag->>'body_hash', 'pending',
        p_dag->>'on_failure', p_dag->>'user', p_dag->>'created_by',
        '["' || array_to_string(p_ids, '","') || '"]', p_at
    ) ON CONFLICT DO NOTHING;
    IF FOUND THEN
        RETURN;
    END IF;
    SELECT d.id, d.body_hash, d.drafted INTO same FROM dibs.dags d
    WHERE d.project = p_dag->>'project' AND d.key = p_dag->>'key' AND d.key IS NOT NULL
        AND d.status NOT IN ('cancelled', 'failed');
    IF FOUND AND same.id <> p_dag->>'id' THEN
        IF same.body_hash IS DISTINCT FROM p_dag->>'body_hash' THEN
            PERFORM dibs.refuse('key_of_dag', json_build_array(p_dag->>'key', same.id));
        END IF;
        id := same.id;
        SELECT coalesce(array_agg(s.n ORDER BY c.place), '{}') INTO ns
        FROM json_array_elements_text(same.drafted::json) WITH ORDINALITY AS c (id, place)
        JOIN dibs.specs s ON s.id = c.id;
        RETURN;
    END IF;
    IF NOT EXISTS (SELECT 1 FROM dibs.dags d WHERE d.id = p_dag->>'id') THEN
        -- Whose key it was has ended badly since.
        PERFORM dibs.look_again();
    END IF;
    joined := ARRAY[id];
END $$;

-- The dag of each new task: the one it names, that of its first parent, or its own — which stays virtual (NULL) unless
-- another draft joins it. `joined`: dags that were there before; `made`: those that get a row here.
CREATE OR REPLACE FUNCTION dibs.dags_for(
    p_ids text[], p_ns bigint[], p_fresh boolean[], p_some_known boolean, p_parents bigint[], p_dags text[],
    p_source integer[], p_dag text, OUT dags text[], OUT joined text[], OUT made text[]
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
    count integer := cardinality(p_ids);
    known text[];
    outside text[];
    roots integer[] := array_fill(0, ARRAY[count]);     -- whose virtual dag it is
    rooted boolean[] := array_fill(false, ARRAY[count]);
    source integer;
BEGIN
    dags := array_fill(NULL::text, ARRAY[count]);
    IF p_some_known THEN
        SELECT array_agg(coalesce(s.dag, dibs.dag_of(s.id)) ORDER BY u.place) INTO known
        FROM unnest(p_ns) WITH ORDINALITY AS u (n, place) LEFT JOIN dibs.specs s ON s.n = u.n;
    END IF;
    IF cardinality(p_parents) > 0 THEN
        SELECT array_agg(coalesce(s.dag, dibs.dag_of(s.id)) ORDER BY u.place) INTO outside
        FROM unnest(p_parents) WITH ORDINALITY AS u (n, place) LEFT JOIN dibs.specs s ON s.n = u.n;
    END IF;
    FOR i IN 1 .. count LOOP
        CONTINUE WHEN NOT p_fresh[i];
        source := p_source[i];
        IF p_dags[i] IS NOT NULL THEN
            dags[i] := p_dags[i];
        ELSIF source = 0 THEN
            dags[i] := dibs.dag_of(p_ids[i]);
            roots[i] := i;
        ELSIF source < 0 THEN
            dags[i] := outside[-source];
        ELSIF NOT p_fresh[source] THEN
            dags[i] := known[source];
        ELSE
            dags[i] := dags[source];
            roots[i] := roots[source];
            IF roots[i] > 0 THEN
                rooted[roots[i]] := true;
            END IF;
        END IF;
    END LOOP;
    SELECT
        array_agg(CASE WHEN u.root = u.place AND NOT u.rooted THEN NULL ELSE u.dag END ORDER BY u.place),
        coalesce(
            array_agg(DISTINCT u.dag) FILTER (WHERE u.root = 0 AND u.fresh AND u.dag IS DISTINCT FROM p_dag), '{}'
        ),
        coalesce(array_agg(u.dag) FILTER (WHERE u.rooted), '{}')
    INTO dags, joined, made
    FROM unnest(dags, roots, rooted, p_fresh) WITH ORDINALITY AS u (dag, root, rooted, fresh, place);
END $$;

-- New tasks join these dags: lock their rows and refuse those that are closed. A virtual one gets a row; its task is
-- locked by the caller.
CREATE OR REPLACE FUNCTION dibs.join_dags(p_dags text[], p_joined boolean, p_at bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    dag record;
    missing text[] := p_dags;
    virtual bigint[];
BEGIN
    IF p_joined THEN
        PERFORM dibs.refuse('unfinished_dag', json_build_array(d.id)) FROM dibs.dags d
        WHERE d.id = ANY (p_dags) AND d.status IN ('pending', 'running') AND NOT dibs.is_ours(d.xmin)
        ORDER BY d.id LIMIT 1;
    END IF;
    FOR dag IN
        SELECT d.id, d.status, d.closing FROM dibs.dags d WHERE d.id = ANY (p_dags) ORDER BY d.id FOR NO KEY UPDATE
    LOOP
        IF dag.closing OR dag.status IN ('failed', 'cancelled') THEN
            PERFORM dibs.refuse('dag_closed', json_build_array(dag.id, dag.status));
        END IF;
        missing := array_remove(missing, dag.id);
    END LOOP;
    IF cardinality(missing) = 0 THEN
        RETURN;
    END IF;
    SELECT array_agg(s.n), array_agg(m.id) FILTER (WHERE s.n IS NULL) INTO virtual, missing
    FROM unnest(missing) AS m (id)
    LEFT JOIN dibs.specs s ON s.id IN ('task_' || substr(m.id, 5), substr(m.id, 5)) AND s.dag IS NULL
        AND dibs.dag_of(s.id) = m.id;
    IF missing IS NOT NULL THEN
        PERFORM dibs.refuse('no_dag', json_build_array(missing[1], 'dag'));
    END IF;
    PERFORM dibs.materialise(virtual, p_at);
END $$;

-- These tasks have something below them from now on: their own end must look for it, and the critical path above them
-- is longer. Rows are locked by the caller.
CREATE OR REPLACE FUNCTION dibs.tie(p_ns bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE dibs.work w SET ties = w.ties | 1 WHERE w.n = ANY (p_ns) AND w.ties & 1 = 0;
    -- They may have a new life one day.
    UPDATE dibs.ended e SET ties = e.ties | 1 WHERE e.n = ANY (p_ns) AND e.ties & 1 = 0 AND e.status <> 'completed';
    -- The row is locked also if it is there already: whoever is about to refresh that dag shall see what is added here.
    INSERT INTO dibs.grown (dag)
    SELECT DISTINCT coalesce(s.dag, dibs.dag_of(s.id)) FROM dibs.work w JOIN dibs.specs s ON s.n = w.n
    WHERE w.n = ANY (p_ns) ORDER BY 1
    ON CONFLICT (dag) DO UPDATE SET dag = excluded.dag;
END $$;

-- The ids of these tasks as JSON, in the order given.
CREATE OR REPLACE FUNCTION dibs.ids_of(p_ns bigint[]) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN (
        SELECT '[' || coalesce(string_agg('"' || s.id || '"', ',' ORDER BY u.place), '') || ']'
        FROM unnest(p_ns) WITH ORDINALITY AS u (n, place) JOIN dibs.specs s ON s.n = u.n
    );
END $$;
