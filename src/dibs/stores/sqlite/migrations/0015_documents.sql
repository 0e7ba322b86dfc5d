-- Small values beside the tasks: tokens, schedules, hooks. `version` counts the writes of each.
CREATE TABLE documents (
    project TEXT NOT NULL,          -- '': of the whole store
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    body BLOB NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project, kind, name)
) STRICT;
