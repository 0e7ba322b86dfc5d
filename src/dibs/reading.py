"""The verbs that look and change nothing: tasks, dags, attempts, events, how it is going. `Queue` has them; they are
written here.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

from dibs.errors import Invalid, NotFound
from dibs.model.status import FINAL, DagStatus, Status
from dibs.requests import MAX_LIMIT, from_when, get_task, id_of, optional
from dibs.rules import graph, validation
from dibs.rules.usage import added_up
from dibs.stores.values import Filter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from dibs.model.attempt import Attempt
    from dibs.model.dag import Dag
    from dibs.model.event import Event
    from dibs.model.metrics import Metrics
    from dibs.model.task import Task
    from dibs.model.views import Page, Stats, Why
    from dibs.queue import Queue
    from dibs.stores.contract import Store

POLL_S = 5.0
"""How long whoever waits sleeps at most when no news wakes them."""

_NOTHING = Filter()
_ENDED_DAG = frozenset({DagStatus.COMPLETED, DagStatus.FAILED, DagStatus.CANCELLED})


class Reading:
    """What there is to know about a queue."""

    store: Store
    project: str

    async def get(self, task_id: Any) -> Task:
        """The task as it is now."""
        return await get_task(self.store, task_id)

    async def get_dag(self, dag_id: Any) -> Dag:
        """The dag with its tasks, edges, roots, leaves and critical path; also a standalone task's own.

        Payloads and outputs above 64 KiB are named, as in `find`.
        """
        id = id_of(dag_id)
        dag = await self.store.dag(id)
        if dag is None:
            raise NotFound(f"There is no dag {id}.", field="dag_id")
        whole = cast("Queue", self)
        judges = [judge for task in dag.tasks if task.expects is not None for judge in await whole._judges_of(task)]
        dag.judging_usd = added_up(judge.cost_usd for judge in judges)
        dag.escalation = await whole._ladder_of(id)
        return surveyed(dag)

    async def history(self, task_id: Any) -> list[Attempt]:
        """Every claim of the task that ended, oldest first."""
        attempts = await self.store.history(id_of(task_id))
        if not attempts:
            await get_task(self.store, task_id, listed=True)
        return attempts

    async def wait(self, target: Any, timeout: Any = None) -> Any:
        """The task or dag once it has ended. Raises TimeoutError if it has not within `timeout`."""
        id = id_of(target)
        patience = None if timeout is None else validation.duration_s(timeout, "timeout")
        deadline = None if patience is None else time.monotonic() + patience
        is_dag = id.startswith("dag_")
        while True:
            seen = await self.store.news()
            found: Any = await self.get_dag(id) if is_dag else await get_task(self.store, id, listed=True)
            if found.status in (_ENDED_DAG if is_dag else FINAL):
                return found if is_dag else await self.get(id)
            left = POLL_S if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"{id} is still {found.status}")
            await self.store.wait_for_news(seen, min(left, POLL_S))

    async def find(
        self,
        status: str | Iterable[str] | None = None,
        type: str | None = None,
        tag: str | None = None,
        dag: Any = None,
        agent: str | None = None,
        user: str | None = None,
        text: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
        query: str | None = None,
    ) -> Page:
        """Tasks that fit all that is given, newest first, a page at a time.

        `query` says it in words (`rules.query`): `status:running type:code cost>0.5 age>1h timeout`. A page may be
        short and still have a cursor: only so many tasks are looked at. A payload or output above 64 KiB is
        `{"ref": "task:ID:output"}`, and not searched for `text`; `get` has it.
        """
        wanted = self._wanted(query, status=status, type=type, tag=tag, dag=dag, agent=agent, user=user, text=text)
        return await self.store.find(wanted, validation.whole(limit, "limit", 1, MAX_LIMIT), optional(cursor, "cursor"))

    def _wanted(self, query: Any, **given: Any) -> Filter:
        """What is looked for: in words, and by name."""
        words = {} if query is None else self._read(query)
        named = {name: _named(name, value) for name, value in given.items() if value is not None}
        for name in named.keys() & words.keys():
            raise Invalid(f"{name} is in the query already; say it once.", field=name)
        return Filter(project=self.project, **words, **named)

    def _read(self, query: Any) -> dict[str, Any]:
        from msgspec.structs import asdict

        from dibs.rules import query as grammar

        text = validation.text(query, "query", max_chars=grammar.MAX_CHARS, blank=True)
        found = asdict(grammar.parse(text, self.store.now()))
        return {name: value for name, value in found.items() if value != getattr(_NOTHING, name)}

    async def why(self, task_id: Any) -> Why:
        """Why the task is where it is, in one sentence, and what would help."""
        from dibs.rules import why

        queue = cast("Queue", self)
        task = await get_task(self.store, task_id, listed=True)
        parents = await self.store.get(task.blocked_by, listed=True)
        is_ready = task.status is Status.READY
        pauses, breakers = await queue._shut() if is_ready else ([], {})
        known = [] if task.parked_on is None else await queue.locks()
        return why.explain(
            task,
            self.store.now(),
            parents=[parent for parent in parents if parent],
            agents=await self.store.agents(self.project) if is_ready else [],
            pauses=pauses,
            breaker=breakers.get(task.type),
            limits=await self.store.backoffs(self.project) if is_ready else {},
            slots=await queue.type_slots() if is_ready else [],
            rates=await queue.rates() if is_ready else [],
            questions=await queue.questions_of(task) if task.status is Status.WAITING else [],
            lock=next((lock for lock in known if lock.name == task.parked_on), None),
            budget=await queue._budget_in_the_way(task.parked_on or ""),
            spending=await self.store.budgets(self.project) if is_ready else [],
            last=await self._last_attempt(task),
        )

    async def _last_attempt(self, task: Task) -> Attempt | None:
        """How the last claim of a task that is to be tried again ended."""
        attempts = await self.store.history(task.id) if task.status is Status.RETRYING else []
        return attempts[-1] if attempts else None

    async def stats(self) -> Stats:
        """The queue at a glance: counts, lanes, agents."""
        return await self.store.stats(self.project)

    async def metrics(self, by: str = "type", since: Any = None) -> list[Metrics]:
        """How it has been going, by `type`, `agent`, `model` or `day`: counts, waiting and run times, errors, cost.

        `since`: an instant, or how long ago; without it everything that is still kept.
        """
        from dibs.rules.metrics import check_by

        return await self.store.metrics(self.project, check_by(by), from_when(since, self.store.now()))

    async def events(self, after: int | None = None) -> AsyncIterator[Event]:
        """Everything that happened after `after` (None: from the oldest kept), then live, for ever."""
        cursor = validation.whole(0 if after is None else after, "after", 0, 2**63 - 1)
        while True:
            seen = await self.store.news()
            batch = await self.read_events(cursor)
            for event in batch:
                yield event
                cursor = event.seq
            if not batch:
                await self.store.wait_for_news(seen, POLL_S)

    async def read_events(self, after: int = 0, limit: int = 500) -> list[Event]:
        """Up to `limit` events after `after`, without waiting."""
        return await self.store.events(validation.whole(after, "after", 0, 2**63 - 1), limit)


def _named(name: str, value: Any) -> Any:
    """A condition that was given by name, checked."""
    if name == "status":
        return _statuses(value)
    if name == "dag":
        return id_of(value, "dag")
    text = validation.text(value, name)
    return text if name == "user" else (text,)


def _statuses(value: Any) -> tuple[str, ...]:
    if not isinstance(value, str) and not hasattr(value, "__iter__"):
        raise Invalid(f"status must be a status or a list of them, not {value!r:.80}.", field="status")
    statuses = (value,) if isinstance(value, str) else tuple(value)
    known = set(Status)
    for word in statuses:
        if word not in known:
            raise Invalid(f"status must be one of {', '.join(Status)}, not {word!r}.", field="status")
    return statuses


def surveyed(dag: Dag) -> Dag:
    """The dag with where it begins, where it ends, and the longest way between."""
    nodes = [task.id for task in dag.tasks]
    edges = [(edge.parent, edge.child) for edge in dag.edges if edge.kind != "child"]
    dag.roots = graph.roots(nodes, edges)
    dag.leaves = graph.leaves(nodes, edges)
    dag.critical_path = graph.critical_path(nodes, edges)
    return dag
