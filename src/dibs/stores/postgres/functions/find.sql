-- The newest tasks of a type, a few times as many as are wanted, and the number down to which there are no others. No
-- index leads to them: as many are walked past as can be in a fifth of a second.
CREATE OR REPLACE FUNCTION dibs.newest_of(
    p_project text, p_type text, p_before bigint, p_limit integer, OUT ns bigint[], OUT lowest bigint
) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    past CONSTANT bigint := 500000;
    wanted CONSTANT integer := 10 * p_limit;
BEGIN
    -- least() overlooks a NULL: where there are no tasks, nothing is left to walk past.
    lowest := greatest(0, least(p_before, coalesce((SELECT max(s.n) + 1 FROM dibs.specs s), 0)) - past);
    ns := ARRAY(
        SELECT s.n FROM dibs.specs s
        WHERE s.n < p_before AND s.n >= lowest AND s.project = p_project AND s.type = p_type
        ORDER BY s.n DESC LIMIT wanted
    );
    IF cardinality(ns) = wanted THEN
        lowest := ns[wanted];
    END IF;
END $$;

-- Tasks that fit, newest first; at most 10,000 are looked at closely.
--
-- p_tag, p_like: what the specification must contain for the tag and the text to be found; the caller looks closer.
-- p_capitals, p_smalls: letters beyond ASCII to be made small. p_alone: ids that the one task of a virtual dag may have.
-- Answers `whole`, and `rest`: everything down to that number was looked at and there may be more; NULL if that was all.
CREATE OR REPLACE FUNCTION dibs.find(
    p_project text, p_statuses text[], p_type text, p_tag text, p_dag text, p_alone text[], p_agent text, p_user text,
    p_like text, p_capitals text, p_smalls text, p_before bigint, p_limit integer,
    OUT whole text, OUT rest bigint
) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    most CONSTANT integer := 10000;
    looked_at bigint[] := '{}';
    piece bigint[];
    lowest bigint := 0;     -- everything from here on is in what is looked at
    broad boolean := false; -- an index of live tasks holds more than may be looked at, and in another order
    found bigint[] := '{}';
    word text;
BEGIN
    -- One index yields the newest candidates. The other conditions are looked at row by row.
    IF p_dag IS NOT NULL THEN
        looked_at := ARRAY(
            SELECT s.n FROM dibs.specs s WHERE s.dag = p_dag AND s.n < p_before ORDER BY s.n DESC LIMIT most
        );
        lowest := CASE WHEN cardinality(looked_at) = most THEN looked_at[most] ELSE 0 END;
        looked_at := looked_at || ARRAY(
            SELECT s.n FROM dibs.specs s WHERE s.id = ANY (p_alone) AND s.dag IS NULL AND s.n < p_before
        );
    ELSIF p_user IS NOT NULL THEN
        looked_at := ARRAY(
            SELECT s.n FROM dibs.specs s WHERE s.project = p_project AND s."user" = p_user AND s.n < p_before
            ORDER BY s.n DESC LIMIT most
        );
        lowest := CASE WHEN cardinality(looked_at) = most THEN looked_at[most] ELSE 0 END;
    ELSIF p_statuses IS NOT NULL THEN
        IF p_statuses && ARRAY['claimed', 'running'] THEN
            looked_at := ARRAY(SELECT h.n FROM dibs.held h LIMIT most + 1);
            broad := cardinality(looked_at) > most;
        END IF;
        IF p_statuses && ARRAY['scheduled', 'retrying'] THEN
            piece := ARRAY(
                SELECT w.n FROM dibs.waiting w WHERE w.status IN ('scheduled', 'retrying') AND w.due_at IS NOT NULL
                ORDER BY w.due_at LIMIT most + 1
            );
            broad := broad OR cardinality(piece) > most;
            looked_at := looked_at || piece;
        END IF;
        IF 'ready' = ANY (p_statuses) THEN
            piece := ARRAY(
                SELECT w.n FROM dibs.lanes l CROSS JOIN LATERAL (
                    (SELECT w.n FROM dibs.waiting w
                        WHERE w.status = 'ready' AND w.parked_on IS NULL AND w.lane = l.id LIMIT most + 1)
                    UNION ALL
                    (SELECT w.n FROM dibs.waiting w
                        WHERE w.status = 'ready' AND w.ties >= 4 AND w.parked_on IS NOT NULL AND w.lane = l.id LIMIT most + 1)
                ) w
                WHERE l.project = p_project AND (p_type IS NULL OR l.type = p_type)
                LIMIT most + 1
            );
            broad := broad OR cardinality(piece) > most;
            looked_at := looked_at || piece;
        END IF;
        IF p_statuses && ARRAY['pending', 'validating', 'waiting'] THEN
            piece := ARRAY(
                SELECT w.n FROM dibs.waiting w
                WHERE w.status IN ('pending', 'validating', 'waiting') AND w.due_at IS NULL AND w.n < p_before
                ORDER BY w.due_at DESC, w.n DESC LIMIT most
            );
            lowest := CASE WHEN cardinality(piece) = most THEN piece[most] ELSE 0 END;
            looked_at := looked_at || piece;
        END IF;
        IF p_type IS NOT NULL AND (broad OR 'completed' = ANY (p_statuses)) THEN
            -- Straight to the newest that can be meant: a long backlog, or past, may lie above it.
            IF p_statuses <@ ARRAY['completed', 'dead_lettered', 'cancelled'] THEN
                p_before := least(p_before, (SELECT max(e.n) FROM dibs.ended e) + 1);
            ELSIF NOT p_statuses && ARRAY['completed', 'dead_lettered', 'cancelled'] THEN
                p_before := least(p_before, (SELECT max(w.n) FROM dibs.work w) + 1);
            END IF;
            SELECT f.ns, f.lowest INTO looked_at, lowest FROM dibs.newest_of(p_project, p_type, p_before, p_limit) f;
        ELSE
            IF broad THEN
                looked_at := ARRAY(SELECT w.n FROM dibs.work w WHERE w.n < p_before ORDER BY w.n DESC LIMIT most);
                lowest := greatest(lowest, CASE WHEN cardinality(looked_at) = most THEN looked_at[most] END);
            END IF;
            IF 'completed' = ANY (p_statuses) THEN
                piece := ARRAY(SELECT e.n FROM dibs.ended e WHERE e.n < p_before ORDER BY e.n DESC LIMIT most);
                lowest := greatest(lowest, CASE WHEN cardinality(piece) = most THEN piece[most] END);
                looked_at := looked_at || piece;
            END IF;
            FOREACH word IN ARRAY p_statuses LOOP
                IF word IN ('dead_lettered', 'cancelled') THEN
                    piece := ARRAY(
                        SELECT e.n FROM dibs.ended e WHERE e.status = word AND e.status <> 'completed' AND e.n < p_before
                        ORDER BY e.n DESC LIMIT most
                    );
                    lowest := greatest(lowest, CASE WHEN cardinality(piece) = most THEN piece[most] END);
                    looked_at := looked_at || piece;
                END IF;
            END LOOP;
        END IF;
    ELSIF p_type IS NOT NULL THEN
        SELECT f.ns, f.lowest INTO looked_at, lowest FROM dibs.newest_of(p_project, p_type, p_before, p_limit) f;
    ELSE
        looked_at := ARRAY(SELECT s.n FROM dibs.specs s WHERE s.n < p_before ORDER BY s.n DESC LIMIT most);
        lowest := CASE WHEN cardinality(looked_at) = most THEN looked_at[most] ELSE 0 END;
    END IF;

    looked_at := ARRAY(
        SELECT DISTINCT l.n FROM unnest(looked_at) AS l (n) WHERE l.n < p_before AND l.n >= lowest
        ORDER BY l.n DESC LIMIT most
    );
    IF cardinality(looked_at) = most THEN
        lowest := looked_at[most];
    END IF;
    rest := nullif(lowest, 0);
    FOR i IN 1 .. cardinality(looked_at) BY 500 LOOP
        found := found || ARRAY(
            SELECT s.n FROM unnest(looked_at[i : i + 499]) AS l (n)
            CROSS JOIN LATERAL (SELECT * FROM dibs.specs s WHERE s.n = l.n OFFSET 0) s
            LEFT JOIN LATERAL (SELECT w.status, w.agent, w.error FROM dibs.work w WHERE w.n = l.n OFFSET 0) w ON true
            LEFT JOIN LATERAL (SELECT e.status, e.agent, e.error FROM dibs.ended e WHERE e.n = l.n OFFSET 0) e ON true
            WHERE s.project = p_project
                AND (p_statuses IS NULL OR coalesce(w.status, e.status) = ANY (p_statuses))
                AND (p_type IS NULL OR s.type = p_type)
                AND (p_user IS NULL OR s."user" = p_user)
                AND (p_agent IS NULL OR coalesce(w.agent, e.agent) = p_agent)
                AND (p_tag IS NULL OR strpos(s.spec, p_tag) > 0)
                AND (p_like IS NULL OR translate(
                    lower(s.spec || E'\n' || coalesce(w.error, e.error, '')), p_capitals, p_smalls
                ) LIKE p_like)
            ORDER BY s.n DESC
        );
        IF cardinality(found) > p_limit THEN
            found := found[1 : p_limit];
            rest := found[p_limit];
            EXIT;
        END IF;
    END LOOP;
    whole := dibs.whole(found, true);
END $$;
