"""The task: what a user asks for (`NewTask`) and what dibs knows of it (`Task`).

Wire law: new fields have defaults; nothing is retyped or reordered.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from dibs.model.artifact import Artifact
from dibs.model.escalation import Escalation
from dibs.model.retry import Retry
from dibs.model.review import Review
from dibs.model.status import Status


class Content:
    """The type of `CONTENT`: the key is derived from type and payload, so equal work is added once."""

    def __repr__(self) -> str:
        return "dibs.CONTENT"


CONTENT = Content()


class NewTask(Struct, gc=False):
    """One task as a user writes it; nothing is checked until a verb takes it.

    `after` and `after_ended` take ids, tasks, or refs of the same call. Durations are seconds or
    `"90s"`, `"5m"`, `"2h"`; instants are aware datetimes or ISO strings.
    """

    type: str
    payload: Any = None
    ref: str | None = None
    title: str | None = None
    priority: float = 50
    boost: float = 0.1
    deadline: Any = None
    on_deadline: str = "keep"
    run_after: Any = None
    after: Sequence[Any] = ()
    after_ended: Sequence[Any] = ()
    dag: Any = None
    key: str | Content | None = None
    requires: Sequence[str] = ()
    assignee: str | None = None
    models: Sequence[str] = ()
    fallback_models: Sequence[str] = ()
    provider: str | None = None
    max_attempts: int = 3
    retry: Retry | str | None = None
    timeout: Any = None
    max_cost: float | None = None
    max_tokens: int | None = None
    max_turns: int | None = None
    locks: Sequence[str] = ()
    tags: Sequence[str] = ()
    user: str | None = None
    created_by: str | None = None
    expects: Any = None
    approval: bool = False
    coalesce_key: str | None = None
    coalesce_window: Any = 0.05
    context: Any = None


class Task(Struct, kw_only=True, gc=False):
    """A task as dibs knows it at one moment. A snapshot: changing it changes nothing in the store."""

    # What was asked for. These never change (payload: only by retry; assignee, models, provider: only by escalation).
    id: str
    type: str
    project: str = "default"
    title: str | None = None
    payload: Any = None
    priority: float = 50.0
    boost: float = 0.1
    deadline: datetime | None = None
    on_deadline: str = "keep"
    run_after: datetime | None = None
    dag_id: str = ""
    parent_id: str | None = None
    depth: int = 0
    ref: str | None = None
    depends_on: tuple[str, ...] = ()
    key: str | None = None
    requires: tuple[str, ...] = ()
    assignee: str | None = None
    models: tuple[str, ...] = ()
    fallback_models: tuple[str, ...] = ()
    provider: str | None = None
    max_attempts: int = 3
    retry: Retry | None = None
    timeout: float | None = None
    max_cost: float | None = None
    max_tokens: int | None = None
    max_turns: int | None = None
    locks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    user: str | None = None
    created_by: str | None = None
    expects: Any = None
    approval: bool = False
    coalesce_key: str | None = None
    gathers_until: datetime | None = None
    context: Any = None
    charged_to: tuple[str, ...] = ()
    created_at: datetime | None = None

    # Where it is now.
    status: Status = Status.PENDING
    parked_on: str | None = None
    effective_priority: float | None = None
    retry_at: datetime | None = None
    blocked_by: tuple[str, ...] = ()
    attempts: int = 0
    crashes: int = 0
    releases: int = 0
    fence: int = 0
    agent: str | None = None
    lease_expires_at: datetime | None = None
    renewed_at: datetime | None = None
    progress: float | None = None
    note: str | None = None
    output: Any = None
    output_sanitized: bool = False
    decision: Any = None
    artifacts: tuple[Artifact, ...] = ()
    error: str | None = None
    reason: str | None = None
    exit_code: int | None = None
    poison_pill: bool = False
    cancel_reason: str | None = None
    escalations: tuple[Escalation, ...] = ()
    reviews: tuple[Review, ...] = ()
    cause: str | None = None
    overdue: bool = False
    cost_usd: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    turns: int | None = None
    ready_at: datetime | None = None
    claimed_at: datetime | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    cancelled_at: datetime | None = None
    dead_lettered_at: datetime | None = None
    updated_at: datetime | None = None
