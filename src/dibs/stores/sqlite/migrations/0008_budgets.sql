-- Budgets, in parts of their unit. Projects that have none pay nothing: their tasks have NULL in the column.
ALTER TABLE tasks ADD COLUMN reserved INTEGER;      -- 1 while its claim has reserved something

CREATE TABLE budgets (
    project TEXT NOT NULL,
    name TEXT NOT NULL,                 -- as `parked_on` says it
    scope TEXT NOT NULL,
    unit TEXT NOT NULL,
    cap INTEGER NOT NULL,
    default_reserve INTEGER NOT NULL,
    reserved INTEGER NOT NULL DEFAULT 0,    -- by claims that have not ended: the sum of `reserves`
    spent INTEGER NOT NULL DEFAULT 0,
    unpriced INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (project, name)
) WITHOUT ROWID, STRICT;
CREATE UNIQUE INDEX budget_scope ON budgets (project, scope, unit);

CREATE TABLE reserves (                 -- what claims have reserved
    n INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    name TEXT NOT NULL,
    project TEXT NOT NULL,
    amount INTEGER NOT NULL,
    PRIMARY KEY (n, fence, name)
) WITHOUT ROWID, STRICT;
