-- What closes lanes as a whole: pauses, and the circuit breakers of types. Few rows, and usually none.

CREATE TABLE pauses (
    project TEXT NOT NULL,
    gate TEXT NOT NULL,         -- scope and name: type:code
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    since INTEGER NOT NULL,
    until INTEGER,              -- NULL: until somebody resumes it
    reason TEXT,
    by TEXT,
    PRIMARY KEY (project, gate)
) WITHOUT ROWID, STRICT;

CREATE TABLE breakers (
    project TEXT NOT NULL,
    type TEXT NOT NULL,
    record TEXT NOT NULL,       -- what it remembers, as JSON
    shut TEXT,                  -- how its type is closed: open, probing, trying; NULL: not at all
    due_at INTEGER,             -- when it becomes half-open
    troubled INTEGER NOT NULL,  -- whether a completed attempt could change it
    PRIMARY KEY (project, type)
) WITHOUT ROWID, STRICT;
CREATE INDEX breaker_troubled ON breakers (project) WHERE troubled = 1;

CREATE TABLE breaker_settings (
    project TEXT NOT NULL,
    type TEXT NOT NULL,         -- *: every type without settings of its own
    override TEXT NOT NULL,     -- as JSON
    PRIMARY KEY (project, type)
) WITHOUT ROWID, STRICT;
