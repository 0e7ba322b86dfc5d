"""From Loki's files to a queue. Importing again adds nothing twice and goes on where an earlier import stopped.

A task that came from dibs keeps its id, so it is recognised by that. Another has the key `loki:` and its Loki id.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct, field

from dibs import drafting
from dibs.errors import DibsError, Invalid, KeyReused, NotFound
from dibs.loki.mapping import KEY, new_task, own_id
from dibs.model.ids import new_id
from dibs.model.instants import to_micros
from dibs.model.status import ENDED_BADLY
from dibs.rules.validation import MAX_TASKS_PER_CALL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.loki.planning import Plan, Wanted
    from dibs.model.task import NewTask, Task
    from dibs.sync import SyncQueue

PAGE = 500
"""How many tasks are read at a time."""


class Counts(Struct, kw_only=True):
    """What an import did, or would do: tasks added by the queue they came from, and how many were there before."""

    added: int = 0
    already: int = 0
    added_from: dict[str, int] = field(default_factory=dict)

    def count(self, wanted: Wanted, *, already: bool) -> None:
        if already:
            self.already += 1
            return
        self.added += 1
        queue = wanted.task.queue
        self.added_from[queue] = self.added_from.get(queue, 0) + 1


def add_planned(
    queue: SyncQueue, plan: Plan, specs: dict[str, NewTask], progress: Callable[[int], None] = lambda _: None
) -> Counts:
    """Add what is planned, as `checked` said, up to 10,000 tasks in a commit."""
    counts = Counts()
    known: dict[str, drafting.Planned | Task] = {}
    for portion in _portions(plan.adding, specs):
        ours = [own_id(wanted.task) for wanted in portion]
        there = [id is not None and _is_there(queue, id) for id in ours]
        planned = []
        for wanted, id in zip(portion, ours, strict=True):
            spec = specs[wanted.task.id]
            # Not by their ids: a ref of this call may look the same.
            spec.after = [known[parent] for parent in wanted.after]
            spec.after_ended = [known[parent] for parent in wanted.after_ended]
            planned.append(drafting.Planned(id or new_id("task"), spec))
            known[wanted.task.id] = planned[-1]
        try:
            added = queue.add_many(planned)
        except DibsError as error:
            raise _told(error, counts) from None
        for wanted, task, was_there in zip(portion, added, there, strict=True):
            counts.count(wanted, already=was_there or task.id != known[wanted.task.id].id)
            known[wanted.task.id] = task
        progress(counts.added + counts.already)
    return counts


def rehearse(queue: SyncQueue, plan: Plan, specs: dict[str, NewTask]) -> Counts:
    """What `add_planned` would do now; changes nothing. Reads the whole queue to find out what is there."""
    known: set[str] = set()
    cursor = None
    while True:
        page = queue.find(limit=PAGE, cursor=cursor)
        known |= {task.id for task in page.items}
        known |= {task.key for task in page.items if task.key and task.status not in ENDED_BADLY}
        cursor = page.cursor
        if cursor is None:
            break
    counts = Counts()
    for wanted in plan.adding:
        counts.count(wanted, already=bool({own_id(wanted.task), specs[wanted.task.id].key} & known))
    return counts


def checked(plan: Plan) -> dict[str, NewTask]:
    """What to add for each task, by Loki's id; `Invalid` names the first that the queue would refuse.

    Comes first, so that a mistake anywhere in the files means that nothing is added.
    """
    now = to_micros(datetime.now(UTC))
    specs: dict[str, NewTask] = {}
    owners: dict[str, str] = {}
    for wanted in plan.adding:
        task = wanted.task
        spec = new_task(task, afresh=wanted.afresh)
        try:
            drafting.drafts([spec], project="default", now=now, new_id=new_id)
        except DibsError as error:
            raise Invalid(f"{task.who}: {error.message}", field=error.field, code=error.code) from None
        id = own_id(task)
        if id is not None and owners.setdefault(id, task.id) != task.id:
            raise Invalid(f"{task.who} has the dibs.id of task {owners[id]!r}; remove its field dibs.", field="dibs")
        specs[task.id] = spec
    return specs


def _portions(adding: list[Wanted], specs: dict[str, NewTask]) -> Iterator[list[Wanted]]:
    """The tasks in calls as large as may be: within one, a ref stands for one task."""
    portion: list[Wanted] = []
    refs: set[str] = set()
    for wanted in adding:
        ref = specs[wanted.task.id].ref
        if len(portion) == MAX_TASKS_PER_CALL or ref in refs:
            yield portion
            portion, refs = [], set()
        portion.append(wanted)
        if ref is not None:
            refs.add(ref)
    if portion:
        yield portion


def _is_there(queue: SyncQueue, id: str) -> bool:
    try:
        queue.get(id)
    except NotFound:
        return False
    return True


def _told(error: DibsError, counts: Counts) -> DibsError:
    """The error, with what it means for an import."""
    message = error.message
    if isinstance(error, KeyReused) and KEY in message:
        message += " It was brought in before, and Loki says something else of it now: give it another id there, or "
        message += "cancel it here."
    if counts.added:
        message += f" {counts.added:,} tasks were added before that; importing again goes on from there."
    return type(error)(message, code=error.code, field=error.field)
