"""Reading: tasks, dags, history. One round trip each; nothing here changes anything."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from dibs.model.dag import Dag, Edge
from dibs.model.instants import from_micros
from dibs.model.status import DagStatus, Status
from dibs.rules import graph
from dibs.stores import refusals
from dibs.stores.postgres.counting import stats
from dibs.stores.postgres.eventlog import events, last_seq
from dibs.stores.postgres.finding import alone_in, find, find_ids
from dibs.stores.postgres.rows import Past, attempt_of, claims_from, expired_from, instant, tasks_from

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.model.attempt import Attempt
    from dibs.model.task import Task
    from dibs.stores.postgres.engine import Engine
    from dibs.stores.postgres.joined import Joined

__all__ = [
    "claims_from",
    "dag",
    "events",
    "expired_from",
    "find",
    "find_ids",
    "get",
    "history",
    "last_seq",
    "stats",
    "tasks_from",
]

_GET = "SELECT dibs.whole(ARRAY(SELECT n FROM dibs.specs WHERE id = ANY ($1)), $2)"
_DAG = "SELECT kept, tasks, edges, started, requested FROM dibs.dag($1, $2)"
# Who is there but was never claimed yields one row without an attempt.
_HISTORY = """
SELECT a.* FROM dibs.specs s LEFT JOIN LATERAL (
    SELECT number, fence, agent, outcome, model, reason, error, fingerprint, exit_code, started_at, ended_at, cost_usd,
        tokens_in, tokens_out, turns, price
    FROM dibs.attempts WHERE n = s.n
    UNION ALL
    SELECT attempts, fence, agent, 'completed', model, NULL, NULL, NULL, NULL, started_at, ended_at, NULL,
        NULL, NULL, NULL, NULL
    FROM dibs.ended WHERE n = s.n AND digest IS NOT NULL
) a ON true
WHERE s.id = $1 ORDER BY a.fence
"""


class _Kept(Struct, array_like=True):
    """A dag's row, as `functions/dag.sql` answers it."""

    project: str
    title: str | None
    key: str | None
    status: DagStatus
    on_failure: str
    user: str | None
    created_by: str | None
    created_at: int
    started_at: int | None
    ended_at: int | None


_decode_kept = msgspec.json.Decoder(_Kept).decode
_decode_edges = msgspec.json.Decoder(list[tuple[str, str, str]]).decode


async def get(engine: Engine, ids: Sequence[str], *, listed: bool = False) -> list[Task | None]:
    """Snapshots, full or as lists have them, in the order of the ids."""
    text = await engine.value(_GET, list(dict.fromkeys(ids)), listed)
    found = {task.id: task for task in tasks_from(text, engine.now())}
    return [found.get(task_id) for task_id in ids]


async def history(engine: Engine, task_id: str) -> list[Attempt]:
    """Every ended claim of a task, oldest first; raises NotFound."""
    rows = await engine.fetch(_HISTORY, task_id)
    if not rows:
        raise refusals.no_task(task_id)
    return [attempt_of(msgspec.convert(tuple(row), Past)) for row in rows if row["fence"] is not None]


async def dag(engine: Engine | Joined, dag_id: str) -> Dag | None:
    """A dag with its tasks, the edges into them, and counts; also a virtual one."""
    row = await engine.row(_DAG, dag_id, alone_in(dag_id))
    assert row is not None
    now = engine.now()
    tasks = [task for text in row["tasks"] for task in tasks_from(text, now)]
    if row["kept"] is not None:
        kept = _decode_kept(row["kept"])
        edges = [Edge(*edge) for edge in _decode_edges(row["edges"])]
        return _counted(
            Dag(
                id=dag_id,
                project=kept.project,
                title=kept.title,
                key=kept.key,
                status=kept.status,
                on_failure=kept.on_failure,
                user=kept.user,
                created_by=kept.created_by,
                created_at=from_micros(kept.created_at),
                started_at=instant(kept.started_at),
                ended_at=instant(kept.ended_at),
                tasks=tasks,
                edges=edges,
            )
        )
    return _virtual(tasks[0], started=row["started"], requested=row["requested"]) if tasks else None


def _virtual(task: Task, *, started: bool, requested: bool) -> Dag:
    """What the row of a standalone task's dag would say."""
    unrequested = int(task.status is Status.CANCELLED and not requested)
    return _counted(
        Dag(
            id=task.dag_id,
            project=task.project,
            on_failure=graph.IMPLICIT,
            status=graph.dag_status({task.status: 1}, unrequested_cancels=unrequested, started=started),
            virtual=True,
            created_at=task.created_at,
            started_at=task.started_at,
            ended_at=task.completed_at or task.dead_lettered_at or task.cancelled_at,
            tasks=[task],
        )
    )


def _counted(dag: Dag) -> Dag:
    """With counts and costs, once its tasks are there."""
    dag.counts = _counts(task.status for task in dag.tasks)
    known = [task.cost_usd for task in dag.tasks if task.cost_usd is not None]
    dag.cost_usd = sum(known) if known else None
    return dag


def _counts(statuses: Iterable[Status]) -> dict[str, int]:
    """How many are where; statuses that nobody has are left out."""
    counted = Counter(statuses)
    return {status.value: counted[status] for status in Status if counted[status]}
