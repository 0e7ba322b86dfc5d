-- Locks: held with a claim, all or none, and let go with it. As rules.locks and the contract say.
--
-- All that is decided about locks is decided under one lock of the database's own, `hold_locks()`: it comes after the
-- rows of tasks and before those of dags. Under it, rows of other tasks are only locked if that needs no waiting; whoever
-- has them looks at the locks when he is done (free_locks).

CREATE OR REPLACE FUNCTION dibs.hold_locks() RETURNS void LANGUAGE sql AS
$$ SELECT pg_advisory_xact_lock('dibs.locks'::regclass::oid::integer, 0) $$;

-- The first lock by name that does not admit a task, or else the first budget; NULL if all do. `p_taken`, `p_extra`: what
-- others take in the same claim.
CREATE OR REPLACE FUNCTION dibs.closed_to(p_project text, p_n bigint, p_taken text[], p_extra jsonb) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    -- Not in plain SQL, which would be planned anew for every task: that takes a hundred times as long as the look.
    RETURN coalesce(
        (
            SELECT d.name FROM dibs.needs d LEFT JOIN dibs.locks l ON l.project = p_project AND l.name = d.name
            WHERE d.n = p_n AND NOT (
                coalesce(cardinality(l.holders), 0) + cardinality(array_positions(p_taken, d.name)) < coalesce(l.slots, 1)
                AND coalesce(l.reserved_for, p_n) = p_n
            )
            ORDER BY d.name LIMIT 1
        ),
        dibs.no_room_in(p_project, p_n, p_extra)
    );
END $$;

-- Park ready tasks, whose rows are locked, each on the lock or budget of this name; NULL: unpark it. Whoever waits for a
-- budget is not passed over by those who take locks.
CREATE OR REPLACE FUNCTION dibs.park(p_project text, p_ns bigint[], p_names text[], p_at bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE dibs.waiting w SET
        parked_on = p.name,
        parked_since = CASE
            WHEN starts_with(p.name, 'budget:') THEN NULL
            WHEN p.name IS NULL THEN w.parked_since
            ELSE coalesce(w.parked_since, p_at)
        END,
        ties = CASE WHEN starts_with(p.name, 'budget:') THEN w.ties | 8 ELSE w.ties END
    FROM unnest(p_ns, p_names) AS p (n, name) WHERE w.n = p.n;
    -- So that whoever lets go finds them.
    INSERT INTO dibs.locks (project, name)
    SELECT DISTINCT p_project, p.name FROM unnest(p_names) AS p (name) WHERE NOT starts_with(p.name, 'budget:')
    ON CONFLICT DO NOTHING;
END $$;

-- Of ready tasks, best first, those that a claim gets: their places. What does not get its locks is parked, and `parked`
-- tells it. `again`: some were parked or left out, or go with others, and there is room for more; look for them and come
-- back. `missed`: some are being changed by somebody else.
-- p_sizes, p_alone: as the claim knows them; NULL for a single one. p_budgets: the project has some. p_wanted: how many were
-- looked for. p_places: the lanes of these tasks; p_types, p_rooms: of lanes whose type has slots, the type, and how many of
-- it may be taken. p_agent: who claims, if that has budgets of its own; what it cannot pay for is passed over, up to 100.
-- p_most: how many there may be in all (NULL: any number). p_trials: as the claim has them.
-- `members`: who goes with those, each with the one (`leaders`: its place in `chosen`) that it goes with.
CREATE OR REPLACE FUNCTION dibs.admit(
    p_project text, p_ns bigint[], p_sizes integer[], p_alone boolean[], p_limit integer, p_max_bytes bigint, p_at bigint,
    p_budgets boolean, p_wanted integer, p_places integer[], p_types text[], p_rooms integer[],
    p_agent text, p_most integer, p_trials integer[],
    OUT chosen integer[], OUT parked bigint[], OUT again boolean, OUT missed boolean,
    OUT members bigint[], OUT leaders integer[]
) LANGUAGE plpgsql AS $$
DECLARE
    keyed bigint[] := ARRAY(SELECT w.n FROM dibs.waiting w WHERE w.n = ANY (p_ns) AND w.ties & 16 > 0);
    locking bigint[] := CASE
        WHEN p_budgets THEN p_ns ELSE ARRAY(SELECT DISTINCT d.n FROM dibs.needs d WHERE d.n = ANY (p_ns))
    END;
    rows bigint[] := locking || keyed;
    let_in bigint[] := '{}';
    others record;
    here bigint[];
    names text[] := '{}';
    taken text[] := '{}';
    extra jsonb := '{}';
    size bigint := 0;
    room integer;
    closed text;
    used text[] := '{}';
    left_out boolean := false;
    passed integer := 0;
BEGIN
    chosen := '{}';
    parked := '{}';
    members := '{}';
    leaders := '{}';
    again := true;
    missed := false;
    SELECT coalesce(array_agg(f.n), '{}') INTO here FROM (
        -- (The plain status would tempt a planner to walk through the index of all that are ready.)
        SELECT w.n FROM dibs.waiting w WHERE w.n = ANY (rows) AND w.status || '' = 'ready' AND w.parked_on IS NULL
        ORDER BY w.n FOR UPDATE SKIP LOCKED
    ) f;
    PERFORM dibs.hold_locks();
    FOR i IN 1 .. cardinality(p_ns) LOOP
        CONTINUE WHEN p_ns[i] = ANY (members);
        IF cardinality(array_positions(used, p_types[p_places[i]])) >= p_rooms[p_places[i]] THEN
            left_out := true;
            CONTINUE;
        END IF;
        IF p_ns[i] = ANY (rows) AND NOT p_ns[i] = ANY (here) THEN
            missed := true;
            CONTINUE;
        END IF;
        IF p_agent IS NOT NULL AND NOT dibs.can_pay(p_project, p_ns[i], p_agent, extra) THEN
            passed := passed + 1;
            CONTINUE WHEN passed < 100;
            again := false;
            EXIT;
        END IF;
        IF cardinality(chosen) > 0 AND (size + p_sizes[i] > p_max_bytes OR p_alone[i]) THEN
            again := false;
            EXIT;
        END IF;
        closed := CASE WHEN p_ns[i] = ANY (locking) THEN dibs.closed_to(p_project, p_ns[i], taken, extra) END;
        IF closed IS NOT NULL THEN
            parked := parked || p_ns[i];
            names := names || closed;
            CONTINUE;
        END IF;
        chosen := chosen || i;
        used := used || p_types[p_places[i]];
        size := size + p_sizes[i];
        let_in := let_in || p_ns[i];
        IF p_ns[i] = ANY (locking) THEN
            taken := taken || ARRAY(SELECT d.name FROM dibs.needs d WHERE d.n = p_ns[i]);
        END IF;
        IF p_budgets THEN
            extra := dibs.wishes_with(p_project, p_ns[i], p_agent, extra);
        END IF;
        IF p_ns[i] = ANY (keyed) AND p_alone[i] IS NOT TRUE THEN
            -- (What is NULL does not count.)
            room := least(
                99, p_most - cardinality(let_in),
                p_rooms[p_places[i]] - cardinality(array_positions(used, p_types[p_places[i]]))
            );
            size := coalesce(size, (SELECT w.bytes FROM dibs.waiting w WHERE w.n = p_ns[i]));
            others := dibs.others_of(p_ns[i], let_in, p_trials);
            FOR j IN 1 .. coalesce(cardinality(others.ns), 0) LOOP
                EXIT WHEN room <= 0 OR size + others.sizes[j] > p_max_bytes;
                CONTINUE WHEN p_agent IS NOT NULL AND NOT dibs.can_pay(p_project, others.ns[j], p_agent, extra);
                IF p_budgets OR others.locking[j] THEN
                    CONTINUE WHEN dibs.closed_to(p_project, others.ns[j], taken, extra) IS NOT NULL;
                    taken := taken || ARRAY(SELECT d.name FROM dibs.needs d WHERE d.n = others.ns[j]);
                END IF;
                members := members || others.ns[j];
                leaders := leaders || cardinality(chosen);
                let_in := let_in || others.ns[j];
                used := used || p_types[p_places[i]];
                room := room - 1;
                size := size + others.sizes[j];
                IF p_budgets THEN
                    extra := dibs.wishes_with(p_project, others.ns[j], p_agent, extra);
                END IF;
            END LOOP;
        END IF;
        IF p_alone[i] OR cardinality(chosen) >= p_limit OR cardinality(let_in) >= p_most THEN
            again := false;
            EXIT;
        END IF;
    END LOOP;
    again := again AND (
        cardinality(parked) > 0 OR (left_out OR passed > 0 OR cardinality(members) > 0) AND cardinality(p_ns) = p_wanted
    );
    IF cardinality(parked) > 0 THEN
        PERFORM dibs.park(p_project, parked, names, p_at);
    END IF;
END $$;

-- These tasks were claimed, under these fences, and admitted. What was reserved for them is looked at.
CREATE OR REPLACE FUNCTION dibs.take_locks(p_project text, p_ns bigint[], p_fences bigint[], p_at bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    reserved text[] := ARRAY(
        SELECT l.name FROM dibs.locks l WHERE l.project = p_project AND l.reserved_for = ANY (p_ns)
            AND NOT starts_with(l.name, 'budget:')
    );
BEGIN
    INSERT INTO dibs.locks AS l (project, name, holders, fences)
    SELECT p_project, d.name, array_agg(h.n), array_agg(h.fence)
    FROM unnest(p_ns, p_fences) AS h (n, fence) JOIN dibs.needs d ON d.n = h.n GROUP BY d.name
    ON CONFLICT (project, name) DO UPDATE SET
        holders = l.holders || excluded.holders,
        fences = l.fences || excluded.fences,
        reserved_for = CASE WHEN NOT l.reserved_for = ANY (excluded.holders) THEN l.reserved_for END;
    UPDATE dibs.held h SET parked_since = NULL WHERE h.n = ANY (p_ns) AND h.parked_since IS NOT NULL;
    IF cardinality(reserved) > 0 THEN
        PERFORM dibs.hold_floors();
        PERFORM dibs.open_locks(p_project, reserved, p_at);
    END IF;
END $$;

-- These tasks may hold or reserve something no longer: their claims ended, or they are not ready any more. Whatever they
-- need is looked at, and whatever budgets they had reserved in. Needs hold_floors().
CREATE OR REPLACE FUNCTION dibs.free_locks(p_ns bigint[], p_at bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    needed record;
    charged record;
BEGIN
    IF EXISTS (SELECT 1 FROM dibs.reserves r WHERE r.n = ANY (p_ns)) THEN
        PERFORM dibs.hold_locks();
        charged := dibs.charge(p_ns);
    END IF;
    FOR needed IN
        SELECT s.project, array_agg(DISTINCT d.name ORDER BY d.name) AS names
        FROM unnest(p_ns) AS t (n) JOIN dibs.needs d ON d.n = t.n JOIN dibs.specs s ON s.n = d.n
        GROUP BY s.project ORDER BY s.project
    LOOP
        PERFORM dibs.hold_locks();
        UPDATE dibs.locks l SET
            (holders, fences) = (
                SELECT coalesce(array_agg(h.n), '{}'), coalesce(array_agg(h.fence), '{}')
                FROM unnest(l.holders, l.fences) AS h (n, fence)
                WHERE EXISTS (SELECT 1 FROM dibs.held w WHERE w.n = h.n AND w.fence = h.fence)
                    -- Cancelled, and its agent has not stopped yet.
                    OR EXISTS (SELECT 1 FROM dibs.ended e WHERE e.n = h.n AND e.fence = h.fence AND e.due_at IS NOT NULL)
            ),
            reserved_for = (
                SELECT w.n FROM dibs.waiting w WHERE w.n = l.reserved_for AND w.status || '' = 'ready'
                    AND starts_with(w.parked_on, 'budget:') IS NOT TRUE
            )
        WHERE l.project = needed.project AND l.name = ANY (needed.names);
        PERFORM dibs.open_locks(needed.project, needed.names, p_at);
    END LOOP;
    IF charged IS NOT NULL THEN
        FOR needed IN
            SELECT c.project, array_agg(c.name) AS names FROM unnest(charged.projects, charged.names) AS c (project, name)
            GROUP BY c.project ORDER BY c.project
        LOOP
            PERFORM dibs.open_budgets(needed.project, needed.names, p_at);
        END LOOP;
    END IF;
END $$;

-- Unpark what these locks admit: of each lane the best, as many as there is room for. How many.
-- Needs hold_floors() and hold_locks().
CREATE OR REPLACE FUNCTION dibs.open_locks(p_project text, p_names text[], p_at bigint) RETURNS integer LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    l record;
    in_lane integer;
    task record;
    free integer;
    places integer;
    other text;
    lanes integer[] := '{}';
    ranks float8[] := '{}';
    broke bigint[] := '{}';
BEGIN
    FOR l IN SELECT x.* FROM dibs.locks x WHERE x.project = p_project AND x.name = ANY (p_names) ORDER BY x.name LOOP
        free := l.slots - cardinality(l.holders);
        FOR in_lane IN
            SELECT a.id FROM dibs.lanes a WHERE a.project = p_project AND free > 0 AND EXISTS (
                SELECT 1 FROM dibs.waiting w
                WHERE w.status = 'ready' AND w.ties >= 4 AND w.lane = a.id AND w.parked_on = l.name
            )
        LOOP
            places := free;
            -- Those that are parked on it, and those that are on their way to it: ready, and not parked.
            FOR task IN
                (SELECT w.n, w.rank, true AS parked FROM dibs.waiting w
                    WHERE w.status = 'ready' AND w.ties >= 4 AND w.lane = in_lane AND w.parked_on = l.name
                    ORDER BY w.rank, w.n LIMIT 100)
                UNION ALL
                (SELECT w.n, w.rank, false FROM dibs.waiting w
                    WHERE w.status = 'ready' AND w.ties >= 4 AND w.lane = in_lane AND w.parked_on IS NULL
                        AND EXISTS (SELECT 1 FROM dibs.needs d WHERE d.n = w.n AND d.name = l.name)
                    ORDER BY w.rank, w.n LIMIT free)
                ORDER BY rank, n
            LOOP
                EXIT WHEN places <= 0;
                IF NOT task.parked THEN
                    places := places - 1;
                    CONTINUE;
                END IF;
                other := dibs.closed_to(p_project, task.n, '{}', '{}');
                CONTINUE WHEN other = l.name;
                PERFORM 1 FROM dibs.waiting w WHERE w.n = task.n AND w.parked_on = l.name FOR UPDATE SKIP LOCKED;
                CONTINUE WHEN NOT FOUND;
                PERFORM dibs.park(p_project, ARRAY[task.n], ARRAY[other], p_at);
                IF other IS NULL THEN
                    places := places - 1;
                    lanes := lanes || in_lane;
                    ranks := ranks || task.rank;
                ELSIF starts_with(other, 'budget:') THEN
                    broke := broke || task.n;
                END IF;
            END LOOP;
        END LOOP;
        -- A lock of which there is nothing to tell is forgotten.
        DELETE FROM dibs.locks x WHERE x.project = p_project AND x.name = l.name AND x.slots = 1 AND x.holders = '{}'
            AND x.reserved_for IS NULL AND NOT EXISTS (
                SELECT 1 FROM dibs.lanes a JOIN dibs.waiting w
                    ON w.status = 'ready' AND w.ties >= 4 AND w.lane = a.id AND w.parked_on = l.name
                WHERE a.project = p_project
            );
    END LOOP;
    PERFORM dibs.note_lows(lanes, ranks);
    IF EXISTS (
        SELECT 1 FROM dibs.locks x WHERE x.reserved_for = ANY (broke) AND NOT starts_with(x.name, 'budget:')
    ) THEN
        -- Whoever waits for a budget keeps no lock for himself.
        PERFORM dibs.free_locks(broke, p_at);
    END IF;
    RETURN cardinality(lanes);
END $$;

-- What was parked p_passed_over_s ago and is still not claimed reserves its locks, longest first; then every lock is looked at. How many were
-- parked on a lock that admitted them, or on a budget with room. Reads only while no lock and no budget is known. Locks: floors (shared), locks.
CREATE OR REPLACE FUNCTION dibs.unpark(p_now bigint, p_limit integer, p_passed_over_s float8) RETURNS integer
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    at bigint;
    task record;
    lock_name text;
    owner bigint;
    project_of record;
    let_go record;
    unparked integer := 0;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM dibs.locks) AND NOT EXISTS (SELECT 1 FROM dibs.budgets) THEN
        RETURN 0;
    END IF;
    PERFORM dibs.hold_floors();
    PERFORM dibs.hold_locks();
    at := coalesce(p_now, dibs.micros());
    let_go := dibs.save_budgets(at);
    FOR task IN
        SELECT w.n, w.parked_on, a.project FROM dibs.lanes a JOIN dibs.waiting w
            ON w.status = 'ready' AND w.ties >= 4 AND w.lane = a.id
        WHERE w.parked_since <= at - round(p_passed_over_s * 1000000)::bigint
        ORDER BY w.parked_since, w.n LIMIT p_limit
    LOOP
        owner := task.n;
        FOR lock_name IN SELECT d.name FROM dibs.needs d WHERE d.n = task.n ORDER BY d.name LOOP
            INSERT INTO dibs.locks AS l (project, name, reserved_for) VALUES (task.project, lock_name, task.n)
            ON CONFLICT (project, name) DO UPDATE SET reserved_for = coalesce(l.reserved_for, excluded.reserved_for)
            RETURNING l.reserved_for INTO owner;
            EXIT WHEN owner <> task.n;
        END LOOP;
        IF owner = task.n AND task.parked_on IS NOT NULL THEN
            PERFORM dibs.open_locks(task.project, ARRAY[task.parked_on], at);
        END IF;
    END LOOP;
    FOR project_of IN
        SELECT g.project, array_agg(g.name) AS names FROM unnest(let_go.projects, let_go.names) AS g (project, name)
        GROUP BY g.project ORDER BY g.project
    LOOP
        PERFORM dibs.open_budgets(project_of.project, project_of.names, at);
    END LOOP;
    FOR project_of IN
        SELECT l.project, array_agg(l.name ORDER BY l.name) AS names FROM dibs.locks l
        WHERE NOT starts_with(l.name, 'budget:') GROUP BY l.project ORDER BY l.project
    LOOP
        unparked := unparked + dibs.open_locks(project_of.project, project_of.names, at);
    END LOOP;
    FOR project_of IN
        SELECT b.project, array_agg(b.name) AS names FROM dibs.budgets b GROUP BY b.project ORDER BY b.project
    LOOP
        unparked := unparked + dibs.open_budgets(project_of.project, project_of.names, at);
    END LOOP;
    RETURN unparked;
END $$;

-- How many may hold a lock at once. Answers as locks_of. Locks: floors (shared), locks.
CREATE OR REPLACE FUNCTION dibs.set_slots(p_now bigint, p_project text, p_name text, p_slots integer) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    shown text;
BEGIN
    PERFORM dibs.hold_floors();
    PERFORM dibs.hold_locks();
    INSERT INTO dibs.locks (project, name, slots) VALUES (p_project, p_name, p_slots)
    ON CONFLICT (project, name) DO UPDATE SET slots = excluded.slots;
    shown := dibs.locks_of(p_project, p_name);
    PERFORM dibs.open_locks(p_project, ARRAY[p_name], coalesce(p_now, dibs.micros()));
    RETURN shown;
END $$;

-- The locks of a project, by name, or one of them: `[[name, slots, [[task, fence, agent, since], …], waiting, reserved for],
-- …]`.
CREATE OR REPLACE FUNCTION dibs.locks_of(p_project text, p_name text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT coalesce(json_agg(json_build_array(
        l.name, l.slots,
        (
            SELECT coalesce(json_agg(json_build_array(
                s.id, h.fence, coalesce(w.agent, e.agent), coalesce(w.claimed_at, e.claimed_at)
            ) ORDER BY h.n, h.fence), '[]')
            FROM unnest(l.holders, l.fences) AS h (n, fence) JOIN dibs.specs s ON s.n = h.n
            LEFT JOIN dibs.work w ON w.n = h.n LEFT JOIN dibs.ended e ON e.n = h.n
        ),
        (
            SELECT count(*) FROM dibs.lanes a JOIN dibs.waiting w
                ON w.status = 'ready' AND w.ties >= 4 AND w.lane = a.id AND w.parked_on = l.name
            WHERE a.project = p_project
        ),
        (SELECT s.id FROM dibs.specs s WHERE s.n = l.reserved_for)
    ) ORDER BY l.name), '[]')::text
    FROM dibs.locks l
    WHERE l.project = p_project AND (p_name IS NULL OR l.name = p_name) AND NOT starts_with(l.name, 'budget:')
$$;
