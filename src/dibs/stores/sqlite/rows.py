"""A task's row as Python sees it, and the way from a row and its specification to a `Task`.

Rows travel in batches: one JSON array out of SQLite, however many there are, and one prepared statement back in. (As
JSON on the way back, each of some sixty columns would be looked for in the text from its beginning.)
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import astuple

from dibs.model.ids import dag_of
from dibs.model.instants import from_micros, to_micros
from dibs.model.status import Status
from dibs.model.task import Task
from dibs.rules import large
from dibs.rules import priority as priorities

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from dibs.stores.sqlite.engine import Transaction

HELD = ("claimed", "running")
FINAL = ("completed", "dead_lettered", "cancelled")

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode

ADD_SPEC = "INSERT INTO specs (n, spec) VALUES (?, ?)"
ADD_SPECS = "INSERT INTO specs (n, spec) SELECT ?1 + key + 1, value FROM json_each(?2)"


class Row(Struct, array_like=True):
    """One row of `tasks`; the fields are its columns. Those up to `created_at` are not saved with it.

    They never change after insert, but for key and body hash when a retry brings another payload.
    """

    n: int
    project: str
    id: str
    type: str
    parent: str | None
    key: str | None
    body_hash: str | None
    user: str | None
    deadline: int | None
    on_deadline: str
    boost: float
    max_attempts: int
    locks: str | None
    created_at: int
    status: str
    dag: str | None
    lane: int
    fallback_lane: int | None
    rank: float | None
    priority: float
    weight: int
    parked_on: str | None
    parked_since: int | None
    reserved: int | None
    step_at: int | None
    run_after: int | None
    due_at: int | None
    open: int
    deps: int
    has_dependents: int
    solo: int
    bytes: int
    timeout_s: float | None
    timeout_at: int | None
    fence: int
    agent: str | None
    model: str | None
    lease_s: float | None
    lease_expires_at: int | None
    claimed_at: int | None
    started_at: int | None
    renewed_at: int | None
    confirmed: int
    progress: float | None
    note: str | None
    usage: str | None
    attempts: int
    crashes: int
    releases: int
    retry_at: int | None
    reason: str | None
    error: str | None
    exit_code: int | None
    poison_pill: int
    output_fence: int | None
    output_sanitized: int
    cancel_reason: str | None
    cause: str | None
    requested: int
    marked: int
    overdue: int
    cost_usd: float | None
    tokens_in: int | None
    tokens_out: int | None
    turns: int | None
    ready_at: int | None
    completed_at: int | None
    cancelled_at: int | None
    dead_lettered_at: int | None
    updated_at: int

    @property
    def dag_id(self) -> str:
        """The dag it is in, virtual or not."""
        return self.dag or dag_of(self.id)

    @property
    def held(self) -> bool:
        """Whether an agent has it."""
        return self.status in HELD

    @property
    def final(self) -> bool:
        """Whether it ended."""
        return self.status in FINAL

    def handed_in_under(self, fence: int) -> bool:
        """Whether its work under this fence waits for a decision, and for nobody."""
        return self.status == "validating" and self.fence == fence and self.open == 0

    def over_timeout(self, now: int) -> bool:
        """Whether the attempt under way has had its time."""
        return self.timeout_at is not None and self.timeout_at <= now

    def rerank(self, now: int) -> None:
        """Set the rank of a task that is or was ready, as of now, and when a deadline changes it next."""
        if self.ready_at is not None:
            steps = priorities.steps(self.deadline, now)
            self.rank = priorities.rank(self.priority, self.boost, self.ready_at, self.weight, steps)
            waits = self.status == "ready" and self.deadline is not None
            self.step_at = priorities.next_step_at(self.deadline, now) if waits else None


COLUMNS = Row.__struct_fields__
MUTABLE = COLUMNS[COLUMNS.index("created_at") + 1 :]
ARRAY = "json_array(" + ", ".join(f"t.{column}" for column in COLUMNS) + ")"

_MUTABLE_OF = attrgetter(*MUTABLE, "n")

_SAVE = f"UPDATE tasks SET {', '.join(f'{column} = ?' for column in MUTABLE)} WHERE n = ?"  # noqa: S608
_INSERT = f"INSERT INTO tasks ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608
_BY_N = f"SELECT json_group_array({ARRAY}) FROM json_each(?) j CROSS JOIN tasks t ON t.n = j.value"  # noqa: S608
_BY_ID = f"SELECT json_group_array({ARRAY}) FROM json_each(?) j CROSS JOIN tasks t ON t.id = j.value"  # noqa: S608
_SPECS = """
SELECT '[' || group_concat(spec, ',') || ']', json_group_array(n) FROM specs
WHERE n IN (SELECT value FROM json_each(?))
"""

_decode_rows = msgspec.json.Decoder(list[Row]).decode
_decode_parts = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_tasks = msgspec.json.Decoder(list[Task]).decode


def load_ordered(tx: Transaction, select: str, parameters: tuple[Any, ...] = ()) -> list[Row]:
    """Rows for the task numbers that a query yields in its first column, in that order."""
    numbers = [row[0] for row in tx.connection.execute(select, parameters)]
    found = {row.n: row for row in load_numbers(tx, numbers)}
    return [found[number] for number in numbers]


def load_numbers(tx: Transaction, numbers: Iterable[int]) -> list[Row]:
    """Rows by number, in the order given."""
    [text] = tx.row(_BY_N, (encode(list(numbers)).decode(),))
    return _decode_rows(text)


def load_ids(tx: Transaction, ids: Iterable[str]) -> dict[str, Row]:
    """Rows by id; unknown ids are left out."""
    [text] = tx.row(_BY_ID, (encode(list(ids)).decode(),))
    return {row.id: row for row in _decode_rows(text)}


def save(tx: Transaction, rows: Sequence[Row]) -> None:
    """Write back all that may change."""
    if rows:
        tx.connection.executemany(_SAVE, map(_MUTABLE_OF, rows))


def insert(tx: Transaction, rows: Sequence[Row]) -> None:
    """Write new rows."""
    if rows:
        tx.connection.executemany(_INSERT, map(astuple, rows))


def load_specs(tx: Transaction, numbers: Sequence[int]) -> dict[int, Task]:
    """Tasks with their specification only."""
    if not numbers:
        return {}
    specs, order = tx.row(_SPECS, (encode(numbers).decode(),))
    if specs is None:
        return {}
    return dict(zip(decode(order), _decode_tasks(specs), strict=True))


def load_listed(tx: Transaction, found: Sequence[Row]) -> dict[int, Task]:
    """Tasks with their specification only, in which large payloads are named; those are not decoded."""
    heavy = {row.n: row.id for row in found if row.bytes > large.LARGE_BYTES}
    tasks = load_specs(tx, [row.n for row in found if row.n not in heavy])
    for number, task_id in heavy.items():
        [text] = tx.row("SELECT spec FROM specs WHERE n = ?", (number,))
        parts = _decode_parts(text)
        parts[large.PAYLOAD] = Raw(encode(large.named(task_id, large.PAYLOAD)))
        [tasks[number]] = _decode_tasks(encode([parts]))
    return tasks


def change_spec(tx: Transaction, number: int, name: str, value: bytes) -> None:
    """Replace one part (JSON) of a specification; the rest stays as it is, to the byte."""
    [text] = tx.row("SELECT spec FROM specs WHERE n = ?", (number,))
    parts = _decode_parts(text)
    parts[name] = Raw(value)
    tx.run("UPDATE specs SET spec = ? WHERE n = ?", (encode(parts).decode(), number))


def instant(micros: int | None) -> datetime | None:
    """An instant as people see it."""
    return None if micros is None else from_micros(micros)


def kept_locks(names: Sequence[str]) -> str | None:
    """The locks that a task needs as its row keeps them: sorted; None if it needs none."""
    return encode(sorted(names)).decode() if names else None


def micros(instant: datetime | None) -> int | None:
    """An instant as it is kept."""
    return None if instant is None else to_micros(instant)


def fill(task: Task, row: Row, now: int) -> Task:
    """Put a row's state into a task that has its specification."""
    task.dag_id = row.dag_id
    task.parent_id = row.parent
    task.created_at = from_micros(row.created_at)
    task.priority = row.priority
    task.run_after = instant(row.run_after)
    task.status = Status(row.status)
    task.parked_on = row.parked_on
    task.effective_priority = effective(row, now)
    task.retry_at = instant(row.retry_at)
    task.attempts = row.attempts
    task.crashes = row.crashes
    task.releases = row.releases
    task.fence = row.fence
    task.agent = row.agent
    task.lease_expires_at = instant(row.lease_expires_at) if row.held else None
    task.renewed_at = instant(row.renewed_at)
    task.progress = row.progress
    task.note = row.note
    task.output_sanitized = bool(row.output_sanitized)
    task.error = row.error
    task.reason = row.reason
    task.exit_code = row.exit_code
    task.poison_pill = bool(row.poison_pill)
    task.cancel_reason = row.cancel_reason
    task.cause = row.cause
    task.overdue = bool(row.overdue)
    task.cost_usd = row.cost_usd
    task.tokens_in = row.tokens_in
    task.tokens_out = row.tokens_out
    task.turns = row.turns
    task.ready_at = instant(row.ready_at)
    task.claimed_at = instant(row.claimed_at)
    task.started_at = instant(row.started_at)
    task.completed_at = instant(row.completed_at)
    task.cancelled_at = instant(row.cancelled_at)
    task.dead_lettered_at = instant(row.dead_lettered_at)
    task.updated_at = instant(row.updated_at)
    return task


def effective(row: Row, now: int) -> float | None:
    """The effective priority as of now; nothing for a task that was never ready, or ended."""
    if row.rank is None or row.final:
        return None
    return priorities.effective(row.rank, row.boost, now)
