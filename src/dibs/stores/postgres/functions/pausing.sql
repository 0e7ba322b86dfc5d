-- Pauses, and what time opens: the gates that close whole lanes. Processes remember what is closed together with the
-- lanes, and a new version of those makes everybody read it again; no task is touched, however many wait.
-- Lock order: claims of the project, task and dag rows, pauses, gates of providers, breakers by type, the lanes' version.

-- What is closed, as rules.closing.gather takes it (JSON); NULL if nothing is.
CREATE OR REPLACE FUNCTION dibs.shut_now() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT json_agg(json_build_array(s.project, s.why, s.name, s.until))::text FROM (
        SELECT p.project, 'paused' AS why, p.gate AS name, p.until FROM dibs.pauses p
        UNION ALL
        SELECT b.project, b.shut, b.type, b.due_at FROM dibs.breakers b WHERE b.shut IS NOT NULL
        UNION ALL
        SELECT b.project, 'limited', b.gate, b.until FROM dibs.backoffs b WHERE b.shut
        UNION ALL
        SELECT t.project, 'slots', t.type, t.slots FROM dibs.type_slots t
        UNION ALL
        SELECT r.project, 'rate', r.type, NULL::bigint FROM dibs.rates r
        UNION ALL
        SELECT DISTINCT b.project, 'spends', substr(b.scope, 7), NULL::bigint FROM dibs.budgets b
        WHERE starts_with(b.scope, 'agent:')
        UNION ALL
        SELECT b.project, 'window', b.name, b.ends_at FROM dibs.budgets b WHERE b.ends_at IS NOT NULL
    ) s
$$;

CREATE OR REPLACE FUNCTION dibs.gate_event(
    p_type text, p_at bigint, p_project text, p_scope text, p_name text, p_reason text, p_data text
) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT dibs.home_event(p_type, p_at, p_project, CASE p_scope WHEN 'agent' THEN p_name END, p_reason, p_data) $$;

-- Note what time opened, and free probes whose claim is gone: if time opened something, or else if p_anyway. How many gates
-- changed. Reads only while there is none.
-- Locks: rows of pauses, gates of providers and breakers that change, then the lanes' version.
CREATE OR REPLACE FUNCTION dibs.tend_gates(p_now bigint, p_anyway boolean) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    at bigint := coalesce(p_now, dibs.micros());
    opened text[];
    passed text[];
    turned text[];
    freed integer;
    changed integer;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM dibs.pauses p WHERE p.until <= at)
        AND NOT EXISTS (SELECT 1 FROM dibs.backoffs b WHERE b.until <= at AND (b.shut OR (p_anyway AND b.until + 3600000000 <= at)))
        AND NOT EXISTS (SELECT 1 FROM dibs.breakers b WHERE b.due_at <= at OR (p_anyway AND b.shut = 'probing'))
    THEN
        RETURN 0;
    END IF;
    WITH over AS (DELETE FROM dibs.pauses p WHERE p.until <= at RETURNING p.*)
    SELECT array_agg(
        dibs.gate_event('gate.opened', at, o.project, o.scope, o.name, 'until', json_build_object('gate', o.gate)::text)
        ORDER BY o.project COLLATE "C", o.gate COLLATE "C"
    ) INTO opened FROM over o;
    passed := dibs.tend_backoffs(at);
    -- First the locks: what is seen from here on is how it is.
    PERFORM 1 FROM dibs.breakers b WHERE b.shut IS NOT NULL ORDER BY b.project, b.type FOR UPDATE;
    WITH turned AS (
        UPDATE dibs.breakers b SET
            state = 'half_open', half_open_at = at, due_at = NULL, probe_n = NULL, probe_fence = NULL, probe_id = NULL
        WHERE b.state = 'open' AND b.due_at <= at
        RETURNING b.*
    )
    SELECT array_agg(
        dibs.breaker_event('breaker.half_open', at, t.project, t.type, t.failed_at, t.reason)
        ORDER BY t.project COLLATE "C", t.type COLLATE "C"
    ) INTO turned FROM turned t;
    UPDATE dibs.breakers b SET probe_n = NULL, probe_fence = NULL, probe_id = NULL
    WHERE b.shut = 'probing'
        AND NOT EXISTS (SELECT 1 FROM dibs.held h WHERE h.n = b.probe_n AND h.fence = b.probe_fence);
    GET DIAGNOSTICS freed = ROW_COUNT;
    changed := coalesce(cardinality(opened), 0) + cardinality(passed) + coalesce(cardinality(turned), 0) + freed;
    IF changed > 0 THEN
        PERFORM dibs.change_lanes();
        PERFORM dibs.publish(coalesce(opened, '{}') || passed || coalesce(turned, '{}'), at);
    END IF;
    RETURN changed;
END $$;

-- Close a type, a lane, an agent or everything. `since`: from when on it is closed; `lane`: the key of a paused lane.
-- p_data: what the event carries, as JSON. The same again changes nothing.
-- Locks: claims of the project, the row of the pause, the lanes' version.
CREATE OR REPLACE FUNCTION dibs.pause(
    p_now bigint, p_project text, p_gate text, p_scope text, p_name text, p_until bigint, p_reason text, p_by text,
    p_data text, OUT since bigint, OUT lane text
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    at bigint;
    known dibs.pauses%ROWTYPE;
BEGIN
    PERFORM dibs.hold_claims(p_project);
    at := coalesce(p_now, dibs.micros());
    PERFORM dibs.tend_gates(p_now, false);
    IF p_scope = 'lane' THEN
        SELECT l.key INTO lane FROM dibs.lanes l WHERE l.id = p_name::integer AND l.project = p_project;
        IF NOT FOUND THEN
            PERFORM dibs.refuse('no_lane', json_build_array(p_name));
        END IF;
    END IF;
    SELECT * INTO known FROM dibs.pauses p WHERE p.project = p_project AND p.gate = p_gate FOR UPDATE;
    since := coalesce(known.since, at);
    IF known.gate IS NOT NULL AND (known.until, known.reason, known."by") IS NOT DISTINCT FROM (p_until, p_reason, p_by) THEN
        RETURN;
    END IF;
    INSERT INTO dibs.pauses AS p (project, gate, scope, name, since, until, reason, by)
    VALUES (p_project, p_gate, p_scope, p_name, since, p_until, p_reason, p_by)
    ON CONFLICT ON CONSTRAINT pauses_pkey
    DO UPDATE SET until = excluded.until, reason = excluded.reason, by = excluded.by;
    PERFORM dibs.change_lanes();
    PERFORM dibs.publish(ARRAY[dibs.gate_event('gate.closed', at, p_project, p_scope, p_name, p_reason, p_data)], at);
END $$;

-- Open what was paused, or closed by a rate limit; whether it was.
-- Locks: claims of the project, the row of the pause or of the gate, the lanes' version.
CREATE OR REPLACE FUNCTION dibs.resume(p_now bigint, p_project text, p_gate text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    at bigint;
    known dibs.pauses%ROWTYPE;
BEGIN
    PERFORM dibs.hold_claims(p_project);
    at := coalesce(p_now, dibs.micros());
    PERFORM dibs.tend_gates(p_now, false);
    DELETE FROM dibs.pauses p WHERE p.project = p_project AND p.gate = p_gate RETURNING p.* INTO known;
    IF NOT FOUND THEN
        DELETE FROM dibs.backoffs b WHERE b.project = p_project AND b.gate = p_gate AND b.shut;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
        PERFORM dibs.change_lanes();
        PERFORM dibs.publish(ARRAY[
            dibs.gate_event('gate.opened', at, p_project, NULL, NULL, 'resumed', json_build_object('gate', p_gate)::text)
        ], at);
        RETURN true;
    END IF;
    PERFORM dibs.change_lanes();
    PERFORM dibs.publish(ARRAY[
        dibs.gate_event(
            'gate.opened', at, p_project, known.scope, known.name, 'resumed',
            json_build_object('gate', known.gate)::text
        )
    ], at);
    RETURN true;
END $$;
