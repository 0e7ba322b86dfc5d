-- The states of tasks (?1, ids) in one row, in that order: what tells whether settling them is simple. And whether the
-- breaker of any type could be changed by a task that completes, and whether the gate of any provider could.
SELECT
    json_group_array(
        json_array(
            t.id, t.n, t.status, t.fence, t.dag, t.has_dependents, t.usage IS NULL, t.agent, t.timeout_at,
            t.locks IS NULL AND t.reserved IS NULL
        )
    ),
    EXISTS (SELECT 1 FROM breakers WHERE troubled = 1),
    EXISTS (SELECT 1 FROM backoffs)
FROM json_each(?1) AS j
CROSS JOIN tasks AS t ON t.id = j.value
