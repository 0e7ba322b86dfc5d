"""What workers, the shell and adapters ask beneath the verbs, of a server: the few methods of a store that are not for
deciding anything. The others are not there: over a line nobody reaches into the store itself.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from msgspec.json import encode

from dibs.errors import DibsError, Invalid, NotFound
from dibs.remote.reports import told
from dibs.stores.values import Entry
from dibs.wire import verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.artifact import Artifact
    from dibs.model.attempt import Attempt
    from dibs.model.claim import News, Settled
    from dibs.model.task import Task
    from dibs.remote.server import Server
    from dibs.stores.values import Renewal, Settlement
    from dibs.wire.topics.about import About

AT_ONCE = 1_000
"""How many items of a batch go into one request."""
LONGEST_POLL_S = 30.0
"""What stands between here and the server may end a request that is quiet for longer."""


class RemoteStore:
    """A server's store, as far as it may be asked about by others."""

    late_drafts = False
    clock = None

    def __init__(self, server: Server) -> None:
        self._server = server
        self._about: About | None = None

    def __getattr__(self, name: str) -> Any:
        """What else a store can be asked is not for clients."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise Invalid(f"`{name}` cannot be asked of a server: do it where its store is.", field="url")

    @property
    def url(self) -> str:
        return self._server.address.place

    @property
    def schema_version(self) -> int | None:
        """Of the store, as far as it was asked about (`about`)."""
        return None if self._about is None else self._about.schema_version

    async def connect(self) -> None:
        """Nothing to do: the first verb connects."""

    async def close(self) -> None:
        await self._server.close()

    def now(self) -> int:
        """The server's clock, as far as it is known here: answers carry it, to the second."""
        return time.time_ns() // 1_000 + self._server.ahead_us

    async def about(self) -> About:
        """The server, and who this client is to it."""
        self._about = found = await self._server.ask(verb("about", "about"), {})
        return found  # type: ignore[no-any-return]

    # What is known

    async def get(self, ids: Sequence[str], *, listed: bool = False) -> list[Task | None]:
        if not listed:
            return [await self._get(id) for id in ids]
        found: list[Task | None] = []
        for start in range(0, len(ids), AT_ONCE):
            found += await self._server.ask(verb("look_up", "tasks"), {"ids": list(ids[start : start + AT_ONCE])})
        return found

    async def _get(self, id: str) -> Task | None:
        try:
            return await self._server.ask(verb("get", "tasks"), {"task_id": id})  # type: ignore[no-any-return]
        except NotFound:
            return None

    async def history(self, task_id: str) -> list[Attempt]:
        try:
            return await self._server.ask(verb("history", "tasks"), {"task_id": task_id})  # type: ignore[no-any-return]
        except NotFound:
            return []

    async def last_seq(self) -> int:
        return await self._server.ask(verb("last_seq", "events"), {})  # type: ignore[no-any-return]

    async def check(self) -> list[str]:
        return await self._server.ask(verb("check", "upkeep"), {})  # type: ignore[no-any-return]

    async def advise(self) -> list[str]:
        return await self._server.ask(verb("advise", "upkeep"), {})  # type: ignore[no-any-return]

    # Who waits

    async def news(self) -> int:
        return await self._server.ask(verb("news", "events"), {})  # type: ignore[no-any-return]

    async def wait_for_news(self, since: int, timeout_s: float) -> int:
        wait_s = max(0.0, min(timeout_s, LONGEST_POLL_S))
        asked = {"since": since, "timeout": wait_s}
        return await self._server.ask(verb("news", "events"), asked, wait_s=wait_s)  # type: ignore[no-any-return]

    # What whoever holds a task says

    async def renew(self, renewals: Sequence[Renewal]) -> list[News | DibsError]:
        answers: list[News | DibsError] = []
        for start in range(0, len(renewals), AT_ONCE):
            some = list(renewals[start : start + AT_ONCE])
            answers += await self._server.ask(verb("renew_many", "claims"), {"renewals": some})
        return answers

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled | DibsError]:
        answers: list[Settled | DibsError] = []
        for start in range(0, len(settlements), AT_ONCE):
            ended = [told(settlement) for settlement in settlements[start : start + AT_ONCE]]
            answers += await self._server.ask(verb("settle_outcomes", "claims"), {"outcomes": ended})
        return answers

    async def write_journal(self, task_id: str, fence: int, entries: Sequence[Entry]) -> list[Entry]:
        from msgspec import Raw

        lines = [
            {"kind": entry.kind, "name": entry.name, "digest": entry.digest, "value": Raw(entry.value)}
            for entry in entries
        ]
        # A log line is appended each time it is said; all else is found there, or replaced by itself.
        safe = all(entry.kind != "log" for entry in entries)
        parameters = {"task_id": task_id, "fence": fence, "entries": Raw(encode(lines))}
        return _entries(await self._server.ask(verb("record", "journal"), parameters, safe=safe))

    async def read_journal(self, task_id: str) -> list[Entry]:
        return _entries(await self._server.ask(verb("journal", "journal"), {"task_id": task_id}))

    async def put_artifact(self, task_id: str, fence: int, artifact: Artifact) -> Artifact:
        parameters = {"task_id": task_id, "fence": fence, "artifact": artifact}
        return await self._server.ask(verb("refer_to_artifact", "artifacts"), parameters)  # type: ignore[no-any-return]


def _entries(lines: Sequence[Any]) -> list[Entry]:
    return [Entry(kind=line.kind, name=line.name, digest=line.digest, value=encode(line.value)) for line in lines]
