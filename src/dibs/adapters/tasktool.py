"""`TaskTool`: what an agent calls to give work to a subagent, now or through the queue."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dibs.adapters.mapping import TASK_QUEUE
from dibs.adapters.taskqueue import Task, TaskQueue, TaskStatus, new_task
from dibs.errors import Invalid
from dibs.rules import validation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

Run = Callable[[Task], Awaitable[Any]]
"""Runs a subagent here and now, and returns its result."""


class TaskResult(Struct, kw_only=True):
    """What became of a call. With `task_id` the work waits in the queue; without one it is over."""

    status: TaskStatus
    task_id: str | None = None
    result: Any = None
    error: str | None = None


class TaskTool:
    """Gives prompts to subagents. `runner` is what runs them where they are not to be kept."""

    def __init__(self, queue: TaskQueue, runner: Run | None = None) -> None:
        self.queue = queue
        self._runner = runner

    async def run(
        self,
        prompt: str,
        subagent_type: str,
        *,
        system_prompt: str | None = None,
        model: str | None = None,
        user_id: str | None = None,
        parent_task: UUID | str | None = None,
        max_retries: int = TASK_QUEUE.max_attempts - TASK_QUEUE.first,
        persist: bool = False,
        priority: int = TASK_QUEUE.default_priority,
        tags: Sequence[str] | None = None,
    ) -> TaskResult:
        """With `persist`, a task id at once: a worker will run it, and it survives any crash. Without, run it now.

        A subagent that raises here has failed, and is not tried again: `status` and `error` say so.
        """
        task = Task(
            subagent_type=subagent_type,
            prompt=prompt,
            system_prompt=system_prompt,
            model=model,
            priority=priority,
            max_retries=max_retries,
            tags=() if tags is None else tags,
            user_id=user_id,
            parent_task=parent_task,
        )
        if validation.flag(persist, "persist"):
            return TaskResult(status=TaskStatus.PENDING, task_id=await self.queue.enqueue(task))
        return await self._run_now(task)

    async def _run_now(self, task: Task) -> TaskResult:
        if self._runner is None:
            raise Invalid("persist=False needs a runner; give TaskTool one, or persist the task.", field="persist")
        if task.parent_task is not None:
            raise Invalid("parent_task is waited for in the queue only; persist the task.", field="parent_task")
        new_task(task)  # What the queue would refuse is refused here, too.
        try:
            return TaskResult(status=TaskStatus.COMPLETED, result=await self._runner(task))
        except Exception as error:
            return TaskResult(status=TaskStatus.FAILED, error=str(error) or type(error).__name__)
