"""What must always hold, tested: a sentence for each thing that does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dibs.stores.sqlite.engine import Transaction

_SHOWN = 20
_HELD = "('claimed', 'running')"
_FINAL = "('completed', 'dead_lettered', 'cancelled')"

# Each query yields sentences.
_RULES = (
    """
    SELECT 'Task ' || t.id || ' counts ' || t.open || ' open edges and has ' || count(e.id) || '.'
    FROM tasks t LEFT JOIN edges e ON e.child = t.n AND e.resolved_at IS NULL
    WHERE t.open <> 0 OR t.deps <> 0 GROUP BY t.n HAVING t.open <> count(e.id)
    """,
    "SELECT 'Task ' || id || ' is pending, but waits for nothing.' FROM tasks WHERE status = 'pending' AND open = 0",
    f"""
    SELECT 'Task ' || id || ' is ' || status || ', but has open edges.'
    FROM tasks WHERE open > 0 AND status NOT IN ('pending', 'validating', 'waiting') AND status NOT IN {_FINAL}
    """,  # noqa: S608
    """
    SELECT 'Task ' || t.id || ' is ' || t.status || ', but has ' || count(q.id) || ' open questions.'
    FROM tasks t LEFT JOIN questions q ON q.n = t.n AND q.status = 'open'
    GROUP BY t.n HAVING count(q.id) <> (t.status = 'waiting' OR t.resolution IS 'escalated' AND EXISTS (
        SELECT 1 FROM questions d WHERE d.n = t.n AND d.kind = 'decision'
    ))
    """,
    f"""
    SELECT 'Task ' || id || ' is ' || status || ', but no time is set at which that ends.'
    FROM tasks WHERE (status IN {_HELD} OR status IN ('scheduled', 'retrying')) AND due_at IS NULL
    """,  # noqa: S608
    f"""
    SELECT 'Task ' || id || ' is ' || status || ', but has no agent or lease.'
    FROM tasks WHERE status IN {_HELD} AND (agent IS NULL OR lease_expires_at IS NULL OR fence = 0)
    """,  # noqa: S608
    "SELECT 'Task ' || id || ' is ready, but has no rank.' FROM tasks WHERE status = 'ready' AND rank IS NULL",
    """
    SELECT 'Task ' || t.id || ' is ready in a lane that is not in use.' FROM tasks t
    WHERE t.status = 'ready' AND NOT EXISTS (SELECT 1 FROM lanes l WHERE l.id = t.lane AND l.retired_at IS NULL)
    """,
    """
    SELECT 'Task ' || t.id || ' has no specification.' FROM tasks t LEFT JOIN specs s ON s.n = t.n WHERE s.n IS NULL
    """,
    """
    SELECT 'Task ' || c.id || ' still waits for ' || p.id || ', which is completed.'
    FROM edges e JOIN tasks p ON p.n = e.parent JOIN tasks c ON c.n = e.child
    WHERE e.resolved_at IS NULL AND p.status = 'completed'
    """,
    """
    SELECT 'An edge joins tasks ' || e.parent || ' and ' || e.child || ', of which one does not exist.'
    FROM edges e LEFT JOIN tasks p ON p.n = e.parent LEFT JOIN tasks c ON c.n = e.child
    WHERE p.n IS NULL OR c.n IS NULL
    """,
    """
    SELECT 'Task ' || t.id || ' is in dag ' || t.dag || ', which does not exist.'
    FROM tasks t LEFT JOIN dags d ON d.id = t.dag WHERE t.dag IS NOT NULL AND d.id IS NULL
    """,
    f"""
    SELECT 'Lock ' || h.name || ' of ' || h.project || ' is held by task ' || h.n || ', whose claim has ended.'
    FROM holds h LEFT JOIN tasks t ON t.n = h.n
    WHERE t.n IS NULL OR t.fence <> h.fence
        OR NOT (t.status IN {_HELD} OR (t.status = 'cancelled' AND t.due_at IS NOT NULL))
    """,  # noqa: S608
    f"""
    SELECT 'Task ' || t.id || ' is ' || t.status || ', but does not hold lock ' || l.value || '.'
    FROM tasks t CROSS JOIN json_each(t.locks) l
    WHERE t.locks IS NOT NULL AND t.status IN {_HELD} AND NOT EXISTS (
        SELECT 1 FROM holds h WHERE h.project = t.project AND h.name = l.value AND h.n = t.n AND h.fence = t.fence
    )
    """,  # noqa: S608
    """
    SELECT 'Task ' || id || ' is ' || status || ', but parked on ' || parked_on || '.'
    FROM tasks WHERE parked_on IS NOT NULL AND status <> 'ready'
    """,
    f"""
    SELECT r.name || ' of ' || r.project || ' is reserved in by task ' || r.n || ', whose claim has ended.'
    FROM reserves r LEFT JOIN tasks t ON t.n = r.n
    WHERE t.n IS NULL OR t.fence <> r.fence OR t.reserved IS NULL
        OR NOT (t.status IN {_HELD} OR (t.status = 'cancelled' AND t.due_at IS NOT NULL))
    """,  # noqa: S608
    """
    SELECT b.name || ' of ' || b.project || ' says that ' || b.reserved || ' is reserved; it is ' || r.total || '.'
    FROM budgets b CROSS JOIN (
        SELECT b.project, b.name, coalesce(sum(r.amount), 0) AS total
        FROM budgets b LEFT JOIN reserves r
            ON r.project = b.project AND r.name = b.name AND r.window_no = b.window_no
        GROUP BY b.project, b.name
    ) r ON r.project = b.project AND r.name = b.name
    WHERE b.reserved <> r.total
    """,
    """
    SELECT 'Task ' || t.id || ' is parked on ' || t.parked_on || ', which is not there.' FROM tasks t
    WHERE t.parked_on GLOB 'budget:*'
        AND NOT EXISTS (SELECT 1 FROM budgets b WHERE b.project = t.project AND b.name = t.parked_on)
    """,
    """
    SELECT 'Task ' || w.n || ' is not on its way to lock ' || w.name || ', but counted there.'
    FROM wants w LEFT JOIN tasks t
        ON t.n = w.n AND t.lane = w.lane AND t.rank = w.rank AND t.status = 'ready' AND t.parked_on IS NULL
    WHERE t.n IS NULL
    """,
    """
    SELECT 'Task ' || t.id || ' is on its way to lock ' || l.value || ', but not counted there.'
    FROM tasks t CROSS JOIN json_each(t.locks) l
    WHERE t.locks IS NOT NULL AND t.status = 'ready' AND t.parked_on IS NULL AND NOT EXISTS (
        SELECT 1 FROM wants w WHERE w.n = t.n AND w.name = l.value AND w.project = t.project
    )
    """,
    """
    SELECT 'Event ' || first || ' does not follow on event ' || before || '.' FROM (
        SELECT last_seq - count + 1 AS first, lag(last_seq) OVER (ORDER BY last_seq) AS before FROM outbox
    ) WHERE before IS NOT NULL AND first <> before + 1
    """,
)


def check(tx: Transaction) -> list[str]:
    """What is wrong with this store; empty if it is sound."""
    wrong = [
        f"The file is damaged: {row[0]}." for row in tx.connection.execute("PRAGMA quick_check(20)") if row[0] != "ok"
    ]
    for rule in _RULES:
        wrong.extend(row[0] for row in tx.connection.execute(f"{rule} LIMIT {_SHOWN}"))
    return wrong
