"""Other designs' names for the verbs of dibs, for code that was written against them. Each is a thin layer over `Queue`
and works on every store; `mapping` has their words for priorities, statuses and retries.

- `TaskQueue` and `TaskTool`: prompts for subagents, dequeued by workers.
- `QueueRuntime` and `enqueue_subagent_task`: what an agent's interface takes up, in batches; subagents in the
  background.
- `Orchestrator`: tasks of workflows for named agents.
"""

from __future__ import annotations

from dibs.adapters.items import Blocked, DequeuedBatch, Notification, QueueItem
from dibs.adapters.runtime import QueueRuntime
from dibs.adapters.subagents import (
    Subagent,
    SubagentResult,
    SubagentTask,
    TaskEnqueueResult,
    enqueue_subagent_task,
    get_subagent,
    list_subagents,
    subagent_app,
)
from dibs.adapters.taskqueue import Task, TaskQueue, TaskStatus, TaskSummary
from dibs.adapters.tasktool import TaskResult, TaskTool
from dibs.adapters.workflow import Orchestrator, row_of

__all__ = [
    "Blocked",
    "DequeuedBatch",
    "Notification",
    "Orchestrator",
    "QueueItem",
    "QueueRuntime",
    "Subagent",
    "SubagentResult",
    "SubagentTask",
    "Task",
    "TaskEnqueueResult",
    "TaskQueue",
    "TaskResult",
    "TaskStatus",
    "TaskSummary",
    "TaskTool",
    "enqueue_subagent_task",
    "get_subagent",
    "list_subagents",
    "row_of",
    "subagent_app",
]
