-- Agents can be registered, drained and unregistered; how they stand is told by these instants.
ALTER TABLE agents ADD COLUMN started_at INTEGER;
ALTER TABLE agents ADD COLUMN registered TEXT;      -- type, capabilities, models, max_concurrent as JSON
ALTER TABLE agents ADD COLUMN process TEXT;         -- version, host, pid … as JSON
ALTER TABLE agents ADD COLUMN draining_at INTEGER;
ALTER TABLE agents ADD COLUMN drained_at INTEGER;
ALTER TABLE agents ADD COLUMN offline_at INTEGER;
ALTER TABLE agents ADD COLUMN lost_at INTEGER;
ALTER TABLE agents ADD COLUMN reason TEXT;
