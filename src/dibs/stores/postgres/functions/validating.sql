-- Let work that was handed in wait for the end of its judge's task; whether it does.
-- Locks: both rows by number.
CREATE OR REPLACE FUNCTION dibs.await_verdict(p_now bigint, p_id text, p_fence bigint, p_judge text) RETURNS boolean
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    task bigint;
    judge bigint;
    edge record;
    at bigint;
BEGIN
    SELECT s.n INTO task FROM dibs.specs s WHERE s.id = p_id;
    SELECT s.n INTO judge FROM dibs.specs s WHERE s.id = p_judge;
    IF task IS NULL OR judge IS NULL THEN
        PERFORM dibs.refuse('no_task', json_build_array(CASE WHEN task IS NULL THEN p_id ELSE p_judge END));
    END IF;
    PERFORM dibs.lock_tasks(ARRAY[task, judge]);
    at := coalesce(p_now, dibs.micros());
    PERFORM 1 FROM dibs.work w WHERE w.n = task AND w.status = 'validating' AND w.fence = p_fence;
    IF NOT FOUND THEN
        PERFORM dibs.refuse('lease_lost', json_build_array(p_id, p_fence));
    END IF;
    PERFORM 1 FROM dibs.work w WHERE w.n = judge;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT x.id, x.resolved_at INTO edge FROM dibs.edges x
    WHERE x.child = task AND x.parent = judge AND x.kind = 'judge';
    IF NOT FOUND THEN
        INSERT INTO dibs.edges (parent, child, kind) VALUES (judge, task, 'judge');
    ELSIF edge.resolved_at IS NOT NULL THEN
        -- It was given a new life before anybody noticed its end.
        UPDATE dibs.edges x SET resolved_at = NULL WHERE x.id = edge.id;
    END IF;
    -- Tied, both of them: the end of the judge matters to the task, and a cancel of the task to the judge.
    UPDATE dibs.work w SET ties = w.ties | 1 WHERE w.n = judge;
    UPDATE dibs.work w SET
        ties = w.ties | 1, updated_at = at, deps = w.deps + (edge.id IS NULL)::integer,
        open = w.open + (edge.id IS NULL OR edge.resolved_at IS NOT NULL)::integer
    WHERE w.n = task;
    RETURN true;
END $$;

-- Tasks whose work waits for a decision, and for nobody.
CREATE OR REPLACE FUNCTION dibs.handed_in(p_limit integer) RETURNS text[] LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
BEGIN
    RETURN ARRAY(
        SELECT s.id FROM dibs.waiting w JOIN dibs.specs s ON s.n = w.n
        WHERE w.status = 'validating' AND w.open = 0 ORDER BY w.n LIMIT p_limit
    );
END $$;
