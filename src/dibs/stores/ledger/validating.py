"""Work that was handed in: who judges it, and what its attempt says once it was judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dibs.model.status import Status
from dibs.stores import refusals

if TYPE_CHECKING:
    from dibs.model.claim import Settled
    from dibs.stores.ledger.records import Record
    from dibs.stores.ledger.state import State
    from dibs.stores.values import Settlement


def await_verdict(state: State, task_id: str, fence: int, judge_id: str) -> bool:
    """Let work that was handed in wait for the end of its judge's task; whether it does."""
    record = state.get(task_id)
    judge = state.get(judge_id)
    if record.status is not Status.VALIDATING or record.fence != fence:
        raise refusals.lease_lost(task_id, fence)
    if judge.final:
        return False
    known = next((edge for edge in state.edges_into.get(task_id, ()) if edge.parent == judge_id), None)
    if known is None:
        state.join(judge, record, "judge")
    elif known.resolved:
        # It was given a new life before anybody noticed its end.
        known.resolved = False
        record.open_edges += 1
    state.file(record)
    return True


def handed_in(state: State, limit: int) -> list[str]:
    """Tasks whose work waits for a decision, and for nobody."""
    found = [record.id for record in state.in_status(Status.VALIDATING) if record.handed_in_under(record.fence)]
    return found[:limit]


def rewrite_attempt(record: Record, settlement: Settlement, number: int, settled: Settled) -> None:
    """The attempt was submitted; now it is known how it ended. What it used was added up before."""
    ending = record.endings[record.fence]
    ending.attempt = replace(
        ending.attempt,
        number=number,
        outcome=settlement.outcome,
        reason=settlement.reason,
        error=settlement.error,
        fingerprint=settlement.fingerprint,
    )
    ending.settled = replace(settled)


def keep_results(record: Record, settlement: Settlement) -> None:
    """What was handed in stays, if it was good."""
    record.error = settlement.error
    record.reason = settlement.reason
    record.exit_code = record.endings[record.fence].attempt.exit_code
    if settlement.next is not Status.COMPLETED:
        forget(record)


def forget(record: Record) -> None:
    """It has no output any more."""
    record.output = record.decision = None
    record.output_sanitized = False
