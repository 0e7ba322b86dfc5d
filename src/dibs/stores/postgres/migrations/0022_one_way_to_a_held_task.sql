-- Held tasks are found by their number in one index only. A planner that last saw the table empty, but for rows that
-- nobody may clear away yet, thought an index by time and number as good, and walked all of it for each task.
DROP INDEX dibs.held_over;
CREATE INDEX held_over ON dibs.held (due_at);

-- Wider ranges: whoever fills one asks for its summary, and a server notes down 256 such wishes between two of its
-- rounds. Of every wish beyond them it complains in its log.
-- Locks: what is held for a moment; writes to tasks that ended, attempts and claims, while each table is read once.
DROP INDEX dibs.ended_at;
CREATE INDEX ended_at ON dibs.ended USING brin (ended_at) WITH (pages_per_range = 256, autosummarize = on);
DROP INDEX dibs.attempts_ended_at;
CREATE INDEX attempts_ended_at ON dibs.attempts USING brin (ended_at) WITH (pages_per_range = 256, autosummarize = on);
DROP INDEX dibs.claims_at;
CREATE INDEX claims_at ON dibs.claims USING brin (at) WITH (pages_per_range = 64, autosummarize = on);
