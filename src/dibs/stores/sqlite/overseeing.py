"""What people look at from above: dags in a row, many histories, what was spent, what was completed lately."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.model.dag import Dag
from dibs.model.instants import from_micros
from dibs.model.status import DagStatus, Status
from dibs.rules.flow import End
from dibs.rules.spending import Sum
from dibs.rules.usage import plus
from dibs.stores.overseen import Dags, Ends
from dibs.stores.sqlite.lanes import decode_key
from dibs.stores.sqlite.reading import attempts_of
from dibs.stores.sqlite.rows import encode, instant
from dibs.stores.sqlite.statements import sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.attempt import Attempt
    from dibs.stores.overseen import DagFilter
    from dibs.stores.sqlite.engine import Transaction

MAX_LOOKED_AT = 10_000
_PAST_ALL = "\U0010ffff"
_DAGS = """
SELECT id, project, title, key, status, on_failure, user, created_by, created_at, started_at, ended_at
FROM dags INDEXED BY dag_project WHERE project = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3
"""
_COUNTS = """
SELECT t.dag, t.status, count(*), sum(t.cost_usd)
FROM json_each(?) j CROSS JOIN tasks t ON t.dag = j.value GROUP BY t.dag, t.status
"""
_ENDS = """
SELECT lane, coalesce(completed_at, cancelled_at), CASE WHEN fence = 1 THEN started_at - ready_at END
FROM tasks INDEXED BY task_ended
WHERE status IN ('completed', 'cancelled') AND coalesce(completed_at, cancelled_at) >= ?2
    AND status = 'completed' AND project = ?1
ORDER BY coalesce(completed_at, cancelled_at) DESC LIMIT ?3
"""


def dags(tx: Transaction, wanted: DagFilter, limit: int, before: str | None) -> Dags:
    """Rows of dags that fit, without tasks and edges, by id, the greatest first. No other project's is looked at, so
    that none is named as the place to go on from."""
    found: list[Dag] = []
    text = None if wanted.text is None else wanted.text.lower()
    looked_at, last, more = 0, before, False
    below = _PAST_ALL if before is None else before
    for row in tx.connection.execute(_DAGS, (wanted.project, below, MAX_LOOKED_AT + 1)):
        matches = (wanted.status is None or row[4] in wanted.status) and (
            text is None or text in (row[2] or "").lower()
        )
        if looked_at >= MAX_LOOKED_AT or (matches and len(found) >= limit):
            more = True
            break
        looked_at, last = looked_at + 1, row[0]
        if matches:
            found.append(_dag(row))
    _count(tx, found)
    return Dags(items=found, rest=last if more else None)


def _dag(row: tuple[Any, ...]) -> Dag:
    return Dag(
        id=row[0],
        project=row[1],
        title=row[2],
        key=row[3],
        status=DagStatus(row[4]),
        on_failure=row[5],
        user=row[6],
        created_by=row[7],
        created_at=from_micros(row[8]),
        started_at=instant(row[9]),
        ended_at=instant(row[10]),
    )


def _count(tx: Transaction, found: list[Dag]) -> None:
    """Where their tasks are, and what those cost."""
    known = {dag.id: dag for dag in found}
    counted: dict[str, dict[str, int]] = {}
    for dag_id, status, count, cost in tx.connection.execute(_COUNTS, (encode(list(known)).decode(),)):
        counted.setdefault(dag_id, {})[status] = count
        known[dag_id].cost_usd = plus(known[dag_id].cost_usd, cost)
    for dag_id, counts in counted.items():
        known[dag_id].counts = {status.value: counts[status] for status in Status if status in counts}


def histories(tx: Transaction, task_ids: Sequence[str]) -> list[list[Attempt]]:
    """Every ended claim of each, oldest first."""
    select = "SELECT t.id, t.n FROM json_each(?) j CROSS JOIN tasks t ON t.id = j.value"
    numbers = dict(tx.connection.execute(select, (encode(list(task_ids)).decode(),)))
    return [attempts_of(tx, numbers[id]) if id in numbers else [] for id in task_ids]


def spending(tx: Transaction, project: str, by: str, since: int, until: int, step: int) -> list[Sum]:
    """Attempts that used something, added up."""
    return [Sum(*row) for row in tx.connection.execute(sql("spending"), (project, by, since, until, step))]


def ends(tx: Transaction, project: str, since: int, limit: int) -> Ends:
    """Tasks that were completed since then, the last one first. Their lanes may be retired meanwhile."""
    found = [End(*row) for row in tx.connection.execute(_ENDS, (project, since, limit))]
    numbers = encode(sorted({end.lane for end in found})).decode()
    keys = tx.connection.execute("SELECT id, key FROM lanes WHERE id IN (SELECT value FROM json_each(?))", (numbers,))
    return Ends(lanes={id: decode_key(key) for id, key in keys}, ends=found)
