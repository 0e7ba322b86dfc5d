-- Dag rows follow their tasks. All of these answer events, for `publish`. Locks: dag rows, by id; task rows come before.

-- Give a dag a status, with the event of it.
CREATE OR REPLACE FUNCTION dibs.move_dag(p_id text, p_status text, p_at bigint) RETURNS text[] LANGUAGE plpgsql AS $$
BEGIN
    UPDATE dibs.dags d SET
        status = p_status,
        ended_at = CASE WHEN p_status IN ('completed', 'failed', 'cancelled') THEN p_at END,
        started_at = CASE WHEN p_status = 'running' THEN coalesce(d.started_at, p_at) ELSE d.started_at END
    WHERE d.id = p_id AND d.status <> p_status;
    IF NOT FOUND OR p_status = 'pending' THEN
        RETURN '{}';
    END IF;
    RETURN ARRAY[dibs.event('dag.' || CASE p_status WHEN 'running' THEN 'started' ELSE p_status END, p_at, NULL, p_id)];
END $$;

-- What the tasks of a dag say its status is: as rules.graph.dag_status.
CREATE OR REPLACE FUNCTION dibs.dag_status(p_id text, p_started boolean) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    completed bigint;
    badly bigint;
    requested bigint;
BEGIN
    IF EXISTS (SELECT 1 FROM dibs.specs s JOIN dibs.work w ON w.n = s.n WHERE s.dag = p_id) THEN
        RETURN CASE WHEN p_started THEN 'running' ELSE 'pending' END;
    END IF;
    SELECT
        count(*) FILTER (WHERE e.status = 'completed'),
        count(*) FILTER (WHERE e.status = 'dead_lettered' OR e.status = 'cancelled' AND NOT e.requested),
        count(*) FILTER (WHERE e.status = 'cancelled' AND e.requested)
    INTO completed, badly, requested
    FROM dibs.specs s JOIN dibs.ended e ON e.n = s.n WHERE s.dag = p_id;
    RETURN CASE WHEN badly > 0 THEN 'failed' WHEN requested > 0 AND completed = 0 THEN 'cancelled' ELSE 'completed' END;
END $$;

-- Give each of these dags the status that its tasks say, once their rows are written. The lock comes first: of two that
-- end the last two tasks at once, the second sees both.
CREATE OR REPLACE FUNCTION dibs.follow(p_dags text[], p_at bigint) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    events text[] := '{}';
    dag record;
BEGIN
    FOR dag IN
        SELECT id, status, started FROM dibs.dags WHERE id = ANY (p_dags) ORDER BY id FOR NO KEY UPDATE
    LOOP
        IF dag.status NOT IN ('failed', 'cancelled') THEN
            events := events || dibs.move_dag(dag.id, dibs.dag_status(dag.id, dag.started), p_at);
        END IF;
    END LOOP;
    RETURN events;
END $$;

-- One of their tasks runs.
CREATE OR REPLACE FUNCTION dibs.dags_started(p_dags text[], p_at bigint) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    fresh text[];
BEGIN
    -- Most dags have started long ago. Nobody takes that back while a task of theirs runs.
    SELECT array_agg(d.id ORDER BY d.id) INTO fresh FROM dibs.dags d
    WHERE d.id = ANY (p_dags) AND NOT (d.started AND d.status = 'running');
    IF fresh IS NULL THEN
        RETURN '{}';
    END IF;
    PERFORM 1 FROM dibs.dags d WHERE d.id = ANY (fresh) ORDER BY d.id FOR NO KEY UPDATE;
    UPDATE dibs.dags d SET started = true WHERE d.id = ANY (fresh) AND NOT d.started;
    RETURN dibs.follow(fresh, p_at);
END $$;

-- The id of a standalone task's virtual dag: as model.ids.dag_of.
CREATE OR REPLACE FUNCTION dibs.dag_of(p_id text) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT 'dag_' || CASE WHEN left(p_id, 5) = 'task_' THEN substr(p_id, 6) ELSE p_id END $$;

-- Give the dags of standalone tasks rows, because something joins them. Task rows are locked by the caller.
CREATE OR REPLACE FUNCTION dibs.materialise(p_ns bigint[], p_at bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    fresh bigint[];
BEGIN
    SELECT array_agg(s.n) INTO fresh FROM dibs.specs s WHERE s.n = ANY (p_ns) AND s.dag IS NULL;
    IF fresh IS NULL THEN
        RETURN;
    END IF;
    INSERT INTO dibs.dags (id, project, status, on_failure, created_at, started)
    SELECT
        dibs.dag_of(s.id), s.project, 'pending', 'continue', p_at,
        EXISTS (SELECT 1 FROM dibs.work w WHERE w.n = s.n AND w.started_at IS NOT NULL)
            OR EXISTS (SELECT 1 FROM dibs.ended e WHERE e.n = s.n AND e.started_at IS NOT NULL)
            OR EXISTS (SELECT 1 FROM dibs.attempts a WHERE a.n = s.n AND a.started_at IS NOT NULL)
    FROM dibs.specs s WHERE s.n = ANY (fresh) ORDER BY s.id
    ON CONFLICT (id) DO NOTHING;
    UPDATE dibs.specs s SET dag = dibs.dag_of(s.id) WHERE s.n = ANY (fresh);
    UPDATE dibs.work w SET ties = w.ties | 2 WHERE w.n = ANY (fresh);
    UPDATE dibs.ended e SET ties = e.ties | 2 WHERE e.n = ANY (fresh);
END $$;
