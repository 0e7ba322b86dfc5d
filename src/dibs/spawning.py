"""The verbs by which a task adds others below itself. `Queue` has them; they are written here."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dibs import drafting
from dibs.errors import Invalid
from dibs.requests import held
from dibs.rules import validation
from dibs.stores.values import Spawn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.task import NewTask, Task
    from dibs.queue import Queue
    from dibs.requests import Held
    from dibs.stores.values import Inserted, Usage


class Spawning:
    """How the work of a queue makes more of it."""

    async def spawn(
        self, claim: Held, tasks: Sequence[NewTask], wait: bool = False, *, name: str | None = None
    ) -> list[Task]:
        """Add tasks below a running one, once: the same call again, also by a later attempt, returns the same tasks.

        With `wait` the claim ends here; the parent is pending until all of them ended, and is then claimed again with
        their outputs in `claim.children`. `name` tells spawns apart; without it their content does. They are for the
        `user` of the parent and `created_by` its agent (`agent:NAME`), unless they say otherwise.
        """
        return (await self.spawn_below(claim, tasks, wait=wait, name=name)).tasks

    async def spawn_below(
        self,
        claim: Held,
        tasks: Sequence[NewTask],
        *,
        wait: bool = False,
        name: str | None = None,
        used: Usage | None = None,
    ) -> Inserted:
        """As `spawn`, also saying whether the claim has ended."""
        if not tasks:
            raise Invalid("spawn needs at least one task.", field="tasks")
        if any(task.dag is not None for task in tasks):
            raise Invalid("spawned tasks are in the dag of their parent; leave dag out.", field="dag")
        queue = cast("Queue", self)
        snapshot = await queue._snapshot(claim)
        parent = snapshot.task
        if parent.depth >= validation.MAX_SPAWN_DEPTH:
            raise Invalid(
                f"{parent.id} was itself spawned {parent.depth} levels deep; at most "
                f"{validation.MAX_SPAWN_DEPTH} are allowed.",
                field="depth",
            )
        task_id, fence = held(claim)
        body = drafting.digest(tasks)
        spawn = Spawn(
            task_id=task_id,
            fence=fence,
            name=body if name is None else validation.text(name, "name"),
            digest=body,
            wait=wait,
            max_children=validation.MAX_CHILDREN,
            usage=used,
        )
        maker = f"agent:{snapshot.agent}"[: validation.MAX_NAME_CHARS] if snapshot.agent else None
        own = drafting.owned(tasks, parent.user, maker)
        return await queue._insert(own, spawn=spawn, parent=parent)
