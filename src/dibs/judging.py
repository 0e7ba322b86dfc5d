"""Completions outside a worker whose contract runs commands: run here, while the lease is kept.

What was made is written down first (`keeping`): who is killed meanwhile leaves only the judgement to be made again.

Nothing is run for a claim that is not held any more. One that has ended already is answered by how it ended, so that
saying it again runs nothing again.
"""

from __future__ import annotations

from concurrent import futures
from signal import SIGKILL
from threading import Lock, Thread
from typing import TYPE_CHECKING

from dibs import checking, keeping, proving, settling
from dibs.model.instants import to_micros
from dibs.model.status import Outcome
from dibs.requests import raised
from dibs.stores.values import Renewal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.claim import Claim, News
    from dibs.queue import Queue
    from dibs.rules.contracts import Check
    from dibs.stores.values import Settlement, Usage

SHORTEST_S = 0.2
"""Between two renewals, however short the lease."""


async def settlement(
    queue: Queue, claim: Claim, done: Settlement, *, blocking: bool, beside: Sequence[Claim] = ()
) -> Settlement:
    """The completion or its rejection, once its commands have run. Raises LeaseLost if the claim is lost meanwhile,
    and Unavailable where a command cannot be run; nothing is decided then. `beside`: claims that are kept, too."""
    attempts = await queue.store.history(claim.task.id)
    ended = next((attempt for attempt in attempts if attempt.fence == claim.fence), None)
    if ended is not None:
        refusal = (ended.error or "") if ended.outcome is Outcome.REJECTED else None
        return settling.judged(claim, done, refusal, draw=queue.draw, poison=queue.poison)
    proving.must_be_runnable(checking.commands(claim.task.expects))
    news = await _renewed(queue, claim, beside, done.usage)
    if not news.cancel:
        await keeping.keep(queue.store, claim, done)
    running = _Running(claim, done, queue.url)
    try:
        # Whoever cancelled it has ended it: the store will say so to what is handed in now.
        while not news.cancel and not await running.over(_until_renewal_s(news, queue.store.now()), blocking):
            news = await _renewed(queue, claim, beside)
        if news.cancel:
            return done
        refusal = running.answer.result()
    finally:
        running.stop()
    return settling.judged(claim, done, refusal, draw=queue.draw, poison=queue.poison)


async def _renewed(queue: Queue, claim: Claim, beside: Sequence[Claim], usage: Usage | None = None) -> News:
    renewals = [Renewal(task_id=each.task.id, fence=each.fence) for each in (claim, *beside)]
    renewals[0].usage = usage
    return raised((await queue.renew_many(renewals))[0])


def _until_renewal_s(news: News, now: int) -> float:
    """A third of the lease, as workers renew."""
    if news.lease_expires_at is None:
        return SHORTEST_S
    return max((to_micros(news.lease_expires_at) - now) / 3e6, SHORTEST_S)


class _Running:
    """A judgement under way in a thread of its own, and the process group that is part of it at the moment."""

    def __init__(self, claim: Claim, done: Settlement, url: str) -> None:
        self.answer: futures.Future[str | None] = futures.Future()
        self._expects = claim.task.expects
        self._output, self._decision = done.output or b"null", done.decision or b"null"
        self._environment = proving.environment(claim, url)
        self._lock = Lock()
        self._group: int | None = None
        self._stopped = False
        Thread(target=self._judge, name="dibs-judgement", daemon=True).start()

    async def over(self, wait_s: float, blocking: bool) -> bool:
        """Wait for its end, but no longer than this; whether it is there."""
        if blocking:
            futures.wait([self.answer], wait_s)
        else:
            import asyncio

            ended = asyncio.wrap_future(self.answer)
            ended.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            await asyncio.wait({ended}, timeout=wait_s)
        return self.answer.done()

    def stop(self) -> None:
        """End the command, if one runs, and let none begin."""
        with self._lock:
            self._stopped = True
            if self._group is not None:
                proving.end_group(self._group, SIGKILL)

    def _judge(self) -> None:
        self.answer.set_running_or_notify_cancel()  # from here on nobody who only waits for it can cancel it
        try:
            self.answer.set_result(checking.refusal(self._expects, self._output, self._decision, self._run))
        except BaseException as error:
            self.answer.set_exception(error)

    def _run(self, check: Check) -> str | None:
        return proving.run(check, self._output, self._environment, self._entered, self._left)

    def _entered(self, group: int) -> None:
        with self._lock:
            self._group = group
            if self._stopped:
                proving.end_group(group, SIGKILL)

    def _left(self, _: int) -> None:
        with self._lock:
            self._group = None
