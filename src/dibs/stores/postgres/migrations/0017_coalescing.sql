-- Tasks that go together. One with a coalesce key has 16 in its `ties`, and NULL in neither its key nor, while it has a
-- window, the end of that; whoever claims it looks for its group.
-- Locks: everything in `work`, for a moment; then reads `waiting` once.
ALTER TABLE dibs.work
    ADD COLUMN coalesce_key text COLLATE "C",
    ADD COLUMN gathers_until bigint;        -- it gathers while that is its run_after
ALTER TABLE dibs.claims ADD COLUMN groups integer[];    -- to which group each belongs; NULL: each to its own
-- Who may go with another, best first.
CREATE INDEX waiting_groups ON dibs.waiting (lane, coalesce_key, status, rank NULLS FIRST, n)
    WHERE coalesce_key IS NOT NULL AND parked_on IS NULL AND NOT solo;
