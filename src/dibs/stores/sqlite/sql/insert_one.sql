-- One standalone task. The parameters of insert.sql, with ?4 its id; ?23 the bytes of its payload.
INSERT INTO tasks (
    n, project, created_at, updated_at, id, bytes,
    type, status, lane, fallback_lane, rank, priority, boost, weight, deadline, on_deadline, step_at,
    run_after, due_at, max_attempts, solo, timeout_s, user, ready_at
)
VALUES (
    ?1 + 1, ?2, ?3, ?3, ?4, ?23,
    ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22
)
