"""Where handlers run: in the event loop, in a thread, in a child process, or as a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.worker.executors.agent import concluded, run_agent
from dibs.worker.executors.command import run_command
from dibs.worker.executors.minder import Minder
from dibs.worker.executors.process import Children, run_in_process
from dibs.worker.executors.proofs import judged
from dibs.worker.executors.threads import DaemonThreads, run_in_thread
from dibs.worker.line import Line
from dibs.worker.outcomes import Completed

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.worker.outcomes import Ending
    from dibs.worker.work import Work


class Executors:
    """The threads and child processes of one worker, and which of them a handler needs."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._threads = DaemonThreads()
        self._children = Children()
        self._minder = Minder()

    async def run(self, work: Work) -> Ending:
        """Run work that does not belong into the loop. Raises what a handler in a thread raised."""
        match work.handler.executor:
            case "thread":
                return Completed(await run_in_thread(Line(work, self._queue), self._threads))
            case "process":
                return await run_in_process(Line(work, self._queue), self._threads, self._children)
            case "agent":
                return await run_agent(work, self._threads, self._minder, self._queue)
            case _:
                return await run_command(work, self._threads, self._minder, self._queue)

    async def judge(self, work: Work, ending: Completed) -> Ending:
        """Run what the task's contract wants to be run before its work is completed."""
        return await judged(work, ending, self._threads, self._minder, self._queue)

    async def conclude(self, work: Work, ending: Ending) -> Ending:
        """Finish the worktree of work that has ended like this, or leave it; what that makes of its end."""
        return await concluded(work, ending, self._threads)

    def close(self) -> None:
        """Let go of idle threads and children. Busy ones have been stopped, or left to themselves, before."""
        self._children.close()
        self._minder.close()
        self._threads.close()
