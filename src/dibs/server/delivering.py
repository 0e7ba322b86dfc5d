"""Telling hooks what happened: durable, in order, at least once, by any number of servers.

How far a hook is, is a document. Whoever has something for it writes their name into that document first, with the
version that they read, and delivers while their name is there and not over; so two servers do not deliver at once, and
when one dies another goes on from what was written last. What it had sent and not yet written is sent again, under the
same id. While there is nothing to send, nothing is written.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dibs import hooks as kept
from dibs.errors import Conflict, DibsError
from dibs.model.hook import Delivery, HookSpec, HookState
from dibs.model.instants import from_micros, seconds
from dibs.requests import default_agent
from dibs.rules import hooks
from dibs.rules.hooks import Verdict
from dibs.server.alarming import tell_of_budgets
from dibs.server.messages import Messages

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.model.event import Event
    from dibs.queue import Queue
    from dibs.server.feed import Feed
    from dibs.server.mailing import Mailer
    from dibs.server.sending import Answer, Sender
    from dibs.stores.contract import Store

log = logging.getLogger("dibs.server")

LOOK_S = 1.0
"""How soon a change of a hook is noticed."""
IDLE_S = 5.0
"""How often it is looked for where nothing happens at all."""
LEASE_S = 20.0
"""How long after the death of a server another one goes on with its hooks."""
RENEW_S = 16.0
"""With less than this left, the lease is renewed before anything is sent; a bit more than one try can take."""
SAVE_S = 1.0
"""How long deliveries may be made before they are written down."""
SAVE_IDLE_S = 60.0
"""How long a hook may pass over events that it does not want before that is written down."""
ALARM_S = 15.0
"""How often budgets are looked at."""
BATCH = 200
LOGGED = 50
"""How many of the last deliveries are kept."""
ERROR_CHARS = 300
PAUSE_S = 2.0
"""How long to wait when the store is away, or something unforeseen went wrong."""


class Delivering:
    """Delivers to the hooks of all projects of a queue's store, until it is cancelled."""

    def __init__(
        self,
        queue: Queue,
        feed: Feed,
        sender: Sender,
        mailer: Mailer,
        *,
        name: str | None = None,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._queue = queue
        self._store = queue.store
        self._feed = feed
        self._sender = sender
        self._mailer = mailer
        self._name = name or default_agent()
        self._draw = draw
        self._alarm_at = 0.0
        self._couriers: dict[str, tuple[Courier, asyncio.Task[None]]] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Look for hooks, and see to it that each has a courier; when cancelled, what they did is written down."""
        try:
            while True:
                try:
                    seen = await self._store.news()
                    await self._look()
                    await asyncio.sleep(LOOK_S)
                    if self._couriers:
                        await self._store.wait_for_news(seen, IDLE_S)
                except DibsError as error:
                    log.warning("hooks cannot be read, and are tried again: %s", error)
                    await asyncio.sleep(PAUSE_S)
                except Exception:
                    log.exception("looking for hooks failed; it is tried again")
                    await asyncio.sleep(PAUSE_S)
        finally:
            running = [*self._leaving, *(task for _, task in self._couriers.values())]
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _look(self) -> None:
        """Start couriers for hooks that have none, stop those of hooks that are paused or gone."""
        wanted: set[str] = set()
        projects = await kept.projects_with_hooks(self._store)
        if time.monotonic() >= self._alarm_at:
            self._alarm_at = time.monotonic() + ALARM_S
            for project in {self._queue.project, *projects}:
                await tell_of_budgets(self._queue, project)
        for project in projects:
            specs = await kept.specs_of(self._store, project)
            states = await kept.states_of(self._store, project) if specs else {}
            for name, spec in specs.items():
                state, version = states.get(spec.id, (None, 0))
                if spec.paused or state is None or (state.disabled_at is not None and state.pinged >= state.pings):
                    continue
                wanted.add(spec.id)
                self._serve(project, name, spec, version)
        for hook_id in self._couriers.keys() - wanted:
            task = self._couriers.pop(hook_id)[1]
            task.cancel()
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    def _serve(self, project: str, name: str, spec: HookSpec, version: int) -> None:
        known = self._couriers.get(spec.id)
        if known is not None and not known[1].done():
            known[0].hear(spec, version)
            return
        messages = Messages(self._queue, project, self._sender, self._mailer)
        courier = Courier(self._store, project, name, spec, self._feed, messages, self._name, self._draw)
        self._couriers[spec.id] = (courier, asyncio.create_task(courier.run(), name=f"hook {name}"))


class Courier:
    """Delivers to one hook."""

    def __init__(
        self,
        store: Store,
        project: str,
        name: str,
        spec: HookSpec,
        feed: Feed,
        messages: Messages,
        holder: str,
        draw: Callable[[], float],
    ) -> None:
        self._store = store
        self._project = project
        self._name = name
        self._spec = spec
        self._feed = feed
        self._messages = messages
        self._holder = holder
        self._draw = draw
        self._state = HookState()
        self._version = 0
        self._saved = HookState()
        self._saved_at = 0.0
        self._place = 0
        """Everything up to here was delivered or is not wanted."""
        self._log: list[Delivery] = []
        self._log_version = 0
        self._heard = asyncio.Event()

    def hear(self, spec: HookSpec, version: int) -> None:
        """What the hook is set to by now, and the version of how far it is."""
        self._spec = spec
        if version != self._version:
            self._heard.set()

    async def run(self) -> None:
        """Deliver until cancelled, or until the hook is gone."""
        with self._feed.follow():
            while True:
                try:
                    if not await self._reload():
                        return
                    await self._deliver()
                    continue
                except Conflict:
                    # Somebody else wrote how far it is: a server that took over, or a person.
                    continue
                except DibsError as error:
                    log.warning("hook %s: %s", self._name, error)
                except asyncio.CancelledError:
                    await self._let_go()
                    raise
                except Exception:
                    log.exception("hook %s: delivering failed; it is tried again", self._name)
                await asyncio.sleep(PAUSE_S)

    async def _reload(self) -> bool:
        """Read how far it is; False if the hook is gone."""
        self._heard.clear()
        self._state, self._version = await kept.read_state(self._store, self._project, self._spec.id)
        self._saved, self._saved_at = self._state, time.monotonic()
        self._place = self._state.seq
        return self._version > 0

    async def _deliver(self) -> None:
        """Deliver what there is and what comes, until somebody else changes something."""
        while not self._heard.is_set():
            wait_s = self._wait_s()
            if wait_s != 0:
                await self._until_heard(wait_s)
            elif self._state.pings > self._state.pinged:
                await self._take()
                await self._ping()
            elif not await self._bring():
                await self._until_more()

    def _wait_s(self) -> float | None:
        """How long nothing is to be tried; None: until somebody resumes the hook."""
        now = self._store.now()
        if self._state.holder not in ("", self._holder) and self._state.until > now:
            # Another server is at it. Its next write is heard of.
            return (self._state.until - now) / 1e6
        if self._state.pings > self._state.pinged:
            # A test is sent however it is going.
            return 0.0
        if self._state.disabled_at is not None:
            return None
        return max(((self._state.next_at or 0) - now) / 1e6, 0.0)

    async def _bring(self) -> bool:
        """Deliver of the next events those that the hook wants; False if there are none."""
        found, end = await self._feed.after(self._place, self._project, BATCH)
        if end == self._place:
            return False
        wanted = [event for event in found if self._is_for_it(event)]
        if wanted:
            await self._take()
        for event in wanted:
            await self._renew()
            if not await self._try(event):
                await self._save(release=True)
                return True
        # A store that counts anew says so with a gap that lies behind.
        self._place = end
        self._state = replace(self._state, seq=end)
        if wanted or time.monotonic() - self._saved_at > SAVE_IDLE_S:
            await self._save(release=True)
        return True

    def _is_for_it(self, event: Event) -> bool:
        spec = self._spec
        return hooks.is_for(event, spec.events, task=spec.task, dag=spec.dag, agent=spec.agent)

    async def _try(self, event: Event) -> bool:
        """Make one try to deliver an event; whether to go on with the next."""
        answer = await self._messages.send(self._spec, event)
        found = hooks.verdict(answer.code, self._state.attempts + 1)
        self._note(hooks.message_id(self._spec.id, event), event.seq, event.type, answer, found)
        now = self._store.now()
        why = answer.error or ""
        if found is Verdict.DELIVERED:
            self._state = hooks.moved_on(self._state, event.seq)
        elif found is Verdict.REFUSED:
            self._state = hooks.refused(self._state, event.seq)
        elif found is Verdict.GONE:
            self._state = hooks.disabled(self._state, now, why)
        else:
            wait_s = hooks.delay_s(self._state.attempts + 1, self._draw(), answer.retry_after)
            self._state = hooks.failed(self._state, now, why[:ERROR_CHARS], wait_s)
        if self._state.disabled_at is not None:
            log.warning("hook %s is disabled: %s", self._name, why)
            # Before it is written down: rather told twice than not at all.
            said = {"hook": self._name, "url": self._spec.url, "error": why[:ERROR_CHARS]}
            await self._store.tell(self._project, "hook.disabled", reason=str(found), data=said)
        self._place = self._state.seq
        return found in (Verdict.DELIVERED, Verdict.REFUSED)

    async def _ping(self) -> None:
        """Send the test message that somebody asked for; how it goes changes nothing else."""
        number = self._state.pings
        answer = await self._messages.ping(self._spec, number)
        found = Verdict.DELIVERED if answer.error is None else Verdict.AGAIN
        self._note(hooks.ping_id(self._spec.id, number), 0, "ping", answer, found)
        self._state = replace(self._state, pinged=number)
        await self._save(release=True)

    def _note(self, id: str, seq: int, type: str, answer: Answer, found: Verdict) -> None:
        error = None if answer.error is None else answer.error[:ERROR_CHARS]
        outcome = "failed" if found is Verdict.GONE else str(found)
        attempt = 1 if type == "ping" else self._state.attempts + 1
        at = from_micros(self._store.now())
        self._log.append(
            Delivery(
                id=id,
                seq=seq,
                type=type,
                at=at,
                attempt=attempt,
                outcome=outcome,
                code=answer.code,
                error=error,
                took_s=answer.took_s,
            )
        )
        del self._log[:-LOGGED]

    # Who delivers, and how far

    async def _take(self) -> None:
        """Write our name down, unless it is there. Raises Conflict if somebody else was quicker."""
        if self._state.holder != self._holder:
            self._log, self._log_version = await kept.read_log(self._store, self._project, self._spec.id)
            await self._save(release=False)

    async def _renew(self) -> None:
        """Write down what was delivered now and then, and before the lease gets short."""
        short = self._state.until - self._store.now() < seconds(RENEW_S)
        if short or time.monotonic() - self._saved_at > SAVE_S:
            await self._save(release=False)

    async def _save(self, *, release: bool) -> None:
        """Write down how far it is. Raises Conflict if somebody else did; then what they wrote counts, unless they
        only asked for a test."""
        until = 0 if release else self._store.now() + seconds(LEASE_S)
        state = replace(self._state, holder="" if release else self._holder, until=until)
        try:
            version = await kept.write_state(self._store, self._project, self._spec.id, state, self._version)
        except Conflict:
            found, version = await kept.read_state(self._store, self._project, self._spec.id)
            if found != replace(self._saved, pings=found.pings):
                raise
            state = replace(state, pings=found.pings)
            version = await kept.write_state(self._store, self._project, self._spec.id, state, version)
        self._state = self._saved = state
        self._version, self._saved_at = version, time.monotonic()
        if self._log:
            await self._save_log()

    async def _save_log(self) -> None:
        try:
            project, hook_id = self._project, self._spec.id
            self._log_version = await kept.write_log(self._store, project, hook_id, self._log, self._log_version)
        except Conflict:
            # It is for people, and another server's is as good.
            self._log, self._log_version = await kept.read_log(self._store, self._project, self._spec.id)

    async def _let_go(self) -> None:
        """We are told to stop: what was delivered is written down, and others may go on at once."""
        if self._state.holder != self._holder:
            return
        try:
            await self._save(release=True)
        except DibsError:
            log.warning("hook %s: what was delivered last could not be written down; it is sent again", self._name)

    async def _until_heard(self, timeout_s: float | None) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await self._heard.wait()
        except TimeoutError:
            pass

    async def _until_more(self) -> None:
        """Until there are events, or somebody changed something."""
        waiting = [
            asyncio.create_task(self._feed.wait(self._place, SAVE_IDLE_S)),
            asyncio.create_task(self._heard.wait()),
        ]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
