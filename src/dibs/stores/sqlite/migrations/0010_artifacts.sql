-- What tasks leave behind: which bytes, under which name. The bytes themselves lie elsewhere.
CREATE TABLE artifacts (
    id INTEGER PRIMARY KEY,     -- grows in the order in which they are put
    n INTEGER NOT NULL,         -- the task
    dag TEXT NOT NULL,          -- its dag's id, also a virtual one's
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    size INTEGER NOT NULL,
    media_type TEXT,
    put_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX artifact_name ON artifacts (n, name);
CREATE INDEX artifact_dag ON artifacts (dag, id);
CREATE INDEX artifact_digest ON artifacts (digest);
