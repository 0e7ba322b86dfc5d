"""Which project something is in, by its id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.ids import alone_in
from dibs.stores.sqlite.rows import encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.stores.sqlite.engine import Transaction

_TASKS = "SELECT id, project, dag FROM tasks WHERE id IN (SELECT value FROM json_each(?))"
_DAGS = "SELECT id, project FROM dags WHERE id IN (SELECT value FROM json_each(?))"
_QUESTIONS = "SELECT id, project FROM questions WHERE id IN (SELECT value FROM json_each(?))"


def projects(tx: Transaction, ids: Sequence[str]) -> list[str | None]:
    """The project of each; None: nobody knows it. Most are tasks, so those come first."""
    found = {id: project for id, project, _ in tx.connection.execute(_TASKS, (_json(ids),))}
    rest = [id for id in ids if id not in found]
    if rest:
        found |= dict(tx.connection.execute(_DAGS, (_json(rest),)))
        found |= dict(tx.connection.execute(_QUESTIONS, (_json(rest),)))
        # A task whose dag has no row is alone in it.
        alone = {task_id: id for id in rest if id not in found and id.startswith("dag_") for task_id in alone_in(id)}
        for task_id, project, dag in tx.connection.execute(_TASKS, (_json(list(alone)),)):
            if dag is None or dag == alone[task_id]:
                found[alone[task_id]] = project
    return [found.get(id) for id in ids]


def _json(ids: Sequence[str]) -> str:
    return encode(ids).decode()
