"""Where agents wait for work: a new task wakes one of them that can do it, and nobody else pays for it.

All that wait are in groups of one offer (project, capabilities, types, models). When anything was committed, one of
each group asks the store; if it gets something, the next one asks, too. If two in a row get nothing, the others of that
group would not either, unless a task is for one agent only, or something changed for one of them: the events since the
last look tell, and then those agents ask, too, or all do. Whoever has not asked for a while asks anyway.

Nothing is lost when an agent leaves while it waits: what was claimed for it meanwhile is given back.
"""

from __future__ import annotations

import asyncio
from collections import deque
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any

from dibs import settling
from dibs.coalescing import with_groups
from dibs.errors import DibsError, Unavailable
from dibs.model.claim import Claims
from dibs.server.refusing import Busy

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.server.newsroom import Newsroom

SAMPLES = 2
"""How many of a group get nothing before the others are not asked for."""
EVERY_S = 15.0
"""How long an agent waits at most without having asked."""
SHORTEST_S = 0.05
EVENTS = 500
_GIVEN = ("task.ready", "task.reassigned")

Offer = tuple[Any, ...]


class Waiting:
    """One agent that waits: its queue, what it asks for, and what it will be answered."""

    __slots__ = ("agent", "asked_at", "asking", "deadline", "future", "offer", "queue", "request")

    def __init__(self, queue: Queue, request: dict[str, Any], deadline: float) -> None:
        self.queue = queue
        self.request = request
        self.deadline = deadline
        self.agent: str = request["agent"]
        self.offer: Offer = (
            queue.project,
            *(_frozen(request.get(name)) for name in ("capabilities", "types", "models")),
        )
        self.future: asyncio.Future[Claims] = asyncio.get_running_loop().create_future()
        self.asked_at = monotonic()
        self.asking = False

    def answer(self, claims: Claims) -> None:
        if not self.future.done():
            self.future.set_result(claims)

    def over(self) -> None:
        """Its time is over; if it is being asked for, that decides."""
        if not self.asking:
            self.answer(Claims())


class Lobby:
    """All agents of a server that wait for work."""

    def __init__(self, newsroom: Newsroom, max_waiting: int) -> None:
        self._newsroom = newsroom
        self._max_waiting = max_waiting
        self._groups: dict[Offer, deque[Waiting]] = {}
        self._count = 0
        self._seen = 0
        self._due_at = inf
        self._last_seq: int | None = None
        self._steward: asyncio.Task[None] | None = None
        self._turn = asyncio.Event()
        self.closed = False
        self._giving_back: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return self._count

    async def claim(self, queue: Queue, request: dict[str, Any], wait_s: float) -> tuple[Claims, float | None]:
        """As `queue.claim(**request, wait=wait_s)`, and when time alone may change that nothing was found."""
        seen = await self._newsroom.number() if wait_s > 0 else 0
        claims = await queue.claim(**request)
        due_in = queue.due_in
        if claims or wait_s <= 0 or self.closed:
            return claims, due_in
        if self._count >= self._max_waiting:
            raise Busy(
                f"{self._count:,} agents wait here already; ask again without `wait`, or another server.",
                code="too_many_waiting",
                retry_after=5.0,
            )
        waiting = Waiting(queue, request, monotonic() + wait_s)
        timer = asyncio.get_running_loop().call_later(wait_s, waiting.over)
        self._enter(waiting, seen, due_in)
        try:
            return await waiting.future, None
        except asyncio.CancelledError:
            if not waiting.future.cancelled() and waiting.future.exception() is None:
                self.give_back(queue, waiting.future.result())
            raise
        finally:
            timer.cancel()
            self._leave(waiting)

    def close(self) -> None:
        """Answer everybody with nothing, now and from now on."""
        self.closed = True
        for waiting in self._everybody():
            waiting.answer(Claims())

    def _enter(self, waiting: Waiting, seen: int, due_in: float | None) -> None:
        self._groups.setdefault(waiting.offer, deque()).append(waiting)
        self._count += 1
        self._note_due(due_in)
        if self._steward is None:
            self._seen = seen
            self._steward = asyncio.ensure_future(self._run())
        elif self._seen != seen:
            # Something was committed between its claim and now, or the steward has not seen it yet.
            waiting.asked_at = 0.0
            self._turn.set()

    def _leave(self, waiting: Waiting) -> None:
        group = self._groups.get(waiting.offer)
        if group is not None and waiting in group:
            group.remove(waiting)
            if not group:
                del self._groups[waiting.offer]
        self._count -= 1

    def _everybody(self) -> list[Waiting]:
        return [waiting for group in self._groups.values() for waiting in group]

    def _note_due(self, due_in: float | None) -> None:
        """In so many seconds time alone may change what somebody gets."""
        if due_in is not None:
            due_at = monotonic() + max(due_in, SHORTEST_S)
            if due_at < self._due_at:
                self._due_at = due_at
                self._turn.set()

    async def _run(self) -> None:
        """Serve who waits until nobody does."""
        try:
            while self._count:
                self._turn.clear()
                if await self._until_news():
                    self._seen = await self._newsroom.number()
                    await self._serve()
                    await self._skip_own_steps()
        except Exception as error:
            for waiting in self._everybody():
                if not waiting.future.done():
                    waiting.future.set_exception(error)
        finally:
            self._steward = None
            self._last_seq = None

    async def _until_news(self) -> bool:
        """Whether anybody should ask: something was committed, something is due, or one who came has no answer yet."""
        if any(waiting.asked_at == 0.0 and not waiting.future.done() for waiting in self._everybody()):
            return True
        timeout_s = min(max(self._due_at - monotonic(), 0), EVERY_S)
        news = asyncio.ensure_future(self._newsroom.wait(self._seen, timeout_s))
        turn = asyncio.ensure_future(self._turn.wait())
        try:
            await asyncio.wait({news, turn}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            turn.cancel()
            if not news.done():
                news.cancel()
        if not news.done() or news.cancelled():
            return False
        news.result()
        return True

    async def _serve(self) -> None:
        """Let those ask who may get something."""
        self._due_at = inf
        wanted = await self._singled_out()
        for group in list(self._groups.values()):
            samples = 0
            for waiting in list(group):
                late = waiting.asked_at + EVERY_S <= monotonic()
                if waiting.future.done() or not (
                    samples < SAMPLES or late or wanted is None or waiting.agent in wanted
                ):
                    continue
                claims = await self._ask(waiting)
                if claims:
                    samples = 0
                    continue
                self._note_due(waiting.queue.due_in)
                # Why an agent gets nothing whatever there is says nothing about the others.
                samples += claims.reason is None
                if group and group[0] is waiting:
                    group.rotate(-1)

    async def _skip_own_steps(self) -> None:
        """That agents were heard of is written, too, and is no reason to ask again: two ask, which would let two others
        ask, and so on through everybody who waits. What matters to anybody has an event."""
        if self._last_seq is not None:
            number = await self._newsroom.number()
            if await self._newsroom.store.last_seq() == self._last_seq:
                self._seen = number

    async def _ask(self, waiting: Waiting) -> Claims:
        waiting.asking = True
        waiting.asked_at = monotonic()
        try:
            claims = await waiting.queue.claim(**waiting.request)
        except Unavailable:
            raise
        except DibsError as error:
            # What is refused to one is no concern of the others.
            if not waiting.future.done():
                waiting.future.set_exception(error)
            return Claims()
        finally:
            waiting.asking = False
        if claims and waiting.future.done():
            self.give_back(waiting.queue, claims)
        elif claims or monotonic() >= waiting.deadline:
            waiting.answer(claims)
        return claims

    def give_back(self, queue: Queue, claims: Claims) -> None:
        """Nobody is left who could work on these: others shall, at once."""
        if not claims:
            return

        async def giving() -> None:
            try:
                await queue.settle([settling.untouched(claim, "abandoned") for claim in with_groups(claims)])
            except DibsError:
                pass  # The leases will end by themselves.

        task = asyncio.ensure_future(giving())
        self._giving_back.add(task)
        task.add_done_callback(self._giving_back.discard)

    async def _singled_out(self) -> set[str] | None:
        """The agents for whom alone something may have changed since the last look; None: anybody.

        Those that an event names (it ended a task and may hold another, or something was opened to it), and those that
        a task which became ready is for.
        """
        if all(len(group) <= SAMPLES for group in self._groups.values()):
            self._last_seq = None
            return set()
        # Those who wait may be of several projects, and each sees its own only.
        store = self._newsroom.store
        if self._last_seq is None:
            # Who was here before the group grew has asked; the others did when they came.
            self._last_seq = await store.last_seq()
            return None
        events = await store.events(self._last_seq, EVENTS)
        if not events:
            return set()
        self._last_seq = events[-1].seq
        if len(events) == EVENTS or events[0].type == "gap":
            return None
        named = {event.agent for event in events if event.agent is not None}
        ready = [event.task_id for event in events if event.type in _GIVEN and event.task_id is not None]
        found = await store.get(ready, listed=True) if ready else []
        meant = {task.assignee for task in found if task is not None and task.assignee is not None}
        # An assignee that is nobody who waits may be a type of agents, or everybody but one.
        if meant and not meant <= {waiting.agent for waiting in self._everybody()}:
            return None
        return meant | named


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
