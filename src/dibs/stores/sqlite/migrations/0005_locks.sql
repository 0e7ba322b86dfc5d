-- Locks. A task that needs none has NULL in all three columns, and no row in any of the tables.
ALTER TABLE tasks ADD COLUMN locks TEXT;            -- the names of the locks it needs, sorted, as JSON
ALTER TABLE tasks ADD COLUMN parked_on TEXT;        -- the lock that it waits for; it is ready then
ALTER TABLE tasks ADD COLUMN parked_since INTEGER;  -- when it was first parked, since it became ready or was claimed last

-- What is parked is not waded through by claims.
DROP INDEX task_ready;
CREATE INDEX task_ready ON tasks (lane, rank, n, ready_at) WHERE status = 'ready' AND parked_on IS NULL;
CREATE INDEX task_parked ON tasks (project, parked_on, lane, rank, n, ready_at) WHERE parked_on IS NOT NULL;
CREATE INDEX task_passed_over ON tasks (parked_since, n) WHERE parked_since IS NOT NULL;

CREATE TABLE locks (            -- those that have other slots than one, or are reserved
    project TEXT NOT NULL,
    name TEXT NOT NULL,
    slots INTEGER NOT NULL DEFAULT 1,
    reserved_for INTEGER,
    PRIMARY KEY (project, name)
) WITHOUT ROWID, STRICT;
CREATE INDEX lock_reserved ON locks (reserved_for) WHERE reserved_for IS NOT NULL;

CREATE TABLE holds (            -- the locks of claims that have not ended
    project TEXT NOT NULL,
    name TEXT NOT NULL,
    n INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    PRIMARY KEY (project, name, n, fence)
) WITHOUT ROWID, STRICT;

CREATE TABLE wants (            -- the locks of ready tasks that are not parked: what they take when they are claimed
    n INTEGER NOT NULL,
    name TEXT NOT NULL,
    project TEXT NOT NULL,
    lane INTEGER NOT NULL,
    rank REAL NOT NULL,
    PRIMARY KEY (n, name)
) WITHOUT ROWID, STRICT;
CREATE INDEX want_best ON wants (project, name, lane, rank, n);
