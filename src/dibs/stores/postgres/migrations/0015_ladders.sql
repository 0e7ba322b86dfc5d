-- What follows when tasks keep failing. Locks: creates one table; nothing else is touched.
CREATE TABLE dibs.ladders (
    project text COLLATE "C" NOT NULL,
    scope text COLLATE "C" NOT NULL,        -- type:NAME or dag:ID
    rungs text COLLATE "C" NOT NULL,        -- JSON
    PRIMARY KEY (project, scope)
);
