"""Dag rows: made when something joins a dag, and following their tasks from then on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from dibs.model.status import Status
from dibs.rules.graph import IMPLICIT, dag_status
from dibs.stores import refusals
from dibs.stores.values import DagDraft

if TYPE_CHECKING:
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.rows import Row


class DagRow(Struct, array_like=True):
    """One row of `dags`."""

    id: str
    project: str
    title: str | None
    key: str | None
    body_hash: str | None
    status: str
    on_failure: str
    user: str | None
    created_by: str | None
    closing: int
    cause: str | None
    requested: int
    cancel_reason: str | None
    drafted: str
    created_at: int
    started: int
    started_at: int | None
    ended_at: int | None


COLUMNS = DagRow.__struct_fields__
_LOAD = f"SELECT json_array({', '.join(COLUMNS)}) FROM dags WHERE id = ?"  # noqa: S608
_SAVE = f"INSERT OR REPLACE INTO dags ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608
_COUNTS = """
SELECT status, count(*), sum(status = 'cancelled' AND requested = 0) FROM tasks WHERE dag = ? GROUP BY status
"""
_LIVE = """
SELECT EXISTS (SELECT 1 FROM tasks WHERE dag = ?1 AND status IN
    ('pending', 'scheduled', 'ready', 'claimed', 'running', 'validating', 'waiting', 'retrying'))
"""

_EVER_STARTED = "SELECT EXISTS (SELECT 1 FROM attempts WHERE n = ? AND started_at IS NOT NULL)"

ENDED = ("completed", "failed", "cancelled")

_decode = msgspec.json.Decoder(DagRow).decode


class Dags:
    """The dags that one transaction touches."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._rows: dict[str, DagRow | None] = {}
        self._touched: dict[str, None] = {}

    def find(self, dag_id: str) -> DagRow | None:
        """A dag's row, or None if it has none."""
        if dag_id not in self._rows:
            found = self._tx.row(_LOAD, (dag_id,))
            self._rows[dag_id] = None if found is None else _decode(found[0])
        return self._rows[dag_id]

    def touch(self, dag_id: str | None) -> None:
        """One of its tasks started, ended or was added: its status may change."""
        if dag_id is not None:
            self._touched[dag_id] = None

    def create_for(self, row: Row) -> DagRow:
        """The row of a standalone task's dag, which something joins."""
        started = row.started_at is not None or (row.fence > 0 and self._tx.row(_EVER_STARTED, (row.n,))[0])
        dag = self._new(DagDraft(id=row.dag_id, project=row.project, on_failure=IMPLICIT))
        dag.started = int(started)
        self.save(dag)
        return dag

    def create(self, draft: DagDraft) -> DagRow:
        """The row of a dag that is inserted."""
        dag = self._new(draft)
        self.save(dag)
        return dag

    def _new(self, draft: DagDraft) -> DagRow:
        self.touch(draft.id)
        return DagRow(
            id=draft.id,
            project=draft.project,
            title=draft.title,
            key=draft.key,
            body_hash=draft.body_hash,
            status="pending",
            on_failure=draft.on_failure,
            user=draft.user,
            created_by=draft.created_by,
            closing=0,
            cause=None,
            requested=0,
            cancel_reason=None,
            drafted="[]",
            created_at=self._tx.now,
            started=0,
            started_at=None,
            ended_at=None,
        )

    def save(self, dag: DagRow) -> None:
        """Write a dag's row."""
        self._rows[dag.id] = dag
        self._tx.run(_SAVE, tuple(getattr(dag, column) for column in COLUMNS))

    def end(self, dag: DagRow, status: str, *, cause: str | None, requested: bool, text: str | None) -> None:
        """Fail or cancel a dag before its tasks ended; `spread` cancels what is left of it."""
        dag.closing = 1
        dag.cause = cause
        dag.requested = int(requested)
        dag.cancel_reason = text
        self._move(dag, status)

    def reopen(self, dag: DagRow) -> None:
        """One of its tasks has a new life."""
        dag.closing = dag.requested = 0
        dag.cause = dag.cancel_reason = None
        if dag.status in ENDED:
            dag.started = 1
            self._move(dag, "running")
        else:
            self.save(dag)
        self.touch(dag.id)

    def refuse_closed(self, dag: DagRow) -> None:
        """Nothing is added to a dag that failed or was cancelled."""
        if dag.closing or dag.status in ("failed", "cancelled"):
            raise refusals.dag_closed(dag.id, dag.status)

    def counts(self, dag_id: str) -> tuple[dict[Status, int], int]:
        """How many of its tasks are where, and how many were cancelled without anybody asking."""
        found = list(self._tx.connection.execute(_COUNTS, (dag_id,)))
        return {Status(row[0]): row[1] for row in found}, sum(row[2] for row in found)

    def has_live_tasks(self, dag_id: str) -> bool:
        """Whether one of its tasks is not final."""
        return bool(self._tx.row(_LIVE, (dag_id,))[0])

    def note_started(self, dag_id: str | None) -> None:
        """One of its tasks runs."""
        if dag_id is None:
            return
        dag = self.find(dag_id)
        if dag is not None and not dag.started:
            dag.started = 1
            self.save(dag)
        self.touch(dag_id)

    def follow(self) -> None:
        """Give each touched dag the status that its tasks say."""
        touched, self._touched = self._touched, {}
        for dag_id in touched:
            dag = self.find(dag_id)
            if dag is None or dag.status in ("failed", "cancelled"):
                continue
            # The common case by far: it runs and still has something to do. No counting then.
            if dag.status == "running" and self.has_live_tasks(dag_id):
                continue
            counts, unrequested = self.counts(dag_id)
            status = dag_status(counts, unrequested_cancels=unrequested, started=bool(dag.started))
            self._move(dag, status.value)

    def _move(self, dag: DagRow, status: str) -> None:
        changed = status != dag.status
        dag.status = status
        if changed:
            dag.ended_at = self._tx.now if status in ENDED else None
            if status == "running" and dag.started_at is None:
                dag.started_at = self._tx.now
            if status != "pending":
                word = "started" if status == "running" else status
                self._tx.outbox.one(f"dag.{word}", self._tx.now, None, dag.id)
        self.save(dag)
