"""Records as the outside sees them: fresh values that share nothing with the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from dibs.model.claim import Claim
from dibs.model.instants import from_micros
from dibs.rules import large, priority
from dibs.rules.handover import by_name
from dibs.rules.questions import ANSWERED

if TYPE_CHECKING:
    from datetime import datetime

    from dibs.model.attempt import Attempt
    from dibs.model.task import Task
    from dibs.stores.ledger.records import Inquiry, Record
    from dibs.stores.ledger.state import State

_decode = msgspec.json.decode
SHOWN_ATTEMPTS = 10


def listed(state: State, record: Record) -> Task:
    """A snapshot as lists have it, in which large values are named."""
    task = task_of(state, record)
    if large.size_of(record.payload) > large.LARGE_BYTES:
        task.payload = large.named(record.id, large.PAYLOAD)
    if record.output is not None and len(record.output) > large.LARGE_BYTES:
        task.output = large.named(record.id, large.OUTPUT)
    return task


def task_of(state: State, record: Record) -> Task:
    """A full snapshot, as of now."""
    effective = None
    if record.rank is not None and not record.final:
        effective = priority.effective(record.rank, record.lane.boost, state.now)
    return replace(
        record.spec,
        payload=_decode(record.payload),
        expects=_decode(record.expects),
        context=_decode(record.context),
        priority=record.priority,
        run_after=instant(record.run_after),
        dag_id=record.dag_id,
        parent_id=record.parent_id,
        depth=record.depth,
        depends_on=record.depends_on,
        created_at=instant(record.created_at),
        status=record.status,
        parked_on=record.parked_on,
        effective_priority=effective,
        retry_at=instant(record.retry_at),
        blocked_by=blocked_by(state, record),
        attempts=record.attempts,
        crashes=record.crashes,
        releases=record.releases,
        fence=record.fence,
        agent=record.agent,
        lease_expires_at=instant(record.lease_expires_at) if record.held else None,
        renewed_at=instant(record.renewed_at),
        progress=record.progress,
        note=record.note,
        output=decoded(record.output),
        output_sanitized=record.output_sanitized,
        decision=decoded(record.decision),
        artifacts=tuple(artifact for _, artifact in record.artifacts.values()),
        error=record.error,
        reason=record.reason,
        exit_code=record.exit_code,
        poison_pill=record.poison_pill,
        cancel_reason=record.cancel_reason,
        cause=record.cause,
        overdue=record.overdue,
        cost_usd=record.cost_usd,
        tokens_in=record.tokens_in,
        tokens_out=record.tokens_out,
        turns=record.turns,
        ready_at=instant(record.ready_at),
        claimed_at=instant(record.claimed_at),
        started_at=instant(record.started_at),
        completed_at=instant(record.completed_at),
        cancelled_at=instant(record.cancelled_at),
        dead_lettered_at=instant(record.dead_lettered_at),
        updated_at=instant(record.updated_at),
    )


def claim_of(state: State, record: Record) -> Claim:
    """A held task with all that its agent needs."""
    checkpoint = record.journal.get(("checkpoint", ""))
    return Claim(
        task=task_of(state, record),
        fence=record.fence,
        agent=record.agent or "",
        model=record.model,
        lease_s=record.lease_s,
        lease_expires_at=instant(record.lease_expires_at),
        timeout_s=record.timeout_s,
        inputs=_outputs(state, record, ("after", "after_ended")),
        children=_outputs(state, record, ("child",)),
        answers={inquiry.id: decoded(inquiry.answer) for inquiry in record.inquiries if _is_input(inquiry)},
        checkpoint=None if checkpoint is None else _decode(checkpoint.value),
        context=_decode(record.context),
        previous_attempts=attempts_of(record)[-SHOWN_ATTEMPTS:],
    )


def _is_input(inquiry: Inquiry) -> bool:
    """Whether its answer is handed to the next attempt."""
    return inquiry.name is not None and inquiry.status == ANSWERED


def attempts_of(record: Record) -> list[Attempt]:
    """Every ended claim, oldest first."""
    return [replace(ending.attempt) for ending in record.endings.values()]


def blocked_by(state: State, record: Record) -> tuple[str, ...]:
    """The parents of its open edges, each once."""
    edges = state.edges_into.get(record.id, ())
    return tuple(dict.fromkeys(edge.parent for edge in edges if not edge.resolved))


def instant(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def decoded(value: bytes | None) -> Any:
    return None if value is None else _decode(value)


def _outputs(state: State, record: Record, kinds: tuple[str, ...]) -> dict[str, Any]:
    """Outputs of the tasks at the other end of its edges of these kinds, as a claim names them. None until judged."""
    parents = [state.tasks[edge.parent] for edge in state.edges_into.get(record.id, ()) if edge.kind in kinds]
    return by_name((parent.id, parent.spec.ref, parent.output if parent.final else None) for parent in parents)
