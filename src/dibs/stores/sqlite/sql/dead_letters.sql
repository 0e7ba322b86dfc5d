-- Dead letters that fit; what is NULL does not filter. :alone the ids that the one task of a virtual dag may have,
-- :numbers those that contain the words looked for (both JSON arrays). `mark` is what rules.review.mark_of says.
WITH dead AS MATERIALIZED (
    SELECT * FROM (
        SELECT
            t.n, t.id, t.type, coalesce(a.fingerprint, a.outcome, 'unknown') AS mark, t.dead_lettered_at AS at,
            t.cost_usd, t.poison_pill, t.resolution
        FROM tasks AS t INDEXED BY task_status
        LEFT JOIN attempts AS a ON a.n = t.n AND a.fence = t.fence
        WHERE t.project = :project AND t.status = 'dead_lettered' AND t.status <> 'ready'
            AND (:type IS NULL OR t.type = :type)
            AND (:dag IS NULL OR t.dag = :dag OR t.dag IS NULL AND t.id IN (SELECT value FROM json_each(:alone)))
            AND (:user IS NULL OR t.user = :user)
            AND (:since IS NULL OR t.dead_lettered_at >= :since)
            AND (:until IS NULL OR t.dead_lettered_at < :until)
            AND (:reviewed IS NULL OR (t.resolution IS NOT NULL) = :reviewed)
            AND (:numbers IS NULL OR t.n IN (SELECT value FROM json_each(:numbers)))
    )
    WHERE :mark IS NULL OR mark = :mark
)
