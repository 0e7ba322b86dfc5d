-- What tasks ask of people. A waiting task has one open question; what ends it closes that.
-- Locks: creates one table; nothing else is touched.
CREATE TABLE dibs.questions (
    id text COLLATE "C" PRIMARY KEY,
    n bigint NOT NULL,          -- the task that asks
    asked_at bigint NOT NULL,
    expires_at bigint,
    answered_at bigint,
    project text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,         -- question, approval
    status text COLLATE "C" NOT NULL,       -- open, answered, closed
    name text COLLATE "C",                  -- by which its task finds it again; NULL: it does not
    digest text COLLATE "C" NOT NULL,       -- what is asked, and of whom
    assignee text COLLATE "C",
    answered_by text COLLATE "C",
    question text COLLATE "C" NOT NULL,
    schema text COLLATE "C",    -- JSON, as are fallback and answer
    fallback text COLLATE "C",  -- the answer if nobody gives one
    answer text COLLATE "C"
);
CREATE INDEX questions_task ON dibs.questions (n, name);
CREATE INDEX questions_open ON dibs.questions (project, asked_at, id) WHERE status = 'open';
CREATE INDEX questions_expiry ON dibs.questions (expires_at, id) WHERE status = 'open' AND expires_at IS NOT NULL;
