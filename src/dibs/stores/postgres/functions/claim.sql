-- Hand out the best ready tasks of some lanes, best first. Claims of a project take turns: no false empties, exact order.
--
-- p_lanes, p_models: the lanes that the agent may serve, in ascending order, and the model each would be served with (NULL:
-- none). p_reads: how many tasks to look at in each of them at first (NULL: p_limit); a guess, it decides nothing but
-- the time this takes.
-- p_changes_at: when time opens something that the caller knows as closed (NULL: never). p_trials: the lanes, among
-- p_lanes, whose breaker waits for a probe (NULL: none). p_watched: lanes that are closed until a claim of theirs ends.
-- p_offer: written down with the agent, if given. p_claim_id: remembered with what was claimed; it may have been used
-- before, in a call whose answer was lost. p_raise: raise floors too. p_ahead: if there is nothing, find out when there
-- may be, also where that takes long. p_most: how many tasks this agent may hold, at most (NULL: any number).
-- p_budgets: the project has some, as of the version of its lanes. p_types: the types of those lanes of whose type only
-- so many tasks may be held at once, or handed out in a time (NULL: of others; of none). p_spends: the agent has budgets of its own.
-- Answers one row. `state`: 'taken', 'none' (due_at: when time alone may change that, if it `looked`), 'stale' (lanes
-- changed: read them again; at p_changes_at, note it first), 'again' (what the claim id stands for: `whole`), 'full' (it
-- holds as many as it may), 'broke' (its own budget is used up). `heard`: when the agent was last written down as heard of, if an offer was given.
-- The arrays go together, best first. `whole`: those with a
-- history or dependencies, with all that belongs to them (JSON). `chosen`: the places in p_lanes they came from. `groups`:
-- to which group each belongs (NULL: each to its own).
-- Locks: claims of the project, floors (alone, if raising), task rows, locks, dag rows, the breaker of a probe.
CREATE OR REPLACE FUNCTION dibs.claim(
    p_now bigint, p_version bigint, p_project text, p_agent text, p_offer text,
    p_lanes integer[], p_models text[], p_reads integer[],
    p_limit integer, p_max_bytes bigint, p_lease_s float8, p_start boolean,
    p_claim_id text, p_raise boolean, p_ahead boolean, p_changes_at bigint, p_trials integer[], p_watched integer[],
    p_most integer,
    p_budgets boolean,
    p_types text[],
    p_spends boolean,
    OUT state text, OUT at bigint, OUT looked boolean, OUT due_at bigint, OUT ns bigint[], OUT fences bigint[],
    OUT specs text, OUT dags text[],
    OUT parents text[], OUT priorities float8[], OUT effectives float8[], OUT created bigint[], OUT ready bigint[],
    OUT models text[], OUT timeouts float8[], OUT whole text, OUT chosen integer[], OUT heard bigint,
    OUT groups integer[]
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_variable
DECLARE
    slack CONSTANT float8 := 0.001; -- more than what rounding does to a worth
    noted record;
    lows float8[];
    aged float8[];
    tids tid[];
    ranked bigint[];
    ranks float8[];
    sizes integer[];
    alone boolean[];
    reads integer[];
    more integer[];
    unread integer[];
    seen integer[];
    seen_rank float8[];
    seen_n bigint[];
    cut float8;
    opened record;
    place integer;
    total bigint;
    some_alone boolean;
    places integer[];
    body text;
    in_dags text[];
    strange bigint[];
    lease_until bigint;
    started bigint;
    raising boolean := false;
    littered boolean;
    most integer;               -- how many more the agent may hold
    wanted integer := p_limit;
    some_locking boolean;
    admitted record;
    parked bigint[] := '{}';
    missed boolean := false;
    rooms integer[];
    room integer[];
    spare integer := CASE WHEN p_spends THEN 100 ELSE 0 END;
    paying boolean := false;
BEGIN
    PERFORM pg_advisory_xact_lock('dibs.work'::regclass::oid::integer, hashtext(p_project));
    IF p_raise THEN
        raising := dibs.hold_floors_alone();
    END IF;
    at := coalesce(p_now, dibs.micros());
    IF (SELECT value::bigint FROM dibs.meta WHERE name = 'lanes') <> p_version OR at >= p_changes_at THEN
        state := 'stale';
        RETURN;
    END IF;
    IF p_offer IS NOT NULL THEN
        heard := dibs.hear_agent(p_project, p_agent, p_offer, at);
    END IF;
    SELECT dibs.whole_held(c.ns, c.fences, p_agent, at) INTO whole
    FROM dibs.claims c WHERE c.project = p_project AND c.claim_id = p_claim_id;
    IF FOUND THEN
        state := 'again';
        SELECT coalesce(g.whole, whole), g.groups INTO whole, groups
        FROM dibs.groups_again(p_project, p_claim_id, p_agent, at) g;
        RETURN;
    END IF;
    IF p_most IS NOT NULL THEN
        -- Nobody else can add to what it holds: claims of the project take turns.
        most := p_most - dibs.count_held(p_project, p_agent);
        p_limit := least(p_limit, most);
        IF p_limit <= 0 THEN
            state := 'full';
            RETURN;
        END IF;
    END IF;
    IF p_spends AND dibs.is_broke(p_project, p_agent) THEN
        state := 'broke';
        due_at := dibs.broke_until(p_project, p_agent);
        RETURN;
    END IF;

    -- Worth is rank, less how much older everything in its lane has become. Nothing in a lane is worth less than its floor,
    -- so a lane whose floor is above what was found elsewhere is not looked at.
    SELECT array_agg(l.low), array_agg(l.aged) INTO lows, aged
    FROM (
        SELECT l.low, l.boost * dibs.minutes(at) AS aged FROM dibs.lanes l WHERE l.id = ANY (p_lanes) ORDER BY l.id
    ) l;
    IF EXISTS (SELECT 1 FROM dibs.lows) THEN
        FOR noted IN SELECT o.lane, min(o.rank) AS low FROM dibs.lows o GROUP BY o.lane LOOP
            place := array_position(p_lanes, noted.lane);
            IF place IS NOT NULL THEN
                lows[place] := least(lows[place], noted.low);
            END IF;
        END LOOP;
    END IF;
    IF p_types IS NOT NULL THEN
        -- How many more of each type may be handed out. A lane without room is not looked at.
        rooms := dibs.rooms(p_project, p_types, at);
        FOREACH place IN ARRAY array_positions(rooms, 0) LOOP
            lows[place] := 'infinity';
        END LOOP;
    END IF;

    LOOP
        IF cardinality(p_lanes) = 1 AND rooms IS NULL THEN
            -- The common case: its head.
            SELECT
                array_agg(w.tid), array_agg(w.n), array_agg(w.rank), array_agg(1),
                sum(w.bytes), bool_or(w.solo), bool_or(w.ties >= 4)
            INTO tids, ranked, ranks, places, total, some_alone, some_locking
            FROM (
                SELECT w.ctid AS tid, w.n, w.rank, w.bytes, w.solo, w.ties FROM dibs.waiting w
                WHERE w.status = 'ready' AND w.parked_on IS NULL AND w.lane = p_lanes[1] AND w.rank >= lows[1]
                ORDER BY w.rank, w.n LIMIT wanted
            ) w;
        ELSIF wanted = 1 THEN
            -- The best of the heads. That of the most promising lane says which others can have a better one.
            SELECT h.rank - l.aged + slack INTO cut
            FROM (
                SELECT s.* FROM unnest(p_lanes, aged, lows) AS s (id, aged, low)
                WHERE s.low < 'infinity' ORDER BY s.low - s.aged LIMIT 1
            ) l
            CROSS JOIN LATERAL (
                SELECT w.rank FROM dibs.waiting w
                WHERE w.status = 'ready' AND w.parked_on IS NULL AND w.lane = l.id AND w.rank >= l.low
                ORDER BY w.rank, w.n LIMIT 1
            ) h;
            cut := coalesce(cut, 'infinity');
            SELECT ARRAY[h.tid], ARRAY[h.n], ARRAY[h.rank], ARRAY[s.place::integer], h.locking
            INTO tids, ranked, ranks, places, some_locking
            FROM unnest(p_lanes, aged, lows) WITH ORDINALITY AS s (id, aged, low, place)
            CROSS JOIN LATERAL (
                SELECT w.ctid AS tid, w.n, w.rank, w.ties >= 4 AS locking FROM dibs.waiting w
                WHERE w.status = 'ready' AND w.parked_on IS NULL AND w.lane = s.id AND w.rank >= s.low
                ORDER BY w.rank, w.n LIMIT 1
            ) h
            WHERE s.low < 'infinity' AND s.low - s.aged <= cut
            ORDER BY h.rank - s.aged, h.n LIMIT 1;
        ELSE
            -- First some of those lanes that gave any lately. Then more of each lane that can still have better ones than the
            -- worst of what was found.
            reads := coalesce(p_reads, array_fill(wanted, ARRAY[cardinality(p_lanes)]));
            unread := array_positions(reads, 0);
            IF rooms IS NOT NULL THEN
                -- Nobody needs more of a lane than its type has room for, beside what is parked, or passed over, at a time.
                room := ARRAY(SELECT r.room + spare FROM unnest(rooms) WITH ORDINALITY AS r (room, place) ORDER BY r.place);
                reads := ARRAY(
                    SELECT least(r.reads, r.room)
                    FROM unnest(reads, room) WITH ORDINALITY AS r (reads, room, place) ORDER BY r.place
                );
            END IF;
            seen_rank := lows;
            seen_n := array_fill(-1::bigint, ARRAY[cardinality(p_lanes)]);
            seen := reads;
            cut := 'infinity';
            LOOP
                -- (`total` and `some_alone` may count what better ones have displaced.)
                SELECT
                    array_agg(b.tid), array_agg(b.n), array_agg(b.rank), array_agg(b.place),
                    coalesce(total, 0) + sum(b.bytes), bool_or(b.solo), bool_or(b.locking)
                INTO tids, ranked, ranks, places, total, some_alone, some_locking
                FROM (
                    SELECT w.tid, w.n, w.rank, s.place, w.rank - s.aged AS worth, w.bytes, w.solo, w.locking
                    FROM unnest(p_lanes, aged, seen_rank, seen_n, reads)
                        WITH ORDINALITY AS s (lane, aged, rank, n, reads, place)
                    CROSS JOIN LATERAL (
                        SELECT w.ctid AS tid, w.n, w.rank, w.bytes, w.solo, w.ties >= 4 AS locking FROM dibs.waiting w
                        WHERE w.status = 'ready' AND w.parked_on IS NULL AND w.lane = s.lane
                            AND (w.rank, w.n) > (s.rank, s.n) AND w.rank <= s.aged + cut
                        ORDER BY w.rank, w.n LIMIT s.reads
                    ) w
                    WHERE s.reads > 0
                    UNION ALL
                    SELECT b.tid, b.n, b.rank, b.place, b.rank - aged[b.place], 0, some_alone, some_locking
                    FROM unnest(tids, ranked, ranks, places) AS b (tid, n, rank, place)
                    ORDER BY worth, n LIMIT wanted
                ) b;
                cut := coalesce(ranks[wanted] - aged[places[wanted]] + slack, 'infinity');
                more := array_fill(0, ARRAY[cardinality(p_lanes)]);
                -- A lane can still have better ones if all that was read of it is among the best: at most as many as stand
                -- behind its last one there, and likely its part of them. (What is best comes in order, so that the last of
                -- an array is the last of its lane.)
                FOR opened IN
                    SELECT o.*, count(*) OVER () AS number
                    FROM (
                        SELECT b.place, max(b.rank) AS rank, (array_agg(b.n))[count(*)] AS n, wanted - max(b.nth) AS behind
                        FROM unnest(places, ranks, ranked) WITH ORDINALITY AS b (place, rank, n, nth)
                        GROUP BY b.place HAVING count(*) = seen[b.place]
                    ) o
                    WHERE o.behind > 0
                LOOP
                    place := opened.place;
                    IF rooms IS NOT NULL THEN
                        room[place] := room[place] - reads[place];
                    END IF;
                    more[place] := least(
                        opened.behind, room[place], greatest(8, 4 + opened.behind / opened.number)
                    );
                    seen[place] := seen[place] + more[place];
                    seen_rank[place] := opened.rank;
                    seen_n[place] := opened.n;
                END LOOP;
                FOREACH place IN ARRAY unread LOOP
                    IF lows[place] < 'infinity' AND lows[place] - aged[place] <= cut THEN
                        more[place] := least(4 + wanted / 16, room[place]);
                        seen[place] := more[place];
                    END IF;
                END LOOP;
                unread := '{}';
                reads := more;
                EXIT WHEN 0 = ALL (reads);
            END LOOP;
        END IF;
        IF p_budgets AND ranked IS NOT NULL THEN
            paying := p_spends OR dibs.uses_budgets(
                p_project, ARRAY(SELECT DISTINCT p_lanes[u.place] FROM unnest(places) AS u (place))
            );
        END IF;
        IF wanted > 1 AND (
            some_alone OR some_locking OR paying OR total > p_max_bytes OR rooms IS NOT NULL OR p_trials IS NOT NULL
        ) THEN
            -- Not all of them may go together. A probe is handed out alone.
            SELECT
                array_agg(coalesce(w.bytes, 0) ORDER BY b.nth),
                array_agg(coalesce(w.solo OR p_lanes[b.place] = ANY (p_trials), false) ORDER BY b.nth)
            INTO sizes, alone
            FROM unnest(tids, ranked, places) WITH ORDINALITY AS b (tid, n, place, nth)
            LEFT JOIN dibs.waiting w ON w.ctid = b.tid AND w.n + 0 = b.n;
            some_alone := true = ANY (alone);
        END IF;
        EXIT WHEN ranked IS NULL OR (some_locking IS NOT TRUE AND NOT paying AND rooms IS NULL);
        -- Some need locks, use budgets, are of a type with slots, or bring others with them. What does not get locks or room
        -- in a budget is parked, what gets no slot left out, and more are looked at in its place.
        admitted := dibs.admit(
            p_project, ranked, sizes, alone, p_limit, p_max_bytes, at, paying, wanted, places, p_types, rooms,
            CASE WHEN p_spends THEN p_agent END, most, p_trials
        );
        parked := parked || admitted.parked;
        IF NOT admitted.again THEN
            SELECT array_agg(tids[c.place] ORDER BY c.nth), array_agg(ranked[c.place] ORDER BY c.nth),
                array_agg(ranks[c.place] ORDER BY c.nth), array_agg(places[c.place] ORDER BY c.nth)
            INTO tids, ranked, ranks, places
            FROM unnest(admitted.chosen) WITH ORDINALITY AS c (place, nth);
            missed := ranked IS NULL AND admitted.missed AND cardinality(admitted.parked) = 0;
            some_alone := false;
            total := 0;
            IF cardinality(admitted.members) > 0 THEN
                SELECT g.tids, g.ns, g.ranks, g.places, g.groups INTO tids, ranked, ranks, places, groups
                FROM dibs.join_groups(tids, ranked, ranks, places, admitted.members, admitted.leaders, at) g;
            END IF;
            EXIT;
        END IF;
        IF wanted < 100 OR cardinality(ranked) >= wanted THEN
            wanted := least(1000000, greatest(100, 4 * wanted));
        END IF;
        spare := 100;
        tids := NULL;
        ranked := NULL;
        ranks := NULL;
        places := NULL;
        total := NULL;
        some_alone := NULL;
        some_locking := NULL;
    END LOOP;
    IF cardinality(ranked) > p_limit AND groups IS NULL THEN
        ranked := ranked[1 : p_limit];
    END IF;

    IF ranked IS NULL THEN
        -- Somebody is just about to do something with those that there are: ask again.
        state := CASE WHEN missed THEN 'stale' ELSE 'none' END;
        littered := dibs.dead_rows() > 20000;
        looked := p_ahead OR NOT littered;
        IF looked THEN
            -- Of what was due a while ago the duties take care.
            due_at := dibs.next_due(p_lanes || p_watched, CASE WHEN littered THEN at - 5000000 ELSE 0 END);
            IF p_types IS NOT NULL THEN
                due_at := least(due_at, dibs.rates_open_at(p_project, p_types, at));
            END IF;
        END IF;
        IF cardinality(parked) > 0 THEN
            PERFORM dibs.hold_floors();
            PERFORM dibs.free_locks(parked, at);
        END IF;
        IF raising THEN
            PERFORM dibs.raise_floors(p_lanes);
        END IF;
        RETURN;
    END IF;

    -- What fits into one batch: so many bytes, and a solo task or a probe alone.
    IF total > p_max_bytes OR some_alone THEN
        total := sizes[1];
        FOR i IN 2 .. cardinality(ranked) LOOP
            total := total + sizes[i];
            IF total > p_max_bytes OR alone[i] OR alone[1] THEN
                ranked := ranked[1 : i - 1];
                EXIT;
            END IF;
        END LOOP;
    END IF;

    lease_until := at + round(p_lease_s * 1000000)::bigint;
    started := CASE WHEN p_start THEN at END;
    WITH taken AS (
        UPDATE dibs.work w SET
            status = CASE WHEN p_start THEN 'running' ELSE 'claimed' END,
            fence = w.fence + 1,
            agent = p_agent,
            model = CASE WHEN p_models IS NOT NULL THEN p_models[array_position(p_lanes, w.lane)] END,
            lease_s = p_lease_s,
            lease_expires_at = lease_until,
            claimed_at = at,
            started_at = started,
            renewed_at = NULL,
            confirmed = w.solo,
            progress = NULL,
            note = NULL,
            usage = NULL,
            retry_at = NULL,
            step_at = NULL,
            timeout_at = started + round(w.timeout_s * 1000000)::bigint,
            due_at = least(lease_until, started + round(w.timeout_s * 1000000)::bigint),
            updated_at = at
        FROM unnest(tids, ranked, ranks, places) WITH ORDINALITY AS c (tid, n, rank, place, nth)
        -- Somebody may have cancelled it since the last statement. (The plain number and status would tempt a planner to
        -- use their indexes.) What is not held is in `waiting`.
        WHERE w.ctid = c.tid AND w.n + 0 = c.n AND w.status || '' = 'ready'
            AND w.status NOT IN ('claimed', 'running')
        RETURNING w.n, w.fence, w.priority, w.ready_at, w.model, w.timeout_s, c.rank - aged[c.place] AS worth, c.nth, w.ties,
            w.spec_tid, w.fence > 1 OR w.deps > 0 OR w.run_after IS NOT NULL OR w.deadline IS NOT NULL AS strange
    )
    SELECT
        array_agg(t.n), array_agg(t.fence), '[' || string_agg(t.spec, ',') || ']', array_agg(t.dag), array_agg(t.parent),
        array_agg(t.priority), array_agg(t.worth), array_agg(t.created_at), array_agg(t.ready_at), array_agg(t.model),
        array_agg(t.timeout_s),
        string_agg(CASE WHEN t.dag IS NULL THEN '"' || t.id || '"' ELSE '["' || t.id || '","' || t.dag || '"]' END, ','),
        array_agg(t.dag) FILTER (WHERE t.ties & 2 > 0), array_agg(t.n) FILTER (WHERE t.strange)
    INTO ns, fences, specs, dags, parents, priorities, effectives, created, ready, models, timeouts, body, in_dags, strange
    FROM (
        SELECT
            t.*, coalesce(s.id, x.id) AS id, coalesce(s.spec, x.spec) AS spec, coalesce(s.dag, x.dag) AS dag,
            coalesce(s.parent, x.parent) AS parent, coalesce(s.created_at, x.created_at) AS created_at
        FROM (SELECT t.* FROM taken t ORDER BY t.nth) t
        -- What lies where the task says may be another's by now, or nothing.
        LEFT JOIN dibs.specs s ON s.ctid = t.spec_tid AND s.n + 0 = t.n
        LEFT JOIN dibs.specs x ON x.n = ANY (ARRAY[CASE WHEN s.n IS NULL THEN t.n END])
    ) t;
    IF ns IS NULL THEN
        -- All of them were taken away in this very moment. Ask again, with the next ones.
        state := 'stale';
        RETURN;
    END IF;

    state := 'taken';
    IF cardinality(p_lanes) > 1 THEN
        chosen := places[1 : cardinality(ranked)];
    END IF;
    INSERT INTO dibs.outbox (at, count, body) VALUES (
        at, cardinality(ns) * CASE WHEN p_start THEN 2 ELSE 1 END,
        '[[["task.claimed"' || CASE WHEN p_start THEN ',"task.started"' ELSE '' END || '],' || at || ','
            || to_json(p_agent) || ',null,[' || body || ']]]'
    );
    IF p_types IS NOT NULL THEN
        PERFORM dibs.take_tokens(p_project, ns, at);
    END IF;
    IF groups IS NOT NULL THEN
        -- Those that nobody took away meanwhile.
        SELECT array_agg(g.number ORDER BY t.place) INTO groups
        FROM unnest(ns) WITH ORDINALITY AS t (n, place) JOIN unnest(ranked, groups) AS g (n, number) ON g.n = t.n;
    END IF;
    INSERT INTO dibs.claims AS c (project, claim_id, at, ns, fences, groups)
    VALUES (p_project, p_claim_id, at, ns, fences, groups);
    IF some_locking THEN
        PERFORM dibs.take_locks(p_project, ns, fences, at);
    END IF;
    IF paying THEN
        PERFORM dibs.reserve(p_project, ns, fences, CASE WHEN p_spends THEN p_agent END);
    END IF;
    IF cardinality(parked) > 0 THEN
        -- What they would have taken is free for others.
        PERFORM dibs.hold_floors();
        PERFORM dibs.free_locks(parked, at);
    END IF;
    IF in_dags IS NOT NULL AND p_start THEN
        PERFORM dibs.publish(dibs.dags_started(in_dags, at), at);
    END IF;
    IF strange IS NOT NULL THEN
        whole := dibs.whole_held(strange, NULL, p_agent, at);
    END IF;
    IF p_lanes[places[1]] = ANY (p_trials) THEN
        PERFORM dibs.take_probe(ns[1], fences[1]);
    END IF;
    IF raising THEN
        PERFORM dibs.raise_floors(p_lanes);
    END IF;
END $$;

-- When one of the tasks of these lanes, scheduled, retrying or held, is next due, not looking at what is due before p_since.
CREATE OR REPLACE FUNCTION dibs.next_due(p_lanes integer[], p_since bigint) RETURNS bigint LANGUAGE sql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
    SELECT min(d.due_at) FROM (
        (SELECT w.due_at FROM dibs.waiting w
            WHERE w.status IN ('scheduled', 'retrying') AND w.due_at >= p_since AND w.lane = ANY (p_lanes)
            ORDER BY w.due_at LIMIT 1)
        UNION ALL
        (SELECT h.due_at FROM dibs.held h WHERE h.due_at >= p_since AND h.lane = ANY (p_lanes) ORDER BY h.due_at LIMIT 1)
    ) d
$$;

-- About how many dead rows, and index entries of them, are in the way of whoever looks for what is due.
CREATE OR REPLACE FUNCTION dibs.dead_rows() RETURNS bigint LANGUAGE sql AS $$
    SELECT pg_stat_get_dead_tuples('dibs.held'::regclass) + pg_stat_get_dead_tuples('dibs.waiting'::regclass)
$$;
