-- A JSON array of texts; NULL where there is none.
CREATE OR REPLACE FUNCTION dibs.texts(p_array jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN jsonb_typeof(p_array) = 'array' THEN ARRAY(SELECT jsonb_array_elements_text(p_array)) END
$$;

-- Both ends of a range; NULL where there is none.
CREATE OR REPLACE FUNCTION dibs.range(p_ends jsonb) RETURNS float8[] LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN jsonb_typeof(p_ends) = 'array' THEN ARRAY[
        coalesce((p_ends->>0)::float8, '-infinity'), coalesce((p_ends->>1)::float8, 'infinity')
    ] END
$$;

-- Whether a specification has all these tags. It is taken apart only if it contains each of them, as written, somewhere.
CREATE OR REPLACE FUNCTION dibs.has_tags(p_spec text, p_tags text[], p_written text[]) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    word text;
BEGIN
    FOREACH word IN ARRAY p_written LOOP
        IF strpos(p_spec, word) = 0 THEN
            RETURN false;
        END IF;
    END LOOP;
    RETURN p_tags <@ ARRAY(SELECT json_array_elements_text(p_spec::json -> 'tags'));
END $$;

-- The newest tasks of these types, a few times as many as are wanted, and the number down to which there are no others. No
-- index leads to them: as many are walked past as can be in a tenth of a second.
CREATE OR REPLACE FUNCTION dibs.newest_of(
    p_project text, p_types text[], p_before bigint, p_limit integer, OUT ns bigint[], OUT lowest bigint
) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    past CONSTANT integer := 250000;
    wanted CONSTANT integer := least(10 * p_limit, 10000);
BEGIN
    ns := ARRAY(
        SELECT s.n FROM (SELECT s.n, s.project, s.type FROM dibs.specs s WHERE s.n < p_before ORDER BY s.n DESC LIMIT past) s
        WHERE s.project = p_project AND s.type = ANY (p_types) ORDER BY s.n DESC LIMIT wanted
    );
    lowest := CASE
        WHEN cardinality(ns) = wanted THEN ns[wanted]
        ELSE coalesce((SELECT s.n FROM dibs.specs s WHERE s.n < p_before ORDER BY s.n DESC OFFSET past - 1 LIMIT 1), 0)
    END;
END $$;

-- The smallest number whose task was added then or later; past all of them if there is none. Tasks are numbered as they
-- are added, but clocks are set back now and then: callers ask for five minutes more.
CREATE OR REPLACE FUNCTION dibs.first_since(p_at float8) RETURNS bigint LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    low bigint := 0;
    high bigint := coalesce((SELECT max(s.n) FROM dibs.specs s), 0) + 1;
    middle bigint;
    met record;
BEGIN
    WHILE low < high LOOP
        middle := (low + high) / 2;
        SELECT s.n, s.created_at INTO met FROM dibs.specs s WHERE s.n >= middle ORDER BY s.n LIMIT 1;
        IF NOT FOUND OR met.created_at >= p_at THEN
            high := middle;
        ELSE
            low := met.n + 1;
        END IF;
    END LOOP;
    RETURN low;
END $$;

-- Tasks that fit, newest first; at most 10,000 are looked at closely.
--
-- p_wanted: what `stores.values.Filter` says, as far as it says anything; of a range both ends, NULL where it has none.
-- `alone`, the ids that the one task of a virtual dag may have; `written`, each tag as it stands in a specification;
-- `like`, what the specification must contain for the texts to be found, with `capitals` and `smalls`, letters beyond
-- ASCII to be made small: the caller looks closer; `bytes`, how much of specifications may be searched for them. p_only_ids:
-- answer `ids`, not `whole`.
-- Answers also `rest`: everything down to that number was looked at and there may be more; NULL if that was all.
CREATE OR REPLACE FUNCTION dibs.find(
    p_wanted jsonb, p_before bigint, p_limit integer, p_only_ids boolean, OUT whole text, OUT ids text[], OUT rest bigint
) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    most CONSTANT integer := 10000;
    slack CONSTANT float8 := 300000000;
    p_project CONSTANT text := p_wanted->>'project';
    p_statuses CONSTANT text[] := dibs.texts(p_wanted->'status');
    p_types CONSTANT text[] := dibs.texts(p_wanted->'type');
    p_agents CONSTANT text[] := dibs.texts(p_wanted->'agent');
    p_reasons CONSTANT text[] := dibs.texts(p_wanted->'reason');
    p_dag CONSTANT text := p_wanted->>'dag';
    p_alone CONSTANT text[] := dibs.texts(p_wanted->'alone');
    p_parent CONSTANT text := p_wanted->>'parent';
    p_user CONSTANT text := p_wanted->>'user';
    p_parked CONSTANT boolean := (p_wanted->>'parked')::boolean;
    p_poison CONSTANT boolean := (p_wanted->>'poison')::boolean;
    p_reviewed CONSTANT boolean := (p_wanted->>'reviewed')::boolean;
    p_cost CONSTANT float8[] := dibs.range(p_wanted->'cost');
    p_created CONSTANT float8[] := dibs.range(p_wanted->'created');
    p_priority CONSTANT float8[] := dibs.range(p_wanted->'priority');
    p_attempts CONSTANT float8[] := dibs.range(p_wanted->'attempts');
    p_tokens CONSTANT float8[] := dibs.range(p_wanted->'tokens');
    p_not_types CONSTANT text[] := dibs.texts(p_wanted->'not_type');
    p_not_agents CONSTANT text[] := dibs.texts(p_wanted->'not_agent');
    p_not_reasons CONSTANT text[] := dibs.texts(p_wanted->'not_reason');
    p_not_users CONSTANT text[] := dibs.texts(p_wanted->'not_user');
    p_tags CONSTANT text[] := dibs.texts(p_wanted->'tag');
    p_not_tags CONSTANT text[] := dibs.texts(p_wanted->'not_tag');
    p_written CONSTANT text[] := dibs.texts(p_wanted->'written');
    p_like CONSTANT text[] := dibs.texts(p_wanted->'like');
    p_capitals CONSTANT text := p_wanted->>'capitals';
    p_smalls CONSTANT text := p_wanted->>'smalls';
    p_bytes CONSTANT bigint := (p_wanted->>'bytes')::bigint;
    step CONSTANT integer := CASE WHEN p_bytes IS NULL THEN 500 ELSE 100 END;
    searched bigint := 0;
    looked_at bigint[] := '{}';
    piece bigint[];
    lowest bigint := 0;     -- everything from here on is in what is looked at
    first bigint := 0;      -- nothing before this one can be meant
    broad boolean := false; -- an index of live tasks holds more than may be looked at, and in another order
    found bigint[] := '{}';
    word text;
BEGIN
    IF p_created IS NOT NULL THEN
        first := dibs.first_since(p_created[1] - slack);
        p_before := least(p_before, dibs.first_since(p_created[2] + slack + 1));
    END IF;
    -- One index yields the newest candidates. The other conditions are looked at row by row.
    IF p_dag IS NOT NULL THEN
        looked_at := ARRAY(
            SELECT s.n FROM dibs.specs s WHERE s.dag = p_dag AND s.n < p_before ORDER BY s.n DESC LIMIT most
        );
        lowest := CASE WHEN cardinality(looked_at) = most THEN looked_at[most] ELSE 0 END;
        looked_at := looked_at || ARRAY(
            SELECT s.n FROM dibs.specs s WHERE s.id = ANY (p_alone) AND s.dag IS NULL AND s.n < p_before
        );
    ELSIF p_parent IS NOT NULL THEN
        looked_at := ARRAY(
            SELECT s.n FROM dibs.specs s WHERE s.parent = p_parent AND s.n < p_before ORDER BY s.n DESC LIMIT most
        );
        lowest := CASE WHEN cardinality(looked_at) = most THEN looked_at[most] ELSE 0 END;
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
                        WHERE p_parked IS NOT TRUE AND w.status = 'ready' AND w.parked_on IS NULL AND w.lane = l.id
                        LIMIT most + 1)
                    UNION ALL
                    (SELECT w.n FROM dibs.waiting w
                        WHERE w.status = 'ready' AND w.ties >= 4 AND w.parked_on IS NOT NULL AND w.lane = l.id LIMIT most + 1)
                ) w
                WHERE l.project = p_project AND (p_types IS NULL OR l.type = ANY (p_types))
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
        IF p_types IS NOT NULL AND (broad OR 'completed' = ANY (p_statuses)) THEN
            -- Straight to the newest that can be meant: a long backlog, or past, may lie above it.
            IF p_statuses <@ ARRAY['completed', 'dead_lettered', 'cancelled'] THEN
                p_before := least(p_before, (SELECT max(e.n) FROM dibs.ended e) + 1);
            ELSIF NOT p_statuses && ARRAY['completed', 'dead_lettered', 'cancelled'] THEN
                p_before := least(p_before, (SELECT max(w.n) FROM dibs.work w) + 1);
            END IF;
            SELECT f.ns, f.lowest INTO looked_at, lowest FROM dibs.newest_of(p_project, p_types, p_before, p_limit) f;
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
    ELSIF p_types IS NOT NULL THEN
        SELECT f.ns, f.lowest INTO looked_at, lowest FROM dibs.newest_of(p_project, p_types, p_before, p_limit) f;
    ELSE
        looked_at := ARRAY(SELECT s.n FROM dibs.specs s WHERE s.n < p_before ORDER BY s.n DESC LIMIT most);
        lowest := CASE WHEN cardinality(looked_at) = most THEN looked_at[most] ELSE 0 END;
    END IF;

    looked_at := ARRAY(
        SELECT DISTINCT l.n FROM unnest(looked_at) AS l (n) WHERE l.n < p_before AND l.n >= greatest(lowest, first)
        ORDER BY l.n DESC LIMIT most
    );
    IF cardinality(looked_at) = most THEN
        lowest := looked_at[most];
    END IF;
    rest := CASE WHEN lowest > first THEN lowest END;
    FOR i IN 1 .. cardinality(looked_at) BY step LOOP
        found := found || ARRAY(
            SELECT s.n FROM unnest(looked_at[i : i + step - 1]) AS l (n)
            CROSS JOIN LATERAL (SELECT * FROM dibs.specs s WHERE s.n = l.n OFFSET 0) s
            LEFT JOIN LATERAL (SELECT * FROM dibs.ended e WHERE e.n = l.n OFFSET 0) e ON true
            -- Whatever ended is not looked for among what did not.
            LEFT JOIN LATERAL (SELECT * FROM dibs.work w WHERE e.n IS NULL AND w.n = l.n OFFSET 0) w ON true
            WHERE s.project = p_project
                AND (p_statuses IS NULL OR coalesce(w.status, e.status) = ANY (p_statuses))
                AND (p_types IS NULL OR s.type = ANY (p_types))
                AND (p_not_types IS NULL OR s.type <> ALL (p_not_types))
                AND (p_user IS NULL OR s."user" = p_user)
                AND (p_not_users IS NULL OR coalesce(s."user" <> ALL (p_not_users), true))
                AND (p_parent IS NULL OR s.parent = p_parent)
                AND (p_agents IS NULL OR coalesce(w.agent, e.agent) = ANY (p_agents))
                AND (p_not_agents IS NULL OR coalesce(coalesce(w.agent, e.agent) <> ALL (p_not_agents), true))
                AND (p_reasons IS NULL OR coalesce(w.reason, e.reason) = ANY (p_reasons))
                AND (p_not_reasons IS NULL OR coalesce(coalesce(w.reason, e.reason) <> ALL (p_not_reasons), true))
                AND (p_parked IS NULL OR (w.parked_on IS NOT NULL) = p_parked)
                AND (p_poison IS NULL OR coalesce(w.poison_pill, e.poison_pill) = p_poison)
                AND (p_reviewed IS NULL OR (e.resolution IS NOT NULL) = p_reviewed)
                AND (p_cost IS NULL OR coalesce(w.cost_usd, e.cost_usd) BETWEEN p_cost[1] AND p_cost[2])
                AND (p_created IS NULL OR s.created_at BETWEEN p_created[1] AND p_created[2])
                AND (p_priority IS NULL OR coalesce(w.priority, e.priority) BETWEEN p_priority[1] AND p_priority[2])
                AND (p_attempts IS NULL OR coalesce(w.attempts, e.attempts) BETWEEN p_attempts[1] AND p_attempts[2])
                AND (p_tokens IS NULL OR CASE
                    WHEN coalesce(w.tokens_in, e.tokens_in, w.tokens_out, e.tokens_out) IS NOT NULL
                    THEN coalesce(w.tokens_in, e.tokens_in, 0) + coalesce(w.tokens_out, e.tokens_out, 0)
                END BETWEEN p_tokens[1] AND p_tokens[2])
                AND (p_tags IS NULL OR dibs.has_tags(s.spec, p_tags, p_written))
                AND (p_not_tags IS NULL OR NOT EXISTS (
                    SELECT 1 FROM json_array_elements_text(s.spec::json -> 'tags') AS t (tag) WHERE t.tag = ANY (p_not_tags)
                ))
                AND (p_like IS NULL OR CASE
                    WHEN p_capitals = '' THEN lower(s.spec || E'\n' || coalesce(w.error, e.error, ''))
                    ELSE translate(lower(s.spec || E'\n' || coalesce(w.error, e.error, '')), p_capitals, p_smalls)
                END LIKE ALL (p_like))
            ORDER BY s.n DESC
        );
        IF cardinality(found) > p_limit THEN
            found := found[1 : p_limit];
            rest := found[p_limit];
            EXIT;
        END IF;
        IF p_bytes IS NOT NULL THEN
            searched := searched + (
                SELECT coalesce(sum(octet_length(s.spec)), 0) FROM unnest(looked_at[i : i + step - 1]) AS l (n)
                CROSS JOIN LATERAL (SELECT s.spec FROM dibs.specs s WHERE s.n = l.n OFFSET 0) s
            );
            IF searched > p_bytes AND i + step <= cardinality(looked_at) THEN
                rest := looked_at[i + step - 1];
                EXIT;
            END IF;
        END IF;
    END LOOP;
    IF p_only_ids THEN
        ids := ARRAY(
            SELECT s.id FROM unnest(found) WITH ORDINALITY AS f (n, place)
            CROSS JOIN LATERAL (SELECT s.id FROM dibs.specs s WHERE s.n = f.n OFFSET 0) s ORDER BY f.place
        );
    ELSE
        whole := dibs.whole(found, true);
    END IF;
END $$;
