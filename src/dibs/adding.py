"""The verbs by which tasks and graphs of them are added. `Queue` has them; they are written here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dibs import drafting, tracing
from dibs.errors import Invalid
from dibs.model.task import Content, NewTask, Task
from dibs.plan import DagPlan
from dibs.reading import surveyed
from dibs.stores.values import DagDraft, Draft, Inserted, Insertion, LateDrafts, Spawn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dibs.model.dag import Dag
    from dibs.model.retry import Retry
    from dibs.queue import Queue
    from dibs.stores.contract import Store


class Adding:
    """How work comes into a queue."""

    store: Store
    project: str
    new_id: Callable[[str], str]

    async def add(
        self,
        type: str,
        payload: Any = None,
        *,
        title: str | None = None,
        priority: float = 50,
        boost: float = 0.1,
        deadline: Any = None,
        on_deadline: str = "keep",
        run_after: Any = None,
        after: Sequence[Any] = (),
        after_ended: Sequence[Any] = (),
        dag: Any = None,
        key: str | Content | None = None,
        requires: Iterable[str] = (),
        assignee: str | None = None,
        models: Sequence[str] = (),
        fallback_models: Sequence[str] = (),
        provider: str | None = None,
        max_attempts: int = 3,
        retry: Retry | str | None = None,
        timeout: Any = None,
        max_cost: float | None = None,
        max_tokens: int | None = None,
        max_turns: int | None = None,
        locks: Sequence[str] = (),
        tags: Iterable[str] = (),
        user: str | None = None,
        created_by: str | None = None,
        expects: Any = None,
        approval: bool = False,
        coalesce_key: str | None = None,
        coalesce_window: Any = 0.05,
        context: Any = None,
        connection: Any = None,
    ) -> Task:
        """Add one task; once this returns it survives any crash.

        `after` names what must complete first, `after_ended` what must end in any way. With `key`, adding the same
        work again returns the task that exists. Raises Invalid (field named), NotFound (a parent), KeyReused,
        Conflict (a dag that has failed or was cancelled takes nothing new).

        With `connection` (PostgreSQL: an asyncpg connection or a psycopg.AsyncConnection to the same database, in a
        transaction) the task is there if that transaction commits, and never was if it does not.
        """
        # By place, in the order of the fields: by name it takes three times as long.
        spec = NewTask(
            type,
            payload,
            None,
            title,
            priority,
            boost,
            deadline,
            on_deadline,
            run_after,
            after,
            after_ended,
            dag,
            key,
            requires,  # type: ignore[arg-type]
            assignee,
            models,
            fallback_models,
            provider,
            max_attempts,
            retry,
            timeout,
            max_cost,
            max_tokens,
            max_turns,
            locks,
            tags,  # type: ignore[arg-type]
            user,
            created_by,
            expects,
            approval,
            coalesce_key,
            coalesce_window,
            context,
        )
        # As `_insert` does it, without what only many need: it is the call that is made most.
        made = drafting.drafts(tracing.stamped([spec]), project=self.project, now=self.store.now(), new_id=self.new_id)
        if expects is not None:
            await self._complete(made)
        inserted = await self.store.insert(Insertion(drafts=made), connection)
        return inserted.tasks[0]

    async def add_many(self, tasks: Sequence[NewTask | drafting.Planned], *, connection: Any = None) -> list[Task]:
        """Add up to 10,000 tasks in one commit, all or none; in the order given. Refs may point inside the call.

        `connection`: as for `add`.
        """
        if not tasks:
            return []
        if connection is None and self.store.late_drafts and drafting.are_alone(tasks):
            inserted = await self.store.insert(Insertion(drafts=self._late_drafts(tracing.stamped(tasks))), None)
        else:
            inserted = await self._insert(tasks, connection=connection)
        return inserted.tasks

    def _late_drafts(self, tasks: Sequence[NewTask]) -> LateDrafts:
        now = self.store.now()

        def make(start: int, end: int) -> list[Draft]:
            return drafting.drafts_alone(
                tasks[start:end], project=self.project, now=now, new_id=self.new_id, before=start, total=len(tasks)
            )

        return LateDrafts(len(tasks), make)

    async def add_dag(
        self,
        title: str,
        tasks: Sequence[NewTask | drafting.Planned],
        *,
        key: str | None = None,
        budget: float | None = None,
        on_failure: str = "fail_fast",
        escalation: Any = None,
        user: str | None = None,
        created_by: str | None = None,
        connection: Any = None,
    ) -> Dag:
        """Add a graph of tasks: all tasks and edges in one commit, or none.

        With `key`, adding the same graph again returns the dag that exists; another graph raises KeyReused.
        `budget`: what all of it may cost, in USD. `escalation`: what follows when its tasks keep failing, as for
        `set_escalation`. `user` and `created_by` are those of its tasks, too, unless they say otherwise. `connection`:
        as for `add`.
        """
        draft = drafting.dag_draft(
            title,
            tasks,
            id=self.new_id("dag"),
            project=self.project,
            key=key,
            budget=budget,
            on_failure=on_failure,
            escalation=escalation,
            user=user,
            created_by=created_by,
        )
        if budget is not None and connection is not None:
            raise Invalid("budget cannot be given with connection; use set_budget after the commit.", field="budget")
        own = drafting.owned(tasks, draft.user, draft.created_by)
        inserted = await self._insert(own, dag=draft, connection=connection)
        if inserted.dag is not None:
            return surveyed(inserted.dag)
        return await cast("Queue", self).get_dag(inserted.dag_id or draft.id)

    def dag(self, title: str, **options: Any) -> DagPlan:
        """A graph to write down task by task; leaving the `async with` block submits it in one commit."""
        return DagPlan(cast("Queue", self), title, options)

    async def _complete(self, made: list[Draft]) -> None:
        """Add to contracts what their types say."""
        from dibs import reporting

        await reporting.fill_in(self.store, self.project, made)

    async def _insert(
        self,
        specs: Sequence[NewTask | drafting.Planned],
        *,
        dag: DagDraft | None = None,
        spawn: Spawn | None = None,
        parent: Task | None = None,
        connection: Any = None,
    ) -> Inserted:
        made = drafting.drafts(
            tracing.stamped(specs),
            project=self.project,
            now=self.store.now(),
            new_id=self.new_id,
            dag_id=dag.id if dag else "",
        )
        if parent is not None:
            for draft in made:
                draft.task.parent_id = parent.id
                draft.task.depth = parent.depth + 1
        for draft in made:
            if draft.task.expects is not None:
                from dibs import reporting

                await reporting.fill_in(self.store, self.project, made)
                break
        ordered = made if len(made) == 1 else drafting.insertion_order(made)
        inserted = await self.store.insert(Insertion(drafts=ordered, dag=dag, spawn=spawn), connection)
        if ordered is not made and len(inserted.tasks) == len(made):
            place = {id(draft): index for index, draft in enumerate(ordered)}
            order = [place[id(draft)] for draft in made]
            inserted.tasks = [inserted.tasks[index] for index in order]
            inserted.existing = [inserted.existing[index] for index in order]
        return inserted
