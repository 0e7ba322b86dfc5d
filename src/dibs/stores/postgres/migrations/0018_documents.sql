-- Small values beside the tasks: tokens, schedules, hooks. `version` counts the writes of each.
-- Locks: nothing that is there.
CREATE TABLE dibs.documents (
    project text COLLATE "C" NOT NULL,      -- '': of the whole store
    kind text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    body bytea NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (project, kind, name)
);
