-- Standalone tasks: ?1 the number before the first, ?2 project, ?3 now, ?4 an array for each.
INSERT INTO tasks (
    n, project, created_at, updated_at,
    id, type, status, lane, fallback_lane, rank, priority, boost, weight, deadline, on_deadline, step_at,
    run_after, due_at, max_attempts, solo, bytes, timeout_s, user, ready_at
)
SELECT
    ?1 + key + 1, ?2, ?3, ?3,
    value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8, value->>9,
    value->>10, value->>11, value->>12, value->>13, value->>14, value->>15, value->>16, value->>17, value->>18,
    value->>19
FROM json_each(?4)
