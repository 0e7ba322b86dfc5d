"""A queue as one caller sees it: the same verbs, on what its rights allow.

Duties go on as before: whoever claims also tends what others left behind, in every project.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, cast

from dibs.stores.confined import Confined
from dibs.stores.homes import Homes

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.rules.access import Rights
    from dibs.stores.contract import Store


def homes_of(queue: Queue) -> Homes:
    """What is remembered of a queue's tasks, to be shared by all that `seen_by` makes of it."""
    return Homes(queue.store)


def seen_by(queue: Queue, rights: Rights, homes: Homes) -> Queue:
    """The queue, confined. It shares the store with the first one, and closing it closes nothing."""
    confined = copy(queue)
    confined.store = cast("Store", Confined(queue.store, rights, homes))
    confined.project = rights.project
    confined._homes = homes
    confined._giving_back = set()
    return confined
