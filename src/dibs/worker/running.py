"""A worker as a whole process: what `dibs worker` and `dibs run` start, and how it reacts to signals."""

from __future__ import annotations

import asyncio
import logging
import signal
from typing import TYPE_CHECKING

from dibs.connecting import connect
from dibs.stores import shown
from dibs.worker.app import App
from dibs.worker.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.worker.worktrees import Worktrees

log = logging.getLogger("dibs.worker")


def run_worker(
    app: App,
    url: str | None = None,
    *,
    agent: str | None = None,
    agent_type: str | None = None,
    capabilities: Iterable[str] = (),
    concurrency: int = 10,
    lease: float | str = 60,
    drain: bool = False,
) -> None:
    """Work until drained or told to end; returns when every outcome is written.

    The first SIGTERM or SIGINT: claim nothing more, finish what is running. The second: release it and leave.
    """
    asyncio.run(_run(app, url, agent, agent_type, tuple(capabilities), concurrency, lease, drain))


def command_app(
    types: Sequence[str],
    argv: Sequence[str],
    *,
    timeout: float | str | None = None,
    preset: str | None = None,
    worktrees: Worktrees | None = None,
) -> App:
    """An app whose handler for each of these types is one command."""
    app = App()
    for type in dict.fromkeys(types):
        app.command(type, argv, timeout=timeout, preset=preset, worktrees=worktrees)
    return app


async def _run(
    app: App,
    url: str | None,
    agent: str | None,
    agent_type: str | None,
    capabilities: tuple[str, ...],
    concurrency: int,
    lease: float | str,
    drain: bool,
) -> None:
    async with connect(url) as queue:
        worker = Worker(
            app,
            queue,
            agent=agent,
            agent_type=agent_type,
            capabilities=capabilities,
            concurrency=concurrency,
            lease=lease,
        )
        async with worker:
            loop = asyncio.get_running_loop()
            signalled = False

            def on_signal() -> None:
                nonlocal signalled
                if signalled:
                    log.warning("leaving: what is running is released")
                    worker.leave()
                else:
                    log.warning("finishing what is running; signal again to leave at once")
                    worker.stop()
                signalled = True

            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, on_signal)
            log.info("%s works on %s", worker.agent, shown(queue.url))
            await (worker.drain() if drain else worker.run())
