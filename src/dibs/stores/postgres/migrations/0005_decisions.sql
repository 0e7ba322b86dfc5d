-- What was last decided about a dead letter, and when; gone when it lives again. The decisions themselves, with author and
-- note, are part of the specification, so that whoever reads a task has them without asking.
-- Locks: the table `ended`, for a moment.
ALTER TABLE dibs.ended ADD COLUMN resolution text COLLATE "C", ADD COLUMN reviewed_at bigint;
