"""Records of `stores.carrying` from elsewhere, put into a state as they are."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec.structs import replace

from dibs.model.claim import Settled
from dibs.model.instants import from_micros, to_micros
from dibs.model.status import DagStatus, Status
from dibs.rules import escalation
from dibs.rules.budgets import PREFIX, parked_on
from dibs.rules.closing import Pause
from dibs.rules.locks import SLOTS
from dibs.rules.windows import Window
from dibs.stores import carrying
from dibs.stores.ledger import pausing
from dibs.stores.ledger.carrying import unchanged
from dibs.stores.ledger.records import BudgetRecord, DagRecord, Edge, Ending, Inquiry, Record
from dibs.stores.standing import Standing, not_filling
from dibs.stores.values import Entry, Usage

if TYPE_CHECKING:
    from collections.abc import MutableMapping, Sequence

    from dibs.stores.carrying import (
        Cargo,
        CarriedBudget,
        CarriedDag,
        CarriedEnding,
        CarriedPause,
        CarriedQuestion,
        CarriedSettings,
        CarriedTask,
    )
    from dibs.stores.ledger.state import State

K = TypeVar("K")
V = TypeVar("V")


def _bytes(value: str | None) -> bytes | None:
    return None if value is None else value.encode()


def carry_in(state: State, cargo: Cargo, forget: Sequence[str], standing: Standing | None) -> None:
    """Write tasks and dags as they are, in the place of those of the same id; and what became of the copy."""
    if not state.standing.may_carry_in:
        raise not_filling(state.standing)
    state.will_read(tasks=[*forget, *(task.id for task in cargo.tasks)])
    gone = [state.tasks[task_id] for task_id in forget if task_id in state.tasks]
    for record in gone:
        _withdraw(state, record, gone=True)
    for task in cargo.tasks:
        if task.id in state.tasks:
            _withdraw(state, state.tasks[task.id], gone=False)
    for dag in cargo.dags:
        _put_dag(state, dag)
    for task in cargo.tasks:
        _put_in(state, task)
    for dag_id in {record.dag_id for record in gone}:
        if dag_id not in state.members:
            _drop_dag(state, dag_id)
    _settle_down(state)
    if standing is not None:
        state.standing = standing


def _settle_down(state: State) -> None:
    """Nothing follows from what was carried in: that happened where it comes from."""
    state.freed, state.roomy = {}, {}
    state.stirred.clear()
    state.changed = True


def _withdraw(state: State, record: Record, *, gone: bool) -> None:
    """Take a task out, and from what it holds and waits for."""
    project = record.spec.project
    for name in record.spec.locks:
        lock = state.locks.get((project, name))
        if lock is not None:
            lock.holders.pop((record.number, record.fence), None)
    if record.parked_on is not None:
        where = state.budgets if record.parked_on.startswith(PREFIX) else state.locks
        place = where.get((project, record.parked_on))
        if place is not None:
            place.parked.pop(record.number, None)
    state.withdraw(record, gone=gone)


def _drop_dag(state: State, dag_id: str) -> None:
    dag = state.dags.pop(dag_id, None)
    if dag is not None and dag.key is not None and state.dag_keys.get((dag.project, dag.key)) == dag_id:
        del state.dag_keys[dag.project, dag.key]


def _put_dag(state: State, dag: CarriedDag) -> None:
    status = DagStatus(dag.status)
    before = state.dags.get(dag.id)
    tally = Counter((each.status, each.requested) for each in state.members.get(dag.id, ())) if before is None else None
    state.dags[dag.id] = DagRecord(
        id=dag.id,
        project=dag.project,
        title=dag.title,
        key=dag.key,
        body_hash=dag.body_hash,
        drafted=list(dag.drafted),
        on_failure=dag.on_failure,
        user=dag.user,
        created_by=dag.created_by,
        status=status,
        closed=status in (DagStatus.FAILED, DagStatus.CANCELLED),
        started=dag.started,
        cause=dag.cause,
        cancel_reason=dag.cancel_reason,
        created_at=dag.created_at,
        started_at=dag.started_at,
        ended_at=dag.ended_at,
        tally=before.tally if before is not None else tally or Counter(),
    )
    if dag.key is not None and not state.dags[dag.id].closed:
        state.dag_keys[dag.project, dag.key] = dag.id


def _put_in(state: State, task: CarriedTask) -> None:
    record = _record(task)
    if record.fallback_lane is not None:
        state.lane_ids.setdefault(record.fallback_lane, len(state.lane_ids) + 1)
    for each in task.edges:
        state.tie(Edge(each.parent, record.id, each.kind, each.resolved))
    for inquiry in record.inquiries:
        state.inquiries[inquiry.id] = inquiry
    for number, _ in record.artifacts.values():
        state.last_put = max(state.last_put, number)
    if task.marked:
        state.marked[record.id] = None
    with unchanged(record):
        state.add(record)
    for name in record.spec.locks if task.holds else ():
        state.lock(record.spec.project, name).holders[record.number, record.fence] = None
    if task.parked_on is not None:
        _park(state, record)


def _park(state: State, record: Record) -> None:
    name = (record.spec.project, record.parked_on or "")
    if not name[1].startswith(PREFIX) or name in state.budgets:
        state.parked_at(*name)[record.number] = None


def _record(task: CarriedTask) -> Record:
    spec, payload = carrying.task_of(task.spec)
    expects, context = msgspec.json.encode(spec.expects), msgspec.json.encode(spec.context)
    record = Record(
        number=task.number,
        spec=replace(spec, payload=None, expects=None, context=None),
        payload=payload,
        expects=expects,
        context=context,
        lane=task.lane,
        fallback_lane=task.fallback_lane,
        body_hash=task.body_hash,
        dag_id=task.dag_id,
        parent_id=task.parent_id,
        depth=spec.depth,
        depends_on=spec.depends_on,
        open_edges=sum(not edge.resolved for edge in task.edges),
        inquiries=[_inquiry(task.id, question) for question in task.questions],
        status=Status(task.status),
        deadline=None if spec.deadline is None else to_micros(spec.deadline),
        usage=task.usage or Usage(),
        endings={ending.attempt.fence: _ended(task.id, ending) for ending in task.endings},
        output=_bytes(task.output),
        decision=_bytes(task.decision),
        artifacts={artifact.name: (number, artifact) for number, artifact in task.artifacts},
        completed_at=task.ended_at if task.status == "completed" else None,
        cancelled_at=task.ended_at if task.status == "cancelled" else None,
        dead_lettered_at=task.ended_at if task.status == "dead_lettered" else None,
        **{name: getattr(task, name) for name in _ALIKE},
    )
    if task.lease_s is not None:
        record.lease_s = task.lease_s
    for entry in task.journal:
        kept = Entry(kind=entry.kind, name=entry.name, digest=entry.digest, value=entry.value.encode())
        if entry.kind == "log":
            record.logged += 1
            record.journal["log", str(record.logged)] = kept
        else:
            record.journal[entry.kind, entry.name] = kept
    return record


_ALIKE = (
    *("requested", "cause", "cancel_reason", "resolution", "reviewed_at", "overdue", "priority", "weight", "rank"),
    *("parked_on", "parked_since", "step_at", "run_after", "retry_at", "fence", "agent", "model"),
    *("lease_expires_at", "timeout_s", "timeout_at", "confirmed", "suspect", "unwritten", "renewed_at", "progress"),
    *("note", "attempts", "crashes", "releases", "output_sanitized", "error", "reason", "exit_code", "poison_pill"),
    *("cost_usd", "tokens_in", "tokens_out", "turns", "created_at", "ready_at", "claimed_at", "started_at"),
    "updated_at",
)
"""What a record keeps under the same name, as it is."""


def _ended(task_id: str, ending: CarriedEnding) -> Ending:
    if not ending.digest:
        return Ending(ending.attempt)
    settled = Settled(
        task_id=task_id,
        fence=ending.attempt.fence,
        outcome=ending.attempt.outcome,
        status=ending.status or "",
        retry_at=None if ending.retry_at is None else from_micros(ending.retry_at),
    )
    return Ending(ending.attempt, ending.digest, settled)


def _inquiry(task_id: str, question: CarriedQuestion) -> Inquiry:
    return Inquiry(
        id=question.id,
        task_id=task_id,
        kind=question.kind,
        name=question.name,
        digest=question.digest,
        question=question.question,
        schema=_bytes(question.schema),
        assignee=question.assignee,
        default=_bytes(question.default),
        status=question.status,
        asked_at=question.asked_at,
        expires_at=question.expires_at,
        answer=_bytes(question.answer),
        answered_by=question.answered_by,
        answered_at=question.answered_at,
    )


def carry_in_settings(state: State, told: CarriedSettings) -> None:
    """Let these, and no others, hold; then let dags know their tasks, and locks and budgets who waits for them."""
    if not state.standing.may_carry_in:
        raise not_filling(state.standing)
    for pause in told.pauses:
        if pause.lane is not None:
            state.lane_ids.setdefault(pause.lane, len(state.lane_ids) + 1)
    _replace(state.pauses, dict(_paused(state, pause) for pause in told.pauses))
    _replace(state.breakers, {(project, type): record for project, type, record in told.breakers})
    _replace(state.overrides, {(project, type): override for project, type, override in told.overrides})
    _replace(state.ladders, {(project, scope): escalation.from_json(rungs) for project, scope, rungs in told.ladders})
    _replace(state.backoffs, {(project, gate): backoff for project, gate, backoff in told.backoffs})
    _replace(state.type_slots, {(project, type): slots for project, type, slots in told.type_slots})
    _replace(state.rates, {(project, type): (rate, full_at) for project, type, rate, full_at in told.rates})
    _replace(state.agents, {(project, agent): known for project, agent, known in told.agents})
    _replace(state.documents, {(each.project, each.kind, each.name): each for each in told.documents})
    for project, claim_id, at, groups in told.claims:
        held = [[(state.numbered[n].id, fence) for n, fence in group if n in state.numbered] for group in groups]
        state.claims[project, claim_id] = (at, held)
    _set_locks(state, told)
    _set_budgets(state, told)
    _replace(state.grown, dict.fromkeys(told.grown))
    _replace(state.closing, dict.fromkeys(dag_id for dag_id in told.closing if dag_id in state.dags))
    state.last_number = max(state.last_number, told.last_number)
    state.last_put = max(state.last_put, told.last_put)
    state.skip_to(told.last_seq)
    _settle_down(state)


def _replace(kept: MutableMapping[K, V], wanted: dict[K, V]) -> None:
    """Make one mapping the same as another; what is the same already is not written."""
    for name in [name for name in kept if name not in wanted]:
        del kept[name]
    for name, value in wanted.items():
        if name not in kept or kept[name] != value:
            kept[name] = value


def _set_locks(state: State, told: CarriedSettings) -> None:
    """Slots and reservations; whoever holds one or waits for it does so already."""
    wanted = {(project, name): (slots, number) for project, name, slots, number in told.locks}
    for name in [name for name in state.locks if name not in wanted]:
        lock = state.locks[name]
        lock.slots, lock.reserved_for = SLOTS, None
        if not lock.holders and not lock.parked:
            del state.locks[name]
    for name, (slots, number) in wanted.items():
        lock = state.lock(*name)
        lock.slots, lock.reserved_for = slots, number


def _set_budgets(state: State, told: CarriedSettings) -> None:
    """Budgets; of one that was not known, those who wait for it."""
    wanted = {(each.project, parked_on(each.scope, each.unit)): _budgeted(each) for each in told.budgets}
    known = {name: state.budgets[name].parked for name in list(state.budgets)}
    for name in known.keys() - wanted.keys():
        del state.budgets[name]
    new = wanted.keys() - known.keys()
    waiting = [record for record in state.tasks.values() if record.parked_on is not None] if new else []
    for name, budget in wanted.items():
        budget.parked = dict(known.get(name, {}))
        state.budgets[name] = budget
    for record in waiting:
        if (record.spec.project, record.parked_on) in new:
            _park(state, record)


def _paused(state: State, pause: CarriedPause) -> tuple[tuple[str, str], Pause]:
    name = pause.name if pause.lane is None else str(state.lane_ids[pause.lane])
    kept = Pause(
        scope=pause.scope,
        name=name,
        since=pause.since,
        until=pause.until,
        reason=pause.reason,
        by=pause.by,
    )
    if pause.lane is not None:
        kept.lane = pausing.lane_of(state, pause.project, name)
    return (pause.project, kept.gate), kept


def _budgeted(told: CarriedBudget) -> BudgetRecord:
    return BudgetRecord(
        limit=told.limit,
        default_reserve=told.default_reserve,
        window=None if told.per is None else Window(told.per, told.zone or "UTC"),
        ends_at=told.ends_at,
        spent=told.spent,
        unpriced=told.unpriced,
        reserved={(number, fence): amount for number, fence, amount in told.reserved},
        earlier={(number, fence): amount for number, fence, amount in told.earlier},
        saved_for=told.saved_for,
        offered=told.offered,
    )
