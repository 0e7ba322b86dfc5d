-- Add tasks with edges, keys, a dag or a spawner: all or nothing. Everything is looked up, locked and checked first.
--
-- p_version: of the lanes that the numbers in f_lane are from; NULL: the caller has seen to that. p_joined: this runs in
-- somebody else's transaction, which may last; so nothing is locked that others work on.
-- Drafts, in order: p_ids, p_specs, p_bytes, p_frame (its frame, from 1: f_…, what many have in common), p_keys and
-- p_hashes (NULL: none has a key), p_dags (the dags they name; NULL: none names another than p_dag), p_source (else: 0
-- its own dag, the place of the draft whose dag it joins, or minus the place of the parent in p_parents).
-- Specifications come without `depends_on` where a draft depends on one with a key, and without `depth` in a spawn.
-- Edges, in the order of the drafts they lead into: e_child (place), e_parent (place of a draft before it, or minus the
-- place in p_parents, the other tasks that are named), e_kind.
-- p_dag, p_spawn: as values.DagDraft and values.Spawn, as JSON.
--
-- Answers `at` NULL if the lanes changed meanwhile (read them again); else `known`, which drafts are answered by tasks
-- that were there before (NULL: none); `whole`, the tasks in the order of the drafts — NULL if all of them are as
-- anybody can tell from the drafts, that is new, not cancelled and not to be approved.
-- A draft whose id is just being added by somebody else: unique_violation (do it again).
-- Locks: claims of the project (a dag with a budget), floors (shared), links (a spawn that waits, with keys), the dag's key, keys in order, task rows by number, dag
-- rows by id. Keys come first: whoever waits for the owner of a key holds up nobody else. Without keys, those who are
-- waited for are new and depend on nothing that can get another edge: no cycle can close, and links need no lock.
CREATE OR REPLACE FUNCTION dibs.insert(
    p_now bigint, p_version bigint, p_joined boolean,
    p_ids text[], p_specs text[], p_bytes integer[], p_frame integer[], p_keys text[], p_hashes text[], p_dags text[],
    p_source integer[],
    f_project text[], f_type text[], f_lane integer[], f_fallback integer[], f_priority float8[], f_boost float8[],
    f_weight integer[], f_max_attempts integer[], f_timeout float8[], f_user text[], f_deadline bigint[],
    f_on_deadline text[], f_run_after bigint[], f_parent text[], f_approval boolean[], f_locks text[],
    f_coalesce text[], f_gathers bigint[],
    p_parents text[], e_child integer[], e_parent integer[], e_kind text[],
    p_dag text, p_spawn text,
    OUT at bigint, OUT known boolean[], OUT dag_id text, OUT suspended boolean, OUT whole text
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
DECLARE
    count integer := coalesce(cardinality(p_ids), 0);
    spawn jsonb := p_spawn::jsonb;
    given bigint := CASE WHEN p_dag IS NOT NULL THEN (p_dag::jsonb->>'budget')::bigint END;
    waits boolean := coalesce((spawn->>'wait')::boolean, false);
    spawner bigint;
    spawned_by text := spawn->>'task_id';
    ns bigint[];                -- the task that answers each draft
    fresh boolean[];            -- whether it is added here
    leads integer[];
    some_known boolean;
    parents bigint[];
    joined text[] := '{}';      -- dags that were there before
    others text[];
    made text[] := '{}';        -- dags that are here now because drafts are joined
    dags text[];                -- of each new task; NULL: it stays by itself
    x_parent bigint[];
    x_place integer[];          -- of a parent that is new too
    x_child integer[];
    x_kind text[];
    x_id text[];
    x_status text[];
    x_cause text[];
    x_asked boolean[];
    x_resolved boolean[];
    satisfied boolean;
    badly boolean;
    child integer;
    place integer;
    none integer[] := array_fill(0, ARRAY[count]);
    deps integer[] := none;
    open integer[] := none;
    ties integer[] := array_fill(CASE WHEN waits THEN 1 ELSE 0 END, ARRAY[count]);
    causes text[] := array_fill(NULL::text, ARRAY[count]);  -- of those that are cancelled at once
    asked boolean[] := array_fill(false, ARRAY[count]);
    named text[] := causes;     -- where a draft depends on one with a key: the tasks it depends on
    some_cancelled boolean := false;
    some_held boolean := coalesce(true = ANY (f_approval), false);
    depth integer := 0;
    old_parents bigint[];
    lanes integer[];
    ranks float8[];
    counted bigint := 0;
    body text;
    events text[] := '{}';
BEGIN
    suspended := false;
    IF given IS NOT NULL THEN
        PERFORM dibs.hold_claims(p_dag::jsonb->>'project');
    END IF;
    PERFORM dibs.hold_floors();
    IF (SELECT m.value::bigint FROM dibs.meta m WHERE m.name = 'lanes') <> p_version THEN
        RETURN;
    END IF;
    at := coalesce(p_now, dibs.micros());
    IF spawn IS NOT NULL THEN
        SELECT s.n INTO spawner FROM dibs.specs s WHERE s.id = spawned_by;
        IF NOT FOUND THEN
            PERFORM dibs.refuse('no_task', json_build_array(spawned_by));
        END IF;
        IF dibs.has_spawned(spawner, spawn) THEN
            SELECT a.at, a.ns, a.suspended INTO at, ns, suspended FROM dibs.spawn_again(p_now, spawner, spawn) a;
            known := array_fill(true, ARRAY[cardinality(ns)]);
            whole := dibs.whole(ns);
            RETURN;
        END IF;
        PERFORM dibs.check_spawner(spawner, spawn, count, at);
        IF waits AND p_keys IS NOT NULL THEN
            PERFORM dibs.hold_links();
        END IF;
    END IF;
    IF p_dag IS NOT NULL THEN
        SELECT a.id, a.ns, a.joined INTO dag_id, ns, joined FROM dibs.insert_dag(p_dag::jsonb, p_ids, at) a;
        IF ns IS NOT NULL THEN
            known := array_fill(true, ARRAY[cardinality(ns)]);
            whole := dibs.whole(ns);
            RETURN;
        END IF;
    END IF;

    -- Who is there already, by id or by key. Numbers are given in the order of the drafts.
    SELECT
        coalesce(array_agg(d.n IS NULL ORDER BY d.place), '{}'),
        coalesce(array_agg(coalesce(d.n, nextval('dibs.specs_n_seq')) ORDER BY d.place), '{}')
    INTO fresh, ns
    FROM (
        SELECT s.n, i.place FROM unnest(p_ids) WITH ORDINALITY AS i (id, place) LEFT JOIN dibs.specs s ON s.id = i.id
        ORDER BY i.place OFFSET 0
    ) d;
    IF p_keys IS NOT NULL THEN
        SELECT a.ns, a.fresh, a.leads INTO ns, fresh, leads
        FROM dibs.take_keys(p_ids, ns, fresh, p_keys, p_hashes, p_frame, f_project) a;
        -- Who names a draft that another one of this call answers means that one.
        SELECT array_agg(CASE WHEN u.parent > 0 THEN leads[u.parent] ELSE u.parent END ORDER BY u.place) INTO e_parent
        FROM unnest(e_parent) WITH ORDINALITY AS u (parent, place);
        SELECT array_agg(CASE WHEN u.source > 0 THEN leads[u.source] ELSE u.source END ORDER BY u.place) INTO p_source
        FROM unnest(p_source) WITH ORDINALITY AS u (source, place);
    END IF;
    some_known := coalesce(false = ANY (fresh), false);

    -- Lock whoever gets an edge or company; only then look at how they are.
    SELECT array_agg(s.n ORDER BY i.place) INTO parents
    FROM unnest(p_parents) WITH ORDINALITY AS i (id, place) LEFT JOIN dibs.specs s ON s.id = i.id;
    old_parents := dibs.lock_for_insert(
        ns, fresh, parents, p_parents, e_child, e_parent, e_kind, p_dags, dag_id, spawner, waits, p_joined
    );
    IF spawn IS NOT NULL THEN
        -- The same call, made twice, may have been faster, and have ended the claim.
        IF dibs.has_spawned(spawner, spawn) THEN
            PERFORM dibs.look_again();
        END IF;
        at := coalesce(p_now, dibs.micros());
        PERFORM dibs.check_spawner(spawner, spawn, count, at);
    END IF;

    IF waits AND dibs.holds_anything(spawner) THEN
        PERFORM dibs.hold_locks();
    END IF;
    IF given IS NOT NULL AND NOT dag_id = ANY (joined) THEN
        PERFORM dibs.hold_locks();
        PERFORM dibs.add_budget(p_dag::jsonb->>'project', 'dag:' || dag_id, 'usd', given, 0, NULL, NULL, NULL);
    END IF;

    IF p_dag::jsonb->>'ladder' IS NOT NULL AND NOT dag_id = ANY (joined) THEN
        INSERT INTO dibs.ladders (project, scope, rungs)
        VALUES (p_dag::jsonb->>'project', 'dag:' || dag_id, p_dag::jsonb->>'ladder');
    END IF;

    -- Where the new tasks belong.
    IF spawn IS NOT NULL THEN
        SELECT ARRAY[coalesce(s.dag, dibs.dag_of(s.id))], coalesce((s.spec::json->>'depth')::integer, 0) + 1
        INTO joined, depth FROM dibs.specs s WHERE s.n = spawner;
        dags := array_fill(joined[1], ARRAY[count]);
    ELSIF dag_id IS NOT NULL AND p_dags IS NULL THEN
        dags := array_fill(dag_id, ARRAY[count]);
    ELSE
        SELECT a.dags, a.joined, a.made INTO dags, others, made
        FROM dibs.dags_for(p_ids, ns, fresh, some_known, parents, p_dags, p_source, dag_id) a;
        joined := joined || others;
    END IF;
    IF cardinality(joined) > 0 AND true = ANY (fresh) THEN
        PERFORM dibs.join_dags(joined, p_joined, at);
    END IF;
    at := coalesce(p_now, dibs.micros());

    -- Edges, each once: from the task that answers a draft, if that is what was named.
    IF cardinality(e_child) > 0 THEN
        SELECT
            array_agg(x.parent ORDER BY x.ordinal), array_agg(x.place ORDER BY x.ordinal),
            array_agg(x.child ORDER BY x.ordinal), array_agg(x.kind ORDER BY x.ordinal),
            array_agg(coalesce(s.id, p_ids[x.place]) ORDER BY x.ordinal),
            array_agg(coalesce(w.status, e.status) ORDER BY x.ordinal),
            array_agg(coalesce(e.cause, s.id) ORDER BY x.ordinal), array_agg(e.requested ORDER BY x.ordinal)
        INTO x_parent, x_place, x_child, x_kind, x_id, x_status, x_cause, x_asked
        FROM (
            SELECT DISTINCT ON (x.child, x.parent, x.kind) x.*
            FROM (
                SELECT
                    u.child, u.kind, u.ordinal,
                    CASE WHEN u.parent > 0 THEN ns[u.parent] ELSE parents[-u.parent] END AS parent,
                    CASE WHEN u.parent > 0 AND fresh[u.parent] THEN u.parent END AS place
                FROM unnest(e_child, e_parent, e_kind) WITH ORDINALITY AS u (child, parent, kind, ordinal)
                WHERE fresh[u.child]
            ) x
            ORDER BY x.child, x.parent, x.kind, x.ordinal
        ) x
        LEFT JOIN dibs.specs s ON s.n = CASE WHEN x.place IS NULL THEN x.parent END
        LEFT JOIN dibs.work w ON w.n = s.n
        LEFT JOIN dibs.ended e ON e.n = s.n;
        x_resolved := array_fill(false, ARRAY[coalesce(cardinality(x_child), 0)]);
    END IF;
    FOR i IN 1 .. coalesce(cardinality(x_child), 0) LOOP
        child := x_child[i];
        place := x_place[i];
        deps[child] := deps[child] + 1;
        IF place IS NULL THEN
            IF x_status[i] IS NULL THEN
                -- Pruned a moment ago.
                PERFORM dibs.look_again();
            END IF;
            badly := x_status[i] IN ('dead_lettered', 'cancelled');
            satisfied := x_status[i] = 'completed' OR badly AND x_kind[i] <> 'after';
            IF waits AND NOT satisfied AND NOT badly AND NOT x_parent[i] = ANY (ns) THEN
                PERFORM dibs.refuse('waited_child', json_build_array(p_ids[child], x_id[i]));
            END IF;
        ELSE
            ties[place] := 1;
            badly := causes[place] IS NOT NULL;
            satisfied := badly AND x_kind[i] <> 'after';
        END IF;
        IF p_keys IS NOT NULL THEN
            named[child] := CASE
                WHEN named[child] IS NULL THEN '"' || x_id[i] || '"'
                WHEN strpos(named[child], '"' || x_id[i] || '"') = 0 THEN named[child] || ',"' || x_id[i] || '"'
                ELSE named[child]
            END;
        END IF;
        IF satisfied THEN
            x_resolved[i] := true;
        ELSE
            open[child] := open[child] + 1;
            IF badly AND causes[child] IS NULL THEN
                some_cancelled := true;
                causes[child] := CASE WHEN place IS NULL THEN x_cause[i] ELSE causes[place] END;
                asked[child] := CASE WHEN place IS NULL THEN x_asked[i] ELSE asked[place] END;
            END IF;
        END IF;
    END LOOP;
    IF p_keys IS NOT NULL THEN
        named := dibs.only_where_keys(named, p_keys, e_child, e_parent);
    END IF;
    IF waits AND cardinality(old_parents) > 0 THEN
        PERFORM dibs.refuse_cycle(spawner, old_parents);
    END IF;

    -- Everything is in order: add it.
    IF cardinality(made) > 0 THEN
        INSERT INTO dibs.dags (id, project, status, on_failure, created_at)
        SELECT u.dag, f_project[u.frame], 'pending', 'continue', at
        FROM unnest(p_ids, dags, p_frame) AS u (id, dag, frame) WHERE u.dag = dibs.dag_of(u.id);
    END IF;
    INSERT INTO dibs.specs (
        n, created_at, deadline, timeout_s, max_attempts, fallback_lane, id, project, type, dag, parent, key, body_hash,
        "user", on_deadline, spec
    )
    SELECT
        ns[d.place], at, f_deadline[d.frame], f_timeout[d.frame], f_max_attempts[d.frame], f_fallback[d.frame], d.id,
        f_project[d.frame], f_type[d.frame], dags[d.place], coalesce(spawned_by, f_parent[d.frame]), p_keys[d.place],
        p_hashes[d.place], f_user[d.frame], f_on_deadline[d.frame],
        CASE
            WHEN named[d.place] IS NULL AND depth = 0 THEN d.spec
            ELSE left(d.spec, -1) || coalesce(',"depends_on":[' || named[d.place] || ']', '')
                || CASE WHEN depth > 0 THEN ',"depth":' || depth ELSE '' END || '}'
        END
    FROM (
        SELECT u.id, u.spec, u.frame, u.place::integer AS place
        FROM unnest(p_ids, p_specs, p_frame) WITH ORDINALITY AS u (id, spec, frame, place)
    ) d
    WHERE fresh[d.place];
    IF f_locks IS NOT NULL THEN
        INSERT INTO dibs.needs (n, name)
        SELECT ns[d.place], json_array_elements_text(f_locks[d.frame]::json)
        FROM (SELECT u.frame, u.place::integer AS place FROM unnest(p_frame) WITH ORDINALITY AS u (frame, place)) d
        WHERE fresh[d.place] AND f_locks[d.frame] IS NOT NULL;
    END IF;
    WITH added AS (
        INSERT INTO dibs.waiting (
            n, rank, priority, boost, updated_at, ready_at, due_at, lane, bytes, open, deps, weight, ties, solo, status,
            timeout_s, run_after, deadline, step_at, coalesce_key, gathers_until
        )
        SELECT
            ns[d.place],
            CASE
                WHEN d.status = 'ready'
                THEN dibs.rank(f_priority[d.frame], f_boost[d.frame], at, f_weight[d.frame], f_deadline[d.frame], at)
            END,
            f_priority[d.frame], f_boost[d.frame], at, CASE WHEN d.status = 'ready' THEN at END,
            CASE WHEN d.status = 'scheduled' THEN f_run_after[d.frame] END, f_lane[d.frame], d.bytes, open[d.place],
            deps[d.place], f_weight[d.frame],
            ties[d.place] + CASE WHEN dags[d.place] IS NULL THEN 0 ELSE 2 END
                + CASE WHEN f_locks[d.frame] IS NULL THEN 0 ELSE 4 END
                + CASE WHEN f_coalesce[d.frame] IS NULL THEN 0 ELSE 16 END,
            f_max_attempts[d.frame] = 1, d.status, f_timeout[d.frame], f_run_after[d.frame], f_deadline[d.frame],
            CASE
                WHEN d.status = 'ready' AND f_deadline[d.frame] IS NOT NULL
                THEN dibs.next_step_at(f_deadline[d.frame], at)
            END,
            f_coalesce[d.frame], f_gathers[d.frame]
        FROM (
            SELECT
                u.frame, u.bytes, u.place::integer AS place,
                CASE
                    WHEN f_approval[u.frame] THEN 'waiting'
                    WHEN open[u.place::integer] > 0 THEN 'pending'
                    WHEN f_run_after[u.frame] > at THEN 'scheduled'
                    ELSE 'ready'
                END AS status
            FROM unnest(p_frame, p_bytes) WITH ORDINALITY AS u (frame, bytes, place)
        ) d
        WHERE fresh[d.place] AND causes[d.place] IS NULL
        RETURNING lane, rank
    )
    SELECT array_agg(a.lane), array_agg(a.rank) INTO lanes, ranks FROM added a WHERE a.rank IS NOT NULL;
    IF lanes IS NOT NULL THEN
        PERFORM dibs.note_lows(lanes, ranks);
    END IF;
    IF some_cancelled THEN
        INSERT INTO dibs.ended (
            n, ended_at, updated_at, fence, priority, boost, lane, bytes, open, deps, weight, ties, requested, status,
            timeout_s, run_after, deadline, reason, cause
        )
        SELECT
            ns[d.place], at, at, 0, f_priority[d.frame], f_boost[d.frame], f_lane[d.frame], d.bytes, open[d.place],
            deps[d.place], f_weight[d.frame],
            ties[d.place] + CASE WHEN dags[d.place] IS NULL THEN 0 ELSE 2 END
                + CASE WHEN f_locks[d.frame] IS NULL THEN 0 ELSE 4 END
                + CASE WHEN f_coalesce[d.frame] IS NULL THEN 0 ELSE 16 END,
            asked[d.place], 'cancelled', f_timeout[d.frame], f_run_after[d.frame], f_deadline[d.frame],
            'dependency_failed', causes[d.place]
        FROM (
            SELECT u.frame, u.bytes, u.place::integer AS place
            FROM unnest(p_frame, p_bytes) WITH ORDINALITY AS u (frame, bytes, place)
        ) d
        WHERE fresh[d.place] AND causes[d.place] IS NOT NULL;
        DELETE FROM dibs.keys k USING unnest(p_keys, p_frame, ns, causes) AS d (key, frame, n, cause)
        WHERE k.project = f_project[d.frame] AND k.key = d.key AND k.n = d.n AND d.cause IS NOT NULL;
    END IF;
    IF x_child IS NOT NULL THEN
        INSERT INTO dibs.edges (parent, child, kind, resolved_at)
        SELECT x.parent, ns[x.child], x.kind, CASE WHEN x.resolved THEN at END
        FROM unnest(x_parent, x_child, x_kind, x_resolved) WITH ORDINALITY AS x (parent, child, kind, resolved, place)
        ORDER BY x.place;
        IF cardinality(old_parents) > 0 THEN
            PERFORM dibs.tie(old_parents);
        END IF;
    END IF;

    -- Who spawned them remembers them, and may wait for them.
    IF spawn IS NOT NULL THEN
        INSERT INTO dibs.journal (n, kind, name, digest, value)
        VALUES (spawner, 'spawn', spawn->>'name', spawn->>'digest', dibs.ids_of(ns));
        IF jsonb_typeof(spawn->'usage') = 'object' THEN
            UPDATE dibs.work w SET usage = dibs.merge_usage(w.usage, spawn->'usage')::text WHERE w.n = spawner;
        END IF;
        IF waits THEN
            SELECT a.suspended, a.events INTO suspended, events FROM dibs.wait_for(spawner, ns, spawn->'usage', at) a;
            PERFORM dibs.free_locks(ARRAY[spawner], at);
        END IF;
    END IF;
    IF dag_id IS NOT NULL AND some_known AND NOT dag_id = ANY (joined) THEN
        UPDATE dibs.dags d SET drafted = dibs.ids_of(ns) WHERE d.id = dag_id;
    END IF;

    -- Events. A dag that was made here is pending, and with tasks that are to come it stays so.
    SELECT sum(g.events), string_agg(g.body, ',' ORDER BY g.first) INTO counted, body
    FROM (
        SELECT
            min(d.place) AS first, count(*) * CASE WHEN d.status IN ('ready', 'scheduled') THEN 2 ELSE 1 END AS events,
            '[["task.added"'
                || CASE WHEN d.status IN ('ready', 'scheduled') THEN ',"task.' || d.status || '"' ELSE '' END
                || '],' || at || ',null,null,[' || string_agg(
                    CASE WHEN d.dag IS NULL THEN '"' || d.id || '"' ELSE '["' || d.id || '","' || d.dag || '"]' END, ','
                    ORDER BY d.place
                ) || ']]' AS body
        FROM (
            SELECT
                u.id, u.dag, u.place,
                CASE
                    WHEN u.cause IS NOT NULL THEN 'cancelled'
                    WHEN f_approval[u.frame] THEN 'waiting'
                    WHEN u.open > 0 THEN 'pending'
                    WHEN f_run_after[u.frame] > at THEN 'scheduled'
                    ELSE 'ready'
                END AS status
            FROM unnest(p_ids, dags, p_frame, open, causes, fresh) WITH ORDINALITY
                AS u (id, dag, frame, open, cause, fresh, place)
            WHERE u.fresh
        ) d
        GROUP BY d.status
    ) g;
    IF some_held THEN
        events := dibs.hold_for_approval(ARRAY(
            SELECT u.n FROM unnest(ns, p_frame, fresh, causes) AS u (n, frame, fresh, cause)
            WHERE u.fresh AND u.cause IS NULL AND f_approval[u.frame]
        ), at) || events;
    END IF;
    IF some_cancelled THEN
        SELECT
            array_agg(dibs.event('task.cancelled', at, u.id, u.dag, NULL, 'dependency_failed') ORDER BY u.place)
                || events
        INTO events
        FROM unnest(p_ids, dags, causes) WITH ORDINALITY AS u (id, dag, cause, place) WHERE u.cause IS NOT NULL;
    END IF;
    IF some_cancelled OR some_known OR count = 0 THEN
        joined := joined || made || dag_id;
    END IF;
    IF cardinality(joined) > 0 THEN
        events := events || dibs.follow(joined, at);
    END IF;
    IF counted > 0 OR cardinality(events) > 0 THEN
        INSERT INTO dibs.outbox (at, count, body) VALUES (
            at, coalesce(counted, 0) + cardinality(events),
            '[' || concat_ws(',', body, nullif(array_to_string(events, ','), '')) || ']'
        );
    END IF;
    IF some_known THEN
        SELECT array_agg(NOT f.fresh ORDER BY f.place) INTO known
        FROM unnest(fresh) WITH ORDINALITY AS f (fresh, place);
    END IF;
    IF some_known OR some_cancelled OR some_held OR spawn IS NOT NULL OR cardinality(p_parents) > 0 OR cardinality(joined) > 0 THEN
        whole := dibs.whole(ns);
    END IF;
END $$;
