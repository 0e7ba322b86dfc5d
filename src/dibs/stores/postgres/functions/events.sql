-- Events: JSON groups `[types, at, agent, reason, items]`, one outbox row per commit. `stores.unfolding` reads them.

-- One event as a group of its own. A dag of NULL is the task's virtual one.
CREATE OR REPLACE FUNCTION dibs.event(
    type text, at bigint, id text, dag text, agent text DEFAULT NULL, reason text DEFAULT NULL, data text DEFAULT NULL
) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT '[["' || type || '"],' || at || ',' || coalesce(to_json(agent)::text, 'null') || ','
        || coalesce(to_json(reason)::text, 'null') || ',[[' || coalesce('"' || id || '"', 'null') || ','
        || coalesce('"' || dag || '"', 'null') || coalesce(',' || data, '') || ']]]'
$$;

-- One event about an agent or a gate, which says in which project: as rules.access.at_home.
CREATE OR REPLACE FUNCTION dibs.home_event(
    type text, at bigint, project text, agent text, reason text DEFAULT NULL, data text DEFAULT NULL
) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT dibs.event(type, at, NULL, NULL, agent, reason, CASE
        WHEN project = 'default' THEN data
        ELSE (coalesce(data, '{}')::jsonb || jsonb_build_object('project', project))::text
    END)
$$;

-- Put events, each a group of its own, into the outbox.
CREATE OR REPLACE FUNCTION dibs.publish(events text[], at bigint) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF cardinality(events) > 0 THEN
        INSERT INTO dibs.outbox (at, count, body)
        VALUES (at, cardinality(events), '[' || array_to_string(events, ',') || ']');
    END IF;
END $$;

-- Changes whenever something was committed. A hint: rows may become visible out of order.
CREATE OR REPLACE FUNCTION dibs.newest() RETURNS bigint LANGUAGE sql STABLE AS
$$
    SELECT greatest(
        (SELECT id FROM dibs.outbox WHERE last_seq IS NULL ORDER BY last_seq DESC, id DESC LIMIT 1),
        (SELECT id FROM dibs.outbox WHERE last_seq IS NOT NULL ORDER BY last_seq DESC LIMIT 1),
        0
    )
$$;

-- Number the rows that can be seen and have no number yet, at most `most` of them. How many were numbered.
-- Locks: numbering (advisory). Only those who number write `last_seq`.
CREATE OR REPLACE FUNCTION dibs.number_events(most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    numbered integer;
    newest bigint;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM dibs.outbox WHERE last_seq IS NULL) THEN
        RETURN 0;
    END IF;
    PERFORM pg_advisory_xact_lock('dibs.outbox'::regclass::oid::integer, 0);
    SELECT coalesce(max(last_seq), 0) INTO newest FROM dibs.outbox WHERE last_seq IS NOT NULL;
    UPDATE dibs.outbox o SET last_seq = newest + f.total
    FROM (
        SELECT id, sum(count) OVER (ORDER BY id) AS total
        FROM (SELECT id, count FROM dibs.outbox WHERE last_seq IS NULL ORDER BY last_seq, id LIMIT most) f
    ) f
    -- As an array it can only be looked up, whatever the planner believes about the table.
    WHERE o.id = ANY (ARRAY[f.id]) AND o.last_seq IS NULL;
    GET DIAGNOSTICS numbered = ROW_COUNT;
    RETURN numbered;
END $$;
