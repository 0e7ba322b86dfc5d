-- Reading events. Rows that committed meanwhile are numbered first, so that nothing committed before the call is missing.

-- Events with numbers above p_after, enough for p_limit of them; the caller unfolds and counts.
-- Answers `rows` as JSON, `[[last_seq, count, groups], …]`; `lost`: the number of the last event that was pruned, and
-- `lost_at`, when the first one that is left was; `more`: rows wait for a number yet, so call again if these are few.
-- Locks: numbering.
CREATE OR REPLACE FUNCTION dibs.read_events(
    p_after bigint, p_limit integer, OUT rows text, OUT lost bigint, OUT lost_at bigint, OUT more boolean
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    portion CONSTANT integer := 5000;
    last bigint;
BEGIN
    more := dibs.number_events(portion) = portion;
    SELECT o.last_seq - o.count, CASE WHEN o.count > 0 THEN o.at END INTO lost, lost_at
    FROM dibs.outbox o WHERE o.last_seq IS NOT NULL ORDER BY o.last_seq LIMIT 1;
    p_after := greatest(p_after, lost);
    SELECT o.last_seq INTO last FROM dibs.outbox o
    WHERE o.last_seq IS NOT NULL AND o.last_seq >= p_after + p_limit ORDER BY o.last_seq LIMIT 1;
    SELECT '[' || coalesce(
        string_agg('[' || o.last_seq || ',' || o.count || ',' || o.body || ']', ',' ORDER BY o.last_seq), ''
    ) || ']' INTO rows
    FROM dibs.outbox o
    WHERE o.last_seq IS NOT NULL AND o.last_seq > p_after AND o.last_seq <= coalesce(last, 9223372036854775807);
END $$;

-- The number of the newest event, 0 if there is none; `more` as above: then it is not the newest yet.
CREATE OR REPLACE FUNCTION dibs.last_seq(OUT seq bigint, OUT more boolean) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    portion CONSTANT integer := 5000;
BEGIN
    more := dibs.number_events(portion) = portion;
    SELECT coalesce(max(o.last_seq), 0) INTO seq FROM dibs.outbox o WHERE o.last_seq IS NOT NULL;
END $$;
