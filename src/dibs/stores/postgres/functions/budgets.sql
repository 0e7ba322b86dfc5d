-- Budgets: claims reserve in them, and are charged when they end. As rules.budgets and the contract say.
--
-- What is decided about budgets is decided under hold_locks(), as about locks. A budget comes and goes while nobody claims.
-- Amounts are in parts of their unit.

-- As rules.budgets.fits.
CREATE OR REPLACE FUNCTION dibs.fits(p_cap bigint, p_taken bigint, p_wanted bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS
$$ SELECT p_taken + p_wanted <= p_cap AND (p_wanted > 0 OR p_taken < p_cap) $$;

-- USD or seconds in parts: as rules.budgets.to_parts.
CREATE OR REPLACE FUNCTION dibs.parts(p_amount float8) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS
$$ SELECT least(1e15, round(p_amount * 1000000))::bigint $$;

-- As rules.budgets.Usage.of, but for seconds.
CREATE OR REPLACE FUNCTION dibs.used_of(
    p_unit text, p_cost float8, p_tokens_in bigint, p_tokens_out bigint, p_turns bigint
) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE p_unit
        WHEN 'usd' THEN dibs.parts(p_cost)
        WHEN 'turns' THEN p_turns
        WHEN 'tokens' THEN CASE
            WHEN p_tokens_in IS NOT NULL OR p_tokens_out IS NOT NULL
            THEN coalesce(p_tokens_in, 0) + coalesce(p_tokens_out, 0)
        END
    END
$$;

-- The budgets of a task, if an agent (NULL: nobody) claims it; what is taken of each, and what an attempt at it would
-- reserve: as rules.budgets.reserve.
CREATE OR REPLACE FUNCTION dibs.wishes(p_project text, p_n bigint, p_agent text)
RETURNS TABLE (name text, cap bigint, taken bigint, wanted bigint) LANGUAGE sql STABLE AS $$
    SELECT b.name, b.cap, b.reserved + b.spent, CASE
        WHEN b.unit = 'seconds'
        THEN coalesce(dibs.parts(t.timeout_s), b.default_reserve)
        ELSE coalesce(
            greatest(
                0, CASE b.unit
                    WHEN 'usd' THEN dibs.parts((t.limits->>'max_cost')::float8)
                    WHEN 'tokens' THEN (t.limits->>'max_tokens')::bigint
                    WHEN 'turns' THEN (t.limits->>'max_turns')::bigint
                END - coalesce(dibs.used_of(b.unit, t.cost_usd, t.tokens_in, t.tokens_out, t.turns), 0)
            ) + CASE
                -- greatest() overlooks a NULL.
                WHEN t.limits->CASE b.unit WHEN 'usd' THEN 'max_cost' ELSE 'max_' || b.unit END IS NOT NULL THEN 0
            END,
            -- It was stopped: as much as it has used, unless that can never fit.
            CASE WHEN t.reason = 'budget_exceeded' THEN (
                SELECT u.used FROM (
                    SELECT dibs.used_of(b.unit, t.cost_usd, t.tokens_in, t.tokens_out, t.turns) AS used
                ) u WHERE u.used > b.default_reserve AND u.used <= b.cap
            ) END,
            b.default_reserve
        )
    END
    FROM (
        SELECT
            s.type, s."user", coalesce(s.dag, dibs.dag_of(s.id)) AS dag,
            CASE WHEN strpos(s.spec, '"max_') > 0 THEN s.spec::json ELSE '{}' END AS limits,
            dibs.charged_to(s.spec) AS others,
            coalesce(w.timeout_s, e.timeout_s) AS timeout_s, coalesce(w.cost_usd, e.cost_usd) AS cost_usd,
            coalesce(w.tokens_in, e.tokens_in) AS tokens_in, coalesce(w.tokens_out, e.tokens_out) AS tokens_out,
            coalesce(w.turns, e.turns) AS turns, coalesce(w.reason, e.reason) AS reason
        FROM dibs.specs s
        LEFT JOIN LATERAL (SELECT * FROM dibs.work w WHERE w.n = s.n OFFSET 0) w ON true
        LEFT JOIN LATERAL (SELECT * FROM dibs.ended e WHERE e.n = s.n OFFSET 0) e ON true
        WHERE s.n = p_n
    ) t
    JOIN dibs.budgets b ON b.project = p_project
        AND b.scope = ANY (
            ARRAY['global', 'type:' || t.type, 'user:' || t."user", 'dag:' || t.dag, 'agent:' || p_agent] || t.others
        )
$$;

-- The scopes, beside its own, in which a task is charged: of a judge's those of the work. NULL: there are none.
CREATE OR REPLACE FUNCTION dibs.charged_to(p_spec text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN strpos(p_spec, '"charged_to"') > 0
        THEN ARRAY(SELECT json_array_elements_text(p_spec::json->'charged_to'))
    END
$$;

-- Whether tasks of these lanes may use any budget, but for those of agents. Mostly those are of types: the others are not
-- looked at one by one. (Those of judges are charged to the type of the work as well.)
CREATE OR REPLACE FUNCTION dibs.uses_budgets(p_project text, p_lanes integer[]) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT 1 FROM dibs.budgets b WHERE b.project = p_project
            AND NOT starts_with(b.scope, 'type:') AND NOT starts_with(b.scope, 'agent:')
    ) OR EXISTS (
        SELECT 1 FROM dibs.lanes l JOIN dibs.budgets b
            ON b.project = p_project AND (b.scope = 'type:' || l.type OR l.type = 'judge' AND starts_with(b.scope, 'type:'))
        WHERE l.id = ANY (p_lanes)
    );
END $$;

-- What of a budget is saved for another task than this one; not for one behind it in its lane.
CREATE OR REPLACE FUNCTION dibs.aside(p_project text, p_name text, p_n bigint) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    saved bigint := dibs.saved_for(p_project, p_name);
BEGIN
    IF saved IS NULL OR saved = p_n OR EXISTS (
        SELECT 1 FROM dibs.waiting a JOIN dibs.waiting b ON b.lane = a.lane AND (b.rank, b.n) > (a.rank, a.n)
        WHERE a.n = p_n AND b.n = saved
    ) THEN
        RETURN 0;
    END IF;
    RETURN coalesce(dibs.wish_in(p_project, p_name, saved), 0);
END $$;

-- The first budget by name that has no room for a task; NULL if all have. `p_extra`: what others reserve in the same claim,
-- by name.
CREATE OR REPLACE FUNCTION dibs.no_room_in(p_project text, p_n bigint, p_extra jsonb) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    -- Not in plain SQL, which would be planned anew for every task: that takes longer than the look.
    RETURN (
        SELECT w.name FROM dibs.wishes(p_project, p_n, NULL) w
        WHERE NOT dibs.fits(
            w.cap, w.taken + coalesce((p_extra->>w.name)::bigint, 0) + dibs.aside(p_project, w.name, p_n), w.wanted
        )
        ORDER BY w.name LIMIT 1
    );
END $$;

-- Whether the agent's own budgets have room for a task; `p_extra` as above.
CREATE OR REPLACE FUNCTION dibs.can_pay(p_project text, p_n bigint, p_agent text, p_extra jsonb) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN NOT EXISTS (
        SELECT 1 FROM dibs.wishes(p_project, p_n, p_agent) w
        WHERE starts_with(w.name, 'budget:agent:')
            AND NOT dibs.fits(w.cap, w.taken + coalesce((p_extra->>w.name)::bigint, 0), w.wanted)
    );
END $$;

-- Whether a budget of this agent is used up.
CREATE OR REPLACE FUNCTION dibs.is_broke(p_project text, p_agent text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT 1 FROM dibs.budgets b
        WHERE b.project = p_project AND b.scope = 'agent:' || p_agent AND b.reserved + b.spent >= b.cap
    )
$$;

-- When no budget of this agent is used up any more, by time alone; NULL: never.
CREATE OR REPLACE FUNCTION dibs.broke_until(p_project text, p_agent text) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN count(*) = count(b.ends_at) THEN max(b.ends_at) END FROM dibs.budgets b
    WHERE b.project = p_project AND b.scope = 'agent:' || p_agent AND b.reserved + b.spent >= b.cap
$$;

-- These tasks were claimed, under these fences, and admitted. p_agent: by whom, if that has budgets of its own.
CREATE OR REPLACE FUNCTION dibs.reserve(p_project text, p_ns bigint[], p_fences bigint[], p_agent text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    WITH taken AS (
        INSERT INTO dibs.reserves (n, fence, project, name, amount, window_no)
        SELECT h.n, h.fence, p_project, w.name, w.wanted, b.window_no
        FROM unnest(p_ns, p_fences) AS h (n, fence) CROSS JOIN LATERAL dibs.wishes(p_project, h.n, p_agent) w
        JOIN dibs.budgets b ON b.project = p_project AND b.name = w.name
        RETURNING name, amount
    )
    UPDATE dibs.budgets b SET reserved = b.reserved + t.amount
    FROM (SELECT t.name, sum(t.amount)::bigint AS amount FROM taken t GROUP BY t.name) t
    WHERE b.project = p_project AND b.name = t.name;
    -- So that settling them looks here.
    UPDATE dibs.held h SET ties = h.ties | 8
    WHERE h.n = ANY (p_ns) AND h.ties & 8 = 0 AND EXISTS (SELECT 1 FROM dibs.reserves r WHERE r.n = h.n);
END $$;

-- Those of these tasks' claims that ended give back what they had reserved, and are charged: as rules.budgets.charge.
-- Answers the budgets that this concerns. Needs hold_locks().
CREATE OR REPLACE FUNCTION dibs.charge(p_ns bigint[], OUT projects text[], OUT names text[]) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
BEGIN
    -- Not in plain SQL, which would be planned anew each time: that takes longer than to do it.
    WITH over AS (
        DELETE FROM dibs.reserves r
        WHERE r.n = ANY (p_ns)
            AND NOT EXISTS (SELECT 1 FROM dibs.held w WHERE w.n = r.n AND w.fence = r.fence)
            -- Cancelled, and its agent has not stopped yet.
            AND NOT EXISTS (SELECT 1 FROM dibs.ended e WHERE e.n = r.n AND e.fence = r.fence AND e.due_at IS NOT NULL)
        RETURNING r.*
    ), told AS (
        SELECT
            o.project, o.name, o.amount,
            CASE
                WHEN b.unit = 'seconds' THEN coalesce(a.ended_at - a.started_at, 0)
                ELSE least(
                    1000000000000000, dibs.used_of(b.unit, a.cost_usd, a.tokens_in, a.tokens_out, a.turns)
                )
            END AS used,
            b.unit = 'seconds' OR a.digest <> 'duty' AND a.reason IS DISTINCT FROM 'crash' AS sure,
            b.unit <> 'seconds' AND (a.started_at IS NULL OR a.outcome IN ('released', 'rate_limited')) AS given_back,
            -- least() overlooks a NULL.
            b.unit = 'seconds' OR dibs.used_of(b.unit, a.cost_usd, a.tokens_in, a.tokens_out, a.turns) IS NOT NULL AS said
        -- What was reserved in a window that is over is not charged any more.
        FROM over o JOIN dibs.budgets b ON b.project = o.project AND b.name = o.name AND b.window_no = o.window_no
        JOIN dibs.attempts a ON a.n = o.n AND a.fence = o.fence
    ), sums AS (
        SELECT
            t.project, t.name, sum(t.amount)::bigint AS amount,
            sum(CASE
                WHEN t.given_back OR t.said AND t.sure THEN CASE WHEN t.said THEN t.used ELSE 0 END
                ELSE greatest(CASE WHEN t.said THEN t.used ELSE 0 END, t.amount)
            END)::bigint AS charge,
            count(*) FILTER (WHERE NOT (t.given_back OR t.said AND t.sure)) AS unpriced
        FROM told t GROUP BY t.project, t.name
    ), charged AS (
        UPDATE dibs.budgets b SET
            reserved = b.reserved - s.amount, spent = b.spent + s.charge, unpriced = b.unpriced + s.unpriced
        FROM sums s WHERE b.project = s.project AND b.name = s.name
        RETURNING b.project, b.name
    )
    SELECT array_agg(c.project), array_agg(c.name) INTO projects, names FROM charged c;
END $$;

-- What the claim that holds a task has used so far of a unit, as far as it told.
CREATE OR REPLACE FUNCTION dibs.used_so_far(w dibs.held, p_unit text, p_at bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN p_unit = 'seconds' THEN p_at - w.started_at
        ELSE dibs.used_of(
            p_unit, (w.usage::json->>'cost_usd')::float8, (w.usage::json->>'tokens_in')::bigint,
            (w.usage::json->>'tokens_out')::bigint, (w.usage::json->>'turns')::bigint
        )
    END
$$;

-- Of tasks that are held the first budget, by name, that is overdrawn (rules.budgets.overdrawn) with what they used beyond
-- what they reserved. p_places: where each stands in the answer, which has p_count places.
CREATE OR REPLACE FUNCTION dibs.overdrawn(p_ns bigint[], p_places integer[], p_count integer, p_at bigint) RETURNS text[]
LANGUAGE sql STABLE AS $$
    SELECT array_agg(f.name ORDER BY p.place)
    FROM generate_series(1, p_count) AS p (place)
    LEFT JOIN (
        SELECT h.place, min(b.name) AS name
        FROM unnest(p_ns, p_places) AS h (n, place)
        JOIN dibs.held w ON w.n = h.n
        JOIN dibs.reserves r ON r.n = w.n AND r.fence = w.fence
        JOIN dibs.budgets b ON b.project = r.project AND b.name = r.name AND b.window_no = r.window_no
        WHERE (b.ends_at IS NULL OR b.ends_at > p_at) AND dibs.used_so_far(w, b.unit, p_at) > r.amount
            AND b.spent + (
                SELECT sum(greatest(o.amount, dibs.used_so_far(x, b.unit, p_at)))
                FROM dibs.reserves o LEFT JOIN dibs.held x ON x.n = o.n AND x.fence = o.fence
                WHERE o.project = b.project AND o.name = b.name AND o.window_no = b.window_no
            ) > b.cap
        GROUP BY h.place
    ) f ON f.place = p.place
$$;

-- Whether a claim of this task holds anything that is let go with it.
CREATE OR REPLACE FUNCTION dibs.holds_anything(p_n bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN EXISTS (SELECT 1 FROM dibs.needs d WHERE d.n = p_n) OR EXISTS (SELECT 1 FROM dibs.reserves r WHERE r.n = p_n);
END $$;

-- Unpark who fits into these budgets: of each lane the best, as long as they fit beside those that are on their way, ready
-- and not parked. How many.
-- Needs hold_floors() and hold_locks().
CREATE OR REPLACE FUNCTION dibs.open_budgets(p_project text, p_names text[], p_at bigint) RETURNS integer LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    b record;
    in_lane integer;
    task record;
    occupied bigint;
    lately bigint;              -- without those who have been on their way for long, for whom the saved one does not wait
    agents_pay boolean := EXISTS (
        SELECT 1 FROM dibs.budgets x WHERE x.project = p_project AND starts_with(x.scope, 'agent:')
    );
    saved bigint;
    saved_lane integer;
    saved_rank float8;
    aside bigint;
    wish bigint;
    other text;
    lanes integer[] := '{}';
    ranks float8[] := '{}';
BEGIN
    FOR b IN SELECT x.* FROM dibs.budgets x WHERE x.project = p_project AND x.name = ANY (p_names) ORDER BY x.name LOOP
        CONTINUE WHEN b.reserved + b.spent >= b.cap;
        saved := dibs.saved_for(p_project, b.name);
        aside := coalesce(dibs.wish_in(p_project, b.name, saved), 0);
        SELECT w.lane, w.rank INTO saved_lane, saved_rank FROM dibs.waiting w WHERE w.n = saved;
        FOR in_lane IN
            SELECT a.id FROM dibs.lanes a WHERE a.project = p_project AND EXISTS (
                SELECT 1 FROM dibs.waiting w
                WHERE w.status = 'ready' AND w.ties >= 4 AND w.lane = a.id AND w.parked_on = b.name
            )
        LOOP
            occupied := b.reserved + b.spent;
            lately := occupied;
            FOR task IN
                (SELECT w.n, w.rank, true AS parked, false AS for_long FROM dibs.waiting w
                    WHERE w.status = 'ready' AND w.ties >= 4 AND w.lane = in_lane AND w.parked_on = b.name
                    ORDER BY w.rank, w.n LIMIT 100)
                UNION ALL
                (SELECT w.n, w.rank, false, agents_pay AND w.ready_at <= p_at - 60000000 FROM dibs.waiting w
                    WHERE w.status = 'ready' AND w.parked_on IS NULL AND w.lane = in_lane
                    ORDER BY w.rank, w.n LIMIT 100)
                ORDER BY rank, n
            LOOP
                EXIT WHEN lately >= b.cap;
                SELECT w.wanted INTO wish FROM dibs.wishes(p_project, task.n, NULL) w WHERE w.name = b.name;
                -- On its way, and in nobody's way here.
                CONTINUE WHEN NOT FOUND;
                -- What is saved for one behind it in its lane is not kept from it.
                CONTINUE WHEN NOT dibs.fits(
                    b.cap, CASE WHEN saved = task.n THEN lately ELSE occupied END + CASE
                        WHEN saved = task.n OR saved_lane = in_lane AND (task.rank, task.n) < (saved_rank, saved) THEN 0
                        ELSE aside
                    END, wish
                );
                -- What is saved for it is aside already.
                IF saved = task.n THEN
                    wish := 0;
                END IF;
                IF NOT task.parked THEN
                    occupied := occupied + wish;
                    IF NOT task.for_long THEN
                        lately := lately + wish;
                    END IF;
                    CONTINUE;
                END IF;
                PERFORM 1 FROM dibs.waiting w WHERE w.n = task.n AND w.parked_on = b.name FOR UPDATE SKIP LOCKED;
                CONTINUE WHEN NOT FOUND;
                other := dibs.closed_to(p_project, task.n, '{}', '{}');
                PERFORM dibs.park(p_project, ARRAY[task.n], ARRAY[other], p_at);
                IF other IS NULL THEN
                    occupied := occupied + wish;
                    lately := lately + wish;
                    lanes := lanes || in_lane;
                    ranks := ranks || task.rank;
                END IF;
            END LOOP;
        END LOOP;
    END LOOP;
    PERFORM dibs.note_lows(lanes, ranks);
    RETURN cardinality(lanes);
END $$;

-- Whether a project has budgets, but for those of agents.
CREATE OR REPLACE FUNCTION dibs.has_budgets(p_project text) RETURNS boolean LANGUAGE sql STABLE AS
$$ SELECT EXISTS (SELECT 1 FROM dibs.budgets b WHERE b.project = p_project AND NOT starts_with(b.scope, 'agent:')) $$;

-- Make a budget that is not there; it counts nothing yet. Everybody reads again whether the project has any, if it is the
-- first, or an agent's. Needs hold_claims() and hold_locks().
CREATE OR REPLACE FUNCTION dibs.add_budget(
    p_project text, p_scope text, p_unit text, p_cap bigint, p_default bigint, p_per text, p_zone text, p_ends_at bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT dibs.has_budgets(p_project) OR starts_with(p_scope, 'agent:') THEN
        PERFORM dibs.change_lanes();
    END IF;
    INSERT INTO dibs.budgets (project, name, scope, unit, cap, default_reserve, per, zone, ends_at)
    VALUES (
        p_project, 'budget:' || p_scope || ':' || p_unit, p_scope, p_unit, p_cap, p_default, p_per, p_zone, p_ends_at
    );
END $$;

-- Make a budget, which counts what runs already, or change it. p_per, p_zone, p_ends_at: its window, or NULL. Answers as
-- budgets_of.
-- Locks: claims of the project, floors (shared), task rows by number, locks.
CREATE OR REPLACE FUNCTION dibs.set_budget(
    p_now bigint, p_project text, p_scope text, p_unit text, p_cap bigint, p_default bigint,
    p_per text, p_zone text, p_ends_at bigint
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    called text := 'budget:' || p_scope || ':' || p_unit;
    held bigint[];
    stopping bigint[];
    shown text;
BEGIN
    PERFORM dibs.hold_claims(p_project);
    PERFORM dibs.hold_floors();
    IF NOT EXISTS (SELECT 1 FROM dibs.budgets b WHERE b.project = p_project AND b.name = called) THEN
        SELECT array_agg(f.n) INTO held FROM (
            SELECT w.n FROM dibs.held w JOIN dibs.specs s ON s.n = w.n
            WHERE s.project = p_project AND dibs.is_in(s, w.agent, p_scope) ORDER BY w.n FOR UPDATE OF w
        ) f;
        SELECT array_agg(f.n) INTO stopping FROM (
            SELECT e.n FROM dibs.ended e JOIN dibs.specs s ON s.n = e.n
            WHERE e.due_at IS NOT NULL AND s.project = p_project AND dibs.is_in(s, e.agent, p_scope)
            ORDER BY e.n FOR UPDATE OF e
        ) f;
    END IF;
    PERFORM dibs.hold_locks();
    IF p_per IS NOT NULL OR EXISTS (
        SELECT 1 FROM dibs.budgets b WHERE b.project = p_project AND b.name = called AND b.per IS NOT NULL
    ) THEN
        -- When it begins anew is remembered with the lanes.
        PERFORM dibs.change_lanes();
    END IF;
    UPDATE dibs.budgets b SET cap = p_cap, default_reserve = p_default, per = p_per, zone = p_zone, ends_at = p_ends_at
    WHERE b.project = p_project AND b.name = called;
    IF NOT FOUND THEN
        PERFORM dibs.add_budget(p_project, p_scope, p_unit, p_cap, p_default, p_per, p_zone, p_ends_at);
        WITH counted AS (
            INSERT INTO dibs.reserves (n, fence, project, name, amount)
            SELECT h.n, h.fence, p_project, called, w.wanted
            FROM (
                SELECT w.n, w.fence FROM dibs.held w WHERE w.n = ANY (held)
                UNION ALL
                SELECT e.n, e.fence FROM dibs.ended e WHERE e.n = ANY (stopping) AND e.due_at IS NOT NULL
            ) h
            CROSS JOIN LATERAL dibs.wishes(p_project, h.n, substr(p_scope, 7)) w
            WHERE w.name = called
            RETURNING amount
        )
        UPDATE dibs.budgets b SET reserved = (SELECT coalesce(sum(c.amount), 0) FROM counted c)
        WHERE b.project = p_project AND b.name = called;
        UPDATE dibs.held w SET ties = w.ties | 8 WHERE w.n = ANY (held);
    END IF;
    shown := dibs.budgets_of(p_project, called);
    PERFORM dibs.open_budgets(p_project, ARRAY[called], coalesce(p_now, dibs.micros()));
    RETURN shown;
END $$;

-- Whether a task that an agent holds is in the scope of a budget.
CREATE OR REPLACE FUNCTION dibs.is_in(s dibs.specs, p_agent text, p_scope text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT p_scope IN ('global', 'type:' || s.type, 'dag:' || coalesce(s.dag, dibs.dag_of(s.id)))
        OR coalesce(p_scope = 'user:' || s."user", false) OR coalesce(p_scope = 'agent:' || p_agent, false)
        OR coalesce(p_scope = ANY (dibs.charged_to(s.spec)), false)
$$;

-- Add to the limit of a budget. Answers as budgets_of; '[]' if it is not there. Locks: floors (shared), locks.
CREATE OR REPLACE FUNCTION dibs.raise_budget(p_now bigint, p_project text, p_scope text, p_unit text, p_amount bigint)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    called text := 'budget:' || p_scope || ':' || p_unit;
    shown text;
BEGIN
    PERFORM dibs.hold_floors();
    PERFORM dibs.hold_locks();
    UPDATE dibs.budgets b SET cap = least(1000000000000000, b.cap + p_amount)
    WHERE b.project = p_project AND b.name = called;
    shown := dibs.budgets_of(p_project, called);
    PERFORM dibs.open_budgets(p_project, ARRAY[called], coalesce(p_now, dibs.micros()));
    RETURN shown;
END $$;

-- Forget a budget; whoever is parked on it may try again. Answers as budgets_of what it was; '[]' if it is not there.
-- Locks: claims of the project, floors (shared), task rows by number, locks.
CREATE OR REPLACE FUNCTION dibs.remove_budget(p_now bigint, p_project text, p_scope text, p_unit text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    called text := 'budget:' || p_scope || ':' || p_unit;
    parked bigint[];
    lanes integer[];
    ranks float8[];
    shown text;
    in_windows boolean;
BEGIN
    PERFORM dibs.hold_claims(p_project);
    PERFORM dibs.hold_floors();
    SELECT coalesce(array_agg(f.n), '{}') INTO parked FROM (
        SELECT w.n FROM dibs.lanes a JOIN dibs.waiting w
            ON w.status = 'ready' AND w.ties >= 4 AND w.lane = a.id AND w.parked_on = called
        WHERE a.project = p_project ORDER BY w.n FOR UPDATE OF w
    ) f;
    PERFORM dibs.hold_locks();
    shown := dibs.budgets_of(p_project, called);
    IF EXISTS (
        SELECT 1 FROM dibs.lanes a JOIN dibs.waiting w
            ON w.status = 'ready' AND w.ties >= 4 AND w.lane = a.id AND w.parked_on = called
        WHERE a.project = p_project AND NOT w.n = ANY (parked)
    ) THEN
        -- Parked a moment ago.
        PERFORM dibs.look_again();
    END IF;
    in_windows := EXISTS (
        SELECT 1 FROM dibs.budgets b WHERE b.project = p_project AND b.name = called AND b.per IS NOT NULL
    );
    DELETE FROM dibs.reserves r WHERE r.project = p_project AND r.name = called;
    DELETE FROM dibs.locks l WHERE l.project = p_project AND l.name = called;
    DELETE FROM dibs.budgets b WHERE b.project = p_project AND b.name = called;
    IF FOUND AND (NOT dibs.has_budgets(p_project) OR starts_with(p_scope, 'agent:') OR in_windows) THEN
        PERFORM dibs.change_lanes();
    END IF;
    WITH unparked AS (
        UPDATE dibs.waiting w SET parked_on = NULL WHERE w.n = ANY (parked) AND w.parked_on = called
        RETURNING w.lane, w.rank
    )
    SELECT array_agg(u.lane), array_agg(u.rank) INTO lanes, ranks FROM unparked u;
    PERFORM dibs.note_lows(lanes, ranks);
    RETURN shown;
END $$;

-- The budgets of a project, by scope and unit, or one of them: `[[scope, unit, limit, default_reserve, reserved, spent,
-- unpriced, waiting, per, zone, ends_at, saved for], …]`.
CREATE OR REPLACE FUNCTION dibs.budgets_of(p_project text, p_name text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT coalesce(json_agg(json_build_array(
        b.scope, b.unit, b.cap, b.default_reserve, b.reserved, b.spent, b.unpriced,
        (
            SELECT count(*) FROM dibs.lanes a JOIN dibs.waiting w
                ON w.status = 'ready' AND w.ties >= 4 AND w.lane = a.id AND w.parked_on = b.name
            WHERE a.project = p_project
        ),
        b.per, b.zone, b.ends_at,
        (SELECT s.id FROM dibs.specs s WHERE s.n = dibs.saved_for(p_project, b.name))
    ) ORDER BY b.scope, b.unit), '[]')::text
    FROM dibs.budgets b WHERE b.project = p_project AND (p_name IS NULL OR b.name = p_name)
$$;
