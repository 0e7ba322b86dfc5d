-- What tasks ask of people. A waiting task has one open question; what ends it closes that.
CREATE TABLE questions (
    id TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL,
    n INTEGER NOT NULL,         -- the task that asks
    kind TEXT NOT NULL,         -- question, approval
    name TEXT,                  -- by which its task finds it again; NULL: it does not
    digest TEXT NOT NULL,       -- what is asked, and of whom
    question TEXT NOT NULL,
    schema TEXT,                -- JSON, as are fallback and answer
    assignee TEXT,
    fallback TEXT,              -- the answer if nobody gives one
    status TEXT NOT NULL,       -- open, answered, closed
    asked_at INTEGER NOT NULL,
    expires_at INTEGER,
    answer TEXT,
    answered_by TEXT,
    answered_at INTEGER
) STRICT;
CREATE INDEX question_task ON questions (n, name);
CREATE INDEX question_open ON questions (project, asked_at, id) WHERE status = 'open';
CREATE INDEX question_expiry ON questions (expires_at, id) WHERE status = 'open' AND expires_at IS NOT NULL;
