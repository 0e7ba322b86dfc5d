-- Groups: who goes with a task that a claim takes, as rules.coalescing and the contract say.

-- Those of the group of a task that may go with it: their numbers, the sizes of their payloads, whether they need locks. They
-- are locked; who is just changed by somebody else, or was taken in the same claim (p_taken), is left out, and so is
-- everybody where the task is handed out alone.
CREATE OR REPLACE FUNCTION dibs.others_of(
    p_n bigint, p_taken bigint[], p_trials integer[], OUT ns bigint[], OUT sizes integer[], OUT locking boolean[]
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    looked_at CONSTANT integer := 200;
    task record;
    found bigint[] := '{}';
    wanted text;
BEGIN
    SELECT w.lane, w.coalesce_key, w.solo INTO task FROM dibs.waiting w WHERE w.n = p_n;
    IF task.solo OR task.lane = ANY (p_trials) THEN
        RETURN;
    END IF;
    -- (A status that is written down would tempt a planner to walk through the index of all that are ready.)
    FOREACH wanted IN ARRAY ARRAY['ready', 'scheduled'] LOOP
        found := found || ARRAY(
            SELECT w.n FROM dibs.waiting w
            WHERE w.coalesce_key IS NOT NULL AND w.parked_on IS NULL AND NOT w.solo
                AND w.lane = task.lane AND w.coalesce_key = task.coalesce_key AND w.status = wanted
                AND (wanted = 'ready' OR w.run_after = w.gathers_until) AND NOT w.n = ANY (p_taken)
            ORDER BY w.rank NULLS FIRST, w.n LIMIT looked_at - cardinality(found)
        );
    END LOOP;
    SELECT
        array_agg(l.n ORDER BY l.place), array_agg(l.bytes ORDER BY l.place), array_agg(l.locking ORDER BY l.place)
    INTO ns, sizes, locking
    FROM (
        SELECT w.n, w.bytes, w.ties & 4 > 0 AS locking, array_position(found, w.n) AS place FROM dibs.waiting w
        WHERE w.n = ANY (found) AND w.parked_on IS NULL
            AND (w.status = 'ready' OR w.status = 'scheduled' AND w.run_after = w.gathers_until)
        ORDER BY w.n FOR UPDATE SKIP LOCKED
    ) l;
END $$;

-- Put those that go with others (p_members, each with the place of the one that it goes with) behind them, into the arrays
-- of what a claim takes. What gathers is ready from now on. `groups`: to which one each belongs.
CREATE OR REPLACE FUNCTION dibs.join_groups(
    p_tids tid[], p_ns bigint[], p_ranks float8[], p_places integer[], p_members bigint[], p_leaders integer[],
    p_at bigint,
    OUT tids tid[], OUT ns bigint[], OUT ranks float8[], OUT places integer[], OUT groups integer[]
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
DECLARE
    gathering bigint[] := ARRAY(
        SELECT w.n FROM dibs.waiting w WHERE w.n = ANY (p_members) AND w.status || '' = 'scheduled' ORDER BY w.n
    );
BEGIN
    IF cardinality(gathering) > 0 THEN
        PERFORM dibs.hold_floors();
        PERFORM dibs.publish(dibs.make_ready(gathering, p_at), p_at);
    END IF;
    SELECT
        array_agg(t.tid ORDER BY t.leader, t.nth), array_agg(t.n ORDER BY t.leader, t.nth),
        array_agg(t.rank ORDER BY t.leader, t.nth), array_agg(t.place ORDER BY t.leader, t.nth),
        array_agg(t.leader ORDER BY t.leader, t.nth)
    INTO tids, ns, ranks, places, groups
    FROM (
        SELECT l.tid, l.n, l.rank, l.place, l.leader::integer AS leader, 0::bigint AS nth
        FROM unnest(p_tids, p_ns, p_ranks, p_places) WITH ORDINALITY AS l (tid, n, rank, place, leader)
        UNION ALL
        SELECT w.ctid, w.n, w.rank, p_places[m.leader], m.leader, m.nth
        FROM unnest(p_members, p_leaders) WITH ORDINALITY AS m (n, leader, nth) JOIN dibs.waiting w ON w.n = m.n
    ) t;
END $$;

-- What was claimed in groups under a claim id and is still held by this agent: as whole_held, and beside it the groups.
CREATE OR REPLACE FUNCTION dibs.groups_again(
    p_project text, p_claim_id text, p_agent text, p_at bigint, OUT whole text, OUT groups integer[]
) LANGUAGE sql AS $$
    -- One statement, so that both see the same.
    SELECT dibs.whole_held(c.ns, c.fences, p_agent, p_at), (
        SELECT array_agg(g.number ORDER BY g.place)
        FROM unnest(c.ns, c.fences, c.groups) WITH ORDINALITY AS g (n, fence, number, place)
        JOIN dibs.held h ON h.n = g.n AND h.fence = g.fence AND h.agent = p_agent
    )
    FROM dibs.claims c WHERE c.project = p_project AND c.claim_id = p_claim_id AND c.groups IS NOT NULL
$$;

-- What others take in the same claim of budgets (JSON, by name), with what this task would. p_agent: who claims, if that
-- has budgets of its own.
CREATE OR REPLACE FUNCTION dibs.wishes_with(p_project text, p_n bigint, p_agent text, p_extra jsonb) RETURNS jsonb
LANGUAGE plpgsql AS $$
BEGIN
    RETURN (
        SELECT p_extra || coalesce(jsonb_object_agg(w.name, w.wanted + coalesce((p_extra->>w.name)::bigint, 0)), '{}')
        FROM dibs.wishes(p_project, p_n, p_agent) w
        -- What is saved for it is aside already.
        WHERE dibs.saved_for(p_project, w.name) IS DISTINCT FROM p_n
    );
END $$;
