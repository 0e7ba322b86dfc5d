-- Tasks that somebody holds get a table of their own within `work`. So claiming a task takes it out of the long list of
-- those that wait, instead of leaving there a new version of it and an index entry beside the old ones; and whatever is
-- done to a held task happens in a small place, however many tasks wait.
-- Locks: everything in `work`, for as long as its rows take to be copied.
LOCK TABLE dibs.work IN ACCESS EXCLUSIVE MODE;
DROP VIEW dibs.tasks;
ALTER TABLE dibs.work RENAME TO work_before;
ALTER TABLE dibs.work_before DROP CONSTRAINT work_pkey;
DROP INDEX dibs.work_ready, dibs.work_due, dibs.work_over, dibs.work_step, dibs.work_deadline;

CREATE TABLE dibs.work (LIKE dibs.work_before INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY LIST (status);
CREATE TABLE dibs.held PARTITION OF dibs.work FOR VALUES IN ('claimed', 'running', 'validating') WITH (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.05
);
CREATE TABLE dibs.waiting PARTITION OF dibs.work DEFAULT WITH (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.05
);
INSERT INTO dibs.work SELECT * FROM dibs.work_before;
DROP TABLE dibs.work_before CASCADE;  -- a function, written anew in a moment

ALTER TABLE dibs.held ADD PRIMARY KEY (n);
CREATE INDEX held_over ON dibs.held (due_at, n);
ALTER TABLE dibs.waiting ADD PRIMARY KEY (n);
CREATE INDEX waiting_ready ON dibs.waiting (lane, rank, n) WHERE status = 'ready';
CREATE INDEX waiting_later ON dibs.waiting (due_at, n) WHERE status <> 'ready';
CREATE INDEX work_step ON dibs.work (step_at) WHERE step_at IS NOT NULL;
CREATE INDEX work_deadline ON dibs.work (deadline, n) WHERE deadline IS NOT NULL AND NOT overdue;

CREATE VIEW dibs.tasks AS
SELECT
    s.n, s.id, s.project, s.type, w.status, s.dag, s.parent, s.key, s."user", w.priority, w.agent, w.fence,
    w.attempts, w.reason, w.error, (s.spec::jsonb) -> 'payload' AS payload, NULL::jsonb AS output,
    to_timestamp(s.created_at / 1e6) AS created_at, to_timestamp(w.ready_at / 1e6) AS ready_at,
    to_timestamp(w.started_at / 1e6) AS started_at, NULL::timestamptz AS ended_at,
    to_timestamp(w.due_at / 1e6) AS due_at
FROM dibs.work w JOIN dibs.specs s USING (n)
UNION ALL
SELECT
    s.n, s.id, s.project, s.type, e.status, s.dag, s.parent, s.key, s."user", e.priority, e.agent, e.fence,
    e.attempts, e.reason, e.error, (s.spec::jsonb) -> 'payload', e.output::jsonb,
    to_timestamp(s.created_at / 1e6), to_timestamp(e.ready_at / 1e6),
    to_timestamp(e.started_at / 1e6), to_timestamp(e.ended_at / 1e6), NULL
FROM dibs.ended e JOIN dibs.specs s USING (n);
