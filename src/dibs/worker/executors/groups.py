"""Work done by other processes: a thread of the worker relays for it, and its whole process group can be ended."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, TypeVar

from dibs.worker.work import signal_group

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.worker.executors.threads import DaemonThreads
    from dibs.worker.work import Work

T = TypeVar("T")

GRACE_S = 3.0
"""Between asking a process group to end (SIGTERM) and ending it (SIGKILL)."""


async def relay(work: Work, threads: DaemonThreads, function: Callable[[], T]) -> T:
    """Run `function`, which sets `work.group` to the group it started and returns when that group is gone.

    If this is cancelled the group is ended, and only then is the cancellation passed on: nothing stays behind.
    `Work.stop` has sent SIGTERM already.
    """
    relaying = threads.run(function)
    try:
        return await asyncio.shield(relaying)
    except asyncio.CancelledError:
        for _ in range(2):
            await asyncio.wait({relaying}, timeout=GRACE_S)
            if relaying.done():
                break
            group = work.group
            if group is not None:
                signal_group(group, signal.SIGKILL)
        if relaying.done():
            relaying.exception()  # seen; the reason to stop is what counts
        raise


def enter_group(work: Work, group: int) -> None:
    """Remember which group does the work. It may have been told to stop while the group was starting."""
    work.group = group
    if work.stopped is not None:
        signal_group(group, signal.SIGTERM)


def leave_group(work: Work) -> None:
    """The work is done or its leader is dead: end whatever it left running."""
    group, work.group = work.group, None
    if group is not None:
        signal_group(group, signal.SIGKILL)
