"""Standalone tasks, the common case: for them there is nothing to look up but their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dibs.stores.values import Insertion


def is_plain(insertion: Insertion) -> bool:
    """Whether all of these are standalone, of one project, each with an id of its own."""
    if insertion.dag is not None or insertion.spawn is not None or not insertion.drafts:
        return False
    project = insertion.drafts[0].task.project
    for draft in insertion.drafts:
        task = draft.task
        if draft.dependencies or task.dag_id or task.key is not None or task.parent_id is not None:
            return False
        if task.approval or task.locks or task.coalesce_key is not None:
            return False
        if task.project != project:
            return False
    ids = {draft.task.id for draft in insertion.drafts}
    return len(ids) == len(insertion.drafts)
