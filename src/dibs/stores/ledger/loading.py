"""Everything that is in a state, as the records of `stores.carrying`, to be carried elsewhere."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from dibs.model.instants import to_micros
from dibs.model.status import Status
from dibs.rules import escalation
from dibs.rules.budgets import PREFIX
from dibs.rules.locks import SLOTS
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
)
from dibs.stores.values import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.rules.closing import Pause
    from dibs.stores.ledger.records import BudgetRecord, DagRecord, Ending, Inquiry, Record
    from dibs.stores.ledger.state import State
    from dibs.stores.values import LaneKey

_decode = msgspec.json.decode


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
