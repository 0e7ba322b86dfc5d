-- What was spent lately is looked at every few seconds. Attempts are only added, so that this costs nearly nothing.
-- Locks: writes to `attempts`, while its pages are read once.
CREATE INDEX attempts_ended_at ON dibs.attempts USING brin (ended_at) WITH (pages_per_range = 16, autosummarize = on);
