"""Making what a template says, once: what is made for the same reason has the same ids and the same key.

The ids follow from the key. So whoever makes it a second time, because the one before was killed before it could say
so, finds what is there, also if that has ended by now.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from dibs import drafting, reporting
from dibs.errors import Conflict, Invalid
from dibs.model.ids import derived_id
from dibs.rules import templates
from dibs.stores.values import Insertion

if TYPE_CHECKING:
    from dibs.model.task import NewTask
    from dibs.stores.contract import Store
    from dibs.stores.values import DagDraft


class Made(Struct, frozen=True):
    """A task or dag, and whether it was there before."""

    id: str
    existing: bool


class Order(Struct, frozen=True):
    """For whom, by whom and why something is made, and what is known to fill its template with.

    `at` is an instant that belongs to the key; `context` is added to the context of each task.
    """

    project: str
    key: str
    at: int
    created_by: str
    known: dict[str, Any]
    context: dict[str, Any] | None = None


def check(task: Any, dag: Any, *, project: str, now: int) -> dict[str, Any]:
    """The parts `task` and `dag` of whatever has a template, one of them None. What could not be made is refused."""
    parts = templates.parse(task, dag)
    order = Order(project=project, key="check", at=now, created_by="check", known={})
    _insertion(parts["task"], parts["dag"], order, now)
    return parts


async def make(store: Store, task: dict[str, Any] | None, dag: dict[str, Any] | None, order: Order) -> Made:
    """Add what the template says, unless it was added before. Raises what adding it raises.

    Whoever keeps time, it is made as somebody of its project would: what is in another one cannot be depended upon.
    """
    store = _confined(store, order.project)
    insertion = _insertion(task, dag, order, store.now())
    await reporting.fill_in(store, order.project, insertion.drafts)
    whole = insertion.dag
    if whole is None:
        inserted = await store.insert(insertion)
        return Made(inserted.tasks[0].id, inserted.existing[0])
    if await store.dag(whole.id) is not None:
        return Made(whole.id, True)
    try:
        inserted = await store.insert(insertion)
    except Conflict:
        # Somebody else was faster, and it has failed already.
        if await store.dag(whole.id) is None:
            raise
        return Made(whole.id, True)
    return Made(inserted.dag_id or whole.id, all(inserted.existing))


def _confined(store: Store, project: str) -> Store:
    from dibs.rules.access import Rights
    from dibs.stores.confined import Confined
    from dibs.stores.homes import Homes

    return cast("Store", Confined(store, Rights(project=project), Homes(store)))


def _insertion(task: dict[str, Any] | None, dag: dict[str, Any] | None, order: Order, now: int) -> Insertion:
    """What the template says, ready to be added. A field that this version does not know is refused."""
    try:
        if task is not None:
            return Insertion(drafts=_task_drafts(task, order, now))
        whole, drafts = _dag_drafts(dag or {}, order, now)
        return Insertion(drafts=drafting.insertion_order(drafts), dag=whole)
    except TypeError as error:
        raise Invalid(f"the template cannot be made: {error}.", field="dag" if task is None else "task") from None


def _task_drafts(task: dict[str, Any], order: Order, now: int) -> list[Any]:
    spec = _ordered(templates.new_task(templates.fill_task(task, order.known)), order)
    spec.key, spec.created_by = order.key, order.created_by
    id = derived_id("task", order.at, order.project, order.key)
    return drafting.drafts([spec], project=order.project, now=now, new_id=lambda _: id)


def _dag_drafts(dag: dict[str, Any], order: Order, now: int) -> tuple[DagDraft, list[Any]]:
    plan = templates.new_dag(templates.fill_dag(dag, order.known))
    specs = [_ordered(spec, order) for spec in plan.tasks]
    for spec in specs:
        spec.created_by = order.created_by
    id = derived_id("dag", order.at, order.project, order.key)
    whole = drafting.dag_draft(
        plan.title,
        specs,
        id=id,
        project=order.project,
        key=order.key,
        created_by=order.created_by,
        **plan.options,
    )
    places = count()

    def new_id(prefix: str) -> str:
        return derived_id(prefix, order.at, order.project, order.key, str(next(places)))

    return whole, drafting.drafts(specs, project=order.project, now=now, new_id=new_id, dag_id=id)


def _ordered(spec: NewTask, order: Order) -> NewTask:
    if order.context is not None:
        if spec.context is not None and not isinstance(spec.context, dict):
            raise Invalid("context must be an object with text keys.", field="context")
        spec.context = {**(spec.context or {}), **order.context}
    return spec
