"""Carrying everything out of a state, and into one: records as `stores.carrying` has them."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

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
from dibs.stores.carrying import (
    Cargo,
    CarriedBudget,
    CarriedDag,
    CarriedEdge,
    CarriedEnding,
    CarriedEntry,
    CarriedPause,
    CarriedQuestion,
    CarriedSettings,
    CarriedTask,
    Census,
)
from dibs.stores.ledger import pausing
from dibs.stores.ledger.state import BudgetRecord, DagRecord, Edge, Ending, Inquiry, Record
from dibs.stores.standing import OPEN, Standing, check, not_filling, refusal
from dibs.stores.values import Entry, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, MutableMapping, Sequence

    from dibs.stores.ledger.state import State
    from dibs.stores.values import LaneKey

K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")
_decode = msgspec.json.decode


# How it stands


def guarded(state: State, step: Callable[[State], T]) -> T:
    """Take a step, unless this store is being filled or left."""
    refused = refusal(state.standing)
    if refused is not None:
        raise refused
    return step(state)


def stand(state: State, standing: Standing, expected: str | None) -> None:
    """Stand so from now on. Who opens a store gives every claim in it its lease anew: nobody could renew meanwhile."""
    check(state.standing, expected)
    if standing.state == OPEN and state.standing.state != OPEN:
        state.tidy()
        for record in list(state.occupied()):
            until = state.now + round(record.lease_s * 1_000_000)
            record.lease_expires_at = max(until, record.lease_expires_at or 0)
            _file(state, record)
        state.freed.clear()
    state.standing = standing
    state.changed = True


# Out


def census(state: State) -> Census:
    """How many tasks there are."""
    found = state.by_status()
    return Census(tasks=sum(found.values()), by_status=found)


def carry_out(state: State, after: int, limit: int, *, live: bool) -> Cargo:
    """Tasks by number, from the one after this."""
    return _cargo(state, state.by_number(after, limit, live=live), [] if after else state.empty_dags())


def carry_out_named(state: State, ids: Sequence[str]) -> Cargo:
    """These tasks and dags; unknown ones are left out."""
    state.will_read(tasks=ids)
    found = [state.tasks[task_id] for task_id in dict.fromkeys(ids) if task_id in state.tasks]
    return _cargo(state, sorted(found, key=lambda each: each.number), ids)


def _cargo(state: State, records: list[Record], dag_ids: Sequence[str] = ()) -> Cargo:
    dags = dict.fromkeys([*(record.dag_id for record in records), *dag_ids])
    below = {edge.child: None for record in records for edge in state.edges_out_of.get(record.id, ())}
    return Cargo(
        tasks=[_task(state, record) for record in records],
        dags=[_dag(state.dags[dag_id]) for dag_id in sorted(dags) if dag_id in state.dags],
        dependents=list(below),
    )


def _task(state: State, record: Record) -> CarriedTask:
    spec = replace(
        record.spec,
        depth=record.depth,
        depends_on=record.depends_on,
        expects=_decode(record.expects),
        context=_decode(record.context),
    )
    holds, ready = record.held or record.unwritten, record.status is Status.READY
    return CarriedTask(
        number=record.number,
        id=record.id,
        spec=carrying.spec_of(spec, record.payload),
        lane=record.lane,
        fallback_lane=record.fallback_lane,
        body_hash=record.body_hash,
        dag_id=record.dag_id,
        parent_id=record.parent_id,
        edges=[
            CarriedEdge(_number_of(state, edge.parent), edge.parent, edge.kind, edge.resolved)
            for edge in state.edges_into.get(record.id, ())
        ],
        journal=[
            CarriedEntry(entry.kind, entry.name, entry.digest, entry.value.decode())
            for entry in record.journal.values()
        ],
        questions=sorted(map(_question, record.inquiries), key=lambda question: (question.asked_at, question.id)),
        endings=[_ending(ending) for ending in record.endings.values()],
        artifacts=list(record.artifacts.values()),
        status=record.status.value,
        requested=record.requested,
        cause=record.cause,
        cancel_reason=record.cancel_reason,
        resolution=record.resolution,
        reviewed_at=record.reviewed_at,
        overdue=record.overdue,
        marked=record.id in state.marked,
        priority=record.priority,
        weight=record.weight,
        rank=record.rank,
        parked_on=record.parked_on,
        parked_since=record.parked_since if ready else None,
        step_at=record.step_at if ready else None,
        run_after=record.run_after,
        retry_at=record.retry_at,
        fence=record.fence,
        agent=record.agent,
        model=record.model,
        lease_s=record.lease_s if holds else None,
        lease_expires_at=record.lease_expires_at if holds else None,
        timeout_s=record.timeout_s,
        timeout_at=record.timeout_at if record.held else None,
        confirmed=record.confirmed if record.held else False,
        suspect=record.suspect and record.spec.max_attempts != 1,
        unwritten=record.unwritten,
        renewed_at=record.renewed_at,
        progress=record.progress,
        note=record.note,
        usage=record.usage if holds and record.usage != Usage() else None,
        attempts=record.attempts,
        crashes=record.crashes,
        releases=record.releases,
        output=_text(record.output),
        output_sanitized=record.output_sanitized,
        decision=_text(record.decision),
        error=record.error,
        reason=record.reason,
        exit_code=record.exit_code,
        poison_pill=record.poison_pill,
        cost_usd=record.cost_usd,
        tokens_in=record.tokens_in,
        tokens_out=record.tokens_out,
        turns=record.turns,
        created_at=record.created_at,
        ready_at=record.ready_at,
        claimed_at=record.claimed_at,
        started_at=record.started_at,
        ended_at=record.ended_at,
        updated_at=record.updated_at,
    )


def _number_of(state: State, task_id: str) -> int:
    """0: it was not carried in yet."""
    return state.tasks[task_id].number if task_id in state.tasks else 0


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def _bytes(value: str | None) -> bytes | None:
    return None if value is None else value.encode()


def _ending(ending: Ending) -> CarriedEnding:
    settled = ending.settled
    if settled is None or not ending.digest:
        return CarriedEnding(attempt=ending.attempt)
    retry_at = None if settled.retry_at is None else to_micros(settled.retry_at)
    return CarriedEnding(attempt=ending.attempt, digest=ending.digest, status=settled.status, retry_at=retry_at)


def _question(inquiry: Inquiry) -> CarriedQuestion:
    return CarriedQuestion(
        id=inquiry.id,
        kind=inquiry.kind,
        name=inquiry.name,
        digest=inquiry.digest,
        question=inquiry.question,
        schema=_text(inquiry.schema),
        assignee=inquiry.assignee,
        default=_text(inquiry.default),
        status=inquiry.status,
        asked_at=inquiry.asked_at,
        expires_at=inquiry.expires_at,
        answer=_text(inquiry.answer),
        answered_by=inquiry.answered_by,
        answered_at=inquiry.answered_at,
    )


def _dag(dag: DagRecord) -> CarriedDag:
    return CarriedDag(
        id=dag.id,
        project=dag.project,
        title=dag.title,
        key=dag.key,
        body_hash=dag.body_hash,
        drafted=dag.drafted,
        on_failure=dag.on_failure,
        user=dag.user,
        created_by=dag.created_by,
        status=dag.status.value,
        started=dag.started,
        cause=dag.cause,
        cancel_reason=dag.cancel_reason,
        created_at=dag.created_at,
        started_at=dag.started_at,
        ended_at=dag.ended_at,
    )


def settings(state: State) -> CarriedSettings:
    """Everything beside tasks and dags."""
    keys = {str(number): key for key, number in state.lane_ids.items()}
    return CarriedSettings(
        pauses=[_pause(project, pause, keys) for (project, _), pause in sorted(state.pauses.items())],
        breakers=[(*name, record) for name, record in sorted(state.breakers.items(), key=_name)],
        overrides=[(*name, override) for name, override in sorted(state.overrides.items(), key=_name)],
        ladders=[(*name, escalation.as_json(rungs)) for name, rungs in sorted(state.ladders.items(), key=_name)],
        backoffs=[(*name, backoff) for name, backoff in sorted(state.backoffs.items(), key=_name)],
        locks=[
            (*name, lock.slots, lock.reserved_for)
            for name, lock in sorted(state.locks.items(), key=_name)
            if lock.slots != SLOTS or lock.reserved_for is not None
        ],
        budgets=[_budget(name, budget) for name, budget in sorted(state.budgets.items(), key=_name)],
        type_slots=[(*name, slots) for name, slots in sorted(state.type_slots.items())],
        rates=[(*name, rate, full_at) for name, (rate, full_at) in sorted(state.rates.items(), key=_name)],
        agents=[(*name, known) for name, known in sorted(state.agents.items(), key=_name)],
        documents=sorted(state.documents.values(), key=lambda each: (each.project, each.kind, each.name)),
        claims=_claims(state),
        grown=sorted(state.grown),
        closing=sorted(state.closing),
        last_number=next((record.number for record in state.newest_first(inf)), 0),
        last_put=state.last_put,
        last_seq=state.last_seq,
    )


def _name(item: tuple[tuple[str, str], Any]) -> tuple[str, str]:
    return item[0]


def _pause(project: str, pause: Pause, keys: dict[str, LaneKey]) -> CarriedPause:
    is_lane = pause.scope == "lane"
    return CarriedPause(
        project=project,
        scope=pause.scope,
        name="" if is_lane else pause.name,
        lane=keys.get(pause.name) if is_lane else None,
        since=pause.since,
        until=pause.until,
        reason=pause.reason,
        by=pause.by,
    )


def _budget(name: tuple[str, str], budget: BudgetRecord) -> CarriedBudget:
    scope, _, unit = name[1].removeprefix(PREFIX).rpartition(":")
    return CarriedBudget(
        project=name[0],
        scope=scope,
        unit=unit,
        limit=budget.limit,
        default_reserve=budget.default_reserve,
        per=None if budget.window is None else budget.window.per,
        zone=None if budget.window is None else budget.window.timezone,
        ends_at=budget.ends_at,
        spent=budget.spent,
        unpriced=budget.unpriced,
        reserved=[(*claim, amount) for claim, amount in sorted(budget.reserved.items())],
        earlier=[(*claim, amount) for claim, amount in sorted(budget.earlier.items())],
        saved_for=budget.saved_for,
        offered=0 if budget.saved_for is None else budget.offered,
    )


def _claims(state: State) -> list[tuple[str, str, int, list[list[tuple[int, int]]]]]:
    found = []
    for (project, claim_id), (at, groups) in sorted(state.claims.items(), key=_name):
        held = [
            [(state.tasks[task_id].number, fence) for task_id, fence in group if _holds(state, task_id, fence)]
            for group in groups
        ]
        if any(held):
            found.append((project, claim_id, at, [group for group in held if group]))
    return found


def _holds(state: State, task_id: str, fence: int) -> bool:
    return task_id in state.tasks and state.tasks[task_id].held_under(fence)


# In


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
    with _unchanged(record):
        state.add(record)
    for name in record.spec.locks if task.holds else ():
        state.lock(record.spec.project, name).holders[record.number, record.fence] = None
    if task.parked_on is not None:
        _park(state, record)


def _park(state: State, record: Record) -> None:
    name = (record.spec.project, record.parked_on or "")
    if not name[1].startswith(PREFIX) or name in state.budgets:
        state.parked_at(*name)[record.number] = None


def _file(state: State, record: Record) -> None:
    with _unchanged(record):
        state.file(record)


@contextmanager
def _unchanged(record: Record) -> Iterator[None]:
    """Into the indexes; nobody changed it."""
    updated_at, parked_since = record.updated_at, record.parked_since
    yield
    record.updated_at, record.parked_since = updated_at, parked_since


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
