-- What follows when tasks keep failing: rungs, as JSON, for the tasks of a type (scope type:NAME) or of a dag (dag:ID).
CREATE TABLE ladders (
    project TEXT NOT NULL,
    scope TEXT NOT NULL,
    rungs TEXT NOT NULL,
    PRIMARY KEY (project, scope)
) STRICT, WITHOUT ROWID;
