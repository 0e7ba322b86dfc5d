-- Before tasks are inserted, in one row: the lanes' counter, the newest task's number, how many of the ids (?1) exist.
SELECT
    (SELECT value FROM meta WHERE name = 'lanes'),
    (SELECT coalesce(max(n), 0) FROM tasks),
    (SELECT count(*) FROM json_each(?1) AS j CROSS JOIN tasks AS t ON t.id = j.value)
