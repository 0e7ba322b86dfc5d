-- Add edges into a task that has not started; with an open one it becomes pending.
-- Answers the task as `whole` has it. Locks: floors (shared), links, task rows by number, locks, the dag's row.
CREATE OR REPLACE FUNCTION dibs.link(
    p_now bigint, p_id text, p_parents text[], p_kinds text[], OUT at bigint, OUT whole text
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
DECLARE
    task record;
    named record;
    ns bigint[];
    kinds text[];
    opened integer;
BEGIN
    PERFORM dibs.hold_floors();
    PERFORM dibs.hold_links();
    SELECT s.n, s.dag, w.status INTO task FROM dibs.specs s LEFT JOIN dibs.work w ON w.n = s.n WHERE s.id = p_id;
    IF NOT FOUND THEN
        PERFORM dibs.refuse('no_task', json_build_array(p_id));
    END IF;
    PERFORM dibs.lock_tasks(task.n || ARRAY(SELECT s.n FROM dibs.specs s WHERE s.id = ANY (p_parents)));
    at := coalesce(p_now, dibs.micros());
    SELECT coalesce(w.status, e.status) INTO task.status
    FROM (SELECT task.n) t LEFT JOIN dibs.work w ON w.n = t.n LEFT JOIN dibs.ended e ON e.n = t.n;
    IF task.status NOT IN ('pending', 'scheduled', 'ready', 'retrying', 'waiting') THEN
        PERFORM dibs.refuse('illegal', json_build_array(task.status, 'link', p_id));
    END IF;
    SELECT p.id, p.kind INTO named
    FROM unnest(p_parents, p_kinds) WITH ORDINALITY AS p (id, kind, place)
    WHERE NOT EXISTS (SELECT 1 FROM dibs.specs s WHERE s.id = p.id) ORDER BY p.place LIMIT 1;
    IF FOUND THEN
        PERFORM dibs.refuse('no_task', json_build_array(named.id, named.kind));
    END IF;
    SELECT array_agg(p.n ORDER BY p.place), array_agg(p.kind ORDER BY p.place) INTO ns, kinds
    FROM (
        SELECT s.n, p.kind, min(p.place) AS place
        FROM unnest(p_parents, p_kinds) WITH ORDINALITY AS p (id, kind, place) JOIN dibs.specs s ON s.id = p.id
        WHERE NOT EXISTS (
            SELECT 1 FROM dibs.edges x WHERE x.child = task.n AND x.parent = s.n AND x.kind = p.kind
        )
        GROUP BY s.n, p.kind
    ) p;
    IF ns IS NULL THEN
        whole := dibs.whole(ARRAY[task.n]);
        RETURN;
    END IF;
    PERFORM dibs.refuse_cycle(task.n, ns);
    SELECT s.id, e.status INTO named
    FROM unnest(ns, kinds) WITH ORDINALITY AS p (n, kind, place)
    JOIN dibs.ended e ON e.n = p.n JOIN dibs.specs s ON s.n = p.n
    WHERE p.kind = 'after' AND e.status <> 'completed' ORDER BY p.place LIMIT 1;
    IF FOUND THEN
        PERFORM dibs.refuse('never_succeeds', json_build_array(named.id, named.status));
    END IF;

    IF EXISTS (SELECT 1 FROM dibs.needs d WHERE d.n = task.n) THEN
        PERFORM dibs.hold_locks();
    END IF;
    PERFORM dibs.materialise(ARRAY[task.n], at);
    WITH added AS (
        INSERT INTO dibs.edges (parent, child, kind, resolved_at)
        SELECT p.n, task.n, p.kind, CASE WHEN NOT EXISTS (SELECT 1 FROM dibs.work w WHERE w.n = p.n) THEN at END
        FROM unnest(ns, kinds) WITH ORDINALITY AS p (n, kind, place) ORDER BY p.place
        RETURNING resolved_at
    )
    SELECT count(*) FILTER (WHERE a.resolved_at IS NULL) INTO opened FROM added a;
    PERFORM dibs.tie(ns);
    UPDATE dibs.work w SET deps = w.deps + cardinality(ns), open = w.open + opened, updated_at = at WHERE w.n = task.n;
    UPDATE dibs.work w SET
        status = 'pending', due_at = NULL, retry_at = NULL, step_at = NULL, parked_on = NULL, parked_since = NULL
    WHERE w.n = task.n AND w.open > 0 AND w.status <> 'waiting';
    UPDATE dibs.specs s SET spec = dibs.spec_with(s.spec, 'depends_on', (
        SELECT '[' || string_agg('"' || d.id || '"', ',' ORDER BY d.place) || ']'
        FROM (
            SELECT k.id, min(k.place) AS place
            FROM (
                SELECT j.id, j.place FROM json_array_elements_text(coalesce(s.spec::json->'depends_on', '[]'))
                    WITH ORDINALITY AS j (id, place)
                UNION ALL
                SELECT p.id, 1000000 + p.place FROM unnest(p_parents) WITH ORDINALITY AS p (id, place)
            ) k
            GROUP BY k.id
        ) d
    )) WHERE s.n = task.n;
    PERFORM dibs.free_locks(ARRAY[task.n], at);
    PERFORM dibs.publish(dibs.follow(ARRAY(SELECT s.dag FROM dibs.specs s WHERE s.n = task.n), at), at);
    whole := dibs.whole(ARRAY[task.n]);
END $$;

-- Change the priority of a task that is not final; its rank follows.
-- Answers the task as `whole` has it. Locks: floors (shared), its row.
CREATE OR REPLACE FUNCTION dibs.reprioritise(
    p_now bigint, p_id text, p_priority float8, OUT at bigint, OUT whole text
) LANGUAGE plpgsql AS $$
DECLARE
    task record;
    w dibs.work%ROWTYPE;
BEGIN
    PERFORM dibs.hold_floors();
    SELECT s.n INTO task FROM dibs.specs s WHERE s.id = p_id;
    IF NOT FOUND THEN
        PERFORM dibs.refuse('no_task', json_build_array(p_id));
    END IF;
    PERFORM dibs.lock_tasks(ARRAY[task.n]);
    at := coalesce(p_now, dibs.micros());
    UPDATE dibs.work x SET
        priority = p_priority,
        rank = CASE
            WHEN x.ready_at IS NOT NULL THEN dibs.rank(p_priority, x.boost, x.ready_at, x.weight, x.deadline, at)
            ELSE x.rank
        END,
        step_at = CASE WHEN x.status = 'ready' THEN dibs.next_step_at(x.deadline, at) END,
        updated_at = at
    WHERE x.n = task.n RETURNING * INTO w;
    IF NOT FOUND THEN
        PERFORM dibs.refuse('priority_over', json_build_array(p_id, e.status)) FROM dibs.ended e WHERE e.n = task.n;
        PERFORM dibs.refuse('no_task', json_build_array(p_id));
    END IF;
    IF w.status = 'ready' THEN
        PERFORM dibs.note_lows(ARRAY[w.lane], ARRAY[w.rank]);
        -- Whoever wanted to unpark it meanwhile has passed it over.
        PERFORM dibs.free_locks(ARRAY[task.n], at);
    END IF;
    whole := dibs.whole(ARRAY[task.n]);
END $$;

-- Give a task that nobody holds to an agent, to agents of a type, or to anybody (NULL), as rules.matching.may_be_given says.
-- Answers the task as `whole` has it. Locks: floors (shared), its row, lanes that come into use.
CREATE OR REPLACE FUNCTION dibs.reassign_to(
    p_now bigint, p_id text, p_assignee text, OUT at bigint, OUT whole text
) LANGUAGE plpgsql AS $$
DECLARE
    task record;
    w dibs.work%ROWTYPE;
    s record;
    moved record;
    changed boolean;
BEGIN
    PERFORM dibs.hold_floors();
    SELECT x.n INTO task FROM dibs.specs x WHERE x.id = p_id;
    IF NOT FOUND THEN
        PERFORM dibs.refuse('no_task', json_build_array(p_id));
    END IF;
    PERFORM dibs.lock_tasks(ARRAY[task.n]);
    at := coalesce(p_now, dibs.micros());
    SELECT x.id, x.dag, x.fallback_lane, x.spec::json->>'assignee' AS assignee INTO s FROM dibs.specs x WHERE x.n = task.n;
    SELECT * INTO w FROM dibs.work x WHERE x.n = task.n;
    IF NOT FOUND THEN
        PERFORM dibs.refuse('not_reassigned', json_build_array(p_id, e.status, s.assignee))
        FROM dibs.ended e WHERE e.n = task.n;
        PERFORM dibs.refuse('no_task', json_build_array(p_id));
    END IF;
    IF s.assignee LIKE '!%' OR w.status NOT IN ('pending', 'scheduled', 'ready', 'waiting', 'retrying') THEN
        PERFORM dibs.refuse('not_reassigned', json_build_array(p_id, w.status, s.assignee));
    END IF;
    IF s.assignee IS DISTINCT FROM p_assignee THEN
        SELECT l.id, l.fresh INTO moved FROM dibs.lane_for(w.lane, coalesce(p_assignee, ''), NULL) l;
        UPDATE dibs.work x SET lane = moved.id, updated_at = at WHERE x.n = task.n;
        UPDATE dibs.specs x SET spec = dibs.spec_with(x.spec, 'assignee', coalesce(to_json(p_assignee)::text, 'null'))
        WHERE x.n = task.n;
        changed := moved.fresh;
        IF w.status = 'ready' THEN
            PERFORM dibs.note_lows(ARRAY[moved.id], ARRAY[w.rank]);
            PERFORM dibs.free_locks(ARRAY[task.n], at);
        END IF;
        IF s.fallback_lane IS NOT NULL THEN
            SELECT l.id, l.fresh INTO moved FROM dibs.lane_for(s.fallback_lane, coalesce(p_assignee, ''), NULL) l;
            UPDATE dibs.specs x SET fallback_lane = moved.id WHERE x.n = task.n;
            changed := changed OR moved.fresh;
        END IF;
        PERFORM dibs.publish(ARRAY[dibs.event(
            'task.reassigned', at, s.id, s.dag, NULL, NULL, json_build_object('assignee', p_assignee)::text
        )], at);
        IF changed THEN
            PERFORM dibs.change_lanes();
        END IF;
    END IF;
    whole := dibs.whole(ARRAY[task.n]);
END $$;

-- Change the tags of a task, whatever its status, as rules.tagging.retagged says. Locks: the task's rows.
CREATE OR REPLACE FUNCTION dibs.retag(
    p_now bigint, p_id text, p_add text[], p_remove text[], p_most integer, OUT at bigint, OUT whole text
) LANGUAGE plpgsql AS $$
DECLARE
    task record;
    before text[];
    after text[];
BEGIN
    SELECT s.n INTO task FROM dibs.specs s WHERE s.id = p_id;
    IF NOT FOUND THEN
        PERFORM dibs.refuse('no_task', json_build_array(p_id));
    END IF;
    PERFORM dibs.lock_tasks(ARRAY[task.n]);
    at := coalesce(p_now, dibs.micros());
    before := ARRAY(
        SELECT t.tag FROM dibs.specs s CROSS JOIN json_array_elements_text(s.spec::json -> 'tags') AS t (tag)
        WHERE s.n = task.n
    );
    after := ARRAY(
        SELECT t.tag FROM (
            SELECT b.tag COLLATE "C" FROM unnest(before) AS b (tag) WHERE b.tag <> ALL (p_remove)
            UNION SELECT a.tag COLLATE "C" FROM unnest(p_add) AS a (tag)
        ) t ORDER BY t.tag COLLATE "C"
    );
    IF cardinality(after) > p_most THEN
        PERFORM dibs.refuse('too_many_tags', json_build_array(after));
    END IF;
    IF after <> before THEN
        UPDATE dibs.specs s SET spec = dibs.spec_with(s.spec, 'tags', to_json(after)::text) WHERE s.n = task.n;
        UPDATE dibs.work w SET updated_at = at WHERE w.n = task.n;
        UPDATE dibs.ended e SET updated_at = at WHERE e.n = task.n;
    END IF;
    whole := dibs.whole(ARRAY[task.n]);
END $$;
