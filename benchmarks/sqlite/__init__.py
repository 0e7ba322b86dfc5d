"""dibs on SQLite, against the limit of the file itself and against Huey and DBOS."""
