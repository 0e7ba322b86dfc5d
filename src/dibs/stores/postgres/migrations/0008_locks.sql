-- Locks that tasks need. A task that needs some has 4 in its `ties`; one that does not get them is parked: ready, and not
-- in the index that claims read.
-- Locks: everything in `work`, for as long as the index of ready tasks takes to be built anew: a second for a million.
CREATE TABLE dibs.locks (       -- those that are held, waited for or reserved, and those that have slots of their own
    project text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    slots integer NOT NULL DEFAULT 1,
    holders bigint[] NOT NULL DEFAULT '{}',     -- tasks, and beside it the fences that they hold it under
    fences bigint[] NOT NULL DEFAULT '{}',
    reserved_for bigint,        -- the task that nobody may pass over any more
    PRIMARY KEY (project, name)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100);

CREATE TABLE dibs.needs (       -- which locks a task needs
    n bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    PRIMARY KEY (n, name)
);

ALTER TABLE dibs.work
    ADD COLUMN parked_on text COLLATE "C",      -- the lock that does not admit it
    ADD COLUMN parked_since bigint;
DROP INDEX dibs.waiting_ready;
CREATE INDEX waiting_ready ON dibs.waiting (lane, rank, n) WHERE status = 'ready' AND parked_on IS NULL;
CREATE INDEX waiting_locks ON dibs.waiting (lane, parked_on, rank, n) WHERE status = 'ready' AND ties >= 4;
