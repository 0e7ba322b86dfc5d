-- Dags in a row are those of a project: no other's is looked at, nor named as the place to go on from.
CREATE INDEX dag_project ON dags (project, id);
