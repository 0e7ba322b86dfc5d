"""What follows when tasks end badly: dependents and children are cancelled, dags fail, in bounded steps.

A task whose consequences are still to come is *marked*; a dag whose tasks are still to be cancelled is
*closing*. Both are committed with the change that caused them, so that a crash between two steps loses nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.ids import alone_in, dag_of
from dibs.model.status import Status
from dibs.rules.escalation import FAIL_DAG, fails_dag
from dibs.rules.graph import fails_now, parse_on_failure
from dibs.stores import refusals
from dibs.stores.sqlite.dags import ENDED
from dibs.stores.sqlite.rows import encode, load_specs
from dibs.stores.sqlite.work import Work

if TYPE_CHECKING:
    from dibs.stores.sqlite.dags import DagRow
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.rows import Row

STEP = 500
"""Tasks that one transaction ends at most."""

_OPEN_EDGES = "SELECT id, child, kind FROM edges WHERE parent = ? AND resolved_at IS NULL ORDER BY id"
_CHILDREN = """
SELECT n FROM tasks WHERE parent = ? AND status NOT IN ('completed', 'dead_lettered', 'cancelled') ORDER BY n
"""
_LIVE_IN_DAG = """
SELECT n FROM tasks WHERE dag = ? AND status IN
    ('pending', 'scheduled', 'ready', 'claimed', 'running', 'validating', 'waiting', 'retrying') ORDER BY n
"""
# No open `after` edge, and something that it runs after whatever the end: it is there to clean up.
_SPARED = """
SELECT j.value FROM json_each(?) j
WHERE EXISTS (SELECT 1 FROM edges WHERE child = j.value AND kind NOT IN ('after', 'judge'))
    AND NOT EXISTS (SELECT 1 FROM edges WHERE child = j.value AND kind = 'after' AND resolved_at IS NULL)
"""
_MARKED = "SELECT n FROM tasks WHERE marked = 1 ORDER BY n LIMIT ?"
# Whose trouble began at the task or dag ?1; ?2 is the task of a virtual dag.
_MARKED_BY = """
SELECT n FROM tasks WHERE marked = 1 AND (
    coalesce(cause, id) IN (?1, ?2) OR coalesce(cause, id) IN (SELECT id FROM tasks WHERE dag = ?1)
) ORDER BY n LIMIT ?3
"""
# Most of what is cancelled has nothing live below it. Those need not be loaded one by one.
_FORGET_QUIET = """
UPDATE tasks SET marked = 0 WHERE marked = 1 AND status = 'cancelled'
    AND NOT EXISTS (
        SELECT 1 FROM edges e CROSS JOIN tasks c ON c.n = e.child WHERE e.parent = tasks.n AND e.resolved_at IS NULL
            AND (e.kind <> 'after' OR c.status NOT IN ('completed', 'dead_lettered', 'cancelled'))
    )
    AND NOT EXISTS (
        SELECT 1 FROM tasks k WHERE k.parent = tasks.id
            AND k.status NOT IN ('completed', 'dead_lettered', 'cancelled')
    )
"""
_CLOSE_QUESTION = "UPDATE questions SET status = 'closed' WHERE n = ? AND status = 'open'"
_NAMES_RUNG = "SELECT 1 FROM specs WHERE n = ? AND instr(spec, ?)"
_CLOSING = "SELECT id FROM dags WHERE closing = 1 AND (?1 IS NULL OR id = ?1 OR cause = ?1) ORDER BY id"


def cancel(tx: Transaction, target: str, reason: str | None) -> list[str]:
    """Cancel a task or dag by request, and as much of what follows as one step may."""
    work = Work(tx)
    cascade = Cascade(work, STEP)
    row = work.by_id([target]).get(target)
    if row is None:
        dag = work.dags.find(target)
        if dag is None:
            row = _task_of_virtual(work, target)
        else:
            _cancel_dag(cascade, dag, reason)
    if row is not None and not row.final:
        cascade.cancel(row, "cancelled", cause=None, requested=True, text=reason)
    cascade.run()
    work.flush()
    return cascade.ended


def spread(tx: Transaction, limit: int, cause: str | None) -> list[str]:
    """Go on with what is marked or closing, until something was ended or nothing is left."""
    tx.run(_FORGET_QUIET)
    work = Work(tx)
    cascade = Cascade(work, limit)
    while not cascade.ended:
        if cause is None:
            marked = work.select(_MARKED, (limit,))
        else:
            alone = "task_" + cause.removeprefix("dag_")
            marked = work.select(_MARKED_BY, (cause, alone, limit))
        closing = [row[0] for row in tx.connection.execute(_CLOSING, (cause,))]
        if not marked and not closing:
            break
        for dag_id in closing:
            dag = work.dags.find(dag_id)
            if dag is not None:
                cascade.close(dag)
        cascade.waiting[:0] = marked
        cascade.run()
        work.save()
    work.flush()
    return cascade.ended


def anything_to_spread(tx: Transaction) -> bool:
    """Whether a task is marked or a dag closing."""
    return bool(
        tx.row("SELECT EXISTS (SELECT 1 FROM tasks WHERE marked = 1) OR EXISTS (SELECT 1 FROM dags WHERE closing = 1)")[
            0
        ]
    )


class Cascade:
    """Tasks that ended badly, whose consequences are applied one after the other."""

    def __init__(self, work: Work, limit: int) -> None:
        self.work = work
        self.waiting: list[Row] = []
        self.ended: list[str] = []
        self._left = limit

    def cancel(self, row: Row, reason: str, *, cause: str | None, requested: bool, text: str | None) -> None:
        """Cancel one task and mark it."""
        work = self.work
        was_held = row.held
        if row.status == "waiting":
            work.tx.run(_CLOSE_QUESTION, (row.n,))
        row.status = "cancelled"
        row.reason = reason
        row.cancel_reason = text
        row.cause = cause
        row.requested = int(requested)
        row.cancelled_at = work.now
        # Its attempt is written when its agent settles, or when this instant is over.
        row.due_at = row.lease_expires_at if was_held else None
        if not was_held:
            row.agent = None
        row.retry_at = row.step_at = None
        row.marked = 1
        work.touch(row)
        work.emit("task.cancelled", row, agent=row.agent, reason=reason)
        work.dags.touch(row.dag)
        self.ended.append(row.id)
        self.waiting.append(row)
        self._left -= 1

    def bury(self, row: Row) -> None:
        """Note that a task was dead-lettered: its consequences are to come."""
        row.marked = 1
        self.work.mend(row)
        self.waiting.append(row)

    def run(self) -> None:
        """Apply consequences until none is left or this step is full; what is left stays marked."""
        place = 0
        while place < len(self.waiting) and self._left > 0:
            row = self.waiting[place]
            if not row.marked or self._apply(row):
                row.marked = 0
                self.work.mend(row)
                place += 1
        del self.waiting[:place]

    def close(self, dag: DagRow) -> None:
        """Cancel what is left of a dag that failed or was cancelled, except what is spared."""
        work = self.work
        work.save()
        live = [row[0] for row in work.tx.connection.execute(_LIVE_IN_DAG, (dag.id,))]
        if not dag.requested:
            spared = self._spared(live)
            live = [number for number in live if number not in spared]
        now = live[: max(self._left, 0)]
        for row in work.by_number(now):
            if dag.requested:
                self.cancel(row, "cancelled", cause=None, requested=True, text=dag.cancel_reason)
            else:
                self.cancel(row, "dag_failed", cause=dag.cause, requested=False, text=None)
        if len(now) == len(live):
            dag.closing = 0
            work.dags.save(dag)

    def _apply(self, row: Row) -> bool:
        """The consequences of one task; False if there was no room for all of them."""
        work = self.work
        cause = row.cause or row.id
        requested = bool(row.requested)
        if row.has_dependents:
            edges = list(work.tx.connection.execute(_OPEN_EDGES, (row.n,)))
            work.resolve([(edge, child) for edge, child, kind in edges if kind != "after"])
            children = work.by_number([child for _, child, kind in edges if kind == "after"])
            if not self._cancel_all(children, "dependency_failed", cause, requested):
                return False
        if row.status == "cancelled":
            children = work.select(_CHILDREN, (row.id,))
            return self._cancel_all(children, "parent_cancelled", cause, requested)
        if row.dag is not None:
            self._fail_dag(row, cause)
        return True

    def _cancel_all(self, found: list[Row], reason: str, cause: str, requested: bool) -> bool:
        for row in sorted(found, key=lambda row: row.n):
            if row.final:
                continue
            if self._left <= 0:
                return False
            self.cancel(row, reason, cause=cause, requested=requested, text=None)
        return True

    def _fail_dag(self, row: Row, cause: str) -> None:
        """Ask the dag's policy whether this dead letter fails it."""
        work = self.work
        dag = work.dags.find(row.dag or "")
        if dag is None or dag.status in ("failed", "cancelled"):
            return
        work.save()
        counts, _ = work.dags.counts(dag.id)
        dead = counts.get(Status.DEAD_LETTERED, 0)
        if fails_now(parse_on_failure(dag.on_failure), dead, sum(counts.values())) or self._escalated(row):
            work.dags.end(dag, "failed", cause=cause, requested=False, text=None)
            self.close(dag)

    def _escalated(self, row: Row) -> bool:
        """Whether its ladder says that it fails its dag. Most specifications need not be read for that."""
        if not self.work.tx.row(_NAMES_RUNG, (row.n, f'"{FAIL_DAG}"')):
            return False
        return fails_dag(load_specs(self.work.tx, [row.n])[row.n].escalations)

    def _spared(self, live: list[int]) -> set[int]:
        numbers = encode(live).decode()
        return {row[0] for row in self.work.tx.connection.execute(_SPARED, (numbers,))}


def _cancel_dag(cascade: Cascade, dag: DagRow, reason: str | None) -> None:
    # A dag that failed may still have tasks that were spared.
    if dag.status not in ENDED or cascade.work.dags.has_live_tasks(dag.id):
        cascade.work.dags.end(dag, "cancelled", cause=None, requested=True, text=reason)
        cascade.close(dag)


def _task_of_virtual(work: Work, dag_id: str) -> Row:
    """The task whose virtual dag this is; raises NotFound."""
    row = find_virtual(work, dag_id)
    if row is None:
        raise refusals.no_task_or_dag(dag_id)
    return row


def find_virtual(work: Work, dag_id: str) -> Row | None:
    """The standalone task whose dag has this id, if there is one."""
    for candidate in alone_in(dag_id):
        row = work.by_id([candidate]).get(candidate)
        if row is not None and row.dag is None and dag_of(row.id) == dag_id:
            return row
    return None
