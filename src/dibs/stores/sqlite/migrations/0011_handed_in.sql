-- Work that was handed in and waits for a decision, and for nobody.
CREATE INDEX task_handed_in ON tasks (n) WHERE status = 'validating' AND open = 0;
