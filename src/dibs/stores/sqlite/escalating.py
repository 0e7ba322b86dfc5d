"""Ladders, and what failures take of them: `rules.escalation` decides, this applies it with the settlement.

Only failures look for a ladder, and only where there is one at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from dibs.model.escalation import Escalation
from dibs.model.ids import dag_of
from dibs.model.instants import from_micros, seconds
from dibs.rules import escalation
from dibs.stores import refusals
from dibs.stores.sqlite import asking, rows
from dibs.stores.sqlite.lanes import decode_key
from dibs.stores.sqlite.rows import encode

if TYPE_CHECKING:
    from dibs.model.escalation import Rung
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.lanes import Lanes
    from dibs.stores.sqlite.rows import Row
    from dibs.stores.sqlite.work import Work
    from dibs.stores.values import LaneKey, Settlement

_SET = "INSERT OR REPLACE INTO ladders VALUES (?, ?, ?)"
_CLEAR = "DELETE FROM ladders WHERE project = ? AND scope = ?"
_ONE = "SELECT rungs FROM ladders WHERE project = ? AND scope = ?"
_ALL = "SELECT scope, rungs FROM ladders WHERE project = ?"
_THEIRS = """
DELETE FROM ladders WHERE (project, scope) IN (
    SELECT t.project, 'dag:' || coalesce(t.dag, 'dag_' || iif(substr(t.id, 1, 5) = 'task_', substr(t.id, 6), t.id))
    FROM json_each(?) AS j CROSS JOIN tasks AS t ON t.n = j.value
)
"""
_TAKEN = "SELECT n FROM specs WHERE n IN (SELECT value FROM json_each(?)) AND spec->'$.escalations' IS NOT NULL"


def set_ladder(tx: Transaction, project: str, scope: str, ladder: str | None) -> bool:
    """Keep a ladder, or forget it; whether there was one."""
    kind, _, name = scope.partition(":")
    if ladder is not None and kind == "dag" and not _is_dag(tx, name):
        raise refusals.no_dag(name)
    known = tx.row(_ONE, (project, scope)) is not None
    if ladder is None:
        tx.run(_CLEAR, (project, scope))
    else:
        tx.run(_SET, (project, scope, ladder))
    return known


def _is_dag(tx: Transaction, dag_id: str) -> bool:
    """Whether there is such a dag, if only that of one task."""
    if tx.row("SELECT 1 FROM dags WHERE id = ?", (dag_id,)):
        return True
    rest = dag_id.removeprefix("dag_")
    return any(
        dag_of(name) == dag_id and tx.row("SELECT 1 FROM tasks WHERE id = ? AND dag IS NULL", (name,))
        for name in ("task_" + rest, rest)
    )


def ladders(tx: Transaction, project: str) -> dict[str, str]:
    """Every ladder, by its scope."""
    return dict(tx.connection.execute(_ALL, (project,)))


def forget_ladders(tx: Transaction, numbers: str) -> None:
    """Those of the dags of these tasks (a JSON list), which are deleted."""
    tx.run(_THEIRS, (numbers,))


def exist(tx: Transaction) -> bool:
    """Whether there is any ladder."""
    return bool(tx.row("SELECT EXISTS (SELECT 1 FROM ladders)")[0])


def climbed(tx: Transaction, row: Row, settlement: Settlement) -> Settlement:
    """The settlement of a failure with the rungs that it takes, and where they lead."""
    for scope in escalation.scopes_for(row.type, row.dag_id):
        found = tx.row(_ONE, (row.project, scope))
        if found is not None:
            taken = escalation.taken_in(rows.load_specs(tx, [row.n])[row.n].escalations)
            step = escalation.step(
                escalation.from_json(found[0]),
                row.attempts + 1,
                taken,
                next=settlement.next,
                used_up=settlement.used_up,
            )
            return replace(settlement, rungs=step.rungs, next=step.next or settlement.next)
    return settlement


def take(work: Work, row: Row, settlement: Settlement, agent: str | None) -> None:
    """Record the rungs and tell of them. The caller moves the task on."""
    question = escalation.question_id(row.id, row.fence)
    known = rows.load_specs(work.tx, [row.n])[row.n].escalations
    taken = [
        Escalation(
            after=rung.after,
            do=rung.do,
            at=from_micros(work.now),
            fence=row.fence,
            to=rung.to,
            agent=rung.agent,
            model=rung.model,
            question=question if rung.do == escalation.ASK else None,
        )
        for rung in settlement.rungs
    ]
    rows.change_spec(work.tx, row.n, "escalations", encode([*known, *taken]))
    for rung in settlement.rungs:
        data = escalation.event_data(rung, row.attempts, question)
        work.emit("task.escalated", row, agent=agent, reason=rung.do, data=data)


def reassign(work: Work, lanes: Lanes, row: Row, rungs: tuple[Rung, ...]) -> None:
    """Move it to the lane of another agent or model."""
    for rung in rungs:
        if rung.agent is not None:
            move_to(work.tx, lanes, row, assignee=rung.agent)
        elif rung.model is not None:
            move_to(work.tx, lanes, row, model=rung.model)


def move_to(
    tx: Transaction, lanes: Lanes, row: Row, *, assignee: str | UnsetType | None = UNSET, model: str | None = None
) -> None:
    """Move a task to the lane of another agent (None: of anybody), or of another model."""
    lane = _key(tx, row.lane)
    fallback = None if row.fallback_lane is None else _key(tx, row.fallback_lane)
    if assignee is not UNSET:
        rows.change_spec(tx, row.n, "assignee", encode(assignee))
        lane = replace(lane, assignee=assignee)
        fallback = None if fallback is None else replace(fallback, assignee=assignee)
    if model is not None:
        rows.change_spec(tx, row.n, "models", encode([model]))
        rows.change_spec(tx, row.n, "fallback_models", b"[]")
        # The provider it named was that of its other models.
        rows.change_spec(tx, row.n, "provider", b"null")
        lane, fallback = replace(lane, models=(model,), provider=None), None
    lanes.current(tx)
    numbers = lanes.numbers(tx, [lane] if fallback is None else [lane, fallback])
    row.lane = numbers[lane]
    row.fallback_lane = None if fallback is None else numbers[fallback]


def _key(tx: Transaction, lane: int) -> LaneKey:
    """What a lane is for, in use or not."""
    return decode_key(tx.row("SELECT key FROM lanes WHERE id = ?", (lane,))[0])


def wait(work: Work, row: Row, settlement: Settlement, agent: str | None) -> None:
    """It waits for the person whom the last of its rungs asks."""
    rung = settlement.rungs[-1]
    id = escalation.question_id(row.id, row.fence)
    asking.add(
        work,
        row,
        id,
        escalation.KIND,
        name=escalation.question_name(row.fence),
        text=escalation.question_text(rung, row.attempts, settlement.error),
        assignee=rung.to,
        fallback=None if rung.default is None else encode_sorted(rung.default),
        expires_at=None if rung.timeout_s is None else work.now + seconds(rung.timeout_s),
    )
    asking.wait(work, row, escalation.KIND, id, agent, settlement.memory)


def encode_sorted(value: object) -> str:
    """JSON as answers are kept."""
    from msgspec import json

    return json.encode(value, order="sorted").decode()


def forget_taken(tx: Transaction, numbers: list[int]) -> None:
    """These tasks begin a new life, at the foot of their ladders."""
    for (number,) in list(tx.connection.execute(_TAKEN, (encode(numbers).decode(),))):
        rows.change_spec(tx, number, "escalations", b"[]")
