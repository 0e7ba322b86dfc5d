-- With which prices an attempt's cost was computed.
-- Locks: the table `attempts`, for a moment: no row is rewritten.
ALTER TABLE dibs.attempts ADD COLUMN price text COLLATE "C";
