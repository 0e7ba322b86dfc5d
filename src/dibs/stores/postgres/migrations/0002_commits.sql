-- Who committed what last, for statements that must not be applied twice: see once.py.
-- Locks: creates one table; nothing else is touched.
CREATE TABLE dibs.commits (
    name text PRIMARY KEY,
    number bigint NOT NULL,
    at bigint NOT NULL
) WITH (fillfactor = 50);
