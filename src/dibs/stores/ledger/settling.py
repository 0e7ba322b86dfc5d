"""What the holder of a claim does with it: start, renew, settle. Each item is answered by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dibs.model.claim import News, Settled
from dibs.model.instants import from_micros, seconds
from dibs.model.status import FAILURES, Outcome, Status
from dibs.rules.providers import slow_down_s
from dibs.stores import refusals
from dibs.stores.ledger import (
    artifacts,
    breakers,
    budgets,
    cascade,
    escalating,
    moving,
    providers,
    registry,
    validating,
)
from dibs.stores.ledger.snapshots import instant
from dibs.stores.values import BY_DUTY, ENDS_ANY_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.errors import DibsError
    from dibs.stores.ledger.records import Record
    from dibs.stores.ledger.state import State
    from dibs.stores.values import LaneKey, Renewal, Settlement


def start(state: State, task_id: str, fence: int) -> DibsError | None:
    """Mark a claimed task as running; a running one is only confirmed."""
    record = state.tasks.get(task_id)
    if record is None:
        return refusals.no_task(task_id)
    if record.cancelled_under(fence):
        return refusals.was_cancelled(record.id, record.cancel_reason or record.reason)
    if not record.held_under(fence):
        return refusals.lease_lost(task_id, fence)
    record.confirmed = True
    state.changed = True
    if record.status is Status.CLAIMED:
        moving.start(state, record)
        state.file(record)
    return None


def renew_all(state: State, renewals: Sequence[Renewal]) -> list[News | DibsError]:
    """Extend leases; once all have told what they used, who overdraws a budget is told."""
    answers = [renew(state, renewal) for renewal in renewals]
    for renewal, news in zip(renewals, answers, strict=True):
        if isinstance(news, News) and not news.cancel and not news.limits and state.budgets:
            over = budgets.overdrawn(state, state.tasks[renewal.task_id])
            news.limits = {} if over is None else {"exceeded": over}
    return answers


def renew(state: State, renewal: Renewal) -> News | DibsError:
    """Extend a lease, also an expired one that nobody has taken away yet."""
    record = state.tasks.get(renewal.task_id)
    if record is None:
        return refusals.no_task(renewal.task_id)
    if record.cancelled_under(renewal.fence):
        return News(cancel=True, reason=record.reason)
    if not record.held_under(renewal.fence):
        return refusals.lease_lost(record.id, renewal.fence)
    if record.over_timeout(state.now):
        return refusals.over_timeout(record.id, renewal.fence, record.timeout_s)
    lease_s = record.lease_s if renewal.lease_s is None else renewal.lease_s
    record.lease_expires_at = state.now + seconds(lease_s)
    record.renewed_at = state.now
    registry.hear_renewal(state, record)
    if record.status is not Status.CLAIMED:
        record.confirmed = True
    record.usage = record.usage.updated(renewal.usage)
    said: dict[str, float | str] = {}
    if renewal.progress is not None:
        record.progress = said["progress"] = renewal.progress
    if renewal.note is not None:
        record.note = said["note"] = renewal.note
    state.file(record)
    if said:
        state.emit("task.progress", record, agent=record.agent, data=said)
    return News(
        lease_expires_at=from_micros(record.lease_expires_at),
        limits=budgets.limits_of(record),
        slow_down=slow_down_s(providers.closed_until(state, record), state.now),
    )


def settle_all(state: State, settlements: Sequence[Settlement]) -> list[Settled | DibsError]:
    """End claims as decided; what that says of types and providers counts at the end, in this order."""
    answers = [settle(state, settlement) for settlement in settlements]
    breakers.judge(state)
    providers.judge(state)
    return answers


def settle(state: State, settlement: Settlement) -> Settled | DibsError:
    """End a claim as decided; an ended one is answered as recorded."""
    record = state.tasks.get(settlement.task_id)
    if record is None:
        return refusals.no_task(settlement.task_id)
    if settlement.concludes:
        if not record.handed_in_under(settlement.fence):
            return refusals.lease_lost(record.id, settlement.fence)
        return _apply(state, record, escalating.climbed(state, record, settlement))
    if not record.held_under(settlement.fence):
        return _settled_before(state, record, settlement)
    if settlement.by_duty and not _still_over(record, settlement, state.now):
        return refusals.lease_lost(record.id, settlement.fence)
    if settlement.outcome not in ENDS_ANY_TIME and record.over_timeout(state.now):
        return refusals.over_timeout(record.id, settlement.fence, record.timeout_s)
    return _apply(state, record, escalating.climbed(state, record, settlement))


def _settled_before(state: State, record: Record, settlement: Settlement) -> Settled | DibsError:
    """The answer to a settlement whose claim has ended already."""
    ending = record.endings.get(settlement.fence)
    if ending is not None:
        if ending.settled is not None and ending.digest == settlement.digest:
            return replace(ending.settled)
        taken_away = ending.attempt.outcome is Outcome.EXPIRED or ending.digest == BY_DUTY
        if taken_away or record.fence > settlement.fence:
            return refusals.lease_lost(record.id, settlement.fence)
        return refusals.ended_as(record.id, settlement.fence, ending.attempt.outcome)
    if record.cancelled_under(settlement.fence) and not settlement.by_duty:
        moving.write_cancelled_attempt(state, record, settlement.usage)
        return refusals.was_cancelled(record.id, record.cancel_reason or record.reason)
    return refusals.lease_lost(record.id, settlement.fence)


def _apply(state: State, record: Record, settlement: Settlement) -> Settled:
    """Count, write the attempt, move the task on, and let the consequences follow."""
    agent = record.agent
    record.attempts += settlement.counts_attempt
    record.crashes += settlement.counts_crash
    record.releases = settlement.releases
    record.suspect = settlement.suspect
    record.poison_pill = settlement.poison_pill
    if settlement.timeout_s is not None:
        record.timeout_s = settlement.timeout_s
    if settlement.next is Status.RETRYING:
        record.retry_at = state.now + seconds(settlement.delay_s)
    settled = Settled(
        task_id=record.id,
        fence=record.fence,
        outcome=settlement.outcome,
        status=settlement.next,
        retry_at=instant(record.retry_at),
    )
    number = record.attempts if settlement.counts_attempt else 0
    if settlement.concludes:
        validating.rewrite_attempt(record, settlement, number, settled)
    else:
        _end_claim(state, record, settlement, number, settled)
    _keep_results(record, settlement)
    artifacts.keep(state, record, settlement.artifacts)
    if settlement.outcome is Outcome.EXPIRED:
        state.emit("task.expired", record, agent=agent, reason=settlement.reason)
    elif settlement.outcome is Outcome.RELEASED:
        state.emit("task.released", record, agent=agent, reason=settlement.reason)
    if settlement.rungs:
        escalating.take(state, record, settlement, agent)
    # Before it moves: a rung may lead it to another model, which had no part in this.
    providers.note_ending(state, record, settlement)
    _move_on(state, record, settlement, agent)
    breakers.note_ending(state, record, settlement)
    return settled


def _end_claim(state: State, record: Record, settlement: Settlement, number: int, settled: Settled) -> None:
    moving.end_claim(
        state,
        record,
        settlement.outcome,
        number=number,
        usage=settlement.usage,
        reason=settlement.reason,
        error=settlement.error,
        fingerprint=settlement.fingerprint,
        exit_code=settlement.exit_code,
        digest=settlement.digest,
        settled=settled,
    )


def _keep_results(record: Record, settlement: Settlement) -> None:
    """Output and decision of the work; error and reason of the last failure or stop; exit code of either."""
    if settlement.concludes:
        validating.keep_results(record, settlement)
        return
    if settlement.next is Status.COMPLETED:
        record.error = record.reason = None
        record.exit_code = settlement.exit_code
    elif settlement.outcome in FAILURES or settlement.error is not None:
        record.error = settlement.error
        record.reason = settlement.reason
        record.exit_code = settlement.exit_code
    if settlement.next is Status.COMPLETED or settlement.output is not None:
        record.output = settlement.output
        record.output_sanitized = settlement.output_sanitized
        record.decision = settlement.decision


def _move_on(state: State, record: Record, settlement: Settlement, agent: str | None) -> None:
    """Where the task goes, and the one event that carries what a later memory of this attempt needs."""
    reason, memory = settlement.next_reason, settlement.memory
    if settlement.next is Status.COMPLETED:
        record.completed_at = state.now
        state.move(record, Status.COMPLETED)
        state.file(record)
        state.emit("task.completed", record, agent=agent, reason=reason, data=memory)
        cascade.completed(state, record)
    elif settlement.next is Status.DEAD_LETTERED:
        record.dead_lettered_at = state.now
        state.move(record, Status.DEAD_LETTERED)
        state.file(record)
        state.emit("task.dead_lettered", record, agent=agent, reason=reason, data=memory)
        cascade.ended_badly(state, record)
    elif settlement.next is Status.VALIDATING:
        state.move(record, Status.VALIDATING)
        state.file(record)
        state.emit("task.validating", record, agent=agent)
    else:
        record.agent = None
        if settlement.fallback and record.fallback_lane is not None:
            _change_lane(state, record, record.fallback_lane)
        if settlement.rungs:
            escalating.reassign(state, record, settlement.rungs)
        if settlement.next is Status.WAITING:
            escalating.wait(state, record, settlement, agent)
        elif settlement.next is Status.RETRYING:
            state.move(record, Status.RETRYING)
            state.file(record)
            state.emit("task.retrying", record, agent=agent, reason=reason, data=memory)
        else:
            moving.make_ready(state, record, agent=agent, reason=reason, data=memory)


def _change_lane(state: State, record: Record, lane: LaneKey) -> None:
    """To the lane of its fallback models. It is held by now, so it stands in no lane's order."""
    record.lane = lane
    state.lane_ids.setdefault(lane, len(state.lane_ids) + 1)


def _still_over(record: Record, settlement: Settlement, now: int) -> bool:
    """The agent may have renewed since the duty looked."""
    at = record.lease_expires_at if settlement.outcome is Outcome.EXPIRED else record.timeout_at
    return at is not None and at <= now
