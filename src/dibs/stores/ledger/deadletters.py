"""Dead letters: seen in groups, and decided about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from dibs.errors import DibsError
from dibs.model.deadgroup import DeadGroup
from dibs.model.instants import from_micros
from dibs.model.review import Resolution, Review
from dibs.model.status import Status
from dibs.rules import questions
from dibs.rules import review as rules
from dibs.rules.usage import plus
from dibs.stores import refusals
from dibs.stores.ledger import dags, moving, reviving
from dibs.stores.ledger.finding import contains
from dibs.stores.ledger.records import Inquiry
from dibs.stores.ledger.snapshots import decoded, task_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.task import Task
    from dibs.rules.review import Ruling
    from dibs.stores.deadletters import DeadFilter
    from dibs.stores.ledger.records import Record
    from dibs.stores.ledger.state import State


def groups(state: State, wanted: DeadFilter) -> list[DeadGroup]:
    """Dead letters that failed alike, together."""
    found: dict[tuple[str, str], list[Record]] = {}
    for record in _matching(state, wanted):
        found.setdefault((record.spec.type, _mark(record)), []).append(record)
    return rules.in_order([_group(*name, records) for name, records in found.items()])


def ids(state: State, wanted: DeadFilter, limit: int | None, before: str | None) -> list[str]:
    """Their ids, the newest task first."""
    start = state.last_number + 1 if before is None else state.get(before, "before").number
    found = [record.id for record in reversed(_matching(state, wanted)) if record.number < start]
    return found if limit is None else found[:limit]


def review(state: State, task_ids: Sequence[str], ruling: Ruling) -> list[Task | DibsError]:
    """Record a decision about each and carry it out; each is answered by itself."""
    answers: list[Task | DibsError] = []
    for task_id in task_ids:
        try:
            answers.append(_review(state, state.get(task_id), ruling))
        except DibsError as error:
            answers.append(error)
    return answers


def _review(state: State, record: Record, ruling: Ruling) -> Task:
    if record.status is not Status.DEAD_LETTERED:
        raise refusals.no_dead_letter(record.id, record.status)
    fence = record.fence
    question = None
    if ruling.retries:
        reviving.revive(state, record.id, ruling.payload, ruling.body_hash, ruling.delay_s, ruling.keep_steps)
    else:
        moving.close_inquiries(record)
        record.resolution, record.reviewed_at = ruling.resolution, state.now
        if ruling.resolution is Resolution.DROPPED:
            _drop(state, record, ruling.note)
        elif ruling.resolution is Resolution.ESCALATED:
            question = _ask(state, record, ruling)
    decision = Review(
        resolution=ruling.resolution,
        by=ruling.by,
        at=from_micros(state.now),
        fence=fence,
        note=ruling.note,
        to=ruling.to,
        question=question,
    )
    record.spec = replace(record.spec, reviews=rules.with_review(record.spec.reviews, decision))
    state.file(record)
    data = ruling.told if question is None else {**ruling.told, "question": question}
    state.emit("task.reviewed", record, reason=ruling.resolution, data=dict(data))
    return task_of(state, record)


def refuse(state: State, inquiry: Inquiry, value: bytes) -> None:
    """Raises what `decide` would, were this the answer."""
    if rules.answered(decoded(value), None).retries:
        reviving.refuse(state, inquiry.task_id)


def decide(state: State, record: Record, inquiry: Inquiry) -> None:
    """Somebody was asked what shall become of a dead letter, and has answered."""
    _review(state, record, rules.answered(decoded(inquiry.answer), inquiry.answered_by or inquiry.assignee))


def _ask(state: State, record: Record, ruling: Ruling) -> str:
    """Ask whom it is escalated to; the id of the question."""
    number = 1 + sum(inquiry.kind == questions.DECISION for inquiry in record.inquiries)
    inquiry = Inquiry(
        id=questions.decision_id(record.id, number),
        task_id=record.id,
        kind=questions.DECISION,
        name=f"{questions.DECISION}:{number}",
        question=ruling.question or questions.decision_text(record.error, record.reason),
        schema=msgspec.json.encode(questions.DECISION_SCHEMA),
        assignee=ruling.to,
        asked_at=state.now,
    )
    moving.add_inquiry(state, record, inquiry)
    return inquiry.id


def _drop(state: State, record: Record, note: str | None) -> None:
    """It is cancelled by request. What follows from its end has followed; a dag that ended stays as it ended."""
    record.reason = rules.DROPPED
    record.cancel_reason = note
    record.dead_lettered_at = None
    record.cancelled_at = state.now
    state.move(record, Status.CANCELLED, requested=True)
    dag = state.dags.get(record.dag_id)
    if dag is not None and dag.status in dags.FINAL:
        state.stirred.pop(record.dag_id, None)
    state.file(record)
    state.emit("task.cancelled", record, agent=record.agent, reason=rules.DROPPED)


def _matching(state: State, wanted: DeadFilter) -> list[Record]:
    return [record for record in state.in_status(Status.DEAD_LETTERED) if _matches(record, wanted)]


def _matches(record: Record, wanted: DeadFilter) -> bool:
    spec, at = record.spec, record.dead_lettered_at or 0
    return (
        spec.project == wanted.project
        and (wanted.type is None or spec.type == wanted.type)
        and (wanted.fingerprint is None or _mark(record) == wanted.fingerprint)
        and (wanted.tag is None or wanted.tag in spec.tags)
        and (wanted.dag is None or record.dag_id == wanted.dag)
        and (wanted.user is None or spec.user == wanted.user)
        and (wanted.since is None or at >= wanted.since)
        and (wanted.until is None or at < wanted.until)
        and (wanted.reviewed is None or (record.resolution is not None) == wanted.reviewed)
        and (wanted.text is None or contains(record, wanted.text.lower()))
    )


def _mark(record: Record) -> str:
    ending = record.endings.get(record.fence)
    return rules.mark_of(None if ending is None else ending.attempt)


def _group(type: str, fingerprint: str, records: list[Record]) -> DeadGroup:
    newest = sorted(records, key=lambda record: (record.dead_lettered_at or 0, record.number), reverse=True)
    cost: float | None = None
    for record in records:
        cost = plus(cost, record.cost_usd)
    return DeadGroup(
        type=type,
        fingerprint=fingerprint,
        reason=newest[0].reason,
        error=newest[0].error,
        count=len(records),
        unreviewed=sum(record.resolution is None for record in records),
        poison_pills=sum(record.poison_pill for record in records),
        cost_usd=cost,
        unpriced=sum(record.cost_usd is None for record in records),
        first_at=from_micros(newest[-1].dead_lettered_at or 0),
        last_at=from_micros(newest[0].dead_lettered_at or 0),
        task_ids=[record.id for record in newest[: rules.SHOWN_IDS]],
    )
