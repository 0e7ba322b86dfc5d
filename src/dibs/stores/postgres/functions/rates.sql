-- Rates of types: token buckets, as rules.rates says. What is kept is when a bucket will be full. Claims of a project take
-- turns, so nobody else takes what is counted.

-- As rules.rates.tokens.
CREATE OR REPLACE FUNCTION dibs.tokens(r dibs.rates, p_at bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT greatest(0, r.burst * r.interval_us - greatest(0, r.full_at - p_at)) / r.interval_us
$$;

-- These tasks were handed out: as rules.rates.taken. Locks: rows of rates.
CREATE OR REPLACE FUNCTION dibs.take_tokens(p_project text, p_ns bigint[], p_at bigint) RETURNS void LANGUAGE sql AS $$
    UPDATE dibs.rates r SET full_at = greatest(r.full_at, p_at) + t.count * r.interval_us
    FROM (
        SELECT l.type, count(*) AS count FROM dibs.held w JOIN dibs.lanes l ON l.id = w.lane
        WHERE w.n = ANY (p_ns) GROUP BY l.type
    ) t
    WHERE r.project = p_project AND r.type = t.type
$$;

-- When the first of those of these types that have no token has one: as rules.rates.opens_at.
CREATE OR REPLACE FUNCTION dibs.rates_open_at(p_project text, p_types text[], p_at bigint) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT min(r.full_at - (r.burst - 1) * r.interval_us) FROM dibs.rates r
    WHERE r.project = p_project AND r.type = ANY (p_types) AND dibs.tokens(r, p_at) = 0
$$;

-- How many tasks of a type may be handed out in a time; NULL: any number. Answers `full_at`.
-- Locks: claims of the project, the row of the rate, the lanes' version.
CREATE OR REPLACE FUNCTION dibs.set_rate(
    p_now bigint, p_project text, p_type text, p_amount integer, p_per_s float8, p_burst integer, p_interval_us bigint,
    OUT at bigint, OUT full_at bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM dibs.hold_claims(p_project);
    at := coalesce(p_now, dibs.micros());
    IF p_amount IS NULL THEN
        DELETE FROM dibs.rates r WHERE r.project = p_project AND r.type = p_type;
    ELSE
        INSERT INTO dibs.rates AS r (project, type, amount, per_s, burst, interval_us, full_at)
        VALUES (p_project, p_type, p_amount, p_per_s, p_burst, p_interval_us, at)
        ON CONFLICT (project, type) DO UPDATE SET
            amount = excluded.amount, per_s = excluded.per_s, burst = excluded.burst, interval_us = excluded.interval_us,
            -- As rules.rates.changed.
            full_at = least(r.full_at, excluded.full_at + excluded.burst * excluded.interval_us)
        RETURNING r.full_at INTO full_at;
    END IF;
    PERFORM dibs.change_lanes();
END $$;
