-- Tasks that go together. One without a coalesce key has NULL in both columns; one with a key has '[]' for its locks, if it
-- needs none, so that a claim that meets it looks for its group.
ALTER TABLE tasks ADD COLUMN coalesce_key TEXT;
ALTER TABLE tasks ADD COLUMN gathers_until INTEGER;     -- the end of its window; it gathers while that is its run_after

-- Who may go with another, best first.
CREATE INDEX task_group ON tasks (lane, coalesce_key, status, rank, n)
    WHERE coalesce_key IS NOT NULL AND status IN ('ready', 'scheduled') AND parked_on IS NULL AND solo = 0;
