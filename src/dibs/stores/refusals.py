"""What a store says when it refuses: every store in the same words."""

from __future__ import annotations

from dibs.errors import Conflict, IllegalTransition, Invalid, KeyReused, LeaseLost, NotFound
from dibs.rules.matching import ANYBODY_BUT

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


def ended_as(task_id: str, fence: int, outcome: str) -> IllegalTransition:
    """Its claim ended before, and in another way."""
    return IllegalTransition(f"The claim of task {task_id} under fence {fence} ended as {outcome}.")


def was_cancelled(task_id: str, why: str | None) -> IllegalTransition:
    """It was cancelled while this agent held it."""
    return IllegalTransition(f"Task {task_id} was cancelled: {why}.")


def never_succeeds(parent_id: str, status: str) -> IllegalTransition:
    """A dependency on a task that ended badly could never be satisfied."""
    return IllegalTransition(f"Task {parent_id} is {status}: nothing can wait for its success.", field="after")


def no_parent(task_id: str, kind: str) -> NotFound:
    """A new task names a dependency that nobody knows; `kind` is how it was named."""
    return NotFound(f"There is no task {task_id} to depend on.", field=kind)


def no_dag(dag_id: str, field: str | None = "dag") -> NotFound:
    """A new task names a dag that nobody knows."""
    return NotFound(f"There is no dag {dag_id}.", field=field)


def too_many_artifacts(task_id: str, most: int) -> Invalid:
    """It has as many as a task may have."""
    return Invalid(f"Task {task_id} has {most:,} artifacts; no more are kept. Replace one by its name.", field="name")


def no_lane(lane: object) -> NotFound:
    """No lane has this number."""
    return NotFound(f"There is no lane {lane}: `dibs stats --json` has the ids of those in use.", field="lane")


def no_task_or_dag(target: str) -> NotFound:
    """Neither a task nor a dag has this id."""
    return NotFound(f"There is no task or dag {target}.")


def dag_closed(dag_id: str, status: str) -> Conflict:
    """Nothing is added to a dag that failed or was cancelled."""
    return Conflict(
        f"Dag {dag_id} is {status} and takes no more tasks: retry one of its tasks, or add a new dag.",
        code="dag_closed",
    )


def key_of_task(key: str, owner: str) -> KeyReused:
    """The key of a new task belongs to a task that says something else."""
    return KeyReused(f"The key {key!r} belongs to task {owner} with another body.", field="key")


def key_of_dag(key: str, owner: str) -> KeyReused:
    """The key of a new dag belongs to a dag that says something else."""
    return KeyReused(f"The key {key!r} belongs to dag {owner} with another body.", field="key")


def task_key_taken(task_id: str, owner: str) -> KeyReused:
    """While this task was out of the way another one took its key."""
    return KeyReused(f"The key of task {task_id} belongs to task {owner} by now.", field="key")


def dag_key_taken(dag_id: str, owner: str) -> KeyReused:
    """While this dag was out of the way another one took its key."""
    return KeyReused(f"The key of dag {dag_id} belongs to dag {owner} by now.", field="key")


def no_connections() -> Invalid:
    """Only a store that others reach by the same kind of connection can join their transactions."""
    return Invalid(
        "connection is for tasks in PostgreSQL: connect to postgresql://…, or leave it out.", field="connection"
    )


def unfinished_parent(task_id: str) -> Invalid:
    """A caller's transaction may last; nobody shall wait for it to end a task."""
    return Invalid(
        f"Task {task_id} has not ended: with connection, tasks may come after what the same transaction added or what"
        " has ended. Add this one after the commit, without connection.",
        field="after",
    )


def unfinished_dag(dag_id: str) -> Invalid:
    """A caller's transaction may last; nobody shall wait for it to end a task of this dag."""
    return Invalid(
        f"Dag {dag_id} has not ended: with connection, tasks may join only what the same transaction added or what has"
        " ended. Add them after the commit, without connection.",
        field="dag",
    )


def too_many_children(task_id: str, most: int) -> Invalid:
    """It spawned enough."""
    return Invalid(f"Task {task_id} may have at most {most} children.", field="children")


def spawned_otherwise(task_id: str, name: str) -> Conflict:
    """The journal remembers other children under this name."""
    return Conflict(f"Task {task_id} spawned other tasks under the name {name!r} before.", code="journal_mismatch")


def journal_mismatch(kind: str, name: str, task_id: str) -> Conflict:
    """What was done once under a name cannot be something else later."""
    return Conflict(f"The {kind} {name!r} of task {task_id} was something else before.", code="journal_mismatch")


def no_dead_letter(task_id: str, status: str) -> IllegalTransition:
    """Only dead letters wait for a decision."""
    return IllegalTransition(f"Task {task_id} is {status}, not dead-lettered: there is nothing to decide about it.")


def no_question(question_id: str) -> NotFound:
    """Nobody asked this."""
    return NotFound(f"There is no question {question_id}.", field="question_id")


def question_over(question_id: str, status: str) -> IllegalTransition:
    """It was answered in another way, or its task ended before anybody answered."""
    how = "was answered already" if status == "answered" else "is closed: its task ended, or has a new life"
    return IllegalTransition(f"Question {question_id} {how}.", field="question_id")


def waits_for(task_id: str, parent_id: str, status: str) -> IllegalTransition:
    """A task cannot come back while what it depends on stays away."""
    return IllegalTransition(f"Task {task_id} waits for {parent_id}, which is {status}: retry that one first.")


def not_reassigned(task_id: str, status: str, assignee: str | None) -> IllegalTransition:
    """Only what nobody works on can be given to somebody else; and a judge must not be the author."""
    if assignee is not None and assignee.startswith(ANYBODY_BUT):
        return IllegalTransition(f"Task {task_id} is for anybody but {assignee[1:]}, and has to stay so.")
    if status in ("claimed", "running"):
        return IllegalTransition(f"Task {task_id} is {status}: it can be given to others once nobody holds it.")
    return IllegalTransition(f"Task {task_id} is {status}: whom it is for no longer matters.")


def priority_over(task_id: str, status: str) -> IllegalTransition:
    """Order is for those that still run."""
    return IllegalTransition(f"Task {task_id} is {status}: its priority no longer matters.")
