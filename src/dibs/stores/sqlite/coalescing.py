"""Groups: which tasks go together, and who of them is taken with one that a claim takes.

Only tasks with a coalesce key come here. Their locks are never NULL, which is how a claim notices one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.rules.coalescing import LOOKED_AT
from dibs.stores.sqlite.rows import encode, micros
from dibs.stores.sqlite.work import Work

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.values import Draft

NO_LOCKS = "[]"
"""The locks of a task that has a coalesce key and needs none."""

_NOTE = """
UPDATE tasks SET coalesce_key = j.value->>1, gathers_until = j.value->>2 FROM json_each(?) AS j WHERE n = j.value->>0
"""
_KEYS = """
SELECT t.n, t.coalesce_key FROM json_each(?) AS j CROSS JOIN tasks AS t ON t.n = j.value
WHERE t.coalesce_key IS NOT NULL
"""
# As candidates are: [n, lane, solo, bytes, locks]. Ready ones, best first, then those that gather.
_OTHERS = """
SELECT n, lane, solo, bytes, locks, status = 'scheduled' FROM tasks INDEXED BY task_group
WHERE lane = ?1 AND coalesce_key = ?2 AND coalesce_key IS NOT NULL
    AND status IN ('ready', 'scheduled') AND parked_on IS NULL AND solo = 0
    AND (status = 'ready' OR run_after = gathers_until)
    AND n NOT IN (SELECT value FROM json_each(?3))
ORDER BY status, rank, n LIMIT ?4
"""


def note(tx: Transaction, added: Iterable[tuple[int, Draft]]) -> None:
    """Tasks were inserted under these numbers; those with a key are members of its group."""
    keyed = [
        (number, draft.task.coalesce_key, micros(draft.task.gathers_until))
        for number, draft in added
        if draft.task.coalesce_key is not None
    ]
    if keyed:
        tx.run(_NOTE, (encode(keyed).decode(),))


def keys_of(tx: Transaction, numbers: Sequence[int]) -> dict[int, str]:
    """The coalesce keys of those of these tasks that have one."""
    return dict(tx.connection.execute(_KEYS, (encode(numbers).decode(),))) if numbers else {}


def others(tx: Transaction, lane: int, key: str, taken: Collection[int]) -> list[list[Any]]:
    """Who may go with a task that was taken, as candidates; at the end of each, whether it gathers."""
    found = tx.connection.execute(_OTHERS, (lane, key, encode(list(taken)).decode(), LOOKED_AT))
    return [list(row) for row in found]


def make_ready(tx: Transaction, numbers: Sequence[int]) -> None:
    """These gather no longer: they go with another."""
    work = Work(tx)
    for row in work.by_number(numbers):
        work.make_ready(row)
    work.flush()
