-- The store's clock, and what time is worth. The formulas are those of rules/priority.py; the model test compares them.

CREATE OR REPLACE FUNCTION dibs.micros() RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint $$;

CREATE OR REPLACE FUNCTION dibs.minutes(at bigint) RETURNS float8 LANGUAGE sql IMMUTABLE AS
$$ SELECT (at - 1735689600000000)::float8 / 60000000 $$;

-- Urgency in whole points: 50 when the deadline is reached, half as much for every 15 minutes left.
CREATE OR REPLACE FUNCTION dibs.steps(deadline bigint, at bigint) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN deadline IS NULL THEN 0
        WHEN at >= deadline THEN 50
        -- Beyond this it is nothing, and power() would refuse to underflow.
        WHEN deadline - at > 900000000::bigint * 60 THEN 0
        ELSE floor(50 * power(2::float8, -((deadline - at)::float8 / 900000000)))::integer
    END
$$;

-- The first instant at which `steps` is one more than now; NULL if it will not change again.
CREATE OR REPLACE FUNCTION dibs.next_step_at(deadline bigint, at bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    wanted integer := dibs.steps(deadline, at) + 1;
    found bigint;
BEGIN
    IF deadline IS NULL OR wanted > 50 THEN
        RETURN NULL;
    END IF;
    found := deadline - round(900000000 * (ln(50::float8 / wanted) / ln(2::float8)))::bigint;
    -- The logarithm is right to a few micros; the promise is exact.
    WHILE dibs.steps(deadline, found) < wanted LOOP
        found := found + 1;
    END LOOP;
    WHILE dibs.steps(deadline, found - 1) >= wanted LOOP
        found := found - 1;
    END LOOP;
    RETURN found;
END $$;

CREATE OR REPLACE FUNCTION dibs.rank(
    priority float8, boost float8, ready_at bigint, weight integer, deadline bigint, at bigint
) RETURNS float8 LANGUAGE sql IMMUTABLE AS
$$ SELECT priority + boost * dibs.minutes(ready_at) - weight - dibs.steps(deadline, at) $$;
