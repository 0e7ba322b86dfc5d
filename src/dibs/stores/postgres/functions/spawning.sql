-- Parts of `insert`: who spawns, and waits for what was spawned.

-- Whether the journal of a task remembers this spawn.
CREATE OR REPLACE FUNCTION dibs.has_spawned(p_n bigint, p_spawn jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN EXISTS (
        SELECT 1 FROM dibs.journal j
        WHERE j.n = p_n AND j.kind = 'spawn' AND j.name = p_spawn->>'name' AND j.kind <> 'log'
    );
END $$;

-- Refuse a spawn that its claim no longer covers, or that would be too much.
CREATE OR REPLACE FUNCTION dibs.check_spawner(p_n bigint, p_spawn jsonb, p_count integer, p_at bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    w record;
BEGIN
    SELECT x.status, x.fence, x.timeout_at, x.timeout_s INTO w FROM dibs.work x WHERE x.n = p_n;
    IF NOT FOUND OR w.status NOT IN ('claimed', 'running') OR w.fence <> (p_spawn->>'fence')::bigint THEN
        PERFORM dibs.refuse('lease_lost', json_build_array(p_spawn->>'task_id', p_spawn->'fence'));
    END IF;
    IF w.timeout_at <= p_at THEN
        PERFORM dibs.refuse('over_timeout', json_build_array(p_spawn->>'task_id', p_spawn->'fence', w.timeout_s));
    END IF;
    IF p_count + (SELECT count(*) FROM dibs.specs s WHERE s.parent = p_spawn->>'task_id')
        > (p_spawn->>'max_children')::integer
    THEN
        PERFORM dibs.refuse('too_many_children', json_build_array(p_spawn->>'task_id', p_spawn->'max_children'));
    END IF;
END $$;

-- A spawn that the journal remembers: the children again. If it waits, it also waits again for those that were given a
-- new life. Once the claim has ended there is an answer only where this very call may have ended it and its reply was
-- lost.
CREATE OR REPLACE FUNCTION dibs.spawn_again(
    p_now bigint, p_n bigint, p_spawn jsonb, OUT at bigint, OUT ns bigint[], OUT suspended boolean
) LANGUAGE plpgsql AS $$
DECLARE
    entry record;
    held boolean;
    waits boolean := (p_spawn->>'wait')::boolean;
    events text[];
BEGIN
    IF waits THEN
        PERFORM dibs.hold_links();
    END IF;
    SELECT j.digest, j.value INTO entry FROM dibs.journal j
    WHERE j.n = p_n AND j.kind = 'spawn' AND j.name = p_spawn->>'name' AND j.kind <> 'log';
    IF NOT FOUND THEN
        PERFORM dibs.look_again();
    END IF;
    SELECT coalesce(array_agg(s.n ORDER BY c.place), '{}') INTO ns
    FROM json_array_elements_text(entry.value::json) WITH ORDINALITY AS c (id, place) JOIN dibs.specs s ON s.id = c.id;
    IF waits THEN
        PERFORM dibs.lock_tasks(p_n || ns);
    END IF;
    at := coalesce(p_now, dibs.micros());
    held := EXISTS (
        SELECT 1 FROM dibs.work w
        WHERE w.n = p_n AND w.status IN ('claimed', 'running') AND w.fence = (p_spawn->>'fence')::bigint
    );
    IF NOT held AND NOT (waits AND EXISTS (
        SELECT 1 FROM dibs.attempts a
        WHERE a.n = p_n AND a.fence = (p_spawn->>'fence')::bigint AND a.outcome = 'suspended'
    )) THEN
        PERFORM dibs.refuse('lease_lost', json_build_array(p_spawn->>'task_id', p_spawn->'fence'));
    END IF;
    IF entry.digest <> p_spawn->>'digest' THEN
        PERFORM dibs.refuse('spawned_otherwise', json_build_array(p_spawn->>'task_id', p_spawn->>'name'));
    END IF;
    suspended := NOT held;
    IF held AND waits THEN
        PERFORM dibs.refuse_cycle(p_n, ns);
        IF dibs.holds_anything(p_n) THEN
            PERFORM dibs.hold_locks();
        END IF;
        SELECT a.suspended, a.events INTO suspended, events FROM dibs.wait_for(p_n, ns, p_spawn->'usage', at) a;
        PERFORM dibs.free_locks(ARRAY[p_n], at);
        PERFORM dibs.publish(events || dibs.follow(ARRAY(SELECT s.dag FROM dibs.specs s WHERE s.n = p_n), at), at);
    END IF;
END $$;

-- Let a held task wait for these children; if one is still to end, its claim ends. Rows are locked by the caller.
CREATE OR REPLACE FUNCTION dibs.wait_for(
    p_n bigint, p_children bigint[], p_usage jsonb, p_at bigint, OUT suspended boolean, OUT events text[]
) LANGUAGE plpgsql AS $$
DECLARE
    w dibs.work%ROWTYPE;
    s record;
    added integer;
    opened integer;
    again integer;
BEGIN
    events := '{}';
    suspended := false;
    IF coalesce(cardinality(p_children), 0) = 0 THEN
        RETURN;
    END IF;
    PERFORM dibs.materialise(ARRAY[p_n], p_at);
    -- A child that was given a new life is waited for once more.
    UPDATE dibs.edges e SET resolved_at = NULL
    WHERE e.child = p_n AND e.kind = 'child' AND e.parent = ANY (p_children) AND e.resolved_at IS NOT NULL
        AND EXISTS (SELECT 1 FROM dibs.work c WHERE c.n = e.parent);
    GET DIAGNOSTICS again = ROW_COUNT;
    WITH added AS (
        INSERT INTO dibs.edges (parent, child, kind, resolved_at)
        SELECT c.n, p_n, 'child', CASE WHEN NOT EXISTS (SELECT 1 FROM dibs.work x WHERE x.n = c.n) THEN p_at END
        FROM (SELECT u.n, min(u.place) AS place FROM unnest(p_children) WITH ORDINALITY AS u (n, place) GROUP BY u.n) c
        ORDER BY c.place
        ON CONFLICT (child, parent, kind) DO NOTHING
        RETURNING resolved_at
    )
    SELECT count(*), count(*) FILTER (WHERE a.resolved_at IS NULL) INTO added, opened FROM added a;
    PERFORM dibs.tie(p_children);
    UPDATE dibs.work x SET deps = x.deps + added, open = x.open + opened + again, updated_at = p_at
    WHERE x.n = p_n RETURNING * INTO w;
    suspended := EXISTS (
        SELECT 1 FROM dibs.edges e
        WHERE e.child = p_n AND e.kind = 'child' AND e.parent = ANY (p_children) AND e.resolved_at IS NULL
    );
    IF NOT suspended THEN
        RETURN;
    END IF;
    SELECT x.id, x.dag INTO s FROM dibs.specs x WHERE x.n = p_n;
    PERFORM dibs.suspend(w, 'pending', p_usage, p_at);
    events := ARRAY[dibs.event('task.released', p_at, s.id, s.dag, w.agent, 'suspended')];
END $$;
