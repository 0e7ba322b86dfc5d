-- Give a task that ended badly a new life, and all that was cancelled because of it: they move from `ended` back to
-- `work`. All that comes back does so here, or nothing does.
--
-- p_payload, p_bytes, p_hash: another payload (JSON), its size, and the hash of the request it makes.
-- Answers the task as `whole` has it.
-- Locks: floors (shared), links (so nothing spreads meanwhile), task rows, keys in order, locks, dag rows by id.
CREATE OR REPLACE FUNCTION dibs.revive(
    p_now bigint, p_id text, p_payload text, p_bytes integer, p_hash text, p_delay_s float8, p_keep_steps boolean,
    OUT at bigint, OUT whole text
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
DECLARE
    task record;
    stopper record;
    followers bigint[] := '{}';
    got bigint[];
    coming bigint[];
    held bigint[];              -- those that have to be approved in this life too
    later bigint[];
    reopened text[];
    dag record;
    events text[] := '{}';
BEGIN
    PERFORM dibs.hold_floors();
    PERFORM dibs.hold_links();
    SELECT s.n, s.key, s.body_hash INTO task FROM dibs.specs s WHERE s.id = p_id;
    IF NOT FOUND THEN
        PERFORM dibs.refuse('no_task', json_build_array(p_id));
    END IF;
    -- Somebody may add another that is cancelled because of it, until all of them are locked.
    LOOP
        PERFORM dibs.lock_tasks(task.n || followers);
        SELECT coalesce(array_agg(e.n ORDER BY e.n), '{}') INTO got
        FROM dibs.ended e WHERE e.cause = p_id AND e.status = 'cancelled'
            -- Who judged an earlier life has nothing to do in this one.
            AND NOT EXISTS (SELECT 1 FROM dibs.edges x WHERE x.parent = e.n AND x.kind = 'judge');
        EXIT WHEN got = followers;
        followers := got;
    END LOOP;
    at := coalesce(p_now, dibs.micros());
    SELECT coalesce(w.status, e.status) AS status INTO stopper
    FROM (SELECT task.n) t LEFT JOIN dibs.work w ON w.n = t.n LEFT JOIN dibs.ended e ON e.n = t.n;
    IF stopper.status NOT IN ('dead_lettered', 'cancelled') THEN
        PERFORM dibs.refuse('illegal', json_build_array(stopper.status, 'retry', p_id));
    END IF;
    SELECT s.id, e.status INTO stopper
    FROM dibs.edges x JOIN dibs.ended e ON e.n = x.parent JOIN dibs.specs s ON s.n = x.parent
    WHERE x.child = task.n AND x.kind = 'after' AND x.resolved_at IS NULL AND e.status IN ('dead_lettered', 'cancelled')
    ORDER BY x.id LIMIT 1;
    IF FOUND THEN
        PERFORM dibs.refuse('waits_for', json_build_array(p_id, stopper.id, stopper.status));
    END IF;
    coming := task.n || dibs.who_comes_back(task.n, followers, at);

    IF p_payload IS NOT NULL THEN
        UPDATE dibs.specs s SET spec = dibs.spec_with(s.spec, 'payload', p_payload) WHERE s.n = task.n;
        IF p_hash IS NOT NULL AND task.key IS NOT NULL THEN
            -- Another payload is another request; a key made of the content follows it.
            UPDATE dibs.specs s SET
                body_hash = p_hash,
                key = CASE WHEN s.key = s.body_hash THEN p_hash ELSE s.key END,
                spec = CASE
                    WHEN s.key = s.body_hash THEN dibs.spec_with(s.spec, 'key', to_json(p_hash)::text) ELSE s.spec
                END
            WHERE s.n = task.n;
        END IF;
    END IF;
    PERFORM dibs.take_keys_again(coming);
    IF NOT p_keep_steps THEN
        DELETE FROM dibs.journal j WHERE j.n = task.n AND j.kind IN ('step', 'spawn', 'made');
        UPDATE dibs.questions q SET name = NULL WHERE q.n = task.n;
    END IF;

    PERFORM dibs.forget_escalations(coming);
    -- Forget how they ended; keep their history, fence, and the time since when they age.
    PERFORM dibs.write_cancelled_attempt(e.n, at)
    FROM dibs.ended e WHERE e.n = ANY (coming) AND e.status = 'cancelled' AND e.due_at IS NOT NULL;
    WITH back AS (
        DELETE FROM dibs.ended e WHERE e.n = ANY (coming) RETURNING e.*
    )
    INSERT INTO dibs.waiting (
        n, rank, priority, boost, fence, updated_at, ready_at, claimed_at, started_at, lease_s, lane, bytes, open, deps,
        weight, ties, solo, status, model, timeout_s, renewed_at, run_after, deadline, overdue, progress, cost_usd,
        tokens_in, tokens_out, turns, note, usage, coalesce_key, gathers_until
    )
    SELECT
        b.n, b.rank, b.priority, b.boost, b.fence, at, b.ready_at, b.claimed_at, b.started_at, b.lease_s, b.lane,
        CASE WHEN b.n = task.n AND p_bytes IS NOT NULL THEN p_bytes ELSE b.bytes END, b.open, b.deps, b.weight, b.ties,
        s.max_attempts = 1 OR dibs.is_suspect(b.n), 'pending', b.model, b.timeout_s, b.renewed_at,
        CASE
            WHEN b.n = task.n AND p_delay_s > 0 THEN at + round(p_delay_s * 1000000)::bigint
            ELSE b.run_after
        END,
        b.deadline, b.overdue, b.progress, b.cost_usd, b.tokens_in, b.tokens_out, b.turns, b.note, b.usage,
        CASE WHEN b.ties & 16 > 0 THEN s.spec::json->>'coalesce_key' END,
        CASE
            WHEN b.ties & 16 > 0
            THEN (extract(epoch FROM (s.spec::json->>'gathers_until')::timestamptz) * 1000000)::bigint
        END
    FROM back b JOIN dibs.specs s ON s.n = b.n;
    PERFORM dibs.use_lane(l.lane)
    FROM (SELECT DISTINCT w.lane FROM dibs.work w WHERE w.n = ANY (coming) ORDER BY w.lane) l;
    held := ARRAY(
        SELECT s.n FROM dibs.specs s WHERE s.n = ANY (coming) AND (s.spec::json->>'approval')::boolean
    );
    IF cardinality(held) > 0 THEN
        events := dibs.hold_for_approval(held, at);
    END IF;
    later := ARRAY(SELECT c.n FROM unnest(coming) WITH ORDINALITY AS c (n, place) WHERE NOT c.n = ANY (held) ORDER BY c.place);
    IF p_delay_s <= 0 AND later[1] = task.n AND EXISTS (SELECT 1 FROM dibs.work w WHERE w.n = task.n AND w.open = 0) THEN
        -- Asked for now: an older run_after no longer counts.
        events := events || dibs.make_ready(ARRAY[task.n], at);
        later := later[2 : ];
    END IF;
    IF cardinality(later) > 0 THEN
        events := events || dibs.settle_down(later, at);
    END IF;

    PERFORM dibs.free_locks(coming, at);

    SELECT array_agg(DISTINCT s.dag) INTO reopened FROM dibs.specs s WHERE s.n = ANY (coming) AND s.dag IS NOT NULL;
    FOR dag IN SELECT d.id, d.status FROM dibs.dags d WHERE d.id = ANY (reopened) ORDER BY d.id FOR NO KEY UPDATE LOOP
        UPDATE dibs.dags d SET closing = false, requested = false, cause = NULL, cancel_reason = NULL,
            started = d.started OR d.status IN ('completed', 'failed', 'cancelled')
        WHERE d.id = dag.id;
        IF dag.status IN ('completed', 'failed', 'cancelled') THEN
            events := events || dibs.move_dag(dag.id, 'running', at);
        END IF;
    END LOOP;
    PERFORM dibs.publish(events || dibs.follow(reopened, at), at);
    whole := dibs.whole(ARRAY[task.n]);
END $$;

-- Whether the last settlement left a task to be handed out alone: its lease had run out before its start was confirmed,
-- so that no attempt was counted. Such a task may be cancelled before it is handed out again.
CREATE OR REPLACE FUNCTION dibs.is_suspect(p_n bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN coalesce((
        SELECT a.outcome = 'expired' AND a.number = 0 FROM dibs.attempts a
        WHERE a.n = p_n AND a.outcome NOT IN ('cancelled', 'suspended') ORDER BY a.fence DESC LIMIT 1
    ), false);
END $$;

-- Those that were cancelled because of a task and come back with it. The others need a task to succeed that ended badly
-- and stays: that becomes their cause. In the order of the tasks, again and again until nothing changes.
CREATE OR REPLACE FUNCTION dibs.who_comes_back(p_n bigint, p_followers bigint[], p_at bigint) RETURNS bigint[]
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
    children bigint[];
    parents bigint[];
    origins text[];
    staying bigint[] := '{}';
    causes text[] := '{}';
    handled bigint;
    settled boolean;
BEGIN
    SELECT array_agg(x.child ORDER BY x.child, x.id), array_agg(x.parent ORDER BY x.child, x.id),
        array_agg(coalesce(e.cause, s.id) ORDER BY x.child, x.id)
    INTO children, parents, origins
    FROM dibs.edges x JOIN dibs.ended e ON e.n = x.parent JOIN dibs.specs s ON s.n = x.parent
    WHERE x.child = ANY (p_followers) AND x.kind = 'after' AND x.resolved_at IS NULL
        AND e.status IN ('dead_lettered', 'cancelled') AND x.parent <> p_n;
    IF children IS NULL OR parents <@ p_followers THEN
        RETURN p_followers;
    END IF;
    LOOP
        settled := true;
        handled := NULL;
        FOR i IN 1 .. cardinality(children) LOOP
            CONTINUE WHEN children[i] = handled OR children[i] = ANY (staying);
            IF NOT parents[i] = ANY (p_followers) THEN
                causes := causes || origins[i];
            ELSIF parents[i] = ANY (staying) THEN
                causes := causes || causes[array_position(staying, parents[i])];
            ELSE
                CONTINUE;
            END IF;
            staying := staying || children[i];
            handled := children[i];
            settled := false;
        END LOOP;
        EXIT WHEN settled;
    END LOOP;
    UPDATE dibs.ended e SET cause = c.cause, updated_at = p_at
    FROM unnest(staying, causes) AS c (n, cause) WHERE e.n = c.n;
    RETURN ARRAY(SELECT f.n FROM unnest(p_followers) WITH ORDINALITY AS f (n, place)
        WHERE NOT f.n = ANY (staying) ORDER BY f.place);
END $$;

-- Tasks that come back need their keys, and their dags theirs. Whoever has one by now keeps it.
CREATE OR REPLACE FUNCTION dibs.take_keys_again(p_ns bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    lost record;
BEGIN
    INSERT INTO dibs.keys (project, key, n)
    SELECT DISTINCT ON (s.project, s.key) s.project, s.key, s.n
    FROM unnest(p_ns) WITH ORDINALITY AS c (n, place) JOIN dibs.specs s ON s.n = c.n WHERE s.key IS NOT NULL
    ORDER BY s.project, s.key, c.place
    ON CONFLICT (project, key) DO NOTHING;
    SELECT s.id, o.id AS owner, k.n INTO lost
    FROM unnest(p_ns) WITH ORDINALITY AS c (n, place) JOIN dibs.specs s ON s.n = c.n
    LEFT JOIN dibs.keys k ON k.project = s.project AND k.key = s.key
    LEFT JOIN dibs.specs o ON o.n = k.n
    WHERE s.key IS NOT NULL AND k.n IS DISTINCT FROM s.n
    ORDER BY c.place LIMIT 1;
    IF FOUND THEN
        IF lost.n IS NULL THEN
            PERFORM dibs.look_again();
        END IF;
        PERFORM dibs.refuse('task_key_taken', json_build_array(lost.id, lost.owner));
    END IF;
    SELECT d.id, o.id AS owner INTO lost
    FROM unnest(p_ns) WITH ORDINALITY AS c (n, place) JOIN dibs.specs s ON s.n = c.n JOIN dibs.dags d ON d.id = s.dag
    JOIN dibs.dags o ON o.project = d.project AND o.key = d.key AND o.key IS NOT NULL AND o.id <> d.id
        AND o.status NOT IN ('cancelled', 'failed')
    ORDER BY c.place LIMIT 1;
    IF FOUND THEN
        PERFORM dibs.refuse('dag_key_taken', json_build_array(lost.id, lost.owner));
    END IF;
END $$;
