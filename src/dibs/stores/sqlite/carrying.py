"""How a file stands while it is being filled or left; `loading` carries everything out of it, `unloading` into it.

Meanwhile triggers refuse every change of it by others: whoever wants one pays for the question only then. What is
carried in says so to them for the time of its transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.stores.carrying import Census
from dibs.stores.sqlite.lanes import CHANGED
from dibs.stores.sqlite.left import REFUSED, standing
from dibs.stores.sqlite.rows import encode
from dibs.stores.standing import OPEN, Standing, check
from dibs.stores.values import Document

if TYPE_CHECKING:
    from dibs.stores.sqlite.engine import Transaction

_UNGUARDED = ("meta", "outbox")
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
_TRIGGERS = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'guard%'"
_GUARD = """
CREATE TRIGGER guard_{verb}_{table} BEFORE {verb} ON {table}
WHEN NOT EXISTS (SELECT 1 FROM meta WHERE name = 'carrying')
BEGIN SELECT RAISE(ABORT, '{refused}'); END
"""
_PUT_META = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
NUMBERS = "SELECT value FROM json_each(?)"
_ANEW = """
UPDATE tasks SET lease_expires_at = max(lease_expires_at, ?1 + cast(round(lease_s * 1000000) AS INTEGER))
WHERE n IN (
    SELECT n FROM tasks INDEXED BY task_due
    WHERE due_at IS NOT NULL AND (status IN ('claimed', 'running') OR status = 'cancelled')
)
"""
_DUE_ANEW = """
UPDATE tasks SET due_at = CASE WHEN timeout_at < lease_expires_at THEN timeout_at ELSE lease_expires_at END
WHERE n IN (
    SELECT n FROM tasks INDEXED BY task_due
    WHERE due_at IS NOT NULL AND (status IN ('claimed', 'running') OR status = 'cancelled')
)
"""


def stand(tx: Transaction, wanted: Standing, expected: str | None) -> None:
    """Stand so from now on."""
    before = standing(tx.connection)
    check(before, expected)
    is_open = wanted.state == OPEN
    if is_open and before.state != OPEN:
        let_in(tx, True)
        tx.run(_ANEW, (tx.now,))
        tx.run(_DUE_ANEW)
        let_in(tx, False)
    put_standing(tx, wanted)
    guards = [name for (name,) in tx.connection.execute(_TRIGGERS)]
    if is_open:
        for name in guards:
            tx.run(f"DROP TRIGGER {name}")
    elif not guards:
        for (table,) in list(tx.connection.execute(_TABLES)):
            for verb in ("insert", "update", "delete") if table not in _UNGUARDED else ():
                tx.run(_GUARD.format(verb=verb, table=table, refused=REFUSED))
    # Whoever claims reads it with the lanes, also if there is nothing to claim.
    tx.run(CHANGED)


def put_standing(tx: Transaction, wanted: Standing) -> None:
    tx.run(_PUT_META, ("standing", encode(wanted).decode()))


def let_in(tx: Transaction, is_so: bool) -> None:
    """Let the triggers know, until the end of this transaction at most."""
    if is_so:
        tx.run(_PUT_META, ("carrying", 1))
    else:
        tx.run("DELETE FROM meta WHERE name = 'carrying'")


def census(tx: Transaction) -> Census:
    """How many tasks there are."""
    found = dict(tx.connection.execute("SELECT status, count(*) FROM tasks GROUP BY 1"))
    return Census(tasks=sum(found.values()), by_status=found)


ALIKE = (
    *("status", "cause", "cancel_reason", "priority", "weight", "rank", "parked_on", "run_after", "retry_at", "fence"),
    *("agent", "model", "timeout_s", "renewed_at", "progress", "note", "attempts", "crashes", "releases", "error"),
    *("reason", "exit_code", "cost_usd", "tokens_in", "tokens_out", "turns", "created_at", "ready_at", "claimed_at"),
    *("started_at", "updated_at"),
)
"""What a row keeps under the same name, as it is."""
FLAGS = ("requested", "overdue", "marked", "output_sanitized", "poison_pill")
ASKED = (
    *("id", "kind", "name", "digest", "question", "schema", "assignee", "default", "status", "asked_at", "expires_at"),
    *("answer", "answered_by", "answered_at"),
)
DOCUMENT = Document.__struct_fields__
