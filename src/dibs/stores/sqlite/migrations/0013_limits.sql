-- Slots of types: how many tasks of each may be held at once. What is held is counted from the tasks.
CREATE TABLE type_slots (
    project TEXT NOT NULL,
    type TEXT NOT NULL,
    slots INTEGER NOT NULL,
    PRIMARY KEY (project, type)
) WITHOUT ROWID, STRICT;

-- Windows of budgets: NULL where a budget is for good. Each window has a number; what was reserved in an earlier one counts
-- no more.
ALTER TABLE budgets ADD COLUMN per TEXT;
ALTER TABLE budgets ADD COLUMN zone TEXT;
ALTER TABLE budgets ADD COLUMN ends_at INTEGER;
ALTER TABLE budgets ADD COLUMN window_no INTEGER NOT NULL DEFAULT 0;
ALTER TABLE reserves ADD COLUMN window_no INTEGER NOT NULL DEFAULT 0;

-- Rates of types: so many tasks may be handed out in a time. `full_at` tells how many, at any moment.
CREATE TABLE rates (
    project TEXT NOT NULL,
    type TEXT NOT NULL,
    amount INTEGER NOT NULL,
    per_s REAL NOT NULL,
    burst INTEGER NOT NULL,
    full_at INTEGER NOT NULL,
    PRIMARY KEY (project, type)
) WITHOUT ROWID, STRICT;
