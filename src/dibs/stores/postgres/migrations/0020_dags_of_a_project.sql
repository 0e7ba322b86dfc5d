-- Dags in a row are those of a project: no other's is looked at, nor named as the place to go on from.
-- Locks: writes to `dags`, while it is read once.
CREATE INDEX dags_project ON dibs.dags (project, id);
