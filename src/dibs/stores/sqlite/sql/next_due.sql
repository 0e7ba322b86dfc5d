-- When time alone may next make a task of some lanes (?1) ready: it is due, or taken from whoever holds it.
WITH lanes (id) AS MATERIALIZED (SELECT value FROM json_each(?1))
SELECT min(due_at) FROM (
    SELECT * FROM (SELECT due_at FROM tasks WHERE status = 'scheduled' AND due_at IS NOT NULL AND lane IN lanes ORDER BY due_at LIMIT 1)
    UNION ALL
    SELECT * FROM (SELECT due_at FROM tasks WHERE status = 'retrying' AND due_at IS NOT NULL AND lane IN lanes ORDER BY due_at LIMIT 1)
    UNION ALL
    SELECT * FROM (SELECT due_at FROM tasks WHERE status = 'claimed' AND due_at IS NOT NULL AND lane IN lanes ORDER BY due_at LIMIT 1)
    UNION ALL
    SELECT * FROM (SELECT due_at FROM tasks WHERE status = 'running' AND due_at IS NOT NULL AND lane IN lanes ORDER BY due_at LIMIT 1)
)
