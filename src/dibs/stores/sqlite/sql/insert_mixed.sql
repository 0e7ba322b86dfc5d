-- Standalone tasks of many kinds: ?4 [[place, id, bytes, type, status, …], …]; place 0 has the number ?1 + 1.
INSERT INTO tasks (
    n, project, created_at, updated_at, id, bytes,
    type, status, lane, fallback_lane, rank, priority, boost, weight, deadline, on_deadline, step_at,
    run_after, due_at, max_attempts, solo, timeout_s, user, ready_at
)
SELECT
    ?1 + 1 + (value->>0), ?2, ?3, ?3, value->>1, value->>2,
    value->>3, value->>4, value->>5, value->>6, value->>7, value->>8, value->>9, value->>10, value->>11, value->>12,
    value->>13, value->>14, value->>15, value->>16, value->>17, value->>18, value->>19, value->>20
FROM json_each(?4)
