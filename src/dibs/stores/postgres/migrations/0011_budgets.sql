-- Budgets. A task that reserves in one, or was ever parked on one, has 8 in its `ties`.
-- Locks: nothing that is there.
CREATE TABLE dibs.budgets (     -- amounts in parts of the unit
    project text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,         -- as `parked_on` says it
    scope text COLLATE "C" NOT NULL,
    unit text COLLATE "C" NOT NULL,
    cap bigint NOT NULL,
    default_reserve bigint NOT NULL,
    reserved bigint NOT NULL DEFAULT 0,     -- by claims that have not ended: the sum of `reserves`
    spent bigint NOT NULL DEFAULT 0,
    unpriced bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (project, name)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100);
CREATE UNIQUE INDEX budgets_scope ON dibs.budgets (project, scope, unit);

CREATE TABLE dibs.reserves (    -- what claims have reserved
    n bigint NOT NULL,
    fence bigint NOT NULL,
    project text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    amount bigint NOT NULL,
    PRIMARY KEY (n, fence, name)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
