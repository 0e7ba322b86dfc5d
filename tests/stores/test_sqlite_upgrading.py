"""A file from before people decided about dead letters has dead letters to decide about."""

from __future__ import annotations

from pathlib import Path

import apsw

from dibs.model.status import Status
from dibs.stores.sqlite import opening
from dibs.sync import connect_sync

BEFORE_DECISIONS = 1
ROWS = """
INSERT INTO lanes (id, project, type, boost, key)
VALUES (1, 'default', 'job', 0.1,
    '{"project":"default","type":"job","assignee":null,"requires":[],"models":[],"boost":0.1}');
INSERT INTO tasks (n, project, id, type, status, lane, priority, boost, max_attempts, fence, attempts, reason, error,
    created_at, ready_at, dead_lettered_at, updated_at)
VALUES (1, 'default', 'task_1', 'job', 'dead_lettered', 1, 50, 0.1, 3, 1, 1, 'error', 'no',
    1700000000000000, 1700000000000000, 1700000001000000, 1700000001000000);
INSERT INTO specs (n, spec) VALUES (1, '{"id":"task_1","type":"job","payload":{"n":1}}');
INSERT INTO attempts (n, fence, number, agent, outcome, status, digest, reason, error, fingerprint, ended_at)
VALUES (1, 1, 1, 'ada', 'failed', 'dead_lettered', 'd', 'error', 'no', 'abc', 1700000001000000);
"""


def file_of_version(folder: Path, version: int) -> Path:
    """A file as that version left it, with one dead letter."""
    path = folder / "dibs.db"
    connection = apsw.Connection(str(path))
    for migration in sorted(Path(opening.__file__).parent.glob("migrations/*.sql")):
        if int(migration.name[:4]) <= version:
            connection.execute(migration.read_text(encoding="utf-8"))
    connection.execute(ROWS)
    connection.execute(f"PRAGMA application_id = {opening.APPLICATION_ID}; PRAGMA user_version = {version}")
    connection.close()
    return path


def test_dead_letters_of_an_earlier_version_are_grouped_and_decided_about(tmp_path: Path) -> None:
    path = file_of_version(tmp_path, BEFORE_DECISIONS)
    with connect_sync(f"sqlite:{path}") as queue:
        [group] = queue.dead_letters()
        assert (group.fingerprint, group.count, group.unreviewed) == ("abc", 1, 1)
        task = queue.review("task_1", "retried", by="grace")
        assert (task.status, task.payload, task.reviews[0].by) == (Status.READY, {"n": 1}, "grace")
        queue.add("job")
        [lane] = queue.stats().lanes
        assert (lane.ready, lane.provider) == (2, None)
