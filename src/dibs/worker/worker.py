"""The worker: claims tasks its app has handlers for, runs them, settles them, and keeps their leases meanwhile.

Each claim runs in an asyncio task of its own, so context variables, timeouts and cancellation are what handlers
expect of asyncio; that costs about 2 µs. There are no timers per task: one sweep looks after timeouts, log lines
and stuck work.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING

from dibs import settling
from dibs.errors import Invalid
from dibs.keeper import Keeper
from dibs.requests import default_agent
from dibs.rules import validation
from dibs.sync import SyncQueue
from dibs.worker import together
from dibs.worker.bell import Bell
from dibs.worker.context import Context
from dibs.worker.executors import Executors
from dibs.worker.executors.proofs import made_before
from dibs.worker.line import Line
from dibs.worker.offers import Offers
from dibs.worker.outcomes import Completed, Ending, Failed, Lost, Suspended, ending_of, error_text
from dibs.worker.pace import Pace
from dibs.worker.presence import Presence
from dibs.worker.renewals import Renewals
from dibs.worker.seeking import POLL_S, Seat, Seeker
from dibs.worker.settlements import must_be_checkable, settlement, stopped
from dibs.worker.settler import Settler
from dibs.worker.sparing import Sparing
from dibs.worker.sweep import Sweep, keep_last_lines
from dibs.worker.telling import tell_suspended, tell_taken
from dibs.worker.tracing import end_span, span_maker
from dibs.worker.work import Stop, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dibs.model.claim import Claim
    from dibs.queue import Queue
    from dibs.stores.values import Settlement
    from dibs.worker.app import App

log = logging.getLogger("dibs.worker")

LONGEST_CLAIM_S = 1.0
"""How long a leaving worker waits for a claim that is under way before it releases what is running."""
LOOK_EVERY_S = 1.0


class Worker:
    """Runs an app's handlers on a queue, as one agent.

    `capabilities` are offered for every type, beside what each handler offers for its own. At most
    `concurrency` handlers run at once. It registers itself while it works; tasks assigned to its `agent_type` are for
    it, too. `async with Worker(…) as worker`, then `await worker.run()` or
    `await worker.drain()`.
    """

    def __init__(
        self,
        app: App,
        queue: Queue,
        agent: str | None = None,
        capabilities: Iterable[str] = (),
        concurrency: int = 10,
        lease: float | str = 60,
        agent_type: str | None = None,
    ) -> None:
        if not app.handlers:
            raise Invalid("the app has no handlers; register one with @app.handler(type).", field="app")
        given: object = queue
        if isinstance(given, SyncQueue):
            raise Invalid("a worker needs the queue of `await dibs.connect(…)`, not of connect_sync.", field="queue")
        self._app = app
        self._queue = queue
        self.agent = default_agent() if agent is None else validation.text(agent, "agent")
        self._concurrency = validation.whole(concurrency, "concurrency", 1, 10_000)
        self._lease_s = validation.duration_s(lease, "lease", low=validation.MIN_LEASE_S, high=validation.MAX_LEASE_S)
        capable = frozenset(validation.names(capabilities, "capabilities"))
        self._offers = Offers(app, self.agent, capable)
        kind = None if agent_type is None else validation.text(agent_type, "agent_type")
        self._presence = Presence(queue, self.agent, kind, self._concurrency, POLL_S)
        self._free = self._concurrency
        self._low = 0
        self._ready: deque[Work] = deque()
        self._running: set[Work] = set()
        self._held: set[Work] = set()
        self._finishing: set[asyncio.Task[None]] = set()
        self._pace = Pace()
        self._sparing = Sparing()
        self._open = False
        self._working = False
        self._claiming: asyncio.Task[None] | None = None

    # Living

    async def __aenter__(self) -> Worker:
        if self._open:
            raise Invalid("this worker is open already.", field="worker")
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()
        self._stopping = Bell()
        self._room = asyncio.Event()
        self._changed = Bell()
        self._executors = Executors(self._queue)
        # Asked once: nobody who does not look pays for what is told of each task.
        self._tells = log.isEnabledFor(logging.INFO)
        self._spans = span_maker()
        self._settler = Settler(self._queue, self._forget, self._tells)
        self._sweep = Sweep(self._queue, self._running, self._give_up)
        self._renewals = Renewals(self._queue, self._held, self._ready, self._lease_s)
        self._renewals.start()
        self._seeker = Seeker(
            self._queue,
            self.agent,
            self._offers,
            self._presence,
            self._lease_s,
            Seat(self._stopping, self._room, self._changed, self._held, wanted=self._wanted, accept=self._accept),
        )
        self._chores = [
            asyncio.create_task(self._settler.run(), name="dibs-settler"),
            asyncio.create_task(self._sweep.run(), name="dibs-sweep"),
        ]
        if not self._queue.far:
            self._chores.append(asyncio.create_task(Keeper(self._queue).run(), name="dibs-keeper"))
        self._open = True
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Release what is still running, write every outcome, and let go of threads and processes."""
        try:
            self.leave()
            await self._until(lambda: not self._working)
            await self._until_settled()
        finally:
            self._open = False
            for chore in self._chores:
                chore.cancel()
            await asyncio.gather(*self._chores, return_exceptions=True)
            await asyncio.to_thread(self._executors.close)
            await asyncio.to_thread(self._renewals.close)
            await self._presence.end()

    async def run(self) -> None:
        """Work until `stop` is called, then finish what is running. Cancelling this releases what is running."""
        await self._work(drain=False)

    async def drain(self) -> None:
        """Work until no task that this worker could run is ready, claimed, running, validating or retrying.

        That includes tasks other workers hold, and what still gathers. What else is scheduled or waits is left, and
        what a budget has no room for.
        """
        await self._work(drain=True)

    def stop(self) -> None:
        """Claim nothing more; `run` returns when what is running has ended. Not safe from other threads."""
        if self._open:
            self._stopping.set()
            self._renewals.leave()
            self._room.set()
            self._changed.set()

    def leave(self) -> None:
        """Claim nothing more and stop what is running: it is released, for somebody else to do."""
        self.stop()
        if self._claiming is not None and not self._claiming.done():
            # Released now, it could come back with the claim that is still under way.
            self._claiming.add_done_callback(lambda _: self._stop_running())
            self._loop.call_later(LONGEST_CLAIM_S, self._stop_running, self._claiming)
        else:
            self._stop_running()

    def _stop_running(self, claiming: asyncio.Task[None] | None = None) -> None:
        """Stop what is running; with `claiming`, only if that claim is still under way."""
        if not self._open or (claiming is not None and claiming.done()):
            return
        self._give_back_ready()
        for work in list(self._running):
            work.stop(Stop.LEAVING)
        self._sweep.hurry()

    async def _work(self, drain: bool) -> None:
        if not self._open:
            async with self:
                return await self._work(drain)
        if self._working:
            raise Invalid("this worker is working already.", field="worker")
        self._working = True
        claiming = self._claiming = asyncio.create_task(self._seeker.seek(drain), name="dibs-claiming")
        try:
            # A chore ends only by a fault; without it this worker would hold tasks and not settle them.
            await asyncio.wait({claiming, *self._chores}, return_when=asyncio.FIRST_COMPLETED)
            for chore in self._chores:
                if chore.done():
                    chore.result()
            await claiming
            self._give_back_ready()
            await self._until_settled()
        except BaseException:
            claiming.cancel()
            self.leave()
            raise
        finally:
            self._working = False
            self._changed.set()
        return None

    # Running

    def _wanted(self) -> int:
        """How many tasks to claim now: the free slots, and what short handlers will have done in a moment."""
        ahead = self._pace.ahead()
        self._low = ahead // 2
        ready = len(self._ready)
        if ready > self._low:
            return 0
        return self._free + ahead - ready

    def _accept(self, claims: list[Claim], asked: float) -> None:
        lease_until = asked + self._lease_s
        handlers = self._app.handlers
        for claim in claims:
            work = Work(claim, handlers[claim.task.type], self._loop, asked, lease_until, self._queue.prices)
            self._held.add(work)
            if claim.group:
                self._held.update(together.gather(work, self._forget))
            if self._sparing.spares(work):
                self._put_back(work, "slow_down")
            else:
                self._ready.append(work)
        # A claim that was under way when `stop` was called may still bring something: it goes back.
        while self._free and not self._stopping.is_set() and self._begin_next():
            pass

    def _begin_next(self) -> bool:
        try:
            # The renewal thread takes stale work out of here, so looking before taking would be a race.
            work = self._ready.popleft()
        except IndexError:
            return False
        if work.stopped is not None:  # cancelled, or its lease lost, before it could begin
            self._settle(work, Lost())
            return True
        self._free -= 1
        work.began = now = monotonic()
        self._running.add(work)
        if self._tells:
            tell_taken(work)
        if work.timeout_s is not None:
            work.ends_at = now + work.timeout_s
            self._sweep.expect(work.ends_at)
        # Not a copy of the current context: that may be the one of the handler that has just ended.
        work.task = self._loop.create_task(self._perform(work), context=self._context.copy())
        return True

    async def _perform(self, work: Work) -> None:
        """Run one claim to its end, whatever that is."""
        work.entered = True
        handler = work.handler
        ending: Ending
        if self._spans is not None:
            work.span = self._spans.begin(work.claim)
        try:
            if work.claim.task.expects is not None:
                must_be_checkable(work.claim.task.expects, far=self._queue.far)
            made = None if work.claim.made is None else made_before(work)
            if made is not None:
                ending = made
            elif handler.executor == "coroutine":
                signature = handler.call
                assert signature is not None
                arguments = signature.arguments(work.claim.task.payload)
                if signature.context is not None:
                    arguments = {**arguments, signature.context: Context(Line(work, self._queue))}
                ending = Completed(await handler.function(**arguments))
            else:
                ending = await self._executors.run(work)
            judges = work.claim.task.expects is not None or work.tree is not None
            if judges and isinstance(ending, Completed) and not work.suspended:
                ending = await self._executors.judge(work, ending)
            if work.members:
                await together.judge(work, ending, self._executors)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and handler.executor == "coroutine":
                # Somebody interrupts this process; from a thread or child it is only how a handler failed.
                self._end(work, Lost())
                raise
            ending = ending_of(error)
        if work.tree is not None:
            ending = await self._executors.conclude(work, ending)
        self._end(work, ending)

    def _end(self, work: Work, ending: Ending) -> None:
        """Settle what has ended and begin the next."""
        self._running.discard(work)
        self._free += 1
        if work.span is not None:
            end_span(self._spans, work, ending)
        if not work.over:
            assert work.began is not None
            self._pace.note(work.began, monotonic())
            self._settle(work, ending)
        if not self._stopping.is_set():
            while self._free and self._begin_next():
                pass
            if len(self._ready) <= self._low:
                self._room.set()
        self._changed.set()

    def _settle(self, work: Work, ending: Ending) -> None:
        work.over = True
        if self._tells:
            work.ended = monotonic()
            if work.suspended:
                tell_suspended(work)
        if work.suspended:
            ending = Suspended()
        elif work.stopped is not None:
            ending = stopped(work, ending)
        draw = self._queue.draw
        if work.members:
            # Once for all of them: those with equal policies come back together.
            drawn = draw()
            draw = lambda: drawn  # noqa: E731
        try:
            decided = settlement(work, ending, self._queue, draw)
        except Exception as error:
            # An output whose own methods raise must not leave its task running.
            ending = Failed(error_text(error), reason="invalid_output", retry=False)
            decided = settlement(work, ending, self._queue, draw)
        for member, outcome in together.outcomes(work, ending, self._queue, draw) if work.members else ():
            if outcome is None:
                self._held.discard(member)
            else:
                self._settler.add(member, outcome)
        if decided is None:
            self._held.discard(work)
        elif work.lines:
            # The last lines belong to the attempt, and can only be written while it is held.
            finishing = self._loop.create_task(self._write_then_settle(work, decided))
            self._finishing.add(finishing)
            finishing.add_done_callback(self._finishing.discard)
        else:
            self._hand_over(work, decided)

    async def _write_then_settle(self, work: Work, decided: Settlement) -> None:
        await keep_last_lines(self._queue, work)
        self._hand_over(work, decided)

    def _hand_over(self, work: Work, decided: Settlement) -> None:
        """To the settler; if its provider had enough, so is what was claimed ahead for the same one."""
        self._settler.add(work, decided)
        if decided.limited is None:
            return
        self._sparing.turned_away(work)
        for ahead in list(self._ready):
            if self._sparing.spares(ahead):
                try:
                    self._ready.remove(ahead)
                except ValueError:  # the renewal thread has just given it back
                    continue
                self._put_back(ahead, "slow_down")

    def _give_up(self, work: Work) -> None:
        """Settle an attempt that was told to stop and goes on; its slot stays taken until it ends."""
        self._settle(work, Lost())
        self._changed.set()

    def _forget(self, works: list[Work]) -> None:
        """These are settled: no lease to keep any more."""
        self._held.difference_update(works)
        self._sparing.written(works)
        self._changed.set()

    def _give_back_ready(self) -> None:
        while self._ready:
            self._put_back(self._ready.popleft(), "worker_left")

    def _put_back(self, work: Work, why: str) -> None:
        for each in (work, *work.members):
            each.over = True
            self._settler.add(each, settling.untouched(each.claim, why))

    async def _until_settled(self) -> None:
        await self._until(lambda: not self._held)

    async def _until(self, fact: Callable[[], bool]) -> None:
        """Until a fact is true. Outcomes whose lease has ended are forgotten: the store was away for so long."""
        while not fact():
            for chore in self._chores:
                # Without its chores this worker settles nothing; waiting for it would be for ever.
                if chore.done():
                    return
            self._changed.clear()
            try:
                async with asyncio.timeout(LOOK_EVERY_S):
                    await self._changed.wait()
            except TimeoutError:
                now = monotonic()
                late = [work for work in self._held if work.over and work.lease_until < now]
                self._held.difference_update(late)
