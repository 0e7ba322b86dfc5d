"""The moves that several verbs share: becoming ready, starting, ending a claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dibs.model.attempt import Attempt
from dibs.model.instants import from_micros, seconds
from dibs.model.status import Outcome, Status
from dibs.rules import lifecycle, priority, questions
from dibs.rules.usage import plus
from dibs.stores.ledger import budgets, dags, locks
from dibs.stores.ledger.records import Ending
from dibs.stores.values import BY_DUTY

if TYPE_CHECKING:
    from typing import Any

    from dibs.model.claim import Settled
    from dibs.stores.ledger.records import Edge, Inquiry, Record
    from dibs.stores.ledger.state import State
    from dibs.stores.values import Usage


def place(state: State, record: Record) -> None:
    """Put a task that nobody holds where it belongs: pending, scheduled or ready."""
    status = lifecycle.first_status(open_edges=record.open_edges, run_after=record.run_after, now=state.now)
    if status is Status.READY:
        make_ready(state, record)
        return
    state.move(record, status)
    state.file(record)
    if status is Status.SCHEDULED:
        state.emit("task.scheduled", record)


def make_ready(
    state: State,
    record: Record,
    *,
    agent: str | None = None,
    reason: str | None = None,
    data: dict[str, Any] | None = None,
) -> None:
    """It may be claimed from now on. It ages from the first time that this happens."""
    if record.ready_at is None:
        record.ready_at = state.now
    record.retry_at = None
    state.move(record, Status.READY)
    rerank(state, record)
    state.file(record)
    state.emit("task.ready", record, agent=agent, reason=reason, data=data)


def rerank(state: State, record: Record) -> None:
    """Compute its rank anew, once it has been ready. The caller files it."""
    if record.ready_at is None:
        return
    record.rank = priority.rank(
        record.priority,
        record.lane.boost,
        record.ready_at,
        record.weight,
        priority.steps(record.deadline, state.now),
    )
    record.step_at = priority.next_step_at(record.deadline, state.now)


def add_inquiry(state: State, record: Record, inquiry: Inquiry) -> None:
    """A task has one more question."""
    record.inquiries.append(inquiry)
    state.inquiries[inquiry.id] = inquiry


def wait_for_answer(
    state: State, record: Record, inquiry: Inquiry, agent: str | None = None, data: dict[str, Any] | None = None
) -> None:
    """It waits for a person; `agent` asked."""
    state.move(record, Status.WAITING)
    state.file(record)
    told = {**(data or {}), "question": inquiry.id}
    state.emit("task.waiting", record, agent=agent, reason=inquiry.kind, data=told)


def close_inquiries(record: Record) -> None:
    """It ends, so nobody needs to know any more."""
    for inquiry in record.inquiries:
        if inquiry.status == questions.OPEN:
            inquiry.status = questions.CLOSED


def resolve(state: State, edge: Edge) -> None:
    """Resolve an open edge; a pending child without another open one is unblocked."""
    edge.resolved = True
    child = state.tasks[edge.child]
    child.open_edges -= 1
    if child.status is Status.PENDING and not child.open_edges:
        place(state, child)
    elif not child.final:
        state.file(child)


def start(state: State, record: Record) -> None:
    """The work begins; its timeout counts from now."""
    record.started_at = state.now
    record.timeout_at = None if record.timeout_s is None else state.now + seconds(record.timeout_s)
    state.move(record, Status.RUNNING)
    state.emit("task.started", record, agent=record.agent)
    dags.has_started(state, record)


def end_claim(
    state: State,
    record: Record,
    outcome: Outcome,
    *,
    number: int = 0,
    usage: Usage | None = None,
    reason: str | None = None,
    error: str | None = None,
    fingerprint: str | None = None,
    exit_code: int | None = None,
    digest: str = "",
    settled: Settled | None = None,
) -> None:
    """Write the attempt, add up what it used, and let go of the lease. The caller moves the task on."""
    used = record.usage.updated(usage)
    record.usage = used
    attempt = Attempt(
        number=number,
        fence=record.fence,
        agent=record.agent or "",
        outcome=outcome,
        model=used.model or record.model,
        reason=reason,
        error=error,
        fingerprint=fingerprint,
        exit_code=exit_code,
        started_at=None if record.started_at is None else from_micros(record.started_at),
        ended_at=from_micros(state.now),
        cost_usd=used.cost_usd,
        tokens_in=used.tokens_in,
        tokens_out=used.tokens_out,
        turns=used.turns,
        price=used.price,
    )
    record.endings[record.fence] = Ending(attempt, digest, None if settled is None else replace(settled))
    budgets.settle(state, record, attempt, sure=digest != BY_DUTY)
    record.cost_usd = plus(record.cost_usd, used.cost_usd)
    record.tokens_in = plus(record.tokens_in, used.tokens_in)
    record.tokens_out = plus(record.tokens_out, used.tokens_out)
    record.turns = plus(record.turns, used.turns)
    if record.spec.locks:
        locks.let_go(state, record)
    record.lease_expires_at = record.timeout_at = None
    record.confirmed = record.unwritten = False


def write_cancelled_attempt(state: State, record: Record, usage: Usage | None = None) -> None:
    """The attempt of a task that was cancelled while held: its agent spoke up, or its lease is over."""
    end_claim(state, record, Outcome.CANCELLED, usage=usage, reason=record.reason)
    state.file(record)
