-- Standalone tasks that differ only in id and size: ?4 [[place, id, bytes], …]; place 0 has the number ?1 + 1.
INSERT INTO tasks (
    n, project, created_at, updated_at, id, bytes,
    type, status, lane, fallback_lane, rank, priority, boost, weight, deadline, on_deadline, step_at,
    run_after, due_at, max_attempts, solo, timeout_s, user, ready_at
)
SELECT
    ?1 + 1 + (value->>0), ?2, ?3, ?3, value->>1, value->>2,
    ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22
FROM json_each(?4)
