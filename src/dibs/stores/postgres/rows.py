"""From what `functions/whole.sql` answers to tasks and claims. The places in these arrays are the places there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct

from dibs.model.artifact import Artifact
from dibs.model.attempt import Attempt
from dibs.model.claim import Claim
from dibs.model.ids import dag_of
from dibs.model.instants import from_micros
from dibs.model.status import FINAL, HELD, Outcome, Status
from dibs.model.task import Task
from dibs.rules import priority as priorities
from dibs.rules.handover import by_name
from dibs.stores.values import Expired

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime


class State(Struct, array_like=True, gc=False):
    """Where a task is, from its row of `work` or `ended`."""

    dag: str | None
    parent: str | None
    created_at: int
    status: Status
    priority: float
    rank: float | None
    boost: float
    fence: int
    updated_at: int
    ready_at: int | None
    claimed_at: int | None
    started_at: int | None
    renewed_at: int | None
    lease_expires_at: int | None
    ended_at: int | None
    agent: str | None
    attempts: int
    crashes: int
    releases: int
    run_after: int | None
    retry_at: int | None
    progress: float | None
    note: str | None
    reason: str | None
    error: str | None
    exit_code: int | None
    overdue: bool
    poison_pill: bool
    cost_usd: float | None
    tokens_in: int | None
    tokens_out: int | None
    turns: int | None
    output_sanitized: bool
    cancel_reason: str | None
    cause: str | None
    parked_on: str | None


class Left(Struct, array_like=True, gc=False):
    """An artifact as `artifacts_of` answers it."""

    name: str
    digest: str
    size: int
    media_type: str | None
    put_at: int


class Whole(Struct, array_like=True):
    """A task with all that belongs to it. `task` has its specification only; `filled` puts in the rest."""

    task: Task
    state: State
    output: Any
    decision: Any
    artifacts: list[Left] | None
    blocked_by: list[str]


class Hold(Struct, array_like=True, gc=False):
    """Who holds a task, and how."""

    agent: str
    model: str | None
    lease_s: float
    timeout_s: float | None
    timeout_at: int | None
    confirmed: bool


class Parent(Struct, array_like=True, gc=False):
    """The other end of an edge into a held task."""

    spawned: bool
    id: str
    ref: str | None
    output: Raw


class Past(Struct, array_like=True, gc=False):
    """An attempt as it is kept."""

    number: int
    fence: int
    agent: str
    outcome: Outcome
    model: str | None
    reason: str | None
    error: str | None
    fingerprint: str | None
    exit_code: int | None
    started_at: int | None
    ended_at: int
    cost_usd: float | None
    tokens_in: int | None
    tokens_out: int | None
    turns: int | None
    price: str | None


class Held(Struct, array_like=True):
    """What a claim has beside its task."""

    hold: Hold
    parents: list[Parent]
    attempts: list[Past]
    checkpoint: Any
    answers: dict[str, Any]


decode_tasks = msgspec.json.Decoder(list[Whole]).decode
_decode_held = msgspec.json.Decoder(tuple[list[Whole], list[Held]]).decode


def tasks_from(text: str, now: int) -> list[Task]:
    """Tasks, as of now, from the answer of `whole`."""
    return [filled(whole, now) for whole in decode_tasks(text)]


def claims_from(text: str, now: int) -> list[Claim]:
    """Claims, as of now, from the answer of `whole_held`."""
    tasks, held = _decode_held(text)
    return [_claim(task, each, now) for task, each in zip(tasks, held, strict=True)]


def expired_from(text: str, now: int) -> list[Expired]:
    """Claims whose time is over, from the answer of `whole_held`."""
    tasks, held = _decode_held(text)
    return [
        Expired(
            claim=_claim(task, each, now),
            confirmed=each.hold.confirmed,
            timed_out=each.hold.timeout_at is not None and each.hold.timeout_at <= now,
        )
        for task, each in zip(tasks, held, strict=True)
    ]


def filled(whole: Whole, now: int) -> Task:
    """The task with its state."""
    task, state = whole.task, whole.state
    status = state.status
    task.dag_id = state.dag or dag_of(task.id)
    task.parent_id = state.parent
    task.created_at = from_micros(state.created_at)
    task.priority = state.priority
    task.run_after = instant(state.run_after)
    task.status = status
    if status not in FINAL and state.rank is not None:
        task.effective_priority = priorities.effective(state.rank, state.boost, now)
    task.retry_at = instant(state.retry_at)
    task.blocked_by = tuple(dict.fromkeys(whole.blocked_by))
    task.attempts = state.attempts
    task.crashes = state.crashes
    task.releases = state.releases
    task.fence = state.fence
    task.agent = state.agent
    task.lease_expires_at = instant(state.lease_expires_at) if status in HELD else None
    task.renewed_at = instant(state.renewed_at)
    task.progress = state.progress
    task.note = state.note
    task.output = whole.output
    task.output_sanitized = state.output_sanitized
    task.decision = whole.decision
    if whole.artifacts:
        task.artifacts = tuple(_artifact(task, left) for left in whole.artifacts)
    task.error = state.error
    task.reason = state.reason
    task.exit_code = state.exit_code
    task.poison_pill = state.poison_pill
    task.cancel_reason = state.cancel_reason
    task.cause = state.cause
    task.parked_on = state.parked_on
    task.overdue = state.overdue
    task.cost_usd = state.cost_usd
    task.tokens_in = state.tokens_in
    task.tokens_out = state.tokens_out
    task.turns = state.turns
    task.ready_at = instant(state.ready_at)
    task.claimed_at = instant(state.claimed_at)
    task.started_at = instant(state.started_at)
    task.completed_at = instant(state.ended_at) if status is Status.COMPLETED else None
    task.cancelled_at = instant(state.ended_at) if status is Status.CANCELLED else None
    task.dead_lettered_at = instant(state.ended_at) if status is Status.DEAD_LETTERED else None
    task.updated_at = instant(state.updated_at)
    return task


def _artifact(task: Task, left: Left) -> Artifact:
    return Artifact(
        name=left.name,
        digest=left.digest,
        size=left.size,
        media_type=left.media_type,
        task_id=task.id,
        put_at=from_micros(left.put_at),
    )


def attempt_of(past: Past) -> Attempt:
    """An attempt as people see it."""
    return Attempt(
        number=past.number,
        fence=past.fence,
        agent=past.agent,
        outcome=past.outcome,
        model=past.model,
        reason=past.reason,
        error=past.error,
        fingerprint=past.fingerprint,
        exit_code=past.exit_code,
        started_at=instant(past.started_at),
        ended_at=instant(past.ended_at),
        cost_usd=past.cost_usd,
        tokens_in=past.tokens_in,
        tokens_out=past.tokens_out,
        turns=past.turns,
        price=past.price,
    )


def instant(micros: int | None) -> datetime | None:
    """An instant as people see it."""
    return None if micros is None else from_micros(micros)


def _claim(whole: Whole, held: Held, now: int) -> Claim:
    task = filled(whole, now)
    hold = held.hold
    return Claim(
        task=task,
        fence=task.fence,
        agent=hold.agent,
        model=hold.model,
        lease_s=hold.lease_s,
        lease_expires_at=task.lease_expires_at,
        timeout_s=hold.timeout_s,
        inputs=_outputs([parent for parent in held.parents if not parent.spawned]),
        children=_outputs([parent for parent in held.parents if parent.spawned]),
        answers=held.answers,
        checkpoint=held.checkpoint,
        context=task.context,
        previous_attempts=[attempt_of(past) for past in held.attempts],
    )


def _outputs(parents: Sequence[Parent]) -> dict[str, Any]:
    return by_name((parent.id, parent.ref, bytes(parent.output)) for parent in parents)
