-- What follows when tasks end badly: dependents and children are cancelled, dags fail, in bounded steps.
--
-- A bad end only marks (`ended.marked`, `dags.closing`); `spread` applies what follows in transactions of its own, so
-- that a crash between two steps loses nothing. What has nothing below it (`ties` = 0) is never marked.

-- Cancel tasks of `work`, locked by the caller: each with its reason, text, cause, whether it was by request, and
-- whether consequences are still to come. Answers in the order given: events, ids, and the dags to follow.
CREATE OR REPLACE FUNCTION dibs.cancel_tasks(
    p_at bigint, p_ns bigint[], p_reasons text[], p_texts text[], p_causes text[], p_requested boolean[],
    p_marked boolean[],
    OUT events text[], OUT ids text[], OUT dags text[]
) LANGUAGE plpgsql AS $$
BEGIN
    WITH gone AS (
        DELETE FROM dibs.work w
        USING unnest(p_ns, p_reasons, p_texts, p_causes, p_requested, p_marked)
            WITH ORDINALITY AS c (n, why, text, cause, requested, marked, place)
        WHERE w.n = c.n
        RETURNING w.*, w.status IN ('claimed', 'running') AS held,
            c.why, c.text, c.cause, c.requested, c.marked, c.place
    ), made AS (
        DELETE FROM dibs.submitted u USING gone g
        WHERE g.status IN ('validating', 'waiting') AND u.n = ANY (ARRAY[g.n]) RETURNING u.*
    ), kept AS (
        INSERT INTO dibs.ended (
            n, ended_at, updated_at, fence, ready_at, claimed_at, started_at, renewed_at, rank, priority, boost, lane,
            bytes, open, deps, attempts, crashes, releases, weight, ties, overdue, poison_pill, output_sanitized,
            requested, marked, status, agent, model, output, decision, timeout_s, run_after, deadline, due_at, lease_s, lease_expires_at,
            progress, exit_code, cost_usd, tokens_in, tokens_out, turns, note, usage, reason, error, cancel_reason,
            cause
        )
        SELECT
            g.n, p_at, p_at, g.fence, g.ready_at, g.claimed_at, g.started_at, g.renewed_at, g.rank, g.priority, g.boost,
            g.lane, g.bytes, g.open, g.deps, g.attempts, g.crashes, g.releases, g.weight, g.ties, g.overdue,
            g.poison_pill, coalesce(u.output_sanitized, false), g.requested, g.marked, 'cancelled',
            CASE WHEN g.held THEN g.agent END, g.model, u.output, u.decision, g.timeout_s,
            -- Its attempt is written when its agent settles, or when the lease is over.
            g.run_after, g.deadline, CASE WHEN g.held THEN g.lease_expires_at END, g.lease_s,
            CASE WHEN g.held THEN g.lease_expires_at END,
            g.progress, g.exit_code, g.cost_usd, g.tokens_in, g.tokens_out, g.turns, g.note, g.usage, g.why, g.error,
            g.text, g.cause
        FROM gone g LEFT JOIN made u ON u.n = g.n
    ), freed AS (
        DELETE FROM dibs.keys k USING gone g, dibs.specs s
        WHERE s.n = g.n AND s.key IS NOT NULL AND k.project = s.project AND k.key = s.key AND k.n = g.n
    ), closed AS (
        UPDATE dibs.questions q SET status = 'closed' FROM gone g
        WHERE g.status = 'waiting' AND q.n = ANY (ARRAY[g.n]) AND q.status = 'open'
    )
    SELECT
        array_agg(
            dibs.event('task.cancelled', p_at, s.id, s.dag, CASE WHEN g.held THEN g.agent END, g.why) ORDER BY g.place
        ),
        array_agg(s.id ORDER BY g.place), array_agg(DISTINCT s.dag) FILTER (WHERE s.dag IS NOT NULL)
    INTO events, ids, dags
    FROM gone g JOIN dibs.specs s ON s.n = g.n;
    events := coalesce(events, '{}');
    ids := coalesce(ids, '{}');
    dags := coalesce(dags, '{}');
END $$;

-- Cancel a task or a dag by request; a virtual dag is its task. Marks only: `spread` goes on.
-- Answers the ids that this ended, and whether something is left to spread for the cause named.
-- Locks: floors (shared), the task's row, locks, then its dag's; or the dag's row.
CREATE OR REPLACE FUNCTION dibs.cancel(
    p_now bigint, p_target text, p_reason text, OUT ended text[], OUT cause text, OUT more boolean
) LANGUAGE plpgsql AS $$
DECLARE
    at bigint;
    number bigint;
    tied boolean;
    live boolean;
    dag dibs.dags%ROWTYPE;
    stem text := CASE WHEN left(p_target, 4) = 'dag_' THEN substr(p_target, 5) ELSE p_target END;
    done record;
BEGIN
    ended := '{}';
    cause := p_target;
    PERFORM dibs.hold_floors();
    SELECT s.n INTO number FROM dibs.specs s WHERE s.id = p_target;
    IF NOT FOUND THEN
        SELECT * INTO dag FROM dibs.dags d WHERE d.id = p_target FOR NO KEY UPDATE;
        IF FOUND THEN
            at := coalesce(p_now, dibs.micros());
            live := EXISTS (SELECT 1 FROM dibs.specs s JOIN dibs.work w ON w.n = s.n WHERE s.dag = p_target);
            IF live OR dag.status NOT IN ('completed', 'failed', 'cancelled') THEN
                UPDATE dibs.dags d SET closing = live, cause = NULL, requested = true, cancel_reason = p_reason
                WHERE d.id = p_target;
                PERFORM dibs.publish(dibs.move_dag(p_target, 'cancelled', at), at);
            END IF;
            more := dibs.anything_to_spread(ARRAY[p_target]);
            RETURN;
        END IF;
        SELECT s.n, s.id INTO number, cause FROM dibs.specs s
        WHERE s.id IN ('task_' || stem, stem) AND s.dag IS NULL AND dibs.dag_of(s.id) = p_target;
        IF NOT FOUND THEN
            PERFORM dibs.refuse('no_task_or_dag', json_build_array(p_target));
        END IF;
    END IF;
    SELECT w.ties > 0 INTO tied FROM dibs.work w WHERE w.n = number FOR UPDATE;
    IF NOT FOUND THEN
        more := dibs.anything_to_spread(ARRAY[cause]);
        RETURN;
    END IF;
    at := coalesce(p_now, dibs.micros());
    done := dibs.cancel_tasks(
        at, ARRAY[number], ARRAY['cancelled'], ARRAY[p_reason], ARRAY[NULL::text], ARRAY[true], ARRAY[tied]
    );
    ended := done.ids;
    more := tied;
    PERFORM dibs.free_locks(ARRAY[number], at);
    PERFORM dibs.publish(done.events || dibs.follow(done.dags, at), at);
END $$;

-- Whether the trouble that ended a task (its origin: the task where it began) is one of these: a task's, or a dag's, or
-- that of a virtual dag's task. Of NULL everything is.
CREATE OR REPLACE FUNCTION dibs.began_at(p_origin text, p_causes text[]) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT p_causes IS NULL OR p_origin = ANY (p_causes) OR dibs.dag_of(p_origin) = ANY (p_causes)
        OR (SELECT s.dag FROM dibs.specs s WHERE s.id = p_origin) = ANY (p_causes)
$$;

CREATE OR REPLACE FUNCTION dibs.anything_to_spread(p_causes text[]) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT 1 FROM dibs.dags d
        WHERE d.closing AND (p_causes IS NULL OR d.id = ANY (p_causes) OR d.cause = ANY (p_causes))
    ) OR EXISTS (
        SELECT 1 FROM dibs.ended e JOIN dibs.specs s ON s.n = e.n
        WHERE e.marked AND dibs.began_at(coalesce(e.cause, s.id), p_causes)
    )
$$;

-- Whether a dag with a dead letter fails now: as rules.graph.fails_now.
CREATE OR REPLACE FUNCTION dibs.fails_now(p_dag text, p_policy text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
    bound text := split_part(p_policy, ':', 2);
    dead bigint;
    total bigint;
BEGIN
    IF p_policy = 'fail_fast' THEN
        RETURN true;
    ELSIF bound = '' THEN
        RETURN false;
    END IF;
    SELECT count(*), count(*) FILTER (WHERE e.status = 'dead_lettered') INTO total, dead
    FROM dibs.specs s LEFT JOIN dibs.ended e ON e.n = s.n WHERE s.dag = p_dag;
    RETURN CASE
        WHEN right(bound, 1) = '%' THEN dead * 100 > rtrim(bound, '%')::bigint * total
        ELSE dead > bound::bigint
    END;
END $$;

-- What is left to cancel of a closing dag, in order. Spared, if it failed: what has no open `after` edge, and something
-- that it runs after whatever the end.
CREATE OR REPLACE FUNCTION dibs.left_in_dag(p_dag text, p_all boolean, p_limit integer) RETURNS bigint[]
LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(f.n ORDER BY f.n), '{}') FROM (
        SELECT w.n FROM dibs.specs s JOIN dibs.work w ON w.n = s.n
        WHERE s.dag = p_dag AND (
            p_all
            OR NOT EXISTS (SELECT 1 FROM dibs.edges e WHERE e.child = w.n AND e.kind NOT IN ('after', 'judge'))
            OR EXISTS (SELECT 1 FROM dibs.edges e WHERE e.child = w.n AND e.kind = 'after' AND e.resolved_at IS NULL)
        )
        ORDER BY w.n LIMIT p_limit
    ) f
$$;

-- One step of applying consequences, for what began at one of p_causes (NULL: all). Ends at most p_limit tasks.
-- Answers the ids it ended, in order, and whether there is more to do.
--
-- A step is one of: what a dead letter does to its own dependents and, if it fails its dag, to the dag, whose tasks are
-- left to the next step; or what is left of one closing dag, and what follows from that and from marked tasks.
-- Locks: floors (shared), links, task rows by number, dag rows. Those of a dag's tasks must be locked before the dag's:
-- that is why a dag that fails is only closed in the step after.
CREATE OR REPLACE FUNCTION dibs.spread(
    p_now bigint, p_limit integer, p_causes text[], OUT ended text[], OUT more boolean
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
-- A long chain is walked link by link; planning each time would take longer than walking.
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    at bigint;
    shut dibs.dags%ROWTYPE;
    failing text;
    roots bigint[];
    swept bigint[] := '{}';
    reached bigint[];
    live bigint[];
    -- The queue: first what has ended already, then what is to be cancelled, each after what cancels it.
    q_ns bigint[];
    q_origins text[];
    q_requested boolean[];
    q_bring boolean[];          -- takes its children along: it was cancelled
    q_reasons text[];
    q_from integer[];
    first integer;              -- how many have ended already
    low integer := 1;
    high integer;
    next record;
    unfinished bigint[];
    edges bigint[];
    in_dags text[];
    events text[] := '{}';
    done record;
BEGIN
    ended := '{}';
    more := dibs.anything_to_spread(p_causes);
    IF NOT more THEN
        RETURN;
    END IF;
    PERFORM dibs.hold_floors();
    -- Spreads take turns, with each other and with those who take bad ends back or add edges.
    PERFORM dibs.hold_links();

    -- What this step is about.
    SELECT * INTO shut FROM dibs.dags d
    WHERE d.closing AND (p_causes IS NULL OR d.id = ANY (p_causes) OR d.cause = ANY (p_causes)) ORDER BY d.id LIMIT 1;
    SELECT array_agg(f.n ORDER BY f.n) INTO roots FROM (
        SELECT e.n FROM dibs.ended e JOIN dibs.specs s ON s.n = e.n
        WHERE e.marked AND (shut.id IS NULL OR e.status = 'cancelled')
            AND dibs.began_at(coalesce(e.cause, s.id), p_causes)
        ORDER BY e.n LIMIT p_limit
    ) f;
    roots := coalesce(roots, '{}');
    IF shut.id IS NULL THEN
        SELECT e.n, d.id INTO next FROM unnest(roots) AS r (n)
        JOIN dibs.ended e ON e.n = r.n AND e.status = 'dead_lettered'
        JOIN dibs.specs s ON s.n = e.n
        JOIN dibs.dags d ON d.id = s.dag AND d.status NOT IN ('failed', 'cancelled')
        WHERE dibs.fails_now(d.id, d.on_failure) OR dibs.fails_dag(s.spec) ORDER BY e.n LIMIT 1;
        IF FOUND THEN
            roots := ARRAY[next.n];
            failing := next.id;
        END IF;
    ELSE
        swept := dibs.left_in_dag(shut.id, shut.requested, p_limit);
    END IF;

    -- Everything that may change is locked, in one order.
    WITH RECURSIVE reach (n) AS (
        SELECT unnest(roots || swept)
        UNION
        SELECT c.n FROM reach r CROSS JOIN LATERAL (
            SELECT e.child AS n FROM dibs.edges e WHERE e.parent = r.n AND e.kind = 'after' AND e.resolved_at IS NULL
            UNION ALL
            SELECT k.n FROM dibs.specs s JOIN dibs.specs k ON k.parent = s.id WHERE s.n = r.n
                AND NOT EXISTS (SELECT 1 FROM dibs.ended d WHERE d.n = r.n AND d.status = 'dead_lettered')
        ) c JOIN dibs.work w ON w.n = c.n
        WHERE failing IS NULL OR r.n = ANY (roots)
    )
    SELECT array_agg(f.n) INTO reached FROM (
        SELECT r.n FROM reach r LIMIT cardinality(roots) + greatest(cardinality(swept), p_limit)
    ) f;
    PERFORM dibs.lock_tasks(ARRAY(
        SELECT unnest(reached)
        UNION
        SELECT e.child FROM unnest(reached) AS r (n)
        JOIN dibs.edges e ON e.parent = r.n AND e.kind <> 'after' AND e.resolved_at IS NULL
    ));
    SELECT array_agg(DISTINCT s.dag) INTO in_dags FROM dibs.specs s WHERE s.n = ANY (reached) AND s.dag IS NOT NULL;
    IF EXISTS (SELECT 1 FROM dibs.needs d WHERE d.n = ANY (reached)) THEN
        PERFORM dibs.hold_locks();
    END IF;
    PERFORM 1 FROM dibs.dags d WHERE d.id = ANY (in_dags || shut.id) ORDER BY d.id FOR NO KEY UPDATE;
    at := coalesce(p_now, dibs.micros());

    -- What changed until it was locked.
    SELECT coalesce(array_agg(w.n), '{}') INTO live FROM dibs.work w WHERE w.n = ANY (reached);
    IF shut.id IS NOT NULL THEN
        SELECT * INTO shut FROM dibs.dags d WHERE d.id = shut.id AND d.closing;
        SELECT coalesce(array_agg(l.n ORDER BY l.n), '{}') INTO swept
        FROM unnest(live) AS l (n) WHERE l.n = ANY (swept) AND shut.id IS NOT NULL;
    END IF;
    SELECT
        coalesce(array_agg(e.n ORDER BY e.n), '{}'), coalesce(array_agg(coalesce(e.cause, s.id) ORDER BY e.n), '{}'),
        coalesce(array_agg(e.requested ORDER BY e.n), '{}'),
        coalesce(array_agg(e.status = 'cancelled' ORDER BY e.n), '{}')
    INTO q_ns, q_origins, q_requested, q_bring
    FROM dibs.ended e JOIN dibs.specs s ON s.n = e.n WHERE e.n = ANY (roots) AND e.marked;
    roots := q_ns;
    first := cardinality(roots);
    high := first + cardinality(swept);
    q_reasons := array_fill(NULL::text, ARRAY[first])
        || array_fill(CASE WHEN shut.requested THEN 'cancelled' ELSE 'dag_failed' END, ARRAY[cardinality(swept)]);
    q_from := array_fill(0, ARRAY[high]);
    q_ns := q_ns || swept;
    q_origins := q_origins || coalesce(
        (SELECT array_agg(CASE WHEN shut.requested THEN s.id ELSE shut.cause END ORDER BY s.n)
            FROM dibs.specs s WHERE s.n = ANY (swept)), '{}'
    );
    q_requested := q_requested || array_fill(coalesce(shut.requested, false), ARRAY[cardinality(swept)]);
    q_bring := q_bring || array_fill(true, ARRAY[cardinality(swept)]);

    -- Who is cancelled by whom, one generation after the other: dependents before children, in insertion order.
    WHILE low <= high AND high - first < p_limit LOOP
        SELECT
            array_agg(c.n ORDER BY c.place, c.kind, c.n) AS ns,
            array_agg(c.place ORDER BY c.place, c.kind, c.n) AS places,
            array_agg(q_origins[c.place] ORDER BY c.place, c.kind, c.n) AS origins,
            array_agg(q_requested[c.place] ORDER BY c.place, c.kind, c.n) AS requested,
            array_agg(
                CASE c.kind WHEN 0 THEN 'dependency_failed' ELSE 'parent_cancelled' END ORDER BY c.place, c.kind, c.n
            ) AS reasons
        INTO next
        FROM (
            SELECT * FROM (
                SELECT DISTINCT ON (c.n) c.n, c.kind, p.place::integer + low - 1 AS place
                FROM unnest(q_ns[low : high], q_bring[low : high]) WITH ORDINALITY AS p (n, bring, place)
                CROSS JOIN LATERAL (
                    SELECT e.child AS n, 0 AS kind FROM dibs.edges e
                    WHERE e.parent = p.n AND e.kind = 'after' AND e.resolved_at IS NULL
                    UNION ALL
                    SELECT k.n, 1 FROM dibs.specs s JOIN dibs.specs k ON k.parent = s.id WHERE p.bring AND s.n = p.n
                ) c
                WHERE c.n = ANY (live) AND NOT c.n = ANY (q_ns)
                ORDER BY c.n, p.place, c.kind
            ) c
            ORDER BY c.place, c.kind, c.n LIMIT p_limit - (high - first)
        ) c;
        low := high + 1;
        IF next.ns IS NOT NULL THEN
            q_ns := q_ns || next.ns;
            q_origins := q_origins || next.origins;
            q_requested := q_requested || next.requested;
            q_reasons := q_reasons || next.reasons;
            q_from := q_from || next.places;
            q_bring := q_bring || array_fill(true, ARRAY[cardinality(next.ns)]);
            high := cardinality(q_ns);
        END IF;
        EXIT WHEN failing IS NOT NULL;
    END LOOP;

    -- A child whose last edge resolves before its parent's turn comes is ready for that moment, as people may see.
    IF 'parent_cancelled' = ANY (q_reasons) THEN
        SELECT array_agg(f.edge) INTO edges FROM (
            SELECT e.id AS edge, w.open, count(*) OVER (PARTITION BY w.n) AS resolved
            FROM unnest(q_ns, q_reasons, q_from) AS q (n, reason, place)
            JOIN dibs.work w ON w.n = q.n AND w.status = 'pending'
            JOIN dibs.edges e ON e.child = q.n AND e.kind <> 'after' AND e.resolved_at IS NULL
            WHERE q.reason = 'parent_cancelled' AND array_position(q_ns, e.parent) <= q.place
        ) f WHERE f.open = f.resolved;
        events := dibs.resolve(edges, at);
    END IF;

    -- Those stay marked that leave something for the next step.
    SELECT coalesce(array_agg(q.n), '{}') INTO unfinished FROM unnest(q_ns, q_bring) AS q (n, bring)
    WHERE EXISTS (
        SELECT 1 FROM dibs.edges e JOIN dibs.work w ON w.n = e.child
        WHERE e.parent = q.n AND e.kind = 'after' AND e.resolved_at IS NULL AND NOT e.child = ANY (q_ns)
    ) OR q.bring AND EXISTS (
        SELECT 1 FROM dibs.specs s JOIN dibs.specs k ON k.parent = s.id JOIN dibs.work w ON w.n = k.n
        WHERE s.n = q.n AND NOT k.n = ANY (q_ns)
    );
    SELECT d.* INTO done FROM (
        SELECT
            array_agg(q.n ORDER BY q.place) AS ns, array_agg(q.reason ORDER BY q.place) AS reasons,
            array_agg(CASE WHEN q.reason = 'cancelled' THEN shut.cancel_reason END ORDER BY q.place) AS texts,
            array_agg(CASE WHEN q.reason <> 'cancelled' THEN q.origin END ORDER BY q.place) AS causes,
            array_agg(q.requested ORDER BY q.place) AS requested,
            array_agg(q.n = ANY (unfinished) ORDER BY q.place) AS marked
        FROM unnest(q_ns, q_origins, q_requested, q_reasons)
            WITH ORDINALITY AS q (n, origin, requested, reason, place)
        WHERE q.place > first
    ) q CROSS JOIN LATERAL dibs.cancel_tasks(at, q.ns, q.reasons, q.texts, q.causes, q.requested, q.marked) d;
    ended := done.ids;
    SELECT array_agg(e.id ORDER BY e.id) INTO edges FROM unnest(q_ns) AS q (n)
    JOIN dibs.edges e ON e.parent = q.n AND e.kind <> 'after' AND e.resolved_at IS NULL;
    events := events || done.events || dibs.resolve(edges, at);
    UPDATE dibs.ended e SET marked = false WHERE e.n = ANY (roots) AND NOT e.n = ANY (unfinished);

    PERFORM dibs.free_locks(reached, at);

    -- Dags come last.
    IF failing IS NOT NULL AND first > 0 AND NOT roots && unfinished THEN
        UPDATE dibs.dags d SET
            closing = EXISTS (SELECT 1 FROM dibs.specs s JOIN dibs.work w ON w.n = s.n WHERE s.dag = failing),
            cause = q_origins[1], requested = false, cancel_reason = NULL
        WHERE d.id = failing AND d.status NOT IN ('failed', 'cancelled');
        IF FOUND THEN
            events := events || dibs.move_dag(failing, 'failed', at);
        END IF;
    ELSIF shut.id IS NOT NULL AND cardinality(dibs.left_in_dag(shut.id, shut.requested, 1)) = 0 THEN
        UPDATE dibs.dags d SET closing = false WHERE d.id = shut.id;
    END IF;
    PERFORM dibs.publish(events || dibs.follow(done.dags, at), at);
    more := dibs.anything_to_spread(p_causes);
END $$;
