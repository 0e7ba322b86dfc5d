"""The verbs about a task's journal: what an attempt leaves for the next one, and for whoever looks. `Queue` has them;
they are written here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.requests import agent_text, held
from dibs.rules import validation
from dibs.stores.values import Entry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.requests import Held
    from dibs.stores.contract import Store

MAX_LOG_CHARS = 10_000


class Journal:
    """What the work of a queue writes down while it is done."""

    store: Store

    async def checkpoint(self, claim: Held, data: Any) -> None:
        """Keep `data` for the next attempt of this task; it replaces the last checkpoint."""
        value, _ = validation.clean(data)
        body = validation.json_bytes(value, "data", max_bytes=validation.MAX_PAYLOAD_BYTES)
        await self.record(claim, [Entry(kind="checkpoint", value=body)])

    async def log(self, claim: Held, line: str) -> None:
        """Append a line to the task's log; the last 1,000 are kept."""
        text, _ = validation.clean_text(agent_text(line, "line"), MAX_LOG_CHARS)
        body = validation.json_bytes(text, "line", max_bytes=validation.MAX_PAYLOAD_BYTES)
        await self.record(claim, [Entry(kind="log", value=body)])

    async def record(self, claim: Held, entries: Sequence[Entry]) -> list[Entry]:
        """Write to the task's journal; what is recorded for each entry now."""
        task_id, fence = held(claim)
        return await self.store.write_journal(task_id, fence, entries)

    async def journal(self, task_id: str) -> list[Entry]:
        """The task's journal: steps, spawns, checkpoint, log lines."""
        return await self.store.read_journal(task_id)
