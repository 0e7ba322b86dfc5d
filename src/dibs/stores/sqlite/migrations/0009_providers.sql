-- The gates of providers that gave a rate limit, and the provider as part of what a lane is. Few rows, and usually none.

CREATE TABLE backoffs (
    project TEXT NOT NULL,
    gate TEXT NOT NULL,         -- provider:acme, or limit:code
    limits INTEGER NOT NULL,    -- how often it was closed without a success in between
    since INTEGER NOT NULL,
    until INTEGER NOT NULL,
    shut INTEGER NOT NULL,      -- whether it is closed, or that it opened is not noted yet
    PRIMARY KEY (project, gate)
) WITHOUT ROWID, STRICT;

UPDATE lanes SET key = substr(key, 1, length(key) - 1) || ',"provider":null}' WHERE instr(key, ',"provider":') = 0;
