-- The attempts of tasks that completed without further ado: ?1 [[n, digest, output, decision], …], ?2 now.
INSERT INTO attempts (
    n, fence, number, agent, model, outcome, status, digest, reason, started_at, ended_at, output, decision
)
SELECT
    t.n, t.fence, t.attempts + 1, t.agent, t.model, 'completed', 'completed', j.value->>1, NULL,
    t.started_at, ?2, j.value->>2, j.value->>3
FROM json_each(?1) AS j
CROSS JOIN tasks AS t ON t.n = j.value->>0
