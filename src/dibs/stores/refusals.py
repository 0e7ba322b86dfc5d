"""What a store says when it refuses: every store in the same words."""

from __future__ import annotations

from dibs.errors import IllegalTransition, LeaseLost, NotFound

DEADLINE_PASSED = "its deadline passed"
"""The `cancel_reason` of a task that asked to be cancelled at its deadline."""


def no_task(task_id: str, field: str | None = None) -> NotFound:
    """Nobody knows this task."""
    return NotFound(f"There is no task {task_id}.", field=field)


def lease_lost(task_id: str, fence: int) -> LeaseLost:
    """Somebody else holds the task, or nobody does."""
    return LeaseLost(f"Task {task_id} is not held under fence {fence}: stop working on it.", field="fence")


def over_timeout(task_id: str, fence: int, timeout_s: float | None) -> LeaseLost:
    """It is still held, but this attempt has had its time."""
    return LeaseLost(
        f"The attempt at task {task_id} under fence {fence} is over its timeout of {timeout_s or 0:.12g} s:"
        " stop working on it.",
        field="fence",
    )


def was_cancelled(task_id: str, why: str | None) -> IllegalTransition:
    """It was cancelled while this agent held it."""
    return IllegalTransition(f"Task {task_id} was cancelled: {why}.")


def never_succeeds(parent_id: str, status: str) -> IllegalTransition:
    """A dependency on a task that ended badly could never be satisfied."""
    return IllegalTransition(f"Task {parent_id} is {status}: nothing can wait for its success.", field="after")
