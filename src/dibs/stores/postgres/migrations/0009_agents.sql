-- Agents can be registered, drained and unregistered; how they stand is told by these instants.
-- Locks: the table `agents`, for a moment; no row is rewritten.
ALTER TABLE dibs.agents
    ADD COLUMN started_at bigint,
    ADD COLUMN registered text,     -- type, capabilities, models, max_concurrent as JSON
    ADD COLUMN process text,        -- version, host, pid … as JSON
    ADD COLUMN draining_at bigint,
    ADD COLUMN drained_at bigint,
    ADD COLUMN offline_at bigint,
    ADD COLUMN lost_at bigint,
    ADD COLUMN reason text;
