"""What tasks leave behind: which bytes, under which name. The bytes themselves lie elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.model.artifact import Artifact
from dibs.rules import large
from dibs.rules.artifacts import MAX_PER_TASK
from dibs.stores import refusals
from dibs.stores.sqlite.rows import encode, instant

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.model.task import Task
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.rows import Row

_DROP = "DELETE FROM artifacts WHERE n = ? AND name = ?"
_ADD = """
INSERT INTO artifacts (n, dag, name, digest, size, media_type, put_at) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_OTHERS = "SELECT count(*) FROM artifacts WHERE n = ? AND name <> ?"
_KNOWN = "a.name, a.digest, a.size, a.media_type, t.id, a.put_at"
_OF_TASKS = f"""
SELECT a.n, {_KNOWN} FROM json_each(?) j CROSS JOIN artifacts a ON a.n = j.value CROSS JOIN tasks t ON t.n = a.n
ORDER BY a.id
"""  # noqa: S608
_IN_DAG = f"""
SELECT {_KNOWN} FROM artifacts a CROSS JOIN tasks t ON t.n = a.n
WHERE a.dag = ?1 AND (?2 = '[]' OR a.name IN (SELECT value FROM json_each(?2))) ORDER BY a.id
"""  # noqa: S608
_MARKED = "SELECT spec FROM specs WHERE instr(spec, ?)"
_DIGESTS = "SELECT DISTINCT a.digest FROM json_each(?) j CROSS JOIN artifacts a ON a.digest = j.value"
_DIGESTS_IN = f"{_DIGESTS} JOIN tasks t ON t.n = a.n WHERE t.project = ?"


def put(tx: Transaction, task_id: str, fence: int, artifact: Artifact) -> Artifact:
    """Remember an artifact of a task under a held fence."""
    from dibs.stores.sqlite.work import Work

    work = Work(tx)
    row = work.get(task_id)
    if not row.held or row.fence != fence:
        raise refusals.lease_lost(task_id, fence)
    if row.over_timeout(tx.now):
        raise refusals.over_timeout(task_id, fence, row.timeout_s)
    if tx.row(_OTHERS, (row.n, artifact.name))[0] >= MAX_PER_TASK:
        raise refusals.too_many_artifacts(task_id, MAX_PER_TASK)
    keep(tx, row, [artifact])
    if not row.confirmed:
        row.confirmed = 1
        work.mend(row)
    work.flush()
    return _artifact((artifact.name, artifact.digest, artifact.size, artifact.media_type, row.id, tx.now))


def keep(tx: Transaction, row: Row, artifacts: Iterable[Artifact]) -> None:
    """These are the newest of a task; each takes the place of the one of its name."""
    for artifact in artifacts:
        tx.run(_DROP, (row.n, artifact.name))
        tx.run(
            _ADD,
            (row.n, row.dag_id, artifact.name, artifact.digest, artifact.size, artifact.media_type, tx.now),
        )


def fill(tx: Transaction, tasks: dict[int, Task], numbers: Sequence[int]) -> None:
    """Put into these tasks what they left behind."""
    found: dict[int, list[Artifact]] = {}
    for number, *known in tx.connection.execute(_OF_TASKS, (encode(numbers).decode(),)):
        found.setdefault(number, []).append(_artifact(known))
    for number, artifacts in found.items():
        tasks[number].artifacts = tuple(artifacts)


def in_dag(tx: Transaction, dag_id: str, names: Sequence[str]) -> list[Artifact]:
    """Those of a dag's tasks, in the order in which they were put."""
    return [_artifact(row) for row in tx.connection.execute(_IN_DAG, (dag_id, encode(names).decode()))]


def kept_digests(tx: Transaction, digests: Sequence[str], project: str | None) -> set[str]:
    """Those of these that some task's artifact has."""
    wanted = encode(digests).decode()
    found = (_DIGESTS, (wanted,)) if project is None else (_DIGESTS_IN, (wanted, project))
    return {row[0] for row in tx.connection.execute(*found)}


def payload_digests(tx: Transaction) -> set[str]:
    """Those of payloads that lie elsewhere."""
    marked = tx.connection.execute(_MARKED, (large.PAYLOAD_MARK,))
    return {digest for (spec,) in marked for digest in large.payload_digests(spec)}


def _artifact(known: Any) -> Artifact:
    """An artifact as the outside sees it."""
    name, digest, size, media_type, task_id, put_at = known
    return Artifact(name=name, digest=digest, size=size, media_type=media_type, task_id=task_id, put_at=instant(put_at))
