"""What people ask of budgets: to make, change and remove them, and what is left. And what agents are told of limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.rules import budgets as rules
from dibs.rules import windows
from dibs.rules.windows import Window
from dibs.stores.sqlite.lanes import CHANGED
from dibs.stores.sqlite.rows import encode
from dibs.stores.sqlite.work import merge_usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.model.views import Budget
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.locks import Locks
    from dibs.stores.sqlite.rows import Row

_ANY = "SELECT EXISTS (SELECT 1 FROM budgets WHERE project = ? AND scope NOT GLOB 'agent:*')"
_ADD = """
INSERT INTO budgets (project, name, scope, unit, cap, default_reserve, per, zone, ends_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_CHANGE = """
UPDATE budgets SET cap = ?3, default_reserve = ?4, per = ?5, zone = ?6, ends_at = ?7 WHERE project = ?1 AND name = ?2
"""
_OVER = "SELECT project, name, per, zone FROM budgets WHERE ends_at <= ? ORDER BY project, name"
_ROLL = """
UPDATE budgets SET reserved = 0, spent = 0, unpriced = 0, window_no = window_no + 1, ends_at = ?3
WHERE project = ?1 AND name = ?2
"""
_RAISE = f"UPDATE budgets SET cap = min({rules.MOST}, cap + ?3) WHERE project = ?1 AND name = ?2"  # noqa: S608
# Those who work in its scope, also on what was cancelled meanwhile: their numbers.
_AT_WORK = """
SELECT n FROM (
    SELECT * FROM tasks WHERE status IN ('claimed', 'running') AND due_at IS NOT NULL
    UNION ALL
    SELECT * FROM tasks WHERE status = 'cancelled' AND due_at IS NOT NULL
) AS held
WHERE project = ?1 AND (
    ?2 IN (
        'global', 'type:' || type, 'dag:' || coalesce(dag, 'dag_' || iif(substr(id, 1, 5) = 'task_', substr(id, 6), id))
    ) OR ?2 IS 'user:' || user OR ?2 IS 'agent:' || agent OR EXISTS (
        SELECT 1 FROM specs AS s CROSS JOIN json_each(s.spec, '$.charged_to') AS c WHERE s.n = held.n AND c.value = ?2
    )
)
"""
_SHOWN = """
SELECT
    scope, unit, cap, default_reserve, reserved, spent, unpriced, per, zone, ends_at,
    (SELECT count(*) FROM tasks AS t INDEXED BY task_parked WHERE t.project = b.project AND t.parked_on = b.name),
    (
        SELECT t.id FROM locks AS l CROSS JOIN tasks AS t ON t.n = l.reserved_for
        WHERE l.project = b.project AND l.name = b.name AND t.status = 'ready'
    )
FROM budgets AS b WHERE project = ?1 AND (?2 IS NULL OR name = ?2) ORDER BY scope, unit
"""
_UNPARK = """
UPDATE tasks SET parked_on = NULL WHERE n IN (
    SELECT n FROM tasks INDEXED BY task_parked WHERE project = ?1 AND parked_on = ?2
)
RETURNING n
"""
_LIMITS = """
SELECT s.n, s.spec->>'max_cost', s.spec->>'max_tokens', s.spec->>'max_turns'
FROM json_each(?) AS j CROSS JOIN specs AS s ON s.n = j.value
"""

# The budgets in which claims (task, fence) have reserved, and how much.
_RESERVED = """
SELECT r.n, r.project, r.name, b.unit, b.cap, b.spent, b.window_no, r.amount
FROM json_each(?1) AS j CROSS JOIN reserves AS r ON r.n = j.value->>0 AND r.fence = j.value->>1
CROSS JOIN budgets AS b ON b.project = r.project AND b.name = r.name AND b.window_no = r.window_no
WHERE b.ends_at IS NULL OR b.ends_at > ?2 ORDER BY r.n, r.project, r.name
"""
_SHARES = """
SELECT r.amount, t.usage, t.started_at, t.status IN ('claimed', 'running') AND t.fence = r.fence
FROM reserves AS r CROSS JOIN tasks AS t ON t.n = r.n WHERE r.project = ? AND r.name = ? AND r.window_no = ?
"""


def roll(tx: Transaction) -> int:
    """Let budgets whose window is over begin anew, and in who fits; how many. Then lanes are to be read again."""
    over = list(tx.connection.execute(_OVER, (tx.now,)))
    if over:
        locks = _locks(tx)
        for project, name, per, zone in over:
            tx.run(_ROLL, (project, name, _ends_at(tx, Window(per, zone))))
            locks.budgets.roomy[project, name] = None
        locks.follow()
    return len(over)


def anything_to_roll(tx: Transaction) -> bool:
    """Whether `roll` would change something."""
    return tx.row(_OVER, (tx.now,)) is not None


def _roll_if_due(tx: Transaction) -> None:
    if roll(tx):
        tx.run(CHANGED)


def _ends_at(tx: Transaction, window: Window | None) -> int | None:
    return None if window is None else windows.ends_at(window, tx.now)


def add(
    tx: Transaction,
    project: str,
    scope: str,
    unit: str,
    limit: int,
    default_reserve: int,
    window: Window | None = None,
) -> None:
    """Make a budget that is not there; it counts nothing yet. If it is the project's first, or an agent's, everybody
    reads again that there are some."""
    if scope.startswith(rules.OF_AGENTS) or not tx.row(_ANY, (project,))[0]:
        tx.run(CHANGED)
    name = rules.parked_on(scope, unit)
    per, zone = window or (None, None)
    tx.run(_ADD, (project, name, scope, unit, limit, default_reserve, per, zone, _ends_at(tx, window)))


def set_budget(
    tx: Transaction,
    project: str,
    scope: str,
    unit: str,
    limit: int,
    default_reserve: int,
    window: Window | None = None,
) -> Budget:
    """Make a budget, which counts what runs already, or change one."""
    _roll_if_due(tx)
    name = rules.parked_on(scope, unit)
    locks = _locks(tx)
    before = tx.row("SELECT ends_at FROM budgets WHERE project = ? AND name = ?", (project, name))
    per, zone = window or (None, None)
    tx.run(_CHANGE, (project, name, limit, default_reserve, per, zone, _ends_at(tx, window)))
    if window is not None or (before is not None and before[0] is not None):
        # When it begins anew is remembered with the lanes.
        tx.run(CHANGED)
    if before is None:
        add(tx, project, scope, unit, limit, default_reserve, window)
        at_work = [row[0] for row in tx.connection.execute(_AT_WORK, (project, scope))]
        agent = scope.removeprefix(rules.OF_AGENTS) if scope.startswith(rules.OF_AGENTS) else None
        locks.budgets.count_in((project, name), at_work, agent)
    return _opened(tx, locks, project, scope, unit)


def raise_budget(tx: Transaction, project: str, scope: str, unit: str, amount: int) -> Budget:
    """Add to its limit."""
    _roll_if_due(tx)
    tx.run(_RAISE, (project, rules.parked_on(scope, unit), amount))
    return _opened(tx, _locks(tx), project, scope, unit)


def remove_budget(tx: Transaction, project: str, scope: str, unit: str) -> Budget:
    """Forget it; whoever is parked on it may try again."""
    name = rules.parked_on(scope, unit)
    gone = _get(tx, project, scope, unit)
    unparked = [row[0] for row in tx.connection.execute(_UNPARK, (project, name))]
    _locks(tx).want(unparked)
    numbers = [
        row[0]
        for row in tx.connection.execute(
            "DELETE FROM reserves WHERE project = ? AND name = ? RETURNING n", (project, name)
        )
    ]
    tx.run(
        "UPDATE tasks SET reserved = NULL WHERE n IN (SELECT value FROM json_each(?))"
        " AND NOT EXISTS (SELECT 1 FROM reserves AS r WHERE r.n = tasks.n)",
        (encode(numbers).decode(),),
    )
    tx.run("DELETE FROM locks WHERE project = ? AND name = ?", (project, name))
    tx.run("DELETE FROM budgets WHERE project = ? AND name = ?", (project, name))
    if scope.startswith(rules.OF_AGENTS) or gone.window is not None or not tx.row(_ANY, (project,))[0]:
        tx.run(CHANGED)
    return gone


def all_budgets(tx: Transaction, project: str) -> list[Budget]:
    """By scope and unit."""
    return [_shown(row, tx.now) for row in tx.connection.execute(_SHOWN, (project, None))]


def limits_of(tx: Transaction, rows: Iterable[Row]) -> dict[int, dict[str, Any]]:
    """What renewals are told, by number: which limit of its own a task is over."""
    told = {row.n: row for row in rows}
    limits: dict[int, dict[str, Any]] = {}
    for number, *allowed in tx.connection.execute(_LIMITS, (encode(list(told)).decode(),)):
        row = told[number]
        used = merge_usage(row.usage, None)
        spent = rules.Usage(row.cost_usd, row.tokens_in, row.tokens_out, row.turns)
        allowance = rules.Allowance(*allowed)._replace(spent=spent)
        over = rules.exceeded(allowance, rules.Usage(used.cost_usd, used.tokens_in, used.tokens_out, used.turns))
        limits[number] = {} if over is None else {"exceeded": over}
    return limits


def overdrawn(tx: Transaction, rows: Iterable[Row]) -> dict[int, dict[str, Any]]:
    """What renewals are told of claims that reserved something, by number: which budget is overdrawn with them."""
    working = {row.n: row for row in rows}
    claims = encode([(row.n, row.fence) for row in working.values()]).decode()
    limits: dict[int, dict[str, Any]] = {}
    for n, project, name, unit, cap, spent, window, amount in list(tx.connection.execute(_RESERVED, (claims, tx.now))):
        row = working[n]
        if n in limits or (_used(unit, row.usage, row.started_at, tx.now) or 0) <= amount:
            continue
        shares = [
            (reserved, _used(unit, usage, started_at, tx.now) if held else None)
            for reserved, usage, started_at, held in tx.connection.execute(_SHARES, (project, name, window))
        ]
        if rules.overdrawn(cap, spent, shares):
            limits[n] = {"exceeded": name}
    return limits


def _used(unit: str, usage: str | None, started_at: int | None, now: int) -> int | None:
    """What a claim has used so far, as far as it told."""
    if unit == "seconds":
        return None if started_at is None else now - started_at
    told = merge_usage(usage, None)
    return rules.Usage(told.cost_usd, told.tokens_in, told.tokens_out, told.turns).of(unit)


def _opened(tx: Transaction, locks: Locks, project: str, scope: str, unit: str) -> Budget:
    """The budget as it is; then whoever fits is let in."""
    shown = _get(tx, project, scope, unit)
    locks.budgets.roomy[project, rules.parked_on(scope, unit)] = None
    locks.follow()
    return shown


def _get(tx: Transaction, project: str, scope: str, unit: str) -> Budget:
    found = tx.row(_SHOWN, (project, rules.parked_on(scope, unit)))
    if found is None:
        raise rules.no_budget(scope, unit)
    return _shown(found, tx.now)


def _shown(row: Any, now: int) -> Budget:
    scope, unit, limit, default_reserve, reserved, spent, unpriced, per, zone, ends_at, waiting, saved_for = row
    return rules.shown(
        scope,
        unit,
        limit=limit,
        default_reserve=default_reserve,
        reserved=reserved,
        spent=spent,
        unpriced=unpriced,
        waiting=waiting,
        window=None if per is None else Window(per, zone),
        ends_at=ends_at,
        now=now,
        saved_for=saved_for,
    )


def _locks(tx: Transaction) -> Locks:
    from dibs.stores.sqlite.locks import Locks

    return Locks(tx)
