"""`QueueRuntime`: the queue between an interface and its agent, kept in any store of dibs instead of in memory.

An item is a task of dibs whose type is its kind. Items that coalesce gather for a moment, and `try_dequeue` takes all
that wait in one scope as one batch; the others come alone. A batch belongs to this runtime until its items are
completed or failed: `heartbeat` keeps it, and a runtime that dies loses it after its lease, to be taken again.

Unlike in the design whose names these are, whoever ends an item proves that it is still their own, a long turn that
sends heartbeats is not taken away after five minutes, and what an observer missed can be read again: `queue.events`
has every outcome, of this process and of others.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from dibs.adapters import items
from dibs.adapters.holding import Holdings, lease_of, milliseconds
from dibs.adapters.items import KINDS, Blocked, DequeuedBatch, QueueItem
from dibs.adapters.subagents import notification_of
from dibs.errors import Conflict, DibsError, Invalid, LeaseLost, NotFound
from dibs.model.claim import Claim, Settled
from dibs.model.status import FINAL, HELD, Status
from dibs.requests import default_agent
from dibs.rules import validation
from dibs.rules.coalescing import MAX_WINDOW_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.queue import Queue

log = logging.getLogger("dibs.adapters")

OnCompleted = Callable[[QueueItem, Any], Awaitable[None] | None]
OnFailed = Callable[[QueueItem, str], Awaitable[None] | None]
OnBlocked = Callable[[Blocked], Awaitable[None] | None]

_OPEN = tuple(status for status in Status if status not in FINAL | HELD | {Status.VALIDATING})
"""The statuses in which an item waits."""


class QueueRuntime:
    """Items for an agent, on `queue`.

    `worker_id` is who takes them (default: this process), `kinds` which. Items gather for `coalescing_window_ms`. What
    is taken is lost after `lease_ms` without a heartbeat.

    `on_task_completed(item, result)` and `on_task_failed(item, error)` are called after this runtime ended an item; the
    latter when it is given up, not when it is to be tried again. `on_blocked(blocked)` is called when `try_dequeue` is
    told a reason while items wait, once for each change of the reason. All may be coroutine functions. One that raises
    changes nothing: what it was told of is done, and the error is logged.
    """

    def __init__(
        self,
        queue: Queue,
        *,
        worker_id: str | None = None,
        kinds: Iterable[str] = KINDS,
        coalescing_window_ms: int = 50,
        lease_ms: int = 60_000,
        on_task_completed: OnCompleted | None = None,
        on_task_failed: OnFailed | None = None,
        on_blocked: OnBlocked | None = None,
    ) -> None:
        self.queue = queue
        self.worker_id = default_agent() if worker_id is None else validation.text(worker_id, "worker_id")
        self.kinds = validation.names(kinds, "kinds")
        if not self.kinds or not set(self.kinds) <= set(KINDS):
            raise Invalid(f"kinds must be some of {', '.join(KINDS)}, not {self.kinds!r:.80}.", field="kinds")
        self.window_s = milliseconds(coalescing_window_ms, "coalescing_window_ms", 0, MAX_WINDOW_S)
        self.lease_s = lease_of(lease_ms)
        self._on_task_completed = on_task_completed
        self._on_task_failed = on_task_failed
        self._on_blocked = on_blocked
        self._blocked_by: str | None = None
        self._held = Holdings(queue, self.lease_s)

    async def enqueue(self, item: QueueItem) -> QueueItem:
        """Add an item; as it was given, with its id. Once this returns it survives any crash."""
        [added] = await self.queue.add_many([items.new_task(item, self.window_s)])
        return items.item_of(added)

    async def try_dequeue(self, blocked_reason: str | None = None) -> DequeuedBatch | None:
        """The next batch, now this runtime's; None if nothing waits.

        It waits for what still gathers, so at most for one window. With a `blocked_reason` nothing is taken.
        """
        if blocked_reason is not None:
            await self._block(validation.text(blocked_reason, "blocked_reason"))
            return None
        self._blocked_by = None
        claims = await self.queue.claim(self.worker_id, types=self.kinds, lease=self.lease_s, wait=self.window_s)
        if not claims:
            return None
        [claim] = claims
        taken = [claim, *claim.group]
        try:
            batch = DequeuedBatch(
                batch_id=self.queue.new_id("batch"),
                items=[await self._item(each) for each in taken],
                merged_count=len(taken),
                queue_len_after=await self.queue_length(),
            )
        except BaseException:
            # Nobody will ever hear of it: let others have it, if the store can be reached; else its lease will end.
            with contextlib.suppress(DibsError):
                await self.queue.release_group(claim)
            raise
        for each in taken:
            self._held.remember(each)
        return batch

    tryDequeue = try_dequeue  # noqa: N815 - the name that the interface knows

    async def queue_length(self) -> int:
        """How many items of these kinds wait, those that are scheduled or to be tried again included."""
        by_type = (await self.queue.stats()).by_type
        return sum(by_type.get(kind, {}).get(status, 0) for kind in self.kinds for status in _OPEN)

    async def heartbeat(self) -> list[str]:
        """Keep everything that was taken for another lease. The ids of items to stop: they were cancelled or taken."""
        return await self._held.renew(self.worker_id)

    # Ending what was taken

    async def complete(self, taken: DequeuedBatch | QueueItem, result: Any = None) -> None:
        """An item, or all of a batch that has not ended yet, is done. Raises Conflict (such as LeaseLost) for what is
        not this runtime's any more, after the rest has ended."""
        claims = self._claims(taken)
        if _is_whole(claims):
            answers = await self.queue.complete_group(claims[0], result)
        else:
            answers = [await _answer(self.queue.complete(claim, result)) for claim in claims]
        await self._end(taken, claims, answers, Status.COMPLETED, self._on_task_completed, result)

    async def fail(self, taken: DequeuedBatch | QueueItem, error: str, retryable: bool = True) -> None:
        """An item, or all of a batch that has not ended yet, failed: it is tried again after 1, 2, 4 … s, unless it is
        not `retryable` or has been often enough. Raises as `complete`."""
        claims = self._claims(taken)
        validation.flag(retryable, "retryable")
        if _is_whole(claims):
            answers = await self.queue.fail_group(claims[0], error, retry=retryable)
        else:
            answers = [await _answer(self.queue.fail(claim, error, retry=retryable)) for claim in claims]
        await self._end(taken, claims, answers, Status.DEAD_LETTERED, self._on_task_failed, error)

    async def close(self) -> None:
        """Give back what was taken and not ended, unharmed."""
        await self._held.give_back(self.worker_id)

    def _claims(self, taken: DequeuedBatch | QueueItem) -> list[Claim]:
        """The claim of an item, or those of a batch that are still held here."""
        if isinstance(taken, DequeuedBatch):
            claims = [claim for item in taken.items if (claim := self._held.find(item.id or ""))]
            if not claims:
                raise LeaseLost(f"Nothing of {taken.batch_id} is held here any more.", field="batch_id")
            return claims
        if not isinstance(taken, QueueItem) or taken.id is None:  # type: ignore[redundant-expr]
            raise Invalid(f"this takes a batch, or an item of one, not {taken!r:.80}.", field="taken")
        return [self._held.of(taken.id)]

    async def _end(
        self,
        taken: DequeuedBatch | QueueItem,
        claims: Sequence[Claim],
        answers: Sequence[Settled | DibsError],
        ending: Status,
        callback: Callable[..., Awaitable[None] | None] | None,
        told: Any,
    ) -> None:
        """Forget what is over, tell whoever listens, and raise what went wrong."""
        for claim in claims:
            self._held.forget(claim.task.id)
        ended = {answer.task_id for answer in answers if isinstance(answer, Settled) and answer.status == ending}
        for item in taken.items if isinstance(taken, DequeuedBatch) else [taken]:
            if item.id in ended:
                await _tell(callback, item, told)
        for answer in answers:
            if isinstance(answer, DibsError):
                raise answer

    # What is told

    async def _item(self, claim: Claim) -> QueueItem:
        item = items.item_of(claim.task, claim.fence)
        about = await notification_of(self.queue, claim.task)
        if about is not None:
            item.notification, item.text = about, about.text
        return item

    async def _block(self, reason: str) -> None:
        waiting = await self.queue_length()
        if not waiting:
            # What arrives later is news again.
            self._blocked_by = None
        elif reason != self._blocked_by:
            self._blocked_by = reason
            await _tell(self._on_blocked, Blocked(reason=reason, queue_len=waiting))


def _is_whole(claims: Sequence[Claim]) -> bool:
    """Whether these were taken together, and all of them: then they end in one commit."""
    return len(claims) > 1 and len(claims) == len(claims[0].group) + 1


async def _answer(settling: Awaitable[Settled]) -> Settled | DibsError:
    try:
        return await settling
    except (Conflict, NotFound) as error:
        return error


async def _tell(callback: Callable[..., Awaitable[None] | None] | None, *news: Any) -> None:
    if callback is None:
        return
    try:
        answer = callback(*news)
        if inspect.isawaitable(answer):
            await answer
    except Exception:
        log.exception("a callback of QueueRuntime failed")
