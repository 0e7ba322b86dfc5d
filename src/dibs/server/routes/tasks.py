"""Tasks: added, found, looked at, steered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.drafting import Planned
from dibs.errors import Invalid
from dibs.requests import MAX_LIMIT
from dibs.server import given as givens
from dibs.server.handling import router_of
from dibs.server.once import added_by_id, added_once, many_added_once
from dibs.server.sparing import refuse_search, spared
from dibs.server.versions import edited, shown
from dibs.server.waiting import wait

if TYPE_CHECKING:
    from dibs.model.task import Task
    from dibs.model.views import Page
    from dibs.server.desk import Asking


async def add(asking: Asking, **given: Any) -> Task:
    options = givens.options(given)
    key = asking.header(b"idempotency-key")
    if key is not None:
        return await added_once(asking, key, options)
    return await asking.queue.add(options.pop("type"), options.pop("payload", None), **options)


async def add_many(asking: Asking, tasks: Any) -> list[Task]:
    specs = givens.tasks(tasks)
    key = asking.header(b"idempotency-key")
    if key is not None:
        return await many_added_once(asking, key, specs)
    if any(isinstance(spec, Planned) for spec in specs):
        return await added_by_id(
            asking,
            [spec if isinstance(spec, Planned) else Planned(asking.queue.new_id("task"), spec) for spec in specs],
        )
    return await asking.queue.add_many(specs)


async def find(asking: Asking, **given: Any) -> Page:
    refuse_search(asking.caller, given.get("text"), given.get("query"))
    page = await asking.queue.find(**given)
    page.items = spared(asking.caller, page.items)
    return page


async def get(asking: Asking, task_id: str) -> Any:
    return shown(await asking.queue.get(task_id))


async def look_up(asking: Asking, ids: Any) -> list[Task | None]:
    if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids) or len(ids) > MAX_LIMIT:
        raise Invalid(f"ids must be a list of at most {MAX_LIMIT:,} ids.", field="ids")
    found = await asking.queue.store.get(ids, listed=True)
    return [None if task is None else spared(asking.caller, [task])[0] for task in found]


async def judges_of(asking: Asking, task_id: str) -> list[Task]:
    return spared(asking.caller, await asking.queue.judges_of(task_id))


async def _task(asking: Asking, given: dict[str, Any]) -> Task:
    return await asking.queue.get(given["task_id"])


router = router_of(
    "tasks",
    {
        "add": add,
        "add_many": add_many,
        "find": find,
        "get": get,
        "look_up": look_up,
        "judges_of": judges_of,
        "wait": wait,
        "reassign": edited(_task),
        "set_priority": edited(_task),
    },
)
