"""Standalone tasks, the common case: for them there is nothing to look up but their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.ids import dag_of
from dibs.model.instants import from_micros, to_micros
from dibs.model.status import Status
from dibs.rules import priority
from dibs.rules.lifecycle import first_status

if TYPE_CHECKING:
    from datetime import datetime

    from dibs.model.task import Task
    from dibs.stores.values import Draft, Insertion


def is_plain(insertion: Insertion) -> bool:
    """Whether all of these are standalone, of one project, each with an id of its own."""
    drafts = insertion.drafts
    if insertion.dag is not None or insertion.spawn is not None or not drafts:
        return False
    project = drafts[0].task.project
    for draft in drafts:
        task = draft.task
        if draft.dependencies or task.dag_id or task.key is not None or task.parent_id is not None:
            return False
        if task.approval or task.locks or task.coalesce_key is not None:
            return False
        if task.project != project:
            return False
    return len(drafts) == 1 or len({draft.task.id for draft in drafts}) == len(drafts)


def is_typical(draft: Draft) -> bool:
    """Whether everything about it but id, payload and words is as with others of its kind."""
    task = draft.task
    return draft.kind is not None and not draft.weight and task.deadline is None and task.run_after is None


def micros(instant: datetime | None) -> int | None:
    """An instant as it is kept."""
    return None if instant is None else to_micros(instant)


def snapshots(drafts: list[Draft], now: int) -> list[Task]:
    """The drafts' tasks in the state they were added in."""
    instant = from_micros(now)
    tasks = []
    kind: object = None
    worth: float | None = None
    for draft in drafts:
        task = draft.task
        typical = is_typical(draft)
        if not typical or draft.kind is not kind:
            worth = _worth(draft, now)
            kind = draft.kind if typical else None
        task.dag_id = dag_of(task.id)
        task.created_at = task.updated_at = instant
        task.effective_priority = worth
        if worth is None:
            task.status = Status.SCHEDULED
        else:
            task.status = Status.READY
            task.ready_at = instant
        tasks.append(task)
    return tasks


def _worth(draft: Draft, now: int) -> float | None:
    """The effective priority it starts with; None while its time is to come."""
    task, boost = draft.task, draft.lane.boost
    run_after = task.run_after
    if (
        run_after is not None
        and first_status(open_edges=0, run_after=to_micros(run_after), now=now) is not Status.READY
    ):
        return None
    steps = 0 if task.deadline is None else priority.steps(to_micros(task.deadline), now)
    return priority.effective(priority.rank(task.priority, boost, now, draft.weight, steps), boost, now)
