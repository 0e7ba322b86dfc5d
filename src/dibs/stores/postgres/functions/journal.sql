-- Write entries of a task's journal under a held fence, all or nothing. Answers what is now recorded for each.
-- Of log lines the last 1,000 are kept.
-- Locks: the task's row.
CREATE OR REPLACE FUNCTION dibs.write_journal(
    p_now bigint, p_id text, p_fence bigint, p_kinds text[], p_names text[], p_digests text[], p_values text[],
    OUT digests text[], OUT vals text[]
) LANGUAGE plpgsql AS $$
DECLARE
    number bigint;
    entry record;
BEGIN
    SELECT h.n INTO number FROM dibs.held_for(p_now, p_id, p_fence) h;
    digests := p_digests;
    vals := p_values;
    FOR i IN 1 .. cardinality(p_kinds) LOOP
        IF p_kinds[i] = 'log' THEN
            INSERT INTO dibs.journal (n, kind, name, digest, value)
            VALUES (number, 'log', '', p_digests[i], p_values[i]);
        ELSIF p_kinds[i] IN ('checkpoint', 'made') THEN
            INSERT INTO dibs.journal AS j (n, kind, name, digest, value)
            VALUES (number, p_kinds[i], '', p_digests[i], p_values[i])
            ON CONFLICT (n, kind, name) WHERE kind <> 'log'
            DO UPDATE SET digest = excluded.digest, value = excluded.value;
        ELSE
            SELECT j.digest, j.value INTO entry FROM dibs.journal j
            WHERE j.n = number AND j.kind = p_kinds[i] AND j.name = p_names[i] AND j.kind <> 'log';
            IF NOT FOUND THEN
                INSERT INTO dibs.journal (n, kind, name, digest, value)
                VALUES (number, p_kinds[i], p_names[i], p_digests[i], p_values[i]);
            ELSIF entry.digest <> p_digests[i] THEN
                PERFORM dibs.refuse('journal_mismatch', json_build_array(p_kinds[i], p_names[i], p_id));
            ELSE
                vals[i] := entry.value;
            END IF;
        END IF;
    END LOOP;
    IF 'log' = ANY (p_kinds) THEN
        DELETE FROM dibs.journal j WHERE j.n = number AND j.kind = 'log' AND j.id <= (
            SELECT l.id FROM dibs.journal l WHERE l.n = number AND l.kind = 'log' ORDER BY l.id DESC OFFSET 1000 LIMIT 1
        );
    END IF;
END $$;
