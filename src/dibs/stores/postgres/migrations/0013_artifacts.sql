-- What tasks leave behind: which bytes, under which name. The bytes themselves lie elsewhere.
-- Locks: creates one table; nothing else is touched.
CREATE TABLE dibs.artifacts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,     -- grows in the order in which they are put
    n bigint NOT NULL,          -- the task
    size bigint NOT NULL,
    put_at bigint NOT NULL,
    dag text COLLATE "C" NOT NULL,          -- its dag's id, also a virtual one's
    name text COLLATE "C" NOT NULL,
    digest text COLLATE "C" NOT NULL,
    media_type text COLLATE "C"
);
CREATE UNIQUE INDEX artifacts_name ON dibs.artifacts (n, name);
CREATE INDEX artifacts_dag ON dibs.artifacts (dag, id);
CREATE INDEX artifacts_digest ON dibs.artifacts (digest);
