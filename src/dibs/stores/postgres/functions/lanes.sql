-- Lanes and their floors.
--
-- A floor keeps claims from wading through the index entries of tasks that were claimed long ago, which stay there while
-- anybody holds an old snapshot. Whoever makes tasks ready holds the lock of floors shared, and says so in `lows` where
-- a rank is below the floor; whoever raises floors holds it alone, so nothing is in flight that it cannot see.

-- Taken before anything becomes ready, or any lane's number is used. Never waits for more than a raise.
CREATE OR REPLACE FUNCTION dibs.hold_floors() RETURNS void LANGUAGE sql AS
$$ SELECT pg_advisory_xact_lock_shared('dibs.lanes'::regclass::oid::integer, 0) $$;

-- These ranks became ready. Needs hold_floors().
CREATE OR REPLACE FUNCTION dibs.note_lows(p_lanes integer[], p_ranks float8[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO dibs.lows (lane, rank)
    SELECT r.lane, min(r.rank) FROM unnest(p_lanes, p_ranks) AS r (lane, rank)
    -- An old snapshot does not show the floor as it is.
    WHERE r.rank < (SELECT l.low FROM dibs.lanes l WHERE l.id = r.lane)
        OR current_setting('transaction_isolation') <> 'read committed'
    GROUP BY r.lane;
END $$;

-- Wait a moment until nothing that becomes ready is in flight. Whether it worked.
CREATE OR REPLACE FUNCTION dibs.hold_floors_alone() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('lock_timeout', '20ms', true);
    PERFORM pg_advisory_xact_lock('dibs.lanes'::regclass::oid::integer, 0);
    PERFORM set_config('lock_timeout', '0', true);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;

-- Raise the floors of these lanes to what is ready in them now. Needs hold_floors_alone(), and the claims of the project.
CREATE OR REPLACE FUNCTION dibs.raise_floors(p_lanes integer[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE dibs.lanes l SET low = f.low
    FROM (
        SELECT l.id, coalesce(
            (
                SELECT w.rank FROM dibs.waiting w
                WHERE w.status = 'ready' AND w.parked_on IS NULL AND w.lane = l.id
                    AND w.rank >= least(l.low, (SELECT min(rank) FROM dibs.lows o WHERE o.lane = l.id))
                ORDER BY w.rank, w.n LIMIT 1
            ), 'infinity'
        ) AS low
        FROM dibs.lanes l WHERE l.id = ANY (p_lanes)
    ) f
    WHERE l.id = f.id AND l.low <> f.low;
    DELETE FROM dibs.lows o WHERE o.lane = ANY (p_lanes);
END $$;

-- Everybody shall read the lanes, what is closed, and what agents go by, again.
CREATE OR REPLACE FUNCTION dibs.change_lanes() RETURNS void LANGUAGE sql AS
$$ UPDATE dibs.meta SET value = (value::bigint + 1)::text WHERE name = 'lanes' $$;

-- The numbers of lanes, given as JSON keys; those that are new or retired come into use. Answers all lanes in use, and
-- with the first of them what is closed.
-- Locks: lane rows, and the counter that tells everybody to read them again.
CREATE OR REPLACE FUNCTION dibs.add_lanes(p_lanes text)
RETURNS TABLE (version bigint, id integer, key text, shut text, budgets text[])
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM dibs.hold_floors();
    INSERT INTO dibs.lanes (project, type, boost, key)
    SELECT j->>0, j->>1, (j->>2)::float8, j->>3 FROM jsonb_array_elements(p_lanes::jsonb) j ORDER BY j->>3
    ON CONFLICT (key) DO UPDATE SET retired_at = NULL, idle_since = NULL;
    PERFORM dibs.change_lanes();
    RETURN QUERY SELECT * FROM dibs.lanes_in_use();
END $$;

-- `budgets`: the projects that have some, but for those of agents.
CREATE OR REPLACE FUNCTION dibs.lanes_in_use() RETURNS TABLE (version bigint, id integer, key text, shut text, budgets text[])
LANGUAGE sql AS $$
    SELECT
        (SELECT value::bigint FROM dibs.meta WHERE name = 'lanes'), l.id, l.key,
        CASE WHEN row_number() OVER () = 1 THEN dibs.shut_now() END,
        CASE WHEN row_number() OVER () = 1 THEN ARRAY(
            SELECT DISTINCT b.project FROM dibs.budgets b WHERE NOT starts_with(b.scope, 'agent:')
        ) END
    FROM (SELECT 1) one LEFT JOIN dibs.lanes l ON l.retired_at IS NULL
$$;
