"""What one MCP session holds, and how it keeps it.

An agent claims, and from then on names nothing: the session knows task and fence. While the session is alive its leases
are renewed here. When it ends, nothing is given back: what it held comes back when its lease ends, and counts as a
crash. Whoever is gone may have done half of it, and a task that ends every session it is given to must not go round
for ever.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from dibs.coalescing import with_groups
from dibs.errors import Conflict, DibsError, Invalid, LeaseLost
from dibs.model.claim import Claim
from dibs.model.status import Status
from dibs.requests import held
from dibs.stores.values import Renewal

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from dibs.model.claim import News
    from dibs.queue import Queue
    from dibs.requests import Held

T = TypeVar("T")

log = logging.getLogger("dibs.mcp")

LEASE_S = 60.0
MOST_HELD = 20
"""How many tasks one session may hold: an agent that forgets what it has would take everything."""
MOST_NOTICES = 20


class Hold:
    """One task that the session holds, with those of its group."""

    __slots__ = ("claim", "members", "task_id")

    def __init__(self, claim: Held) -> None:
        self.claim = claim
        self.task_id = claim.task.id if isinstance(claim, Claim) else claim[0]
        several: Sequence[Held] = with_groups([claim]) if isinstance(claim, Claim) else [claim]
        self.members = [held(each) for each in several]

    @property
    def together(self) -> bool:
        """Whether it came with others, which end with it."""
        return len(self.members) > 1


class Session:
    """One agent at one queue."""

    def __init__(
        self,
        queue: Queue,
        agent: str,
        *,
        lease_s: float = LEASE_S,
        capabilities: Sequence[str] = (),
        types: Sequence[str] | None = None,
        models: Sequence[str] = (),
        alive: Callable[[], bool] = lambda: True,
        lives: str = "while you are connected",
    ) -> None:
        self.queue = queue
        self.agent = agent
        self.lease_s = lease_s
        self.capabilities, self.types, self.models = tuple(capabilities), types, tuple(models)
        self.held: dict[str, Hold] = {}
        self.gone: dict[str, str] = {}
        """What it does not hold any more without having said so, and why."""
        self._notices: list[str] = []
        self._alive = alive
        self._lives = lives
        self._keeping: asyncio.Task[None] | None = None
        self._errands: set[asyncio.Task[Any]] = set()

    def errand(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Something that goes on though whoever asked for it does not."""
        task = asyncio.ensure_future(work)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)
        return task

    # What it holds

    def take(self, claim: Held) -> Hold:
        """Hold a task from now on, and keep it."""
        hold = Hold(claim)
        self.held[hold.task_id] = hold
        self.gone.pop(hold.task_id, None)
        if self._keeping is None or self._keeping.done():
            self._keeping = asyncio.create_task(self._keep(), name="dibs-mcp-keeping")
        return hold

    def drop(self, hold: Hold) -> None:
        """It has ended, or somebody else has it."""
        if self.held.get(hold.task_id) is hold:
            del self.held[hold.task_id]

    def the(self, task_id: str | None) -> Hold:
        """The task that is meant: the one that is named, else the only one. Raises Conflict or Invalid."""
        if task_id is not None and task_id in self.held:
            return self.held[task_id]
        if task_id is not None and task_id in self.gone:
            raise LeaseLost(self.gone[task_id], field="task")
        if task_id is not None:
            raise Conflict(f"You do not hold {task_id:.80}{self._what_is_held()}.", code="not_held", field="task")
        if len(self.held) == 1:
            return next(iter(self.held.values()))
        if not self.held:
            lost = next(reversed(self.gone.values()), None)
            if lost is not None:
                raise LeaseLost(lost, field="task")
            raise Conflict("You hold no task.", code="not_held", field="task")
        raise Invalid(f"You hold {len(self.held)} tasks: say which{self._what_is_held()}.", field="task")

    def _what_is_held(self) -> str:
        return f"; you hold {', '.join(self.held)}" if self.held else "; you hold none"

    async def remember(self) -> bool:
        """Find again what this session's agent holds, of which this process knows nothing; whether there is any."""
        found = await self.queue.find(agent=self.agent, status=[Status.CLAIMED, Status.RUNNING], limit=MOST_HELD)
        for task in found.items:
            if task.agent == self.agent:
                self.take((task.id, task.fence))
        return bool(self.held)

    @property
    def kept(self) -> str:
        """What an agent is told of its lease."""
        return f"renewed every {self.lease_s / 3:.2g} s {self._lives}; you need not"

    # What it should hear

    def notices(self) -> list[str]:
        """What happened to its tasks since it was last told."""
        told, self._notices = self._notices, []
        return told

    def lose(self, hold: Hold, why: str, *, tell: bool = True) -> None:
        """It is not its own any more."""
        self.drop(hold)
        self.gone[hold.task_id] = why
        while len(self.gone) > MOST_NOTICES:
            self.gone.pop(next(iter(self.gone)))
        if tell and len(self._notices) < MOST_NOTICES:
            self._notices.append(why)

    # Keeping it

    async def _keep(self) -> None:
        """Renew what is held until nothing is, or the session is dead for as long as a lease lasts."""
        dead_since: float | None = None
        pause_s = self.lease_s / 3
        while self.held:
            await asyncio.sleep(pause_s)
            pause_s = self.lease_s / 3
            if not self._alive():
                dead_since = monotonic() if dead_since is None else dead_since
                if monotonic() - dead_since > self.lease_s:
                    for hold in list(self.held.values()):
                        self.lose(hold, f"{hold.task_id} was given up: nothing was heard of you for too long.")
                continue
            dead_since = None
            try:
                await self.renew()
            except Exception as error:
                # Whatever it is, the leases run on: it is tried again, sooner.
                pause_s = self.lease_s / 12
                log.warning("leases cannot be renewed: %s", error, exc_info=not isinstance(error, DibsError))

    async def renew(self) -> None:
        """Renew everything once; hear of what was cancelled or lost."""
        holds = list(self.held.values())
        renewals = [
            Renewal(task_id=task_id, fence=fence, lease_s=self.lease_s)
            for hold in holds
            for task_id, fence in hold.members
        ]
        if not renewals:
            return
        answers = iter(await self.queue.renew_many(renewals))
        for hold in holds:
            own = [next(answers) for _ in hold.members]
            if self.held.get(hold.task_id) is hold:
                await self.hear(hold, own[0])

    async def hear(self, hold: Hold, news: News | DibsError, *, tell: bool = True) -> None:
        """What a renewal said of a task."""
        if isinstance(news, DibsError):
            if isinstance(news, LeaseLost):
                self.lose(hold, f"{hold.task_id} is not yours any more: {news.message}", tell=tell)
        elif news.cancel:
            self.drop(hold)
            why = await self._why_cancelled(hold)
            self.lose(hold, f"{hold.task_id} was cancelled{why}. Stop working on it.", tell=tell)
            # What it held of locks and slots is free once its agent says that it stopped.
            with suppress(DibsError):
                await self.release(hold)

    async def _why_cancelled(self, hold: Hold) -> str:
        try:
            reason = (await self.queue.get(hold.task_id)).cancel_reason
        except DibsError:
            return ""
        return f": {reason.rstrip('.')}" if reason else ""

    async def release(self, hold: Hold, **given: Any) -> Any:
        """Give it back unharmed, with its group."""
        if hold.together:
            return await self.queue.release_group(hold.claim, **given)  # type: ignore[arg-type]
        return await self.queue.release(hold.claim, **given)

    async def close(self) -> None:
        """Keep nothing any more; what was begun is ended."""
        for errand in self._errands:
            errand.cancel()
        await asyncio.gather(*self._errands, return_exceptions=True)
        if self._keeping is not None:
            self._keeping.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeping


class Presence:
    """Whether somebody is there: a request or a stream is open, or one was a short while ago.

    Whoever held a stream open and closed it is believed to be gone sooner than one who never had any.
    """

    def __init__(self, *, patience_s: float, stream_patience_s: float) -> None:
        self._patience_s, self._stream_patience_s = patience_s, stream_patience_s
        self._open = 0
        self._streams = 0
        self._streamed = False
        self.heard_at = monotonic()

    def enter(self, *, stream: bool = False) -> None:
        self._open += 1
        self._streams += stream
        # Whoever goes on asking without its stream has only lost the stream.
        self._streamed = self._streams > 0

    def leave(self, *, stream: bool = False) -> None:
        self._open -= 1
        self._streams -= stream
        self.heard_at = monotonic()

    @property
    def open(self) -> bool:
        """Whether something is open now."""
        return self._open > 0

    def is_alive(self) -> bool:
        patience_s = self._stream_patience_s if self._streamed else self._patience_s
        return self.open or monotonic() - self.heard_at < patience_s
