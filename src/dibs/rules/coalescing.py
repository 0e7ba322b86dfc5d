"""Tasks that belong together: those with one `coalesce_key` gather for a moment, and one claim takes them all.

A group is what waits in one lane under one key. It has no row of its own and no beginning: whoever is added while
another of its key waits goes with it, and whoever comes after a claim took them waits for the next one. A task that
gathers is scheduled, until its window is over; it does not wait that long if a claim takes one of its group before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.status import Status

if TYPE_CHECKING:
    from datetime import datetime

    from dibs.model.task import Task

WINDOW_S = 0.05
"""How long a task waits for others of its key, unless it says otherwise."""

MAX_WINDOW_S = 3_600.0

MOST = 100
"""How many tasks one group has at most; the next claim takes the next ones."""


LOOKED_AT = 2 * MOST
"""How many others of a task are looked at: some of them may not get what they need."""


def gathers(task: Task) -> bool:
    """Whether it waits for nothing but its window, so that whoever takes one of its group takes it, too."""
    return is_gathering(task.status, task.run_after, task.gathers_until)


def is_gathering(status: Status, run_after: int | datetime | None, gathers_until: int | datetime | None) -> bool:
    """As `gathers`. A time that it was given later, by `retry`, is not its window."""
    return status is Status.SCHEDULED and gathers_until is not None and run_after == gathers_until


def room_for_members(*, taken: int, most: int | None) -> int:
    """How many others may go with the task that was just taken, where its agent has taken so many with it and may hold
    `most` more in all (None: any number)."""
    return MOST - 1 if most is None else max(0, min(MOST - 1, most - taken))
