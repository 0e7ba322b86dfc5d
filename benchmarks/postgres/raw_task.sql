-- A plain task table, as many queues have it: ten columns and an index for each state that is looked for.
DROP TABLE IF EXISTS raw_task;
CREATE TABLE raw_task (
  id bigserial PRIMARY KEY,
  queue text NOT NULL DEFAULT 'default',
  name text NOT NULL DEFAULT 'noop',
  payload jsonb NOT NULL,
  priority smallint NOT NULL DEFAULT 0,
  status text NOT NULL DEFAULT 'pending',
  attempts int NOT NULL DEFAULT 0,
  run_at timestamptz NOT NULL DEFAULT now(),
  locked_at timestamptz,
  finished_at timestamptz
);
CREATE INDEX raw_task_pending ON raw_task (priority, id) WHERE status = 'pending';
CREATE INDEX raw_task_active ON raw_task (locked_at) WHERE status = 'active';
CREATE INDEX raw_task_done ON raw_task (finished_at) WHERE status = 'done';
