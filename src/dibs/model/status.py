"""The words for where a task, a dag and an attempt can be. `rules.lifecycle` says how they move."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """Where a task is in its life."""

    PENDING = "pending"
    SCHEDULED = "scheduled"
    READY = "ready"
    CLAIMED = "claimed"
    RUNNING = "running"
    VALIDATING = "validating"
    WAITING = "waiting"
    RETRYING = "retrying"
    COMPLETED = "completed"
    DEAD_LETTERED = "dead_lettered"
    CANCELLED = "cancelled"


class DagStatus(StrEnum):
    """Where a dag is: derived from its tasks, never set by hand."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Outcome(StrEnum):
    """How a claim ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    EXPIRED = "expired"
    RELEASED = "released"
    SUSPENDED = "suspended"
    RATE_LIMITED = "rate_limited"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    SUBMITTED = "submitted"
    """The work was handed in and is being judged; what becomes of it replaces this."""


FINAL = frozenset({Status.COMPLETED, Status.DEAD_LETTERED, Status.CANCELLED})
ENDED_BADLY = frozenset({Status.DEAD_LETTERED, Status.CANCELLED})
HELD = frozenset({Status.CLAIMED, Status.RUNNING})
COUNTED = frozenset({Outcome.COMPLETED, Outcome.FAILED, Outcome.TIMED_OUT, Outcome.EXPIRED, Outcome.REJECTED})
FAILURES = frozenset({Outcome.FAILED, Outcome.TIMED_OUT, Outcome.EXPIRED, Outcome.RATE_LIMITED, Outcome.REJECTED})
