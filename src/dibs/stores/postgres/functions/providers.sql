-- The gates of providers, as rules/providers.py has them; the model test compares the two. They are judged in the
-- transaction that settles a claim, as breakers are.

-- Who serves a model, as its name tells; NULL if it does not.
CREATE OR REPLACE FUNCTION dibs.provider_of(p_model text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN strpos(p_model, '/') > 1 THEN split_part(p_model, '/', 1)
        WHEN split_part(p_model, ':', 1) <> p_model AND split_part(p_model, ':', 1) IN (
            'anthropic', 'openai', 'google', 'mistral', 'cohere', 'deepseek', 'xai'
        ) THEN split_part(p_model, ':', 1)
        ELSE (
            SELECT b.provider FROM (VALUES
                ('claude', 'anthropic'), ('gpt-', 'openai'), ('chatgpt-', 'openai'), ('codex-', 'openai'),
                ('text-embedding-', 'openai'), ('o1', 'openai'), ('o3', 'openai'), ('o4', 'openai'),
                ('gemini-', 'google'), ('mistral-', 'mistral'), ('ministral-', 'mistral'), ('magistral-', 'mistral'),
                ('codestral-', 'mistral'), ('devstral-', 'mistral'), ('command-', 'cohere'), ('deepseek-', 'deepseek'),
                ('grok-', 'xai')
            ) AS b (prefix, provider)
            WHERE starts_with(p_model, b.prefix)
        )
    END
$$;

-- The gate of an attempt.
CREATE OR REPLACE FUNCTION dibs.gate_of(p_provider text, p_model text, p_type text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce('provider:' || coalesce(p_provider, dibs.provider_of(p_model)), 'limit:' || p_type)
$$;

-- The gates of tasks that are held, or were until now. p_lanes: where each was claimed from, if it may have moved since.
CREATE OR REPLACE FUNCTION dibs.gates_of(p_ns bigint[], p_lanes integer[] DEFAULT NULL)
RETURNS TABLE (place bigint, project text, gate text) LANGUAGE sql STABLE AS $$
    SELECT a.place, l.project, dibs.gate_of(l.key::json->>'provider', t.model, l.type)
    FROM unnest(p_ns) WITH ORDINALITY AS a (n, place)
    CROSS JOIN LATERAL (
        SELECT w.lane, w.model FROM dibs.work w WHERE w.n = ANY (ARRAY[a.n])
        UNION ALL
        SELECT e.lane, e.model FROM dibs.ended e WHERE e.n = ANY (ARRAY[a.n])
    ) t
    JOIN dibs.lanes l ON l.id = coalesce(p_lanes[a.place], t.lane)
$$;

-- How long a limit is waited out, in micros: as it says, else longer and longer, with up to a tenth more at random.
CREATE OR REPLACE FUNCTION dibs.limit_wait(p_wait_s float8, p_limits integer, p_draw float8) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT round(1000000 * CASE
        WHEN p_wait_s IS NOT NULL THEN least(greatest(p_wait_s, 1), 86400)
        ELSE least(60::float8 * 2::float8 ^ least(p_limits - 1, 16), 3600) * (1 + 0.1::float8 * p_draw)
    END)::bigint
$$;

CREATE OR REPLACE FUNCTION dibs.backoff_opened(p_at bigint, p_project text, p_gate text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT dibs.home_event('gate.opened', p_at, p_project, NULL, 'until', json_build_object('gate', p_gate)::text)
$$;

CREATE OR REPLACE FUNCTION dibs.backoff_closed(
    p_at bigint, p_project text, p_gate text, p_limits integer, p_until bigint
) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT dibs.home_event(
        'gate.closed', p_at, p_project, NULL, 'rate_limit',
        json_build_object('gate', p_gate, 'limits', p_limits, 'until',
            to_char(to_timestamp(p_until / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
            || CASE WHEN p_until % 1000000 > 0 THEN '.' || lpad((p_until % 1000000)::text, 6, '0') ELSE '' END || '+00:00'
        )::text
    )
$$;

-- Lock the records of gates that a batch closes; such as do not exist yet are made, empty. Breakers are locked after
-- these, and the lanes' version last. p_limited: what each was told, as JSON; NULL: it was not turned away. p_lanes: as
-- above.
CREATE OR REPLACE FUNCTION dibs.hold_backoffs(p_ns bigint[], p_lanes integer[], p_limited text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    projects text[];
    gates text[];
    locked integer;
BEGIN
    SELECT array_agg(d.project), array_agg(d.gate) INTO projects, gates FROM (
        SELECT DISTINCT g.project, g.gate FROM dibs.gates_of(p_ns, p_lanes) g WHERE p_limited[g.place] IS NOT NULL
        ORDER BY g.project, g.gate
    ) d;
    LOOP
        INSERT INTO dibs.backoffs (project, gate)
        SELECT d.project, d.gate FROM unnest(projects, gates) AS d (project, gate)
        ON CONFLICT (project, gate) DO NOTHING;
        PERFORM 1 FROM dibs.backoffs b JOIN unnest(projects, gates) AS d (project, gate)
            ON b.project = d.project AND b.gate = d.gate
        ORDER BY b.project, b.gate FOR UPDATE OF b;
        GET DIAGNOSTICS locked = ROW_COUNT;
        -- One that somebody has just forgotten is made anew.
        EXIT WHEN locked = coalesce(cardinality(gates), 0);
    END LOOP;
END $$;

-- Let claims that ended count, in the order given. p_said: as for dibs.judge; p_limited: as above (NULL: nobody was).
-- Locks: records of gates, the lanes' version. A success does not wait for a record that somebody else is just changing.
CREATE OR REPLACE FUNCTION dibs.judge_backoffs(
    p_at bigint, p_ns bigint[], p_lanes integer[], p_said text[], p_limited text[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    ending record;
    b dibs.backoffs%ROWTYPE;
    longer bigint;
    events text[] := '{}';
    changed boolean := false;
BEGIN
    FOR ending IN
        SELECT g.project, g.gate, p_limited[g.place]::json AS limited FROM dibs.gates_of(p_ns, p_lanes) g
        WHERE p_limited[g.place] IS NOT NULL OR p_said[g.place] = 'success' ORDER BY g.place
    LOOP
        SELECT * INTO b FROM dibs.backoffs x WHERE x.project = ending.project AND x.gate = ending.gate
        FOR UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            -- Nothing is remembered, or a success earlier in this batch has forgotten it.
            CONTINUE WHEN ending.limited IS NULL;
            b := ROW(ending.project, ending.gate, 0, 0::bigint, 0::bigint, false);
        END IF;
        IF b.until > p_at THEN
            -- Closed: all that counts is a limit that says to wait longer.
            longer := p_at + dibs.limit_wait((ending.limited->>'wait_s')::float8, 1, 0);
            CONTINUE WHEN ending.limited->>'wait_s' IS NULL OR longer <= b.until + 1000000;
            b.until := longer;
        ELSE
            IF b.shut THEN
                events := events || dibs.backoff_opened(p_at, b.project, b.gate);
                changed := true;
            END IF;
            IF ending.limited IS NULL THEN
                DELETE FROM dibs.backoffs x WHERE x.project = b.project AND x.gate = b.gate;
                CONTINUE;
            END IF;
            b.limits := CASE WHEN b.until + 3600000000 <= p_at THEN 1 ELSE b.limits + 1 END;
            b.since := p_at;
            b.until := p_at + dibs.limit_wait(
                (ending.limited->>'wait_s')::float8, b.limits, coalesce((ending.limited->>'draw')::float8, 0.5)
            );
        END IF;
        INSERT INTO dibs.backoffs VALUES (b.project, b.gate, b.limits, b.since, b.until, true)
        ON CONFLICT (project, gate) DO UPDATE
        SET limits = excluded.limits, since = excluded.since, until = excluded.until, shut = true;
        events := events || dibs.backoff_closed(p_at, b.project, b.gate, b.limits, b.until);
        changed := true;
    END LOOP;
    IF changed THEN
        PERFORM dibs.change_lanes();
        PERFORM dibs.publish(events, p_at);
    END IF;
END $$;

-- Note which gates have opened, and forget those that did so long ago. The events that tell of it.
-- Locks: records of gates.
CREATE OR REPLACE FUNCTION dibs.tend_backoffs(p_at bigint) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    events text[];
BEGIN
    PERFORM 1 FROM dibs.backoffs b WHERE b.until <= p_at ORDER BY b.project, b.gate FOR UPDATE;
    WITH opened AS (
        UPDATE dibs.backoffs b SET shut = false WHERE b.shut AND b.until <= p_at RETURNING b.project, b.gate
    )
    SELECT array_agg(dibs.backoff_opened(p_at, o.project, o.gate) ORDER BY o.project, o.gate) INTO events FROM opened o;
    DELETE FROM dibs.backoffs b WHERE NOT b.shut AND b.until + 3600000000 <= p_at;
    RETURN coalesce(events, '{}');
END $$;

-- How many seconds the holders of tasks shall wait before they ask more of their provider: half of the time that its gate
-- stays closed. p_places: where each stands in the answer, which has p_count places.
CREATE OR REPLACE FUNCTION dibs.slow_downs(p_ns bigint[], p_places integer[], p_count integer, p_at bigint) RETURNS float8[]
LANGUAGE sql STABLE AS $$
    SELECT array_agg(f.slow ORDER BY p.place)
    FROM generate_series(1, p_count) AS p (place)
    LEFT JOIN (
        SELECT p_places[g.place] AS place, (b.until - p_at)::float8 / 2000000 AS slow
        FROM dibs.gates_of(p_ns) g JOIN dibs.backoffs b ON b.project = g.project AND b.gate = g.gate
        WHERE b.until > p_at
    ) f ON f.place = p.place
$$;
