"""Questions to people: asked under a claim that ends with it, answered, closed, or left until their time is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dibs.model.instants import seconds
from dibs.model.question import Question
from dibs.model.review import Resolution
from dibs.model.status import Outcome, Status
from dibs.rules import questions
from dibs.stores import refusals
from dibs.stores.ledger import cascade, moving
from dibs.stores.ledger.records import Inquiry
from dibs.stores.ledger.snapshots import decoded, instant
from dibs.stores.values import Asked

if TYPE_CHECKING:
    from dibs.stores.ledger.records import Record
    from dibs.stores.ledger.state import State
    from dibs.stores.values import Ask


def ask(state: State, ask: Ask) -> Asked:
    """Ask a person, once. The claim ends, unless there is an answer already."""
    record = state.get(ask.task_id)
    held = record.held_under(ask.fence) if ask.kind == questions.QUESTION else record.handed_in_under(ask.fence)
    if held and record.over_timeout(state.now):
        raise refusals.over_timeout(record.id, ask.fence, record.timeout_s)
    known = next((inquiry for inquiry in record.inquiries if inquiry.name == ask.name), None)
    if not held and (known is None or not _was_suspended(record, ask.fence)):
        raise refusals.lease_lost(record.id, ask.fence)
    if known is not None and known.digest != ask.digest:
        raise refusals.journal_mismatch("question", ask.name, record.id)
    if known is not None and (not held or known.status == questions.ANSWERED):
        return Asked(question=question_of(state, known), suspended=not held)
    inquiry = known or Inquiry(
        id=ask.id,
        task_id=record.id,
        kind=ask.kind,
        name=ask.name,
        digest=ask.digest,
        question=ask.question,
        schema=ask.schema,
        assignee=ask.assignee,
        asked_at=state.now,
    )
    inquiry.status = questions.OPEN
    inquiry.default = ask.default
    inquiry.asked_at = state.now
    inquiry.expires_at = None if ask.timeout_s is None else state.now + seconds(ask.timeout_s)
    agent = record.agent
    if record.held:
        moving.end_claim(state, record, Outcome.SUSPENDED, usage=ask.usage, reason="suspended")
        record.agent = None
    if known is None:
        moving.add_inquiry(state, record, inquiry)
    moving.wait_for_answer(state, record, inquiry, agent)
    return Asked(question=question_of(state, inquiry), suspended=True)


def _was_suspended(record: Record, fence: int) -> bool:
    ending = record.endings.get(fence)
    return ending is not None and ending.attempt.outcome is Outcome.SUSPENDED


def answer(state: State, question_id: str, value: bytes, by: str | None) -> Question:
    """Take an answer to an open question; the same answer again is answered as before."""
    inquiry = state.inquiries.get(question_id)
    if inquiry is None:
        raise refusals.no_question(question_id)
    if inquiry.status != questions.ANSWERED or inquiry.answer != value:
        if inquiry.status != questions.OPEN:
            raise refusals.question_over(question_id, inquiry.status)
        if inquiry.kind == questions.DECISION:
            # It needs all of this module.
            from dibs.stores.ledger import deadletters

            deadletters.refuse(state, inquiry, value)
        _take(state, inquiry, value, by)
    return question_of(state, inquiry)


def _take(state: State, inquiry: Inquiry, value: bytes, by: str | None) -> None:
    """Write the answer down and let the task go on."""
    record = state.tasks[inquiry.task_id]
    inquiry.status = questions.ANSWERED
    inquiry.answer = bytes(value)
    inquiry.answered_by = by
    inquiry.answered_at = state.now
    state.emit("task.answered", record, reason=inquiry.kind, data={"question": inquiry.id, "by": by})
    if inquiry.kind == questions.DECISION:
        from dibs.stores.ledger import deadletters

        deadletters.decide(state, record, inquiry)
        return
    status = questions.after_answer(
        inquiry.kind, decoded(value), open_edges=record.open_edges, run_after=record.run_after, now=state.now
    )
    if status is Status.CANCELLED:
        cascade.cancel(state, record.id, questions.refusal(by))
    elif status is Status.READY:
        moving.make_ready(state, record)
    elif status is Status.VALIDATING:
        state.move(record, Status.VALIDATING)
        state.file(record)
    else:
        moving.place(state, record)


def lapse(state: State, limit: int) -> int:
    """End questions whose time is over. What follows from a dead letter is left to `spread`."""
    over = sorted(
        (inquiry.expires_at, inquiry.id)
        for inquiry in state.open_inquiries()
        if inquiry.expires_at is not None and inquiry.expires_at <= state.now
    )[:limit]
    dead = []
    for _, question_id in over:
        inquiry = state.inquiries[question_id]
        if inquiry.default is not None:
            _take(state, inquiry, inquiry.default, questions.BY_TIMEOUT)
        else:
            dead.append(_bury(state, inquiry))
    for record in sorted(dead, key=lambda record: record.number):
        state.marked[record.id] = None
    return len(over)


def _bury(state: State, inquiry: Inquiry) -> Record:
    record = state.tasks[inquiry.task_id]
    inquiry.status = questions.CLOSED
    record.error = questions.lapse(inquiry.id, inquiry.question)
    record.reason = questions.LAPSED
    record.exit_code = None
    record.dead_lettered_at = state.now
    state.move(record, Status.DEAD_LETTERED)
    state.file(record)
    state.emit("task.dead_lettered", record, reason=record.reason, data={"question": inquiry.id})
    return record


def inbox(state: State, project: str, assignee: str | None, limit: int) -> list[Question]:
    """Open questions, oldest first."""
    found = [
        inquiry
        for inquiry in state.open_inquiries()
        if state.tasks[inquiry.task_id].spec.project == project
        and (assignee is None or inquiry.assignee is None or inquiry.assignee == assignee)
    ]
    return [question_of(state, inquiry) for inquiry in sorted(found, key=_age)[:limit]]


def find(state: State, id: str | None, task_id: str | None) -> list[Question]:
    """One question, or those of a task, oldest first."""
    record = state.tasks.get(task_id or "")
    found = [] if record is None else list(record.inquiries)
    if id is not None and id in state.inquiries:
        found = [state.inquiries[id]]
    return [question_of(state, inquiry) for inquiry in sorted(found, key=_age)]


def _age(inquiry: Inquiry) -> tuple[int, str]:
    return inquiry.asked_at, inquiry.id


def question_of(state: State, inquiry: Inquiry) -> Question:
    """A question as the outside sees it."""
    spec = state.tasks[inquiry.task_id].spec
    return Question(
        id=inquiry.id,
        task_id=inquiry.task_id,
        type=spec.type,
        title=spec.title,
        kind=inquiry.kind,
        name=inquiry.name,
        question=inquiry.question,
        schema=decoded(inquiry.schema),
        assignee=inquiry.assignee,
        default=decoded(inquiry.default),
        status=inquiry.status,
        asked_at=instant(inquiry.asked_at),
        expires_at=instant(inquiry.expires_at),
        answer=decoded(inquiry.answer),
        answered_by=inquiry.answered_by,
        answered_at=instant(inquiry.answered_at),
    )


def check(state: State) -> list[str]:
    """A sentence for each task that waits without a question, or question without a task that waits."""
    wrong = []
    for record in state.tasks.values():
        still_open = sum(inquiry.status == questions.OPEN for inquiry in record.inquiries)
        decides = sum(inquiry.kind == questions.DECISION for inquiry in record.inquiries)
        escalated = bool(decides) and record.resolution == Resolution.ESCALATED
        if still_open != (record.status is Status.WAITING or escalated):
            wrong.append(f"Task {record.id} is {record.status}, but has {still_open} open questions.")
    return wrong


def approval(record: Record, now: int) -> Inquiry:
    """The question whether a task may run, for the life that begins now."""
    earlier = sum(inquiry.kind == questions.APPROVAL for inquiry in record.inquiries)
    return Inquiry(
        id=questions.approval_id(record.id, earlier),
        task_id=record.id,
        kind=questions.APPROVAL,
        question=questions.APPROVAL_TEXT,
        schema=msgspec.json.encode(questions.APPROVAL_SCHEMA),
        asked_at=now,
    )


def begin(state: State, record: Record) -> None:
    """Put a task whose life begins where it belongs: it waits for its approval, if it needs one."""
    if not record.spec.approval:
        moving.place(state, record)
        return
    inquiry = approval(record, state.now)
    moving.add_inquiry(state, record, inquiry)
    moving.wait_for_answer(state, record, inquiry)
