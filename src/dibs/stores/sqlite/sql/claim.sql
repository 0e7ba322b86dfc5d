-- The best ready tasks of some lanes, best first, in one row: the lanes' counter, and [[n, lane, solo, bytes, locks], …].
-- ?1 [[lane, boost · minutes], …]   ?2 how many
-- A recursive query with ORDER BY is a priority queue: it begins with the head of every lane, and each task
-- taken out puts the next one of its lane in. That is one or two index seeks for each lane and each task, however many wait.
WITH RECURSIVE best (effective, n, lane, rank, aged, solo, bytes, locks) AS (
    SELECT t.rank - (l.value->>1), t.n, t.lane, t.rank, l.value->>1, t.solo, t.bytes, t.locks
    FROM json_each(?1) AS l
    CROSS JOIN tasks AS t ON t.n = (
        SELECT h.n FROM tasks AS h INDEXED BY task_ready
        WHERE h.status = 'ready' AND h.parked_on IS NULL AND h.lane = l.value->>0
        ORDER BY h.rank, h.n LIMIT 1
    )
    UNION ALL
    SELECT t.rank - b.aged, t.n, t.lane, t.rank, b.aged, t.solo, t.bytes, t.locks
    FROM best AS b
    -- Two seeks, because (rank, n) > (…, …) would walk through all tasks of equal rank.
    CROSS JOIN tasks AS t ON t.n = coalesce(
        (
            SELECT s.n FROM tasks AS s INDEXED BY task_ready
            WHERE s.status = 'ready' AND s.parked_on IS NULL AND s.lane = b.lane AND s.rank = b.rank AND s.n > b.n
            ORDER BY s.n LIMIT 1
        ),
        (
            SELECT s.n FROM tasks AS s INDEXED BY task_ready
            WHERE s.status = 'ready' AND s.parked_on IS NULL AND s.lane = b.lane AND s.rank > b.rank
            ORDER BY s.rank, s.n LIMIT 1
        )
    )
    ORDER BY 1, 2
    LIMIT ?2
)
SELECT
    (SELECT value FROM meta WHERE name = 'lanes'),
    (SELECT json_group_array(json_array(n, lane, solo, bytes, locks)) FROM best)
