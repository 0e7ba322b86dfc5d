-- Budgets that are saved for a task that was passed over: as rules.budgets and the contract say.
--
-- Such a budget has a row among the locks, with its own name: `reserved_for` the task, and one more than how often it was
-- offered that as `slots`.

-- The ready task that a budget is saved for, if any.
CREATE OR REPLACE FUNCTION dibs.saved_for(p_project text, p_name text) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT w.n FROM dibs.locks l JOIN dibs.waiting w ON w.n = l.reserved_for AND w.status || '' = 'ready'
        WHERE l.project = p_project AND l.name = p_name
    );
END $$;

-- What a task would reserve in a budget; NULL if it does not use it.
CREATE OR REPLACE FUNCTION dibs.wish_in(p_project text, p_name text, p_n bigint) RETURNS bigint LANGUAGE plpgsql STABLE AS
$$ BEGIN RETURN (SELECT w.wanted FROM dibs.wishes(p_project, p_n, NULL) w WHERE w.name = p_name); END $$;

-- Save every budget for one of those that were passed over; no longer for whom that is of no use to. Answers those that
-- were saved and are not any more. Needs hold_locks().
CREATE OR REPLACE FUNCTION dibs.save_budgets(p_at bigint, OUT projects text[], OUT names text[]) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    saved record;
    budget record;
    parked text;
    chosen bigint;
BEGIN
    FOR saved IN
        SELECT l.project, l.name, l.slots - 1 AS offered, l.reserved_for, b.cap, b.spent
        FROM dibs.locks l LEFT JOIN dibs.budgets b ON b.project = l.project AND b.name = l.name
        WHERE starts_with(l.name, 'budget:')
    LOOP
        SELECT w.parked_on INTO parked FROM dibs.waiting w WHERE w.n = saved.reserved_for AND w.status || '' = 'ready';
        IF FOUND AND (parked = saved.name OR parked IS NULL AND saved.offered < 12)
            AND saved.spent + dibs.wish_in(saved.project, saved.name, saved.reserved_for) <= saved.cap
        THEN
            UPDATE dibs.locks l SET slots = CASE WHEN parked IS NULL THEN saved.offered + 2 ELSE 1 END
            WHERE l.project = saved.project AND l.name = saved.name;
        ELSE
            DELETE FROM dibs.locks l WHERE l.project = saved.project AND l.name = saved.name;
            projects := projects || saved.project;
            names := names || saved.name;
        END IF;
    END LOOP;
    FOR budget IN
        SELECT b.* FROM dibs.budgets b
        WHERE NOT EXISTS (SELECT 1 FROM dibs.locks l WHERE l.project = b.project AND l.name = b.name)
            AND NOT starts_with(b.scope, 'agent:')
    LOOP
        -- Of each lane the best that could fit, and of these the one that has been ready longest. Not who is behind
        -- somebody that is on his way: ready, and not for long yet. Who is ready for longer may be one that no agent can
        -- pay for, where agents have budgets.
        SELECT best.n INTO chosen FROM dibs.lanes a
        CROSS JOIN LATERAL (
            SELECT f.n, f.rank, f.ready_at FROM (
                SELECT w.n, w.rank, w.ready_at FROM dibs.waiting w
                WHERE w.status = 'ready' AND w.ties >= 4 AND w.lane = a.id AND w.parked_on = budget.name
                ORDER BY w.rank, w.n LIMIT 100
            ) f
            WHERE budget.spent + dibs.wish_in(budget.project, budget.name, f.n) <= budget.cap
            ORDER BY f.rank, f.n LIMIT 1
        ) best
        WHERE a.project = budget.project AND best.ready_at <= p_at - 60000000
            AND NOT EXISTS (
                SELECT 1 FROM (
                    SELECT o.ready_at, o.rank, o.n FROM dibs.waiting o
                    WHERE o.status = 'ready' AND o.parked_on IS NULL AND o.lane = a.id ORDER BY o.rank, o.n LIMIT 100
                ) better
                WHERE (better.rank, better.n) < (best.rank, best.n) AND (
                    better.ready_at > p_at - 60000000 OR NOT EXISTS (
                        SELECT 1 FROM dibs.budgets x WHERE x.project = budget.project AND starts_with(x.scope, 'agent:')
                    )
                )
            )
        ORDER BY best.ready_at, best.n LIMIT 1;
        IF FOUND THEN
            INSERT INTO dibs.locks (project, name, reserved_for) VALUES (budget.project, budget.name, chosen);
        END IF;
    END LOOP;
END $$;
