-- Instants are INTEGER microseconds since 1970. Every row and key begins with its project.
-- What a user asked for is in `specs`, written once; what changes is narrow and lies in `tasks`, so that a
-- change of state never rewrites a payload. Outcomes are insert-only rows of `attempts`.

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value ANY
) WITHOUT ROWID, STRICT;

CREATE TABLE lanes (
    id INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    type TEXT NOT NULL,
    boost REAL NOT NULL,
    key TEXT NOT NULL UNIQUE,   -- the whole LaneKey as JSON
    idle_since INTEGER,         -- when prune first found nothing ready in it
    retired_at INTEGER
) STRICT;

CREATE TABLE tasks (
    n INTEGER PRIMARY KEY,      -- insertion order
    project TEXT NOT NULL,
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    status TEXT NOT NULL,
    dag TEXT,                   -- NULL while its dag is virtual
    parent TEXT,
    key TEXT,
    body_hash TEXT,
    user TEXT,
    lane INTEGER NOT NULL,
    fallback_lane INTEGER,
    rank REAL,                  -- NULL until it was ready for the first time
    priority REAL NOT NULL,
    boost REAL NOT NULL,
    weight INTEGER NOT NULL DEFAULT 0,
    deadline INTEGER,
    on_deadline TEXT NOT NULL DEFAULT 'keep',
    step_at INTEGER,            -- when a ready task's deadline next changes its rank
    run_after INTEGER,
    due_at INTEGER,             -- scheduled, retrying: when it is ready; held: when its time is over;
                                -- cancelled: when the attempt that its agent never settled is written
    open INTEGER NOT NULL DEFAULT 0,
    deps INTEGER NOT NULL DEFAULT 0,
    has_dependents INTEGER NOT NULL DEFAULT 0,
    max_attempts INTEGER NOT NULL,
    solo INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    timeout_s REAL,
    timeout_at INTEGER,
    fence INTEGER NOT NULL DEFAULT 0,
    agent TEXT,
    model TEXT,
    lease_s REAL,
    lease_expires_at INTEGER,
    claimed_at INTEGER,
    started_at INTEGER,
    renewed_at INTEGER,
    confirmed INTEGER NOT NULL DEFAULT 0,
    progress REAL,
    note TEXT,
    usage TEXT,                 -- of the attempt under way, as JSON
    attempts INTEGER NOT NULL DEFAULT 0,
    crashes INTEGER NOT NULL DEFAULT 0,
    releases INTEGER NOT NULL DEFAULT 0,
    retry_at INTEGER,
    reason TEXT,
    error TEXT,
    exit_code INTEGER,
    poison_pill INTEGER NOT NULL DEFAULT 0,
    output_fence INTEGER,       -- the attempt that holds the output
    output_sanitized INTEGER NOT NULL DEFAULT 0,
    cancel_reason TEXT,
    cause TEXT,
    requested INTEGER NOT NULL DEFAULT 0,
    marked INTEGER NOT NULL DEFAULT 0,
    overdue INTEGER NOT NULL DEFAULT 0,
    cost_usd REAL,
    tokens_in INTEGER,
    tokens_out INTEGER,
    turns INTEGER,
    created_at INTEGER NOT NULL,
    ready_at INTEGER,
    completed_at INTEGER,
    cancelled_at INTEGER,
    dead_lettered_at INTEGER,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX task_id ON tasks (id, project);
CREATE INDEX task_ready ON tasks (lane, rank, n, ready_at) WHERE status = 'ready';
CREATE INDEX task_due ON tasks (status, due_at, n, lane) WHERE due_at IS NOT NULL;
-- Ready tasks are in task_ready; one index less is written by every add, and none far apart by a claim.
CREATE INDEX task_status ON tasks (project, status, n, type) WHERE status <> 'ready';
CREATE INDEX task_type ON tasks (project, type);
CREATE INDEX task_dag ON tasks (dag, status, requested) WHERE dag IS NOT NULL;
CREATE INDEX task_user ON tasks (project, user) WHERE user IS NOT NULL;
CREATE INDEX task_parent ON tasks (parent) WHERE parent IS NOT NULL;
CREATE INDEX task_cause ON tasks (cause) WHERE cause IS NOT NULL;
CREATE INDEX task_marked ON tasks (n) WHERE marked = 1;
CREATE INDEX task_step ON tasks (step_at) WHERE step_at IS NOT NULL;
CREATE INDEX task_deadline ON tasks (deadline)
    WHERE deadline IS NOT NULL AND overdue = 0 AND status NOT IN ('completed', 'dead_lettered', 'cancelled');
CREATE UNIQUE INDEX task_key ON tasks (project, key)
    WHERE key IS NOT NULL AND status NOT IN ('cancelled', 'dead_lettered');
CREATE INDEX task_cost ON tasks (project, cost_usd) WHERE cost_usd IS NOT NULL;
CREATE INDEX task_ended ON tasks (coalesce(completed_at, cancelled_at)) WHERE status IN ('completed', 'cancelled');

CREATE TABLE specs (
    n INTEGER PRIMARY KEY,
    spec TEXT NOT NULL          -- a Task's specification with its payload, as JSON
) STRICT;

CREATE TABLE attempts (
    n INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    number INTEGER NOT NULL,
    agent TEXT NOT NULL,
    model TEXT,
    outcome TEXT NOT NULL,
    status TEXT NOT NULL,       -- what the task became
    digest TEXT NOT NULL,
    reason TEXT,
    error TEXT,
    fingerprint TEXT,
    exit_code INTEGER,
    retry_at INTEGER,
    started_at INTEGER,
    ended_at INTEGER NOT NULL,
    cost_usd REAL,
    tokens_in INTEGER,
    tokens_out INTEGER,
    turns INTEGER,
    output TEXT,
    decision TEXT,
    artifacts TEXT,
    PRIMARY KEY (n, fence)
) WITHOUT ROWID, STRICT;

CREATE TABLE blobs (            -- outputs too long for a row of attempts
    n INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    output TEXT NOT NULL,
    PRIMARY KEY (n, fence)
) STRICT;

CREATE TABLE edges (
    id INTEGER PRIMARY KEY,
    parent INTEGER NOT NULL,
    child INTEGER NOT NULL,
    kind TEXT NOT NULL,
    resolved_at INTEGER
) STRICT;
CREATE UNIQUE INDEX edge_child ON edges (child, parent, kind);
CREATE INDEX edge_parent ON edges (parent);

CREATE TABLE dags (
    id TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL,
    title TEXT,
    key TEXT,
    body_hash TEXT,
    status TEXT NOT NULL,
    on_failure TEXT NOT NULL,
    user TEXT,
    created_by TEXT,
    closing INTEGER NOT NULL DEFAULT 0,     -- its tasks are being cancelled
    cause TEXT,
    requested INTEGER NOT NULL DEFAULT 0,
    cancel_reason TEXT,
    drafted TEXT NOT NULL,      -- the ids of the tasks it was inserted with, as JSON
    created_at INTEGER NOT NULL,
    started INTEGER NOT NULL,   -- whether one of its tasks ever ran
    started_at INTEGER,
    ended_at INTEGER
) WITHOUT ROWID, STRICT;
CREATE UNIQUE INDEX dag_key ON dags (project, key) WHERE key IS NOT NULL AND status NOT IN ('cancelled', 'failed');
CREATE INDEX dag_closing ON dags (id) WHERE closing = 1;

CREATE TABLE grown (            -- dags, also virtual ones, whose critical path weights are to be refreshed
    id INTEGER PRIMARY KEY,
    dag TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE journal (
    id INTEGER PRIMARY KEY,
    n INTEGER NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    value TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX journal_name ON journal (n, kind, name) WHERE kind <> 'log';
CREATE INDEX journal_task ON journal (n, kind);

CREATE TABLE outbox (
    last_seq INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    at INTEGER NOT NULL,
    body TEXT NOT NULL          -- groups of events; outbox.py expands them
) STRICT;

CREATE TABLE claims (
    project TEXT NOT NULL,
    claim_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    held TEXT NOT NULL,         -- [[n, fence], …] as JSON
    PRIMARY KEY (project, claim_id)
) WITHOUT ROWID, STRICT;
CREATE INDEX claim_at ON claims (at);

CREATE TABLE agents (
    project TEXT NOT NULL,
    id TEXT NOT NULL,
    offer TEXT NOT NULL,        -- capabilities, types, models as JSON
    heard_at INTEGER NOT NULL,
    PRIMARY KEY (project, id)
) WITHOUT ROWID, STRICT;

CREATE TABLE duties (
    name TEXT PRIMARY KEY,
    due_at INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

INSERT INTO meta VALUES ('lanes', 1);
