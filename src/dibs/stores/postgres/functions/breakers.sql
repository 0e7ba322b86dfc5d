-- Circuit breakers, as rules/breaker.py has them; the model test compares the two. They are judged in the transaction that
-- settles a claim, so that no failure is counted twice or not at all.

CREATE OR REPLACE FUNCTION dibs.breaker_event(
    p_event text, p_at bigint, p_project text, p_type text, p_failed_at bigint[], p_reason text
) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT dibs.home_event(
        p_event, p_at, p_project, NULL, p_reason,
        json_build_object('type', p_type, 'failures', cardinality(p_failed_at))::text
    )
$$;

-- What holds for a type: its own settings, else those of every type, else the defaults; field by field.
CREATE OR REPLACE FUNCTION dibs.breaker_holds(
    p_project text, p_type text,
    OUT failure_threshold integer, OUT cooldown_s float8, OUT half_open_after_s float8, OUT enabled boolean
) LANGUAGE sql STABLE AS $$
    SELECT
        coalesce(o.failure_threshold, e.failure_threshold, 5), coalesce(o.cooldown_s, e.cooldown_s, 300),
        coalesce(o.half_open_after_s, e.half_open_after_s, 60), coalesce(o.enabled, e.enabled, false)
    FROM (SELECT 1) one
    LEFT JOIN dibs.breaker_settings o ON o.project = p_project AND o.type = p_type
    LEFT JOIN dibs.breaker_settings e ON e.project = p_project AND e.type = '*'
$$;

-- What an attempt says about its type by the way it ended: success, failure, handed_in or nothing. together: with another,
-- which says it for both.
CREATE OR REPLACE FUNCTION dibs.verdict(outcome text, reason text, counts boolean, together boolean) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN outcome = 'completed' THEN 'success'
        WHEN outcome = 'submitted' THEN 'handed_in'
        WHEN outcome IN ('failed', 'timed_out', 'expired', 'rejected') AND counts AND together IS NOT TRUE
            AND coalesce(reason, '') NOT IN ('rate_limit', 'budget_exceeded', 'cancelled') THEN 'failure'
        ELSE 'nothing'
    END
$$;

-- Keep what a breaker has become, and have everybody read the lanes again if that opens or closes some.
-- The event that tells of it; nothing if its state is the same.
CREATE OR REPLACE FUNCTION dibs.put_breaker(b dibs.breakers, p_at bigint) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    before dibs.breakers%ROWTYPE;
    shut text;
BEGIN
    SELECT * INTO before FROM dibs.breakers x WHERE x.project = b.project AND x.type = b.type;
    UPDATE dibs.breakers x SET
        state = b.state, failed_at = b.failed_at, last_failure_at = b.last_failure_at, opened_at = b.opened_at,
        half_open_at = b.half_open_at, due_at = b.due_at, probe_n = b.probe_n, probe_fence = b.probe_fence,
        probe_id = b.probe_id, reason = b.reason
    WHERE x.project = b.project AND x.type = b.type
    RETURNING x.shut INTO shut;
    IF (before.shut, before.due_at) IS DISTINCT FROM (shut, b.due_at) THEN
        PERFORM dibs.change_lanes();
    END IF;
    IF before.state = b.state THEN
        RETURN '{}';
    END IF;
    RETURN ARRAY[dibs.breaker_event(
        CASE b.state WHEN 'open' THEN 'breaker.opened' ELSE 'breaker.' || b.state END, p_at, b.project, b.type, b.failed_at,
        b.reason
    )];
END $$;

-- A breaker, opened; closed.
CREATE OR REPLACE FUNCTION dibs.opened_breaker(b dibs.breakers, p_at bigint, p_reason text) RETURNS dibs.breakers
LANGUAGE plpgsql AS $$
BEGIN
    b.state := 'open';
    b.opened_at := p_at;
    b.half_open_at := NULL;
    b.due_at := p_at + round((SELECT h.half_open_after_s FROM dibs.breaker_holds(b.project, b.type) h) * 1000000)::bigint;
    b.probe_n := NULL;
    b.probe_fence := NULL;
    b.probe_id := NULL;
    b.reason := p_reason;
    RETURN b;
END $$;

CREATE OR REPLACE FUNCTION dibs.closed_breaker(b dibs.breakers) RETURNS dibs.breakers LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    b.state := 'closed';
    b.failed_at := '{}';
    b.due_at := NULL;
    b.probe_n := NULL;
    b.probe_fence := NULL;
    b.probe_id := NULL;
    b.reason := NULL;
    RETURN b;
END $$;

-- Let claims that ended count, in the order given. p_said: what each says about its type; NULL: it did not end now.
-- Locks: rows of breakers by type, the lanes' version. A success does not wait for a breaker that somebody else is
-- just changing: it may as well have come before.
CREATE OR REPLACE FUNCTION dibs.judge(p_at bigint, p_ns bigint[], p_fences bigint[], p_said text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    ending record;
    holds record;
    b dibs.breakers%ROWTYPE;
    events text[] := '{}';
BEGIN
    IF 'failure' = ANY (p_said) THEN
        INSERT INTO dibs.breakers (project, type)
        SELECT DISTINCT s.project, s.type
        FROM unnest(p_ns, p_said) AS e (n, said) JOIN dibs.specs s ON s.n = e.n
        WHERE e.said = 'failure' AND (SELECT h.enabled FROM dibs.breaker_holds(s.project, s.type) h)
        ORDER BY 1, 2
        ON CONFLICT (project, type) DO NOTHING;
    END IF;
    PERFORM 1 FROM dibs.breakers x
    WHERE x.probe_n = ANY (p_ns) OR (x.project, x.type) IN (
        SELECT s.project, s.type FROM unnest(p_ns, p_said) AS e (n, said) JOIN dibs.specs s ON s.n = e.n
        WHERE e.said = 'failure'
    )
    ORDER BY x.project, x.type FOR UPDATE;
    FOR ending IN
        SELECT e.n, e.fence, e.said, s.project, s.type
        FROM unnest(p_ns, p_fences, p_said) WITH ORDINALITY AS e (n, fence, said, place) JOIN dibs.specs s ON s.n = e.n
        WHERE e.said IS NOT NULL ORDER BY e.place
    LOOP
        SELECT * INTO b FROM dibs.breakers x WHERE x.project = ending.project AND x.type = ending.type
        FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND OR b.state = 'open';
        SELECT * INTO holds FROM dibs.breaker_holds(b.project, b.type);
        IF b.state = 'half_open' AND (b.probe_n, b.probe_fence) IS DISTINCT FROM (ending.n, ending.fence) THEN
            CONTINUE;
        END IF;
        IF ending.said = 'failure' AND (b.state = 'half_open' OR holds.enabled) THEN
            b.failed_at := (
                array(SELECT f FROM unnest(b.failed_at) f WHERE f > p_at - round(holds.cooldown_s * 1000000)::bigint)
                || p_at
            );
            b.failed_at := b.failed_at[greatest(cardinality(b.failed_at) - 999, 1) :];
            b.last_failure_at := p_at;
            IF b.state = 'half_open' THEN
                b := dibs.opened_breaker(b, p_at, 'its probe failed');
            ELSIF cardinality(b.failed_at) >= holds.failure_threshold THEN
                b := dibs.opened_breaker(b, p_at, cardinality(b.failed_at)
                    || CASE cardinality(b.failed_at) WHEN 1 THEN ' failed attempt' ELSE ' failed attempts in a row' END);
            END IF;
        ELSIF (ending.said = 'success' AND b.troubled) OR (ending.said = 'handed_in' AND b.state = 'half_open') THEN
            b := dibs.closed_breaker(b);
        ELSIF b.state = 'half_open' THEN
            b.probe_n := NULL;
            b.probe_fence := NULL;
            b.probe_id := NULL;
        ELSE
            CONTINUE;
        END IF;
        events := events || dibs.put_breaker(b, p_at);
    END LOOP;
    PERFORM dibs.publish(events, p_at);
END $$;

-- A task was just handed out by a half-open breaker: it is the probe. Under the lock of claims.
CREATE OR REPLACE FUNCTION dibs.take_probe(p_n bigint, p_fence bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE dibs.breakers b SET probe_n = p_n, probe_fence = p_fence, probe_id = s.id
    FROM dibs.specs s WHERE s.n = p_n AND b.project = s.project AND b.type = s.type AND b.state = 'half_open';
    PERFORM dibs.change_lanes();
END $$;

-- What holds for a type from now on; NULL stays as it is set. Switched off, a breaker is closed.
-- Locks: claims of the project, rows of breakers, the lanes' version.
CREATE OR REPLACE FUNCTION dibs.set_breaker(
    p_now bigint, p_project text, p_type text,
    p_failure_threshold integer, p_cooldown_s float8, p_half_open_after_s float8, p_enabled boolean
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    at bigint;
    b dibs.breakers%ROWTYPE;
    holds record;
    events text[] := '{}';
BEGIN
    PERFORM dibs.hold_claims(p_project);
    at := coalesce(p_now, dibs.micros());
    PERFORM dibs.tend_gates(p_now, false);
    INSERT INTO dibs.breaker_settings AS s (project, type, failure_threshold, cooldown_s, half_open_after_s, enabled)
    VALUES (p_project, p_type, p_failure_threshold, p_cooldown_s, p_half_open_after_s, p_enabled)
    ON CONFLICT (project, type) DO UPDATE SET
        failure_threshold = coalesce(excluded.failure_threshold, s.failure_threshold),
        cooldown_s = coalesce(excluded.cooldown_s, s.cooldown_s),
        half_open_after_s = coalesce(excluded.half_open_after_s, s.half_open_after_s),
        enabled = coalesce(excluded.enabled, s.enabled);
    FOR b IN
        SELECT x.* FROM dibs.breakers x
        WHERE x.project = p_project AND (x.type = p_type OR (p_type = '*' AND NOT EXISTS (
            SELECT 1 FROM dibs.breaker_settings s WHERE s.project = x.project AND s.type = x.type
        )))
        ORDER BY x.type COLLATE "C" FOR UPDATE
    LOOP
        SELECT * INTO holds FROM dibs.breaker_holds(b.project, b.type);
        IF NOT holds.enabled AND b.troubled THEN
            events := events || dibs.put_breaker(dibs.closed_breaker(b), at);
        ELSIF holds.enabled AND b.state = 'open' THEN
            b.due_at := b.opened_at + round(holds.half_open_after_s * 1000000)::bigint;
            events := events || dibs.put_breaker(b, at);
        END IF;
    END LOOP;
    PERFORM dibs.publish(events, at);
END $$;

-- Open or close it by hand, or reset it: closed, and nothing known or set.
-- Locks: claims of the project, the row of the breaker, the lanes' version.
CREATE OR REPLACE FUNCTION dibs.steer_breaker(p_now bigint, p_project text, p_type text, p_to text, p_reason text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    at bigint;
    b dibs.breakers%ROWTYPE;
BEGIN
    PERFORM dibs.hold_claims(p_project);
    at := coalesce(p_now, dibs.micros());
    PERFORM dibs.tend_gates(p_now, false);
    IF p_to = 'open' THEN
        INSERT INTO dibs.breakers (project, type) VALUES (p_project, p_type) ON CONFLICT (project, type) DO NOTHING;
    END IF;
    SELECT * INTO b FROM dibs.breakers x WHERE x.project = p_project AND x.type = p_type FOR UPDATE;
    IF p_to = 'open' THEN
        PERFORM dibs.publish(dibs.put_breaker(dibs.opened_breaker(b, at, p_reason), at), at);
    ELSIF b.troubled THEN
        PERFORM dibs.publish(dibs.put_breaker(dibs.closed_breaker(b), at), at);
    END IF;
    IF p_to = 'reset' THEN
        DELETE FROM dibs.breakers x WHERE x.project = p_project AND x.type = p_type;
        DELETE FROM dibs.breaker_settings s WHERE s.project = p_project AND s.type = p_type;
    END IF;
END $$;
