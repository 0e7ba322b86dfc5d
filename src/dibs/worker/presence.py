"""That a worker is there: it says who it is when it begins to claim, and that it is gone when it ends."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING

import dibs
from dibs.errors import DibsError
from dibs.model.agent import AgentStatus

if TYPE_CHECKING:
    from dibs.queue import Queue

log = logging.getLogger("dibs.worker")

LEAVING_S = 2.0
"""How long a worker that ends tries to say so. If nobody hears it, it is lost after a while."""


class Presence:
    """One worker as an agent among others. What somebody else registered for it stays."""

    def __init__(self, queue: Queue, agent: str, type: str | None, concurrency: int, poll_s: float) -> None:
        self._queue = queue
        self.agent = agent
        self.type = type
        self._concurrency = concurrency
        self._poll_s = poll_s
        self.announced = False

    async def announce(self) -> None:
        """Register. Raises as every verb does when the store is away: then it is tried again."""
        known = await self._queue.register_agent(
            self.agent,
            self.type,
            version=dibs.__version__,
            host=os.uname().nodename,
            pid=os.getpid(),
            poll=self._poll_s,
            concurrency=self._concurrency,
            keep=True,
        )
        self.type = known.type
        # A server puts the name of a token before it.
        self.agent = known.id
        self.announced = True

    async def is_draining(self) -> bool:
        """Whether somebody has told this agent to take nothing new."""
        return any(
            agent.id == self.agent and agent.status is AgentStatus.DRAINING for agent in await self._queue.agents()
        )

    async def end(self) -> None:
        """Say that it is gone, if there is anybody who listens."""
        if not self.announced:
            return
        self.announced = False
        try:
            async with asyncio.timeout(LEAVING_S):
                await self._queue.unregister_agent(self.agent, "it ended")
        except (DibsError, TimeoutError) as error:
            log.info("%s could not say that it ended: %s", self.agent, error)
