-- What was just claimed, in one row: the specifications, and beside each its state.
-- Tasks with a history, dependencies or a deadline (a short state) are read in full by the caller.
SELECT
    '[' || group_concat(s.spec, ',') || ']',
    json_group_array(
        CASE
            WHEN t.fence = 1 AND t.deps = 0 AND t.run_after IS NULL AND t.deadline IS NULL AND t.cancelled_at IS NULL
                THEN json_array(
                    t.n, t.id, t.dag, t.priority, t.rank, t.boost, t.created_at, t.ready_at, t.parent, t.model, t.timeout_s
                )
            ELSE json_array(t.n, t.id, t.dag)
        END
    )
FROM json_each(?1) AS j
CROSS JOIN tasks AS t ON t.n = j.value
CROSS JOIN specs AS s ON s.n = t.n
