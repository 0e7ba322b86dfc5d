-- What was last decided about a dead letter, and when; forgotten when it lives again. The decisions themselves, with
-- author and note, are part of the specification, so that whoever reads a task has them without asking.
ALTER TABLE tasks ADD COLUMN resolution TEXT;
ALTER TABLE tasks ADD COLUMN reviewed_at INTEGER;
-- Only its own columns are in it: no other change of a task has to look at this index.
CREATE INDEX task_reviewed ON tasks (reviewed_at) WHERE resolution IS NOT NULL;
