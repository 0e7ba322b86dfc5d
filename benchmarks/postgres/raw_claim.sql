-- For pgbench: claim 100 rows in one commit, complete the same rows in another.
WITH picked AS (SELECT id FROM raw_task WHERE status = 'pending' ORDER BY priority, id LIMIT 100 FOR UPDATE SKIP LOCKED), claimed AS (UPDATE raw_task SET status = 'active', locked_at = now(), attempts = attempts + 1 FROM picked WHERE raw_task.id = picked.id RETURNING raw_task.id) SELECT array_agg(id)::text AS ids FROM claimed \gset
UPDATE raw_task SET status = 'done', finished_at = now() WHERE id = ANY(:ids::bigint[]);
