"""What a worker offers: its types, with the capabilities each of them comes with."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from dibs.model.instants import from_micros
from dibs.model.status import Status
from dibs.rules import matching
from dibs.rules.budgets import PREFIX, without
from dibs.rules.coalescing import MAX_WINDOW_S, gathers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.task import Task
    from dibs.model.views import Budget
    from dibs.queue import Queue
    from dibs.worker.app import App

_LEFT_TO_DO = (Status.READY, Status.CLAIMED, Status.RUNNING, Status.VALIDATING, Status.RETRYING)


class Offers:
    """The types a worker claims, grouped: those with the same capabilities share one claim, in exact order."""

    def __init__(self, app: App, agent: str, capabilities: frozenset[str]) -> None:
        self.agent = agent
        self.agent_type: str | None = None
        self._capabilities = {handler.type: capabilities | handler.capabilities for handler in app.handlers.values()}
        groups: dict[frozenset[str], list[str]] = {}
        for type, offered in self._capabilities.items():
            groups.setdefault(offered, []).append(type)
        self._groups = [(tuple(sorted(types)), tuple(sorted(offered))) for offered, types in groups.items()]

    @property
    def are_one(self) -> bool:
        """Whether one claim asks for all of them."""
        return len(self._groups) == 1

    def in_turn(self) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """The groups as (types, capabilities), another one first each time: none may starve the others."""
        groups = list(self._groups)
        if len(groups) > 1:
            self._groups.append(self._groups.pop(0))
        return groups

    def could_take(self, task: Task) -> bool:
        """Whether this worker may be handed the task, once it is ready."""
        return matching.may_serve(
            type=task.type,
            assignee=task.assignee,
            requires=task.requires,
            models=matching.models_of(task),
            agent=self.agent,
            agent_type=self.agent_type,
            capabilities=self._capabilities[task.type],
            types=None,
            offered_models=(),
        )

    async def left_to_do(self, queue: Queue) -> bool:
        """Whether any task this worker could take is still under way or about to be, here or elsewhere.

        What waits for a budget is not: it may wait until somebody raises it.
        """
        spending = await queue.budgets()
        for type in self._capabilities:
            cursor: str | None = None
            while True:
                page = await queue.find(status=_LEFT_TO_DO, type=type, cursor=cursor)
                if any(self.could_take(task) for task in page.items if not self._is_left(task, spending)):
                    return True
                cursor = page.cursor
                if cursor is None:
                    break
            if await self._gathers(queue, type):
                return True
        return False

    async def _gathers(self, queue: Queue, type: str) -> bool:
        """Whether something of this type only waits for others of its group. Of what is scheduled, what is older than
        any window is not looked at."""
        since = from_micros(queue.store.now()) - timedelta(seconds=MAX_WINDOW_S)
        cursor: str | None = None
        while True:
            page = await queue.find(status=Status.SCHEDULED, type=type, cursor=cursor)
            if any(gathers(task) and self.could_take(task) for task in page.items):
                return True
            cursor = page.cursor
            oldest = page.items[-1].created_at if page.items else None
            if cursor is None or (oldest is not None and oldest < since):
                return False

    def _is_left(self, task: Task, spending: Sequence[Budget]) -> bool:
        """Whether a budget keeps this agent from it: one that the task waits for, or the agent's own."""
        if task.parked_on is not None and task.parked_on.startswith(PREFIX):
            return True
        return task.status is Status.READY and without(task, self.agent, spending) is not None
