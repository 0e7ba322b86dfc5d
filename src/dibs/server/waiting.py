"""Waiting for a task or dag to end, one request at a time."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from dibs.model.status import FINAL, DagStatus
from dibs.requests import get_task
from dibs.rules.validation import duration_s
from dibs.server.sparing import spared
from dibs.wire.topics.tasks import Waited

if TYPE_CHECKING:
    from dibs.server.desk import Asking

_ENDED_DAG = frozenset({DagStatus.COMPLETED, DagStatus.FAILED, DagStatus.CANCELLED})


async def wait(asking: Asking, target: str, timeout: Any = None) -> Waited:
    """The task or dag if it ends in time; else where it is."""
    desk, queue = asking.desk, asking.queue
    most_s = desk.settings.max_wait_s
    patience = most_s if timeout is None else min(duration_s(timeout, "timeout"), most_s)
    deadline = monotonic() + patience
    is_dag = target.startswith("dag_")
    while True:
        seen = await desk.newsroom.number()
        if is_dag:
            dag = await queue.get_dag(target)
            if dag.status in _ENDED_DAG:
                dag.tasks = spared(asking.caller, dag.tasks)
                return Waited(ended=True, status=dag.status, dag=dag)
            status: str = dag.status
        else:
            task = await get_task(queue.store, target, listed=True)
            if task.status in FINAL:
                return Waited(ended=True, status=task.status, task=await queue.get(target))
            status = task.status
        left = deadline - monotonic()
        if left <= 0 or desk.lobby.closed:
            return Waited(ended=False, status=status)
        await desk.newsroom.wait(seen, left)
