"""A new life for a task that ended badly, and for everything that was cancelled because of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.instants import seconds
from dibs.model.status import Status
from dibs.rules import lifecycle
from dibs.rules.large import size_of
from dibs.stores import refusals
from dibs.stores.sqlite import asking, escalating, journal, reading
from dibs.stores.sqlite.rows import change_spec, encode
from dibs.stores.sqlite.work import Work

if TYPE_CHECKING:
    from dibs.model.task import Task
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.lanes import Lanes
    from dibs.stores.sqlite.rows import Row

# Who judged an earlier life has nothing to do in this one.
_FOLLOWERS = """
SELECT n FROM tasks WHERE cause = ? AND status = 'cancelled'
    AND NOT EXISTS (SELECT 1 FROM edges e WHERE e.parent = tasks.n AND e.kind = 'judge')
ORDER BY n
"""
_BAD_PARENTS = """
SELECT e.child, e.parent FROM json_each(?) j
CROSS JOIN edges e ON e.child = j.value AND e.kind = 'after' AND e.resolved_at IS NULL
CROSS JOIN tasks p ON p.n = e.parent AND p.status IN ('dead_lettered', 'cancelled')
ORDER BY e.id
"""
_KEY_OWNER = """
SELECT id FROM tasks WHERE project = ? AND key = ? AND key IS NOT NULL AND status NOT IN ('cancelled', 'dead_lettered')
"""
_FORGET_REVIEWS = """
UPDATE tasks SET resolution = NULL, reviewed_at = NULL
WHERE n IN (SELECT value FROM json_each(?)) AND resolution IS NOT NULL
"""
_CLOSE_DECISIONS = """
UPDATE questions SET status = 'closed'
WHERE n IN (SELECT value FROM json_each(?)) AND kind = 'decision' AND status = 'open'
"""
_DAG_KEY_OWNER = """
SELECT id FROM dags WHERE project = ? AND key = ? AND key IS NOT NULL AND status NOT IN ('cancelled', 'failed')
"""


def revive(
    tx: Transaction,
    lanes: Lanes,
    task_id: str,
    payload: bytes | None,
    body_hash: str | None,
    delay_s: float,
    keep_steps: bool,
) -> Task:
    """All that comes back does so in one commit, or nothing does."""
    work = Work(tx)
    row = work.get(task_id)
    lifecycle.check(Status(row.status), lifecycle.Verb.RETRY, task_id)
    followers = work.select(_FOLLOWERS, (task_id,))
    parents = _bad_parents(work, [row, *followers])
    if parents.get(row.n):
        stopper = work.by_number(parents[row.n])[0]
        raise refusals.waits_for(task_id, stopper.id, stopper.status)
    coming_back = _who_comes_back(work, row, followers, parents)
    if payload is not None and body_hash is not None and row.key is not None:
        _change_body_hash(tx, row, body_hash)
    _check_keys(work, coming_back)
    if payload is not None:
        change_spec(tx, row.n, "payload", payload)
        row.bytes = size_of(payload)
    if delay_s > 0:
        row.run_after = tx.now + seconds(delay_s)
    if not keep_steps:
        journal.drop_steps(tx, row.n)
    numbers = [each.n for each in coming_back]
    tx.run(_FORGET_REVIEWS, (encode(numbers).decode(),))
    tx.run(_CLOSE_DECISIONS, (encode(numbers).decode(),))
    escalating.forget_taken(tx, numbers)
    lanes.current(tx)
    for each in coming_back:
        _reset(work, each)
        lanes.revive(tx, each.lane)
    held_back = asking.to_be_approved(tx, [each.n for each in coming_back])
    for each in coming_back:
        if each is row and not row.open and delay_s <= 0 and row.n not in held_back:
            # Asked for now: an older run_after no longer counts.
            work.make_ready(row)
        else:
            asking.begin(work, each, approval=each.n in held_back, again=True)
    for dag_id in dict.fromkeys(each.dag for each in coming_back):
        dag = None if dag_id is None else work.dags.find(dag_id)
        if dag is not None:
            work.dags.reopen(dag)
    work.flush()
    return reading.get_one(tx, task_id)


def _bad_parents(work: Work, found: list[Row]) -> dict[int, list[int]]:
    """For each task, the tasks it needs to succeed but which ended badly."""
    parents: dict[int, list[int]] = {}
    numbers = encode([row.n for row in found]).decode()
    for child, parent in work.tx.connection.execute(_BAD_PARENTS, (numbers,)):
        parents.setdefault(child, []).append(parent)
    return parents


def _who_comes_back(work: Work, row: Row, followers: list[Row], parents: dict[int, list[int]]) -> list[Row]:
    """The task and those it took down, except those that another failure still keeps down: it becomes their cause."""
    coming_back = {row.n: row} | {follower.n: follower for follower in followers}
    causes: dict[int, str] = {}
    settled = False
    while not settled:
        settled = True
        for follower in followers:
            if follower.n not in coming_back:
                continue
            stopper = next((n for n in parents.get(follower.n, ()) if n not in coming_back), None)
            if stopper is not None:
                del coming_back[follower.n]
                [parent] = work.by_number([stopper])
                causes[follower.n] = causes.get(stopper, parent.cause or parent.id)
                settled = False
    for number, cause in causes.items():
        [follower] = work.by_number([number])
        follower.cause = cause
        work.touch(follower)
    return list(coming_back.values())


def _change_body_hash(tx: Transaction, row: Row, body_hash: str) -> None:
    """Another payload is another request; a key made of the content follows it. Its task still counts as ended."""
    if row.key == row.body_hash:
        row.key = body_hash
        change_spec(tx, row.n, "key", encode(body_hash))
    row.body_hash = body_hash
    tx.run("UPDATE tasks SET key = ?, body_hash = ? WHERE n = ?", (row.key, row.body_hash, row.n))


def _check_keys(work: Work, coming_back: list[Row]) -> None:
    """Every key, of tasks and of dags, must still be free."""
    owners: dict[tuple[str, str], str] = {}
    for row in coming_back:
        if row.key is not None:
            found = work.tx.row(_KEY_OWNER, (row.project, row.key))
            owner = owners.setdefault((row.project, row.key), row.id if found is None else found[0])
            if owner != row.id:
                raise refusals.task_key_taken(row.id, owner)
        dag = None if row.dag is None else work.dags.find(row.dag)
        if dag is not None and dag.key is not None:
            other = work.tx.row(_DAG_KEY_OWNER, (dag.project, dag.key))
            if other is not None and other[0] != dag.id:
                raise refusals.dag_key_taken(dag.id, other[0])


def _reset(work: Work, row: Row) -> None:
    """Forget how it ended; keep its history, fence, and the time since when it ages."""
    if row.status == "cancelled" and row.due_at is not None:
        work.write_cancelled_attempt(row)
    row.marked = 0
    row.attempts = row.crashes = row.releases = 0
    row.error = row.reason = row.cancel_reason = row.cause = None
    row.exit_code = row.output_fence = None
    row.output_sanitized = row.poison_pill = row.requested = 0
    row.agent = None
    row.due_at = row.retry_at = row.step_at = None
    row.cancelled_at = row.dead_lettered_at = None
    row.status = "pending"
    work.touch(row)
