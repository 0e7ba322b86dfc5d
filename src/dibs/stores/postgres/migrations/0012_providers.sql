-- The gates of providers that gave a rate limit, and the provider as part of what a lane is. Few rows, and usually none.
-- Locks: the rows of lanes, for a moment.
CREATE TABLE dibs.backoffs (
    project text COLLATE "C" NOT NULL,
    gate text COLLATE "C" NOT NULL,     -- provider:acme, or limit:code
    limits integer NOT NULL DEFAULT 0,  -- how often it was closed without a success in between
    since bigint NOT NULL DEFAULT 0,
    until bigint NOT NULL DEFAULT 0,
    shut boolean NOT NULL DEFAULT false,    -- whether it is closed, or that it opened is not noted yet
    PRIMARY KEY (project, gate)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

UPDATE dibs.lanes SET key = left(key, -1) || ',"provider":null}' WHERE strpos(key, ',"provider":') = 0;
