"""A queue for each caller: the same verbs on one store, confined to its project and to what its token allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.server.authority import rights_of
from dibs.tenancy import homes_of, seen_by

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.rules.access import Rights
    from dibs.server.callers import Caller

MOST = 10_000


class Queues:
    """The queues of one server."""

    def __init__(self, queue: Queue) -> None:
        self.whole = queue
        """The queue as the server itself has it: nothing in it is hidden."""
        self._homes = homes_of(queue)
        self._found: dict[Rights, Queue] = {}
        self._rights: dict[Caller, Rights] = {}

    def of(self, caller: Caller) -> Queue:
        """The queue as this caller sees it."""
        rights = self._rights.get(caller)
        if rights is None:
            rights = rights_of(caller)
            if len(self._rights) >= MOST:
                self._rights.clear()
                self._found.clear()
            self._rights[caller] = rights
        found = self._found.get(rights)
        if found is None:
            found = self._found[rights] = seen_by(self.whole, rights, self._homes)
        return found
