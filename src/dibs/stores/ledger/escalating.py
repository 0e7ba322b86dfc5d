"""Ladders, and what failures take of them: `rules.escalation` decides, this applies it with the settlement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from dibs.model.escalation import Escalation
from dibs.model.instants import from_micros, seconds
from dibs.rules import escalation
from dibs.stores import refusals
from dibs.stores.ledger import moving
from dibs.stores.ledger.records import Inquiry

if TYPE_CHECKING:
    from dibs.model.escalation import Rung
    from dibs.stores.ledger.records import Record
    from dibs.stores.ledger.state import State
    from dibs.stores.values import LaneKey, Settlement


def set_ladder(state: State, project: str, scope: str, ladder: str | None) -> bool:
    """Keep a ladder, or forget it; whether there was one."""
    kind, _, name = scope.partition(":")
    if ladder is not None and kind == "dag" and name not in state.dags and name not in state.members:
        raise refusals.no_dag(name)
    known = state.ladders.pop((project, scope), None)
    if ladder is not None:
        state.ladders[project, scope] = escalation.from_json(ladder)
    state.changed = True
    return known is not None


def ladders(state: State, project: str) -> dict[str, str]:
    """Every ladder, by its scope."""
    return {scope: escalation.as_json(rungs) for (home, scope), rungs in state.ladders.items() if home == project}


def climbed(state: State, record: Record, settlement: Settlement) -> Settlement:
    """The settlement with the rungs that this failure takes, and where they lead."""
    if not state.ladders or not escalation.is_failure(settlement.outcome, counts_attempt=settlement.counts_attempt):
        return settlement
    ladder = _ladder_of(state, record)
    taken = escalation.taken_in(record.spec.escalations)
    step = escalation.step(ladder, record.attempts + 1, taken, next=settlement.next, used_up=settlement.used_up)
    return replace(settlement, rungs=step.rungs, next=step.next or settlement.next)


def _ladder_of(state: State, record: Record) -> tuple[Rung, ...]:
    for scope in escalation.scopes_for(record.spec.type, record.dag_id):
        ladder = state.ladders.get((record.spec.project, scope))
        if ladder is not None:
            return ladder
    return ()


def take(state: State, record: Record, settlement: Settlement, agent: str | None) -> None:
    """Record the rungs and tell of them; ask, if one of them asks. The caller moves the task on."""
    question = escalation.question_id(record.id, record.fence)
    for rung in settlement.rungs:
        taken = Escalation(
            after=rung.after,
            do=rung.do,
            at=from_micros(state.now),
            fence=record.fence,
            to=rung.to,
            agent=rung.agent,
            model=rung.model,
            question=question if rung.do == escalation.ASK else None,
        )
        record.spec = replace(record.spec, escalations=(*record.spec.escalations, taken))
        data = escalation.event_data(rung, record.attempts, question)
        state.emit("task.escalated", record, agent=agent, reason=rung.do, data=data)


def reassign(state: State, record: Record, rungs: tuple[Rung, ...]) -> None:
    """Move it to the lane of another agent or model. It is held by now, so it stands in no lane's order."""
    for rung in rungs:
        if rung.agent is not None:
            record.spec = replace(record.spec, assignee=rung.agent)
            record.lane = replace(record.lane, assignee=rung.agent)
            if record.fallback_lane is not None:
                record.fallback_lane = replace(record.fallback_lane, assignee=rung.agent)
        elif rung.model is not None:
            # The provider it named was that of its other models.
            record.spec = replace(record.spec, models=(rung.model,), fallback_models=(), provider=None)
            record.lane = replace(record.lane, models=(rung.model,), provider=None)
            record.fallback_lane = None
    _use(state, record.lane)


def _use(state: State, lane: LaneKey) -> None:
    state.lane_ids.setdefault(lane, len(state.lane_ids) + 1)


def wait(state: State, record: Record, settlement: Settlement, agent: str | None) -> None:
    """It waits for the person whom the last of its rungs asks."""
    rung = settlement.rungs[-1]
    inquiry = Inquiry(
        id=escalation.question_id(record.id, record.fence),
        task_id=record.id,
        kind=escalation.KIND,
        name=escalation.question_name(record.fence),
        question=escalation.question_text(rung, record.attempts, settlement.error),
        assignee=rung.to,
        default=None if rung.default is None else msgspec.json.encode(rung.default, order="sorted"),
        asked_at=state.now,
        expires_at=None if rung.timeout_s is None else state.now + seconds(rung.timeout_s),
    )
    moving.add_inquiry(state, record, inquiry)
    moving.wait_for_answer(state, record, inquiry, agent, settlement.memory)
