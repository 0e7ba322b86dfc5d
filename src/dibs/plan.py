"""A dag written down task by task and submitted in one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs import drafting
from dibs.errors import Invalid
from dibs.model.task import NewTask

if TYPE_CHECKING:
    from dibs.model.dag import Dag
    from dibs.queue import Queue


class DagPlan:
    """A dag being written down. `add` returns a handle that later tasks can name in `after`."""

    def __init__(self, queue: Queue, title: str, options: dict[str, Any]) -> None:
        self._queue = queue
        self._title = title
        self._options = options
        self._planned: list[drafting.Planned] = []
        self.dag: Dag | None = None

    def add(self, type: str, payload: Any = None, **options: Any) -> drafting.Planned:
        """Plan a task; takes what `Queue.add` takes. Nothing is stored before the block ends."""
        planned = drafting.Planned(self._queue.new_id("task"), NewTask(type, payload, **options))
        self._planned.append(planned)
        return planned

    @property
    def id(self) -> str:
        """The dag's id, once it was submitted."""
        if self.dag is None:
            raise Invalid("the dag has no id before it is submitted.", field="dag")
        return self.dag.id

    async def submit(self) -> Dag:
        """Add all planned tasks in one commit."""
        self.dag = await self._queue.add_dag(self._title, self._planned, **self._options)
        return self.dag

    async def __aenter__(self) -> DagPlan:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        if kind is None:
            await self.submit()
