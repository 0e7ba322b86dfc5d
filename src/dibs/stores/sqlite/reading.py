"""Reading: snapshots of tasks, claims, pages, dags, history. Nothing here changes anything."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from dibs.model.attempt import Attempt
from dibs.model.claim import Claim
from dibs.model.dag import Dag, Edge
from dibs.model.instants import from_micros
from dibs.model.status import DagStatus, Outcome, Status
from dibs.rules import graph, large
from dibs.rules.handover import by_name
from dibs.stores import refusals
from dibs.stores.sqlite import artifacts, rows
from dibs.stores.sqlite.rows import Row, decode, encode, fill, instant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dibs.model.task import Task
    from dibs.stores.sqlite.engine import Transaction

SHOWN_ATTEMPTS = 10

_OUTPUTS = """
SELECT a.n, coalesce(a.output, b.output), a.decision
FROM json_each(?) j
CROSS JOIN attempts a ON a.n = j.value->>0 AND a.fence = j.value->>1
LEFT JOIN blobs b ON b.n = a.n AND b.fence = a.fence
"""
_OUTPUTS_LISTED = """
SELECT a.n, a.output, a.decision, b.n IS NOT NULL
FROM json_each(?) j
CROSS JOIN attempts a ON a.n = j.value->>0 AND a.fence = j.value->>1
LEFT JOIN blobs b ON b.n = a.n AND b.fence = a.fence
"""
_BLOCKED_BY = """
SELECT e.child, t.id FROM json_each(?) j
CROSS JOIN edges e ON e.child = j.value AND e.resolved_at IS NULL CROSS JOIN tasks t ON t.n = e.parent ORDER BY e.id
"""
_INPUTS = """
SELECT e.child, e.kind, t.id, s.spec->>'$.ref',
    CASE WHEN t.status IN ('completed', 'dead_lettered', 'cancelled') THEN coalesce(a.output, b.output) END
FROM json_each(?) j
CROSS JOIN edges e ON e.child = j.value AND e.kind <> 'judge'
CROSS JOIN tasks t ON t.n = e.parent
CROSS JOIN specs s ON s.n = t.n
LEFT JOIN attempts a ON a.n = t.n AND a.fence = t.output_fence
LEFT JOIN blobs b ON b.n = t.n AND b.fence = t.output_fence
ORDER BY e.id
"""
_ATTEMPTS = """
SELECT fence, number, agent, outcome, model, reason, error, fingerprint, exit_code, started_at, ended_at,
    cost_usd, tokens_in, tokens_out, turns, price
FROM attempts WHERE n = ? ORDER BY fence
"""
_CHECKPOINTS = """
SELECT g.n, g.value FROM json_each(?) j
CROSS JOIN journal g ON g.n = j.value AND g.kind = 'checkpoint' AND g.name = '' AND g.kind <> 'log'
"""
_ANSWERS = """
SELECT q.n, q.id, q.answer FROM json_each(?) j CROSS JOIN questions q ON q.n = j.value
WHERE q.name IS NOT NULL AND q.status = 'answered'
"""
_DAG_EDGES = """
SELECT p.id, c.id, e.kind FROM tasks c
CROSS JOIN edges e ON e.child = c.n AND e.kind <> 'judge' CROSS JOIN tasks p ON p.n = e.parent
WHERE c.dag = ? ORDER BY c.n, e.id
"""


# Tasks


def get(tx: Transaction, ids: Sequence[str]) -> list[Task | None]:
    """Full snapshots, in the order of the ids."""
    return _got(tx, ids, tasks_of)


def get_listed(tx: Transaction, ids: Sequence[str]) -> list[Task | None]:
    """Snapshots as lists have them, in the order of the ids."""
    return _got(tx, ids, listed)


def _got(
    tx: Transaction, ids: Sequence[str], shown: Callable[[Transaction, Sequence[Row]], list[Task]]
) -> list[Task | None]:
    found = rows.load_ids(tx, dict.fromkeys(ids))
    tasks = dict(zip(found, shown(tx, list(found.values())), strict=True))
    return [tasks.get(task_id) for task_id in ids]


def get_one(tx: Transaction, task_id: str) -> Task:
    """The snapshot of a task that is known to exist."""
    [task] = get(tx, [task_id])
    assert task is not None
    return task


def listed(tx: Transaction, found: Sequence[Row]) -> list[Task]:
    """Snapshots of rows as lists have them: large values are named, and an output that is one is not read."""
    specs = rows.load_listed(tx, found)
    ended = [(row.n, row.output_fence) for row in found if row.output_fence is not None]
    if ended:
        for number, output, decision, is_large in tx.connection.execute(_OUTPUTS_LISTED, (encode(ended).decode(),)):
            task = specs[number]
            task.output = large.named(task.id, large.OUTPUT) if is_large else decoded(output)
            task.decision = decoded(decision)
    return _completed(tx, found, specs)


def tasks_of(tx: Transaction, found: Sequence[Row]) -> list[Task]:
    """Snapshots of rows, with outputs and what they are blocked by."""
    specs = rows.load_specs(tx, [row.n for row in found])
    ended = [(row.n, row.output_fence) for row in found if row.output_fence is not None]
    if ended:
        for number, output, decision in tx.connection.execute(_OUTPUTS, (encode(ended).decode(),)):
            task = specs[number]
            task.output = decoded(output)
            task.decision = decoded(decision)
    return _completed(tx, found, specs)


def _completed(tx: Transaction, found: Sequence[Row], specs: dict[int, Task]) -> list[Task]:
    """With what they left behind, what they are blocked by, and their state."""
    # Whatever is left behind confirms the start: a first claim that was just made has nothing to look for.
    tried = [row.n for row in found if row.fence > 1 or (row.fence and (row.confirmed or not row.held))]
    if tried:
        artifacts.fill(tx, specs, tried)
    blocked = [row.n for row in found if row.open]
    if blocked:
        parents: dict[int, dict[str, None]] = {}
        for number, parent in tx.connection.execute(_BLOCKED_BY, (encode(blocked).decode(),)):
            parents.setdefault(number, {})[parent] = None
        for number, names in parents.items():
            specs[number].blocked_by = tuple(names)
    return [fill(specs[row.n], row, tx.now) for row in found]


def decoded(text: str | None) -> Any:
    """JSON that may be missing."""
    return None if text is None else decode(text)


def depth_of(tx: Transaction, number: int) -> int:
    """How many spawns lie above a task."""
    return int(tx.row("SELECT coalesce(spec->>'$.depth', 0) FROM specs WHERE n = ?", (number,))[0])


# Claims


def claims_of(tx: Transaction, found: Sequence[Row]) -> list[Claim]:
    """Held tasks with all that their agents need."""
    claims = {
        row.n: Claim(
            task=task,
            fence=row.fence,
            agent=row.agent or "",
            model=row.model,
            lease_s=row.lease_s or 0.0,
            lease_expires_at=instant(row.lease_expires_at),
            timeout_s=row.timeout_s,
            context=task.context,
        )
        for row, task in zip(found, tasks_of(tx, found), strict=True)
    }
    add_context(tx, claims, [row.n for row in found if row.deps], [row.n for row in found if row.fence > 0])
    add_answers(tx, claims, [row.n for row in found if row.fence > 1])
    return list(claims.values())


def add_context(tx: Transaction, claims: dict[int, Claim], joined: list[int], tried: list[int]) -> None:
    """Put inputs and children into claims with dependencies; attempts and checkpoints into those tried before."""
    if joined:
        parents: dict[tuple[int, bool], list[tuple[str, str | None, str | None]]] = {}
        for number, kind, *parent in tx.connection.execute(_INPUTS, (encode(joined).decode(),)):
            parents.setdefault((number, kind == "child"), []).append((parent[0], parent[1], parent[2]))
        for (number, spawned), outputs in parents.items():
            if spawned:
                claims[number].children = by_name(outputs)
            else:
                claims[number].inputs = by_name(outputs)
    if tried:
        for number in tried:
            claims[number].previous_attempts = attempts_of(tx, number)[-SHOWN_ATTEMPTS:]
        for number, value in tx.connection.execute(_CHECKPOINTS, (encode(tried).decode(),)):
            claims[number].checkpoint = decode(value)


def add_answers(tx: Transaction, claims: dict[int, Claim], numbers: Sequence[int]) -> None:
    """Put into claims what people answered before."""
    if numbers:
        for number, question_id, value in tx.connection.execute(_ANSWERS, (encode(numbers).decode(),)):
            claims[number].answers[question_id] = decode(value)


def attempts_of(tx: Transaction, number: int) -> list[Attempt]:
    """Every ended claim of a task, oldest first."""
    return [
        Attempt(
            fence=row[0],
            number=row[1],
            agent=row[2],
            outcome=Outcome(row[3]),
            model=row[4],
            reason=row[5],
            error=row[6],
            fingerprint=row[7],
            exit_code=row[8],
            started_at=instant(row[9]),
            ended_at=instant(row[10]),
            cost_usd=row[11],
            tokens_in=row[12],
            tokens_out=row[13],
            turns=row[14],
            price=row[15],
        )
        for row in tx.connection.execute(_ATTEMPTS, (number,))
    ]


def history(tx: Transaction, task_id: str) -> list[Attempt]:
    """Every ended claim of a task, oldest first; raises NotFound."""
    found = tx.row("SELECT n FROM tasks WHERE id = ?", (task_id,))
    if found is None:
        raise refusals.no_task(task_id)
    return attempts_of(tx, found[0])


# Dags


def dag(tx: Transaction, dag_id: str) -> Dag | None:
    """A dag with its tasks, the edges into them, and counts; also a virtual one."""
    from dibs.stores.sqlite.cascade import find_virtual
    from dibs.stores.sqlite.work import Work

    work = Work(tx)
    kept = work.dags.find(dag_id)
    if kept is None:
        alone = find_virtual(work, dag_id)
        return None if alone is None else _virtual(tx, alone)
    found = rows.load_ordered(tx, "SELECT n FROM tasks WHERE dag = ? ORDER BY n", (dag_id,))
    edges = [Edge(*row) for row in tx.connection.execute(_DAG_EDGES, (dag_id,))]
    return _counted(
        Dag(
            id=kept.id,
            project=kept.project,
            title=kept.title,
            key=kept.key,
            status=DagStatus(kept.status),
            on_failure=kept.on_failure,
            user=kept.user,
            created_by=kept.created_by,
            created_at=from_micros(kept.created_at),
            started_at=instant(kept.started_at),
            ended_at=instant(kept.ended_at),
            tasks=listed(tx, found),
            edges=edges,
        )
    )


def _virtual(tx: Transaction, row: Row) -> Dag:
    """What the row of a standalone task's dag would say."""
    started = row.started_at is not None or any(a.started_at for a in attempts_of(tx, row.n))
    unrequested = int(row.status == "cancelled" and not row.requested)
    status = graph.dag_status({Status(row.status): 1}, unrequested_cancels=unrequested, started=started)
    return _counted(
        Dag(
            id=row.dag_id,
            project=row.project,
            on_failure=graph.IMPLICIT,
            status=status,
            virtual=True,
            created_at=from_micros(row.created_at),
            started_at=instant(row.started_at),
            ended_at=instant(row.completed_at or row.dead_lettered_at or row.cancelled_at),
            tasks=listed(tx, [row]),
        )
    )


def _counted(dag: Dag) -> Dag:
    """With counts and costs, once its tasks are there."""
    dag.counts = counts(task.status for task in dag.tasks)
    known = [task.cost_usd for task in dag.tasks if task.cost_usd is not None]
    dag.cost_usd = sum(known) if known else None
    return dag


def counts(statuses: Iterable[str]) -> dict[str, int]:
    """How many are where; statuses that nobody has are left out."""
    counted = Counter(statuses)
    return {status.value: counted[status] for status in Status if counted[status]}
