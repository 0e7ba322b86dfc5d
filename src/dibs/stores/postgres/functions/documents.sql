-- Documents: small values by project, kind and name, as rules.documents says.

-- Keep a document, or remove it (NULL); its new version, 0 for one that is gone. p_expected: the version that it must have.
-- Locks: its row.
CREATE OR REPLACE FUNCTION dibs.write_document(
    p_now bigint, p_project text, p_kind text, p_name text, p_body bytea, p_expected bigint
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    known bigint;
    at CONSTANT bigint := coalesce(p_now, dibs.micros());
BEGIN
    LOOP
        SELECT d.version INTO known FROM dibs.documents d
        WHERE d.project = p_project AND d.kind = p_kind AND d.name = p_name FOR UPDATE;
        known := coalesce(known, 0);
        IF p_expected <> known THEN
            PERFORM dibs.refuse('changed_meanwhile', json_build_array(p_name, known, p_expected));
        END IF;
        IF p_body IS NULL THEN
            DELETE FROM dibs.documents d WHERE d.project = p_project AND d.kind = p_kind AND d.name = p_name;
            RETURN 0;
        ELSIF known > 0 THEN
            UPDATE dibs.documents d
            SET version = known + 1, body = p_body, updated_at = at
            WHERE d.project = p_project AND d.kind = p_kind AND d.name = p_name;
            RETURN known + 1;
        END IF;
        INSERT INTO dibs.documents (project, kind, name, version, body, updated_at)
        VALUES (p_project, p_kind, p_name, greatest(at, 1), p_body, at) ON CONFLICT DO NOTHING;
        IF FOUND THEN
            RETURN greatest(at, 1);
        END IF;
        -- Somebody else was first: look at what they wrote.
    END LOOP;
END $$;

-- Emit an event about something that is kept in documents.
CREATE OR REPLACE FUNCTION dibs.tell(p_now bigint, p_project text, p_type text, p_reason text, p_data text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    at CONSTANT bigint := coalesce(p_now, dibs.micros());
BEGIN
    PERFORM dibs.publish(ARRAY[dibs.home_event(p_type, at, p_project, NULL, p_reason, p_data)], at);
END $$;
