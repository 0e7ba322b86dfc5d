"""Rows loaded, changed and written back together: what the operations off the hot path work with.

A row is loaded once, so that everybody in the transaction sees the same object. `flush` writes what changed, then
unparks what locks that became free admit, and lets the dags that were touched follow their tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dibs.model.ids import dag_of
from dibs.model.instants import seconds
from dibs.model.status import Status
from dibs.rules.lifecycle import first_status
from dibs.rules.usage import plus
from dibs.rules.validation import INLINE_OUTPUT_BYTES
from dibs.stores import refusals
from dibs.stores.sqlite import rows
from dibs.stores.sqlite.dags import Dags
from dibs.stores.sqlite.rows import Row, encode
from dibs.stores.values import BY_DUTY, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.locks import Locks

ATTEMPT_COLUMNS = (
    "n, fence, number, agent, model, outcome, status, digest, reason, error, fingerprint, exit_code, retry_at,"
    " started_at, ended_at, cost_usd, tokens_in, tokens_out, turns, output, decision, artifacts, price"
)
_ADD_ATTEMPTS = (
    f"INSERT INTO attempts ({ATTEMPT_COLUMNS}) SELECT "  # noqa: S608
    + ", ".join(f"value->>{place}" for place in range(23))
    + " FROM json_each(?)"
)
_RESOLVE = "UPDATE edges SET resolved_at = ? WHERE id IN (SELECT value FROM json_each(?))"

_decode_usage = msgspec.json.Decoder(Usage).decode


def merge_usage(known: str | None, told: Usage | None) -> Usage:
    """The usage kept as JSON so far, and what is told now."""
    return (Usage() if known is None else _decode_usage(known)).updated(told)


class Work:
    """The rows of one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self.tx = tx
        self.now = tx.now
        self.rows: dict[int, Row] = {}
        self.dags = Dags(tx)
        self._dirty: dict[int, Row] = {}
        self._new: list[Row] = []
        self._attempts: list[list[Any]] = []
        self._locks: Locks | None = None

    # Loading

    def keep(self, found: Iterable[Row]) -> list[Row]:
        """The rows as this transaction knows them: a row that was loaded before is that object."""
        return [self.rows.setdefault(row.n, row) for row in found]

    def by_number(self, numbers: Sequence[int]) -> list[Row]:
        """Rows in the order of their numbers given; those that do not exist are left out."""
        missing = [number for number in numbers if number not in self.rows]
        if missing:
            self.keep(rows.load_numbers(self.tx, missing))
        return [self.rows[number] for number in numbers if number in self.rows]

    def by_id(self, ids: Iterable[str]) -> dict[str, Row]:
        """Rows by id; unknown ones are left out."""
        return {row.id: row for row in self.keep(rows.load_ids(self.tx, ids).values())}

    def get(self, task_id: str) -> Row:
        """One row; raises NotFound."""
        row = self.by_id([task_id]).get(task_id)
        if row is None:
            raise refusals.no_task(task_id)
        return row

    def select(self, sql: str, parameters: tuple[Any, ...] = ()) -> list[Row]:
        """Rows for the numbers that a query yields, in its order."""
        return self.by_number([row[0] for row in self.tx.connection.execute(sql, parameters)])

    # Changing

    def adopt(self, row: Row) -> None:
        """Take in a task that is about to be inserted."""
        self.rows[row.n] = row
        self._new.append(row)
        if row.locks is not None:
            self._with_locks().note(row)

    def touch(self, row: Row) -> None:
        """Note that a row changed."""
        row.updated_at = self.now
        self._dirty[row.n] = row
        if row.locks is not None or row.parked_on is not None:
            self._with_locks().note(row)

    def mend(self, row: Row) -> None:
        """Note a change that people do not see."""
        self._dirty[row.n] = row

    def emit(
        self,
        type: str,
        row: Row,
        *,
        agent: str | None = None,
        reason: str | None = None,
        data: dict[str, Any] | None = None,
    ) -> None:
        """An event about a task."""
        self.tx.outbox.one(type, self.now, row.id, row.dag_id, agent=agent, reason=reason, data=data)

    def reranked(self, row: Row) -> None:
        """Note that its rank changed, which people do not see."""
        self.mend(row)
        if row.locks is not None and row.status == "ready":
            self._with_locks().reranked(row)

    def settle_down(self, row: Row) -> None:
        """Put a task that nobody holds where it belongs: pending, scheduled or ready, with the event of it."""
        status = first_status(open_edges=row.open, run_after=row.run_after, now=self.now)
        row.status = status.value
        row.due_at = row.run_after if status is Status.SCHEDULED else None
        row.step_at = None
        if status is Status.READY:
            self.make_ready(row)
            return
        self.dags.touch(row.dag)
        if status is Status.SCHEDULED:
            self.emit("task.scheduled", row)
        self.touch(row)

    def make_ready(
        self,
        row: Row,
        *,
        agent: str | None = None,
        reason: str | None = None,
        data: dict[str, Any] | None = None,
    ) -> None:
        """Ready now; its age counts from the first time."""
        row.status = "ready"
        row.due_at = row.retry_at = None
        if row.ready_at is None:
            row.ready_at = self.now
        row.rerank(self.now)
        self.dags.touch(row.dag)
        self.emit("task.ready", row, agent=agent, reason=reason, data=data)
        self.touch(row)

    def resolve(self, edges: Sequence[tuple[int, int]]) -> None:
        """Resolve open edges, given as (edge, child): each lowers its child's count once, and frees it at the last."""
        if not edges:
            return
        self.tx.run(_RESOLVE, (self.now, encode([edge for edge, _ in edges]).decode()))
        self.by_number([child for _, child in edges])
        for _, number in edges:
            child = self.rows[number]
            child.open -= 1
            if child.status == "pending" and child.open == 0:
                self.settle_down(child)
            elif child.final:
                self.mend(child)
            else:
                self.touch(child)

    def release_dependents(self, parents: Sequence[Row]) -> None:
        """Resolve every open edge that leaves completed tasks."""
        numbers = encode([parent.n for parent in parents]).decode()
        self.resolve(
            list(
                self.tx.connection.execute(
                    "SELECT e.id, e.child FROM json_each(?) j CROSS JOIN edges e ON e.parent = j.value"
                    " WHERE e.resolved_at IS NULL ORDER BY j.key, e.id",
                    (numbers,),
                )
            )
        )

    def end_claim(
        self,
        row: Row,
        outcome: str,
        *,
        status: str,
        number: int = 0,
        usage: Usage | None = None,
        reason: str | None = None,
        error: str | None = None,
        fingerprint: str | None = None,
        exit_code: int | None = None,
        digest: str = "",
        retry_at: int | None = None,
        output: bytes | None = None,
        decision: bytes | None = None,
        artifacts: Sequence[Any] = (),
    ) -> None:
        """Write the attempt, add up what it used, and let go of the lease. The caller moves the task on."""
        used = merge_usage(row.usage, usage)
        text = None if output is None else output.decode()
        if output is not None and len(output) > INLINE_OUTPUT_BYTES:
            self.tx.run("INSERT INTO blobs VALUES (?, ?, ?)", (row.n, row.fence, text))
            text = None
        self._attempts.append(
            [
                row.n,
                row.fence,
                number,
                row.agent or "",
                used.model or row.model,
                outcome,
                status,
                digest,
                reason,
                error,
                fingerprint,
                exit_code,
                retry_at,
                row.started_at,
                self.now,
                used.cost_usd,
                used.tokens_in,
                used.tokens_out,
                used.turns,
                text,
                None if decision is None else decision.decode(),
                encode(artifacts).decode() if artifacts else None,
                used.price,
            ]
        )
        row.cost_usd = plus(row.cost_usd, used.cost_usd)
        row.tokens_in = plus(row.tokens_in, used.tokens_in)
        row.tokens_out = plus(row.tokens_out, used.tokens_out)
        row.turns = plus(row.turns, used.turns)
        if row.reserved is not None:
            by_duty = digest == BY_DUTY
            self._with_locks().budgets.settle(row, used, outcome=outcome, reason=reason, by_duty=by_duty)
        row.lease_expires_at = row.timeout_at = row.due_at = None
        row.confirmed = 0
        if row.locks is not None:
            self._with_locks().let_go(row)

    def write_cancelled_attempt(self, row: Row, usage: Usage | None = None) -> None:
        """The attempt of a task that was cancelled while held: its agent spoke up, or its lease is over."""
        self.end_claim(row, "cancelled", status="cancelled", usage=usage, reason=row.reason)
        self.touch(row)

    def start(self, row: Row) -> None:
        """The work begins; its timeout counts from now."""
        row.started_at = self.now
        row.timeout_at = None if row.timeout_s is None else self.now + seconds(row.timeout_s)
        row.status = "running"
        row.due_at = first_of(row.lease_expires_at, row.timeout_at)
        self.emit("task.started", row, agent=row.agent)
        self.dags.note_started(row.dag)
        self.touch(row)

    def materialise(self, row: Row) -> str:
        """Give a standalone task's dag a row, because something joins it."""
        if row.dag is None:
            self.dags.create_for(row)
            row.dag = dag_of(row.id)
            self.mend(row)
        return row.dag

    def grow(self, parent: Row) -> None:
        """Something was added below a task: the critical path above it is longer now."""
        if not parent.final:
            self.tx.run("INSERT OR IGNORE INTO grown (dag) VALUES (?)", (parent.dag_id,))

    def _with_locks(self) -> Locks:
        """What this transaction does to locks; most do nothing to any."""
        if self._locks is None:
            from dibs.stores.sqlite.locks import Locks

            self._locks = Locks(self.tx)
        return self._locks

    def save(self) -> None:
        """Write what changed so far, so that queries see it."""
        if self._locks is not None:
            self._locks.leave()
        if self._new:
            rows.insert(self.tx, self._new)
            for row in self._new:
                self._dirty.pop(row.n, None)
            self._new = []
        if self._dirty:
            rows.save(self.tx, list(self._dirty.values()))
            self._dirty = {}
        if self._attempts:
            self.tx.run(_ADD_ATTEMPTS, (encode(self._attempts).decode(),))
            self._attempts = []
        if self._locks is not None:
            self._locks.arrive()

    def flush(self) -> None:
        """Write what changed; what became free is unparked, and the dags follow."""
        self.save()
        if self._locks is not None:
            self._locks.follow()
        self.dags.follow()


def first_of(*instants: int | None) -> int | None:
    return min((at for at in instants if at is not None), default=None)
