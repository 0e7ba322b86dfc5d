"""`Orchestrator`: tasks of a workflow for named agents, as AutoMechanica's orchestrator creates them.

A workflow is a dag: the first task that names it begins it, the others join. `agent_name` is the assignee: the id of an
agent, or the type that it is registered with. One that was given up fails its workflow once the others have ended.
Workers claim and settle with the verbs of dibs: there a lease that is over is taken back, and only its owner can end
the work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from dibs.adapters import mapping
from dibs.adapters.holding import text_id
from dibs.adapters.mapping import WORKFLOWS
from dibs.errors import Conflict, Invalid, KeyReused, NotFound
from dibs.model.task import NewTask
from dibs.rules import validation

if TYPE_CHECKING:
    from uuid import UUID

    from dibs.model.task import Task
    from dibs.queue import Queue

_TAG = "workflow:"
"""What the tag of a workflow's tasks, and the key of its dag, begins with; its id follows."""

_TRIES = 5


class Orchestrator:
    """Creates the tasks of workflows on `queue`."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self._dags: dict[str, str] = {}

    async def create_task(
        self,
        workflow_id: UUID | str,
        agent_name: str,
        task_type: str,
        payload: Any = None,
        *,
        priority: int = WORKFLOWS.default_priority,
        max_attempts: int = WORKFLOWS.max_attempts,
        available_at: Any = None,
    ) -> Task:
        """Add a task to a workflow, for an agent. `priority`: 0 is critical, 1 high, 2 medium, 3 low.

        `workflow_id` is any id, or that of a dag. `available_at`: an instant, or a duration from now. A workflow that
        has failed or was cancelled begins anew; a dag of that id takes nothing more, and raises Conflict.
        """
        workflow = text_id(workflow_id, "workflow_id")
        task = NewTask(
            validation.text(task_type, "task_type"),
            payload,
            priority=mapping.priority_to_dibs(WORKFLOWS, priority),
            max_attempts=mapping.max_attempts_to_dibs(WORKFLOWS, max_attempts, "max_attempts"),
            retry=WORKFLOWS.retry,
            assignee=validation.text(agent_name, "agent_name"),
            run_after=available_at,
            tags=(_TAG + workflow,),
        )
        if len(_TAG + workflow) > validation.MAX_NAME_CHARS:
            raise Invalid(f"workflow_id has {len(workflow)} characters; that is too long.", field="workflow_id")
        if available_at is not None:
            validation.instant(available_at, "available_at", self.queue.store.now(), durations=True)
        if workflow.startswith("dag_"):
            try:
                return await self._join(workflow, task)
            except NotFound as error:
                raise NotFound(error.message, field="workflow_id") from None
        return await self._join_by_key(workflow, task)

    async def _join(self, dag_id: str, task: NewTask) -> Task:
        [added] = await self.queue.add_many([replace(task, dag=dag_id)])
        return added

    async def _join_by_key(self, workflow: str, task: NewTask) -> Task:
        """Join the workflow, or begin it with this task. Others may begin or end it meanwhile: then look again."""
        for _ in range(_TRIES):
            known = self._dags.pop(workflow, None) or await self._begin_or_find(workflow, task)
            if known is None:
                continue
            if not isinstance(known, str):
                self._dags[workflow] = known.dag_id
                return known
            try:
                added = await self._join(known, task)
            except NotFound:
                continue  # It ended so long ago that it is not kept any more.
            except Conflict as error:
                if error.code != "dag_closed":
                    raise
                continue
            self._dags[workflow] = known
            return added
        raise Conflict(f"Workflow {workflow} ends as often as it is begun; try again.", field="workflow_id")

    async def _begin_or_find(self, workflow: str, task: NewTask) -> Task | str | None:
        """This task, now the first of the workflow; or where others began it: its dag, if any of it is still there."""
        # Two equal tasks are two: what makes them differ is their ref.
        first = replace(task, ref=self.queue.new_id("first"))
        title, key = f"Workflow {workflow}", _TAG + workflow
        try:
            begun = await self.queue.add_dag(title, [first], key=key, on_failure="continue")
        except KeyReused:
            page = await self.queue.find(tag=key, limit=1)
            while not page.items and page.cursor is not None:
                page = await self.queue.find(tag=key, limit=1, cursor=page.cursor)
            return page.items[0].dag_id if page.items else None
        return begun.tasks[0]


def row_of(task: Task) -> dict[str, Any]:
    """A task in the columns of AutoMechanica's table `tasks`."""
    workflow = next((tag.removeprefix(_TAG) for tag in task.tags if tag.startswith(_TAG)), task.dag_id)
    error = None if task.error is None else {"message": task.error, "reason": task.reason}
    return {
        "id": task.id,
        "workflow_id": workflow,
        "agent_name": task.assignee,
        "task_type": task.type,
        "payload": task.payload,
        "priority": mapping.priority_to_source(WORKFLOWS, task.priority),
        "status": mapping.status_to_source(WORKFLOWS, task.status),
        "attempts": mapping.failures_of(task),
        "max_attempts": task.max_attempts,
        "available_at": task.retry_at or task.run_after or task.created_at,
        "lease_owner": task.agent,
        "lease_expires_at": task.lease_expires_at,
        "error_info": error,
        "created_at": task.created_at,
        "updated_at": task.updated_at,
    }
