-- What closes lanes as a whole: pauses, and the circuit breakers of types. Few rows, and usually none.
-- Locks: nothing that exists.

CREATE TABLE dibs.pauses (
    project text NOT NULL,
    gate text NOT NULL,         -- scope and name: type:code
    scope text NOT NULL,
    name text NOT NULL,
    since bigint NOT NULL,
    until bigint,               -- NULL: until somebody resumes it
    reason text,
    by text,
    PRIMARY KEY (project, gate)
);

CREATE TABLE dibs.breakers (
    project text NOT NULL,
    type text NOT NULL,
    state text NOT NULL DEFAULT 'closed',
    failed_at bigint[] NOT NULL DEFAULT '{}',   -- failures in a row that are not forgotten
    last_failure_at bigint,
    opened_at bigint,
    half_open_at bigint,
    due_at bigint,              -- open: when it becomes half-open
    probe_n bigint,             -- half-open: the claim that decides; NULL: the next one takes it
    probe_fence bigint,
    probe_id text,
    reason text,
    -- How its type is closed.
    shut text GENERATED ALWAYS AS (
        CASE
            WHEN state = 'open' THEN 'open'
            WHEN state = 'half_open' AND probe_n IS NULL THEN 'trying'
            WHEN state = 'half_open' THEN 'probing'
        END
    ) STORED,
    -- Whether a completed attempt could change it: settling looks for these.
    troubled boolean GENERATED ALWAYS AS (state <> 'closed' OR failed_at <> '{}') STORED,
    PRIMARY KEY (project, type)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
CREATE INDEX breakers_troubled ON dibs.breakers (project) WHERE troubled;

CREATE TABLE dibs.breaker_settings (
    project text NOT NULL,
    type text NOT NULL,         -- *: every type without settings of its own
    failure_threshold integer,
    cooldown_s float8,
    half_open_after_s float8,
    enabled boolean,
    PRIMARY KEY (project, type)
);
