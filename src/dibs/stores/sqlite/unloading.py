"""Records of `stores.carrying` from elsewhere, written into a file as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dibs.model.ids import alone_in, dag_of
from dibs.model.instants import to_micros
from dibs.model.status import Outcome
from dibs.rules import closing
from dibs.rules.budgets import parked_on
from dibs.rules.large import size_of
from dibs.rules.validation import INLINE_OUTPUT_BYTES
from dibs.stores import carrying
from dibs.stores.carrying import (
    Cargo,
    CarriedBudget,
    CarriedDag,
    CarriedEnding,
    CarriedPause,
    CarriedSettings,
    CarriedTask,
)
from dibs.stores.sqlite import registry, rows
from dibs.stores.sqlite.carrying import ALIKE, ASKED, DOCUMENT, FLAGS, NUMBERS, let_in, put_standing
from dibs.stores.sqlite.coalescing import NO_LOCKS
from dibs.stores.sqlite.dags import COLUMNS as DAG_COLUMNS
from dibs.stores.sqlite.lanes import CHANGED
from dibs.stores.sqlite.left import standing
from dibs.stores.sqlite.rows import Row, encode, kept_locks, micros
from dibs.stores.sqlite.work import ATTEMPT_COLUMNS, first_of
from dibs.stores.standing import Standing, not_filling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.rules.breaker import Record as Breaker
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.lanes import Lanes
    from dibs.stores.values import LaneKey

_HOMES = ("tasks", "specs", "attempts", "blobs", "journal", "questions", "artifacts", "holds", "wants")
_ADD_ATTEMPT = f"INSERT INTO attempts ({ATTEMPT_COLUMNS}) VALUES ({', '.join('?' * 23)})"  # noqa: S608
_ADD_TASK = f"INSERT INTO tasks ({', '.join(rows.COLUMNS)}) VALUES ({', '.join('?' * len(rows.COLUMNS))})"  # noqa: S608
_ADD_REST = """
UPDATE tasks SET resolution = ?2, reviewed_at = ?3, coalesce_key = ?4, gathers_until = ?5,
    has_dependents = EXISTS (SELECT 1 FROM edges WHERE parent = ?1),
    reserved = (SELECT 1 FROM reserves r WHERE r.n = ?1 AND r.fence = tasks.fence)
WHERE n = ?1
"""
_ADD_DAG = f"INSERT OR REPLACE INTO dags ({', '.join(DAG_COLUMNS)}) VALUES ({', '.join('?' * len(DAG_COLUMNS))})"  # noqa: S608
# Whose key it was has lost it meanwhile; that comes with what happened to him.
_FREE_KEY = "UPDATE tasks SET key = NULL WHERE project = ? AND key = ? AND status NOT IN ('cancelled', 'dead_lettered')"
_FREE_DAG_KEY = "UPDATE dags SET key = NULL WHERE project = ? AND key = ? AND status NOT IN ('cancelled', 'failed')"
_DROP_DAGS = f"""
DELETE FROM dags WHERE id IN ({NUMBERS}) AND NOT EXISTS (SELECT 1 FROM tasks WHERE dag = dags.id)
"""  # noqa: S608
_ADD_QUESTION = """
INSERT INTO questions (n, id, kind, name, digest, question, schema, assignee, fallback, status, asked_at, expires_at,
    answer, answered_by, answered_at, project) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def carry_in(tx: Transaction, lanes: Lanes, cargo: Cargo, forget: Sequence[str], become: Standing | None) -> None:
    """Write tasks and dags as they are, in the place of those of the same id; and what became of the copy."""
    stands = standing(tx.connection)
    if not stands.may_carry_in:
        raise not_filling(stands)
    let_in(tx, True)
    emptied = _take_out(tx, [*forget, *(task.id for task in cargo.tasks)])
    for dag in cargo.dags:
        _put_dag(tx, dag)
    wanted = [lane for task in cargo.tasks for lane in (task.lane, task.fallback_lane) if lane is not None]
    lanes.current(tx)
    numbers = dict(lanes.numbers(tx, wanted))
    for task in cargo.tasks:
        _put_in(tx, task, numbers)
    parents = encode([edge.number for task in cargo.tasks for edge in task.edges]).decode()
    tx.run(f"UPDATE tasks SET has_dependents = 1 WHERE n IN ({NUMBERS})", (parents,))  # noqa: S608
    tx.run(_DROP_DAGS, (encode(emptied).decode(),))
    if become is not None:
        put_standing(tx, become)
    let_in(tx, False)


def _take_out(tx: Transaction, ids: Sequence[str]) -> list[str]:
    """Forget these tasks and the edges into them; the dags they were in."""
    text = encode(list(ids)).decode()
    known = list(tx.connection.execute("SELECT n, dag FROM json_each(?) j JOIN tasks ON tasks.id = j.value", (text,)))
    numbers = encode([number for number, _ in known]).decode()
    tx.run(f"DELETE FROM edges WHERE child IN ({NUMBERS})", (numbers,))  # noqa: S608
    for table in _HOMES:
        tx.run(f"DELETE FROM {table} WHERE n IN ({NUMBERS})", (numbers,))  # noqa: S608
    return [dag for _, dag in known if dag is not None]


def _put_dag(tx: Transaction, dag: CarriedDag) -> None:
    if dag.key is not None and dag.status not in ("cancelled", "failed"):
        tx.run(_FREE_DAG_KEY, (dag.project, dag.key))
    values = {name: getattr(dag, name) for name in CarriedDag.__struct_fields__}
    values |= {
        "drafted": encode(dag.drafted).decode(),
        "started": int(dag.started),
        "closing": 0,
        "requested": int(dag.status == "cancelled"),
    }
    tx.run(_ADD_DAG, tuple(values[name] for name in DAG_COLUMNS))
    tx.run("UPDATE tasks SET dag = ? WHERE dag IS NULL AND id IN (?, ?)", (dag.id, *alone_in(dag.id)))


def _put_in(tx: Transaction, task: CarriedTask, lanes: dict[LaneKey, int]) -> None:
    spec, payload = carrying.task_of(task.spec)
    has_row = task.dag_id != dag_of(task.id) or tx.row("SELECT 1 FROM dags WHERE id = ?", (task.dag_id,)) is not None
    locks = kept_locks(spec.locks)
    lane = lanes[task.lane]
    made_by = _made_by(task)
    if spec.key is not None and task.status not in ("cancelled", "dead_lettered"):
        tx.run(_FREE_KEY, (spec.project, spec.key))
    row = Row(
        n=task.number,
        project=spec.project,
        id=task.id,
        type=spec.type,
        parent=task.parent_id,
        key=spec.key,
        body_hash=task.body_hash,
        user=spec.user,
        deadline=micros(spec.deadline),
        on_deadline=spec.on_deadline,
        boost=task.lane.boost,
        max_attempts=spec.max_attempts,
        locks=locks or (None if spec.coalesce_key is None else NO_LOCKS),
        dag=task.dag_id if has_row else None,
        lane=lane,
        fallback_lane=None if task.fallback_lane is None else lanes[task.fallback_lane],
        parked_since=task.parked_since,
        reserved=None,
        step_at=task.step_at,
        due_at=_due_at(task),
        open=sum(not edge.resolved for edge in task.edges),
        deps=len(task.edges),
        has_dependents=0,
        solo=int(task.suspect or spec.max_attempts == 1),
        bytes=size_of(payload),
        timeout_at=task.timeout_at,
        lease_s=task.lease_s,
        lease_expires_at=task.lease_expires_at,
        confirmed=int(task.confirmed),
        usage=None if task.usage is None else encode(task.usage).decode(),
        output_fence=made_by,
        completed_at=task.ended_at if task.status == "completed" else None,
        cancelled_at=task.ended_at if task.status == "cancelled" else None,
        dead_lettered_at=task.ended_at if task.status == "dead_lettered" else None,
        **_kept(task),
    )
    run = tx.connection.executemany
    tx.run(_ADD_TASK, msgspec.structs.astuple(row))
    tx.run("INSERT INTO specs VALUES (?, ?)", (task.number, task.spec))
    run(_ADD_ATTEMPT, [_attempt(task, ending, made_by) for ending in task.endings])
    if task.output is not None and len(task.output.encode()) > INLINE_OUTPUT_BYTES:
        tx.run("INSERT INTO blobs VALUES (?, ?, ?)", (task.number, made_by, task.output))
    run(
        "INSERT INTO edges (parent, child, kind, resolved_at) VALUES (?, ?, ?, ?)",
        [(edge.number, task.number, edge.kind, task.updated_at if edge.resolved else None) for edge in task.edges],
    )
    run(
        "INSERT INTO journal (n, kind, name, digest, value) VALUES (?, ?, ?, ?, ?)",
        [(task.number, entry.kind, entry.name, entry.digest, entry.value) for entry in task.journal],
    )
    run(
        _ADD_QUESTION,
        [(task.number, *(getattr(asked, name) for name in ASKED), spec.project) for asked in task.questions],
    )
    run(
        "INSERT INTO artifacts (id, n, dag, name, digest, size, media_type, put_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (number, task.number, task.dag_id, left.name, left.digest, left.size, left.media_type, micros(left.put_at))
            for number, left in task.artifacts
        ],
    )
    names = sorted(spec.locks)
    if task.holds:
        run("INSERT INTO holds VALUES (?, ?, ?, ?)", [(spec.project, name, task.number, task.fence) for name in names])
    elif task.status == "ready" and task.parked_on is None:
        wants = [(task.number, name, spec.project, lane, task.rank) for name in names]
        run("INSERT INTO wants (n, name, project, lane, rank) VALUES (?, ?, ?, ?, ?)", wants)
    rest = (task.resolution, task.reviewed_at, spec.coalesce_key, micros(spec.gathers_until))
    tx.run(_ADD_REST, (task.number, *rest))


def _kept(task: CarriedTask) -> dict[str, Any]:
    alike: dict[str, Any] = {name: getattr(task, name) for name in ALIKE}
    return alike | {name: int(getattr(task, name)) for name in FLAGS}


def _due_at(task: CarriedTask) -> int | None:
    """When something is to happen to it."""
    if task.held:
        return first_of(task.lease_expires_at, task.timeout_at)
    if task.unwritten:
        return task.lease_expires_at
    return {"scheduled": task.run_after, "retrying": task.retry_at}.get(task.status)


def _made_by(task: CarriedTask) -> int | None:
    """The attempt that made the output; also of no output, where that is what it completed with."""
    if task.output is None and task.decision is None and task.status != "completed":
        return None
    makers = [each.attempt for each in task.endings if each.attempt.outcome in ("completed", "submitted")]
    makers = makers or [each.attempt for each in task.endings]
    return makers[-1].fence if makers else None


def _attempt(task: CarriedTask, ending: CarriedEnding, made_by: int | None) -> tuple[Any, ...]:
    attempt = ending.attempt
    status = ending.status or ("cancelled" if attempt.outcome is Outcome.CANCELLED else "pending")
    output, decision = (task.output, task.decision) if attempt.fence == made_by else (None, None)
    if output is not None and len(output.encode()) > INLINE_OUTPUT_BYTES:
        output = None
    return (
        task.number,
        attempt.fence,
        attempt.number,
        attempt.agent,
        attempt.model,
        attempt.outcome.value,
        status,
        ending.digest,
        attempt.reason,
        attempt.error,
        attempt.fingerprint,
        attempt.exit_code,
        ending.retry_at,
        micros(attempt.started_at),
        0 if attempt.ended_at is None else to_micros(attempt.ended_at),
        attempt.cost_usd,
        attempt.tokens_in,
        attempt.tokens_out,
        attempt.turns,
        output,
        decision,
        None,
        attempt.price,
    )


_PUT_DOCUMENT = f"INSERT INTO documents ({', '.join(DOCUMENT)}) VALUES (?, ?, ?, ?, ?, ?)"  # noqa: S608
_SETTINGS = (
    *("pauses", "breakers", "breaker_settings", "ladders", "backoffs", "locks", "budgets", "reserves", "type_slots"),
    *("rates", "agents", "documents", "claims", "grown"),
)


def carry_in_settings(tx: Transaction, lanes: Lanes, told: CarriedSettings) -> None:
    """Let these, and no others, hold."""
    stands = standing(tx.connection)
    if not stands.may_carry_in:
        raise not_filling(stands)
    let_in(tx, True)
    for table in _SETTINGS:
        tx.run(f"DELETE FROM {table}")  # noqa: S608
    lanes.current(tx)
    numbers = dict(lanes.numbers(tx, [pause.lane for pause in told.pauses if pause.lane is not None]))
    run = tx.connection.executemany
    run("INSERT INTO pauses VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [_paused(pause, numbers) for pause in told.pauses])
    run("INSERT INTO breakers VALUES (?, ?, ?, ?, ?, ?)", [_breaker(*each) for each in told.breakers])
    run("INSERT INTO breaker_settings VALUES (?, ?, ?)", [(*n, encode(o).decode()) for *n, o in told.overrides])
    run("INSERT INTO ladders VALUES (?, ?, ?)", told.ladders)
    run(
        "INSERT INTO backoffs (project, gate, limits, since, until, shut) VALUES (?, ?, ?, ?, ?, ?)",
        [(*n, each.limits, each.since, each.until, int(each.shut)) for *n, each in told.backoffs],
    )
    run("INSERT INTO locks (project, name, slots, reserved_for) VALUES (?, ?, ?, ?)", told.locks)
    for budget in told.budgets:
        _put_budget(tx, budget)
    run("INSERT INTO type_slots VALUES (?, ?, ?)", told.type_slots)
    run(
        "INSERT INTO rates (project, type, amount, per_s, burst, full_at) VALUES (?, ?, ?, ?, ?, ?)",
        [(*n, rate.amount, rate.per_s, rate.burst, full_at) for *n, rate, full_at in told.rates],
    )
    for project, agent, known in told.agents:
        registry.put(tx, project, agent, known)
    run(_PUT_DOCUMENT, [tuple(getattr(each, name) for name in DOCUMENT) for each in told.documents])
    run("INSERT INTO claims VALUES (?, ?, ?, ?)", [(*n, at, _held(groups)) for *n, at, groups in told.claims])
    run("INSERT INTO grown (dag) VALUES (?)", [(dag,) for dag in told.grown])
    tx.run("UPDATE dags SET closing = 0 WHERE closing = 1")
    tx.run(f"UPDATE dags SET closing = 1 WHERE id IN ({NUMBERS})", (encode(told.closing).decode(),))  # noqa: S608
    tx.run(
        "UPDATE tasks SET reserved = NULL WHERE reserved IS NOT NULL AND status IN ('claimed', 'running', 'cancelled')"
    )
    tx.run("UPDATE tasks SET reserved = 1 FROM reserves r WHERE r.n = tasks.n AND r.fence = tasks.fence")
    if told.last_seq > tx.row("SELECT coalesce(max(last_seq), 0) FROM outbox")[0]:
        tx.run("DELETE FROM outbox")
        tx.run("INSERT INTO outbox (last_seq, count, at, body) VALUES (?, 0, ?, '[]')", (told.last_seq, tx.now))
    tx.run(CHANGED)
    let_in(tx, False)


def _paused(pause: CarriedPause, lanes: dict[LaneKey, int]) -> tuple[Any, ...]:
    name = pause.name if pause.lane is None else str(lanes[pause.lane])
    gate = closing.Pause(scope=pause.scope, name=name).gate
    return pause.project, gate, pause.scope, name, pause.since, pause.until, pause.reason, pause.by


def _breaker(project: str, type: str, record: Breaker) -> tuple[Any, ...]:
    why = closing.why_shut(record)
    return project, type, encode(record).decode(), why, record.due_at, int(record.is_troubled)


def _put_budget(tx: Transaction, told: CarriedBudget) -> None:
    name = parked_on(told.scope, told.unit)
    tx.run(
        "INSERT INTO budgets (project, name, scope, unit, cap, default_reserve, reserved, spent, unpriced, per, zone,"
        " ends_at, window_no) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
        (
            told.project,
            name,
            told.scope,
            told.unit,
            told.limit,
            told.default_reserve,
            sum(amount for _, _, amount in told.reserved),
            told.spent,
            told.unpriced,
            told.per,
            told.zone,
            told.ends_at,
        ),
    )
    tx.connection.executemany(
        "INSERT INTO reserves (n, fence, name, project, amount, window_no) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (number, fence, name, told.project, amount, window)
            for window, claims in ((1, told.reserved), (0, told.earlier))
            for number, fence, amount in claims
        ],
    )
    if told.saved_for is not None:
        tx.run(
            "INSERT INTO locks (project, name, slots, reserved_for) VALUES (?, ?, ?, ?)",
            (told.project, name, told.offered + 1, told.saved_for),
        )


def _held(groups: list[list[tuple[int, int]]]) -> str:
    alone = all(len(group) == 1 for group in groups)
    return encode(
        [[*claim] if alone else [*claim, place] for place, group in enumerate(groups) for claim in group]
    ).decode()
