-- Slots of types: how many tasks of each may be held at once. What is held is counted from the tasks.
-- Locks: nothing that is there.
CREATE TABLE dibs.type_slots (
    project text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    slots integer NOT NULL,
    PRIMARY KEY (project, type)
);

-- Windows of budgets: NULL where a budget is for good. Each window has a number; what was reserved in an earlier one counts
-- no more.
-- Locks: budgets and reserves, for a moment.
ALTER TABLE dibs.budgets
    ADD COLUMN per text,
    ADD COLUMN zone text,
    ADD COLUMN ends_at bigint,
    ADD COLUMN window_no integer NOT NULL DEFAULT 0;
ALTER TABLE dibs.reserves ADD COLUMN window_no integer NOT NULL DEFAULT 0;

-- Rates of types: so many tasks may be handed out in a time. `full_at` tells how many, at any moment.
-- Locks: nothing that is there.
CREATE TABLE dibs.rates (
    project text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    amount integer NOT NULL,
    per_s float8 NOT NULL,
    burst integer NOT NULL,
    interval_us bigint NOT NULL,        -- how long a token takes to come back
    full_at bigint NOT NULL,
    PRIMARY KEY (project, type)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100);
