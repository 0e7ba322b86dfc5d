-- Remember an artifact of a task under a held fence, in the place of the one of its name; answers when that was.
-- Confirms the start. A task has at most p_most of them.
-- Locks: the task's row.
CREATE OR REPLACE FUNCTION dibs.put_artifact(
    p_now bigint, p_id text, p_fence bigint, p_name text, p_digest text, p_size bigint, p_media_type text, p_most integer
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    w dibs.work%ROWTYPE;
    number bigint;
    at bigint;
BEGIN
    SELECT s.n INTO number FROM dibs.specs s WHERE s.id = p_id;
    IF NOT FOUND THEN
        PERFORM dibs.refuse('no_task', json_build_array(p_id));
    END IF;
    SELECT * INTO w FROM dibs.work x WHERE x.n = number FOR UPDATE;
    IF NOT FOUND OR w.fence <> p_fence OR w.status NOT IN ('claimed', 'running') THEN
        PERFORM dibs.refuse('lease_lost', json_build_array(p_id, p_fence));
    END IF;
    at := coalesce(p_now, dibs.micros());
    IF w.timeout_at <= at THEN
        PERFORM dibs.refuse('over_timeout', json_build_array(p_id, p_fence, w.timeout_s));
    END IF;
    IF (SELECT count(*) FROM dibs.artifacts a WHERE a.n = number AND a.name <> p_name) >= p_most THEN
        PERFORM dibs.refuse('too_many_artifacts', json_build_array(p_id, p_most));
    END IF;
    PERFORM dibs.keep_artifact(number, at, p_name, p_digest, p_size, p_media_type);
    IF NOT w.confirmed THEN
        UPDATE dibs.work x SET confirmed = true WHERE x.n = number;
    END IF;
    RETURN at;
END $$;

-- This is the newest artifact of a task, whose row is locked. It takes the place of the one of its name.
CREATE OR REPLACE FUNCTION dibs.keep_artifact(
    p_n bigint, p_at bigint, p_name text, p_digest text, p_size bigint, p_media_type text
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM dibs.artifacts a WHERE a.n = p_n AND a.name = p_name;
    INSERT INTO dibs.artifacts (n, dag, name, digest, size, media_type, put_at)
    SELECT p_n, coalesce(s.dag, dibs.dag_of(s.id)), p_name, p_digest, p_size, p_media_type, p_at
    FROM dibs.specs s WHERE s.n = p_n;
END $$;

-- The artifacts that a settlement names, as JSON, in their order.
CREATE OR REPLACE FUNCTION dibs.keep_artifacts(p_n bigint, p_at bigint, p_artifacts jsonb) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 0 .. jsonb_array_length(p_artifacts) - 1 LOOP
        PERFORM dibs.keep_artifact(
            p_n, p_at, p_artifacts->i->>'name', p_artifacts->i->>'digest', (p_artifacts->i->>'size')::bigint,
            p_artifacts->i->>'media_type'
        );
    END LOOP;
END $$;

-- `[[name, digest, size, media type, when it was put], …]` of a task, in the order in which they were put.
CREATE OR REPLACE FUNCTION dibs.artifacts_of(p_n bigint) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT '[' || string_agg(
            json_build_array(a.name, a.digest, a.size, a.media_type, a.put_at)::text, ',' ORDER BY a.id
        ) || ']'
        FROM dibs.artifacts a WHERE a.n = p_n
    );
END $$;
