-- A dag with its tasks and the edges into them; also a virtual one, of which there is only its task.
--
-- p_alone: the ids that the one task of a virtual dag may have.
-- Answers `kept`, the dag's row as JSON (NULL: virtual); `tasks`, whole, in portions; `edges` as JSON; of the task of a
-- virtual dag whether it ever ran (`started`), and was cancelled by request. Neither kept nor tasks: there is none.
CREATE OR REPLACE FUNCTION dibs.dag(
    p_id text, p_alone text[], OUT kept text, OUT tasks text[], OUT edges text, OUT started boolean,
    OUT requested boolean
) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    portion CONSTANT integer := 500;
    ns bigint[];
BEGIN
    SELECT json_build_array(
        d.project, d.title, d.key, d.status, d.on_failure, d."user", d.created_by, d.created_at, d.started_at, d.ended_at
    ) INTO kept
    FROM dibs.dags d WHERE d.id = p_id;
    IF FOUND THEN
        ns := ARRAY(SELECT s.n FROM dibs.specs s WHERE s.dag = p_id ORDER BY s.n);
    ELSE
        ns := ARRAY(
            SELECT s.n FROM dibs.specs s WHERE s.id = ANY (p_alone) AND s.dag IS NULL
            ORDER BY array_position(p_alone, s.id::text) LIMIT 1
        );
        requested := EXISTS (SELECT 1 FROM dibs.ended e WHERE e.n = ANY (ns) AND e.requested);
        started := EXISTS (SELECT 1 FROM dibs.attempts a WHERE a.n = ANY (ns) AND a.started_at IS NOT NULL)
            OR EXISTS (SELECT 1 FROM dibs.work w WHERE w.n = ANY (ns) AND w.started_at IS NOT NULL)
            OR EXISTS (SELECT 1 FROM dibs.ended e WHERE e.n = ANY (ns) AND e.started_at IS NOT NULL);
    END IF;
    tasks := '{}';
    -- One text could be too large for a dag of thousands.
    FOR i IN 1 .. cardinality(ns) BY portion LOOP
        tasks := tasks || dibs.whole(ns[i : i + portion - 1], true);
    END LOOP;
    SELECT coalesce(json_agg(json_build_array(p.id, c.id, x.kind) ORDER BY c.n, x.id), '[]')::text INTO edges
    FROM dibs.specs c
    CROSS JOIN LATERAL (SELECT * FROM dibs.edges x WHERE x.child = c.n AND x.kind <> 'judge' OFFSET 0) x
    CROSS JOIN LATERAL (SELECT p.id FROM dibs.specs p WHERE p.n = x.parent OFFSET 0) p
    WHERE c.dag = p_id;
END $$;
