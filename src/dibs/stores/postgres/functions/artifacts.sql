-- Remember an artifact of a task under a held fence, in the place of the one of its name; answers when that was.
-- A task has at most p_most of them.
-- Locks: the task's row.
CREATE OR REPLACE FUNCTION dibs.put_artifact(
    p_now bigint, p_id text, p_fence bigint, p_name text, p_digest text, p_size bigint, p_media_type text, p_most integer
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    number bigint;
    at bigint;
BEGIN
    SELECT h.n, h.at INTO number, at FROM dibs.held_for(p_now, p_id, p_fence) h;
    IF (SELECT count(*) FROM dibs.artifacts a WHERE a.n = number AND a.name <> p_name) >= p_most THEN
        PERFORM dibs.refuse('too_many_artifacts', json_build_array(p_id, p_most));
    END IF;
    PERFORM dibs.keep_artifact(number, at, p_name, p_digest, p_size, p_media_type);
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
