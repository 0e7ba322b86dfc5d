"""Hearing of commits: our own at once, those of others through LISTEN, and by looking now and then in any case.

Hints are only hints. They are sent after the commit, in a statement of their own, at most one every few milliseconds;
one that is lost costs whoever waits a moment, until the next look.
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from dibs.stores.postgres.pool import farewell

if TYPE_CHECKING:
    from dibs.stores.postgres.pool import Connection

LOOK = "SELECT dibs.newest(), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

SHORTEST_GAP_S, STREAM_GAP_S, LONGEST_GAP_S = 0.005, 0.05, 0.25
"""Between two hints of one store: at first, in a steady stream of commits, and among a crowd of stores at the most."""
QUIET_S = 0.015
"""After so long without a commit the hint of the next may leave with it."""
WAKE_SOONEST_S, WAKE_LATEST_S = 0.005, 0.02
"""Hints that come more quickly wake who waits once for all of them; in a steady stream of them, which may well be of
what others do, less often."""
LISTENING_S = 1.0
"""How often to look while notifications come."""
SHORTEST_S, LONGEST_S = 0.05, 0.5
"""How often to look while none come: the longer nothing happens, the less often."""
_TOO_LONG = 1.5
_TRY_WITHOUT, _TRY_HINTING = 16, 64
_NOTIFY = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)"
_REPLY_S = 5.0
_LAST_HINT_S = 1.0
_SLOWEST_RETRY_S = 5.0


class Line(Protocol):
    """What is needed of the engine."""

    async def patiently(self, sql: str, *args: Any) -> list[Any]:
        """Run a statement that may be repeated; in the event loop of the connections."""
        ...

    async def attempt(self, sql: str, *args: Any) -> list[Any]:
        """Run a statement once; no patience, no repeating."""
        ...

    async def connect(self) -> Connection:
        """A connection beside those of the pool."""
        ...

    def text(self, sql: str) -> str:
        """A statement for the real schema."""
        ...

    def measured(self, server_us: int, asked: float, answered: float) -> None:
        """Take note of the server's clock."""
        ...


class Company:
    """Whether there are others who notify with their commits: those wait for each other, and for each other's disk.
    Thirty who add side by side, each of them rarely, would so commit one after the other.

    Told from how long small commits take, with a hint and without. Now and then it is tried the other way.
    """

    def __init__(self) -> None:
        self._turn = 0
        self._usual_s: float | None = None
        self._hinting_s: float | None = None

    def allows(self) -> bool:
        """Whether the next commit may notify."""
        self._turn += 1
        crowded = (
            self._usual_s is not None and self._hinting_s is not None and self._hinting_s > _TOO_LONG * self._usual_s
        )
        return self._turn % _TRY_HINTING == 0 if crowded else self._turn % _TRY_WITHOUT != 0

    def took(self, hinted: bool, seconds: float) -> None:
        """So long a commit took."""
        if hinted:
            self._hinting_s = _smoothed(self._hinting_s, seconds)
        else:
            self._usual_s = _smoothed(self._usual_s, seconds)


class Crowd:
    """How much room to leave to the hints of others: many of them cost each other, and the commits of their stores,
    more than it takes to send one. Told from how much longer than it could one takes."""

    REST = 100
    """So many times what it waited none follows one. Others are heard of meanwhile."""

    def __init__(self) -> None:
        self._least_s: float | None = None
        """What the quickest took, of late: how far away a server is, is nobody's fault."""
        self._waited_s = 0.0

    def gap_s(self, took_s: float) -> float:
        """How soon the next may follow one that took so long."""
        self._least_s = took_s if self._least_s is None else min(took_s, self._least_s * 1.02)
        self._waited_s = _smoothed(self._waited_s, took_s - self._least_s)
        return min(max(self.REST * self._waited_s, SHORTEST_GAP_S), LONGEST_GAP_S)


class Pace:
    """How soon the next of many like things may follow: at once after a quiet moment, in a stream ever later."""

    def __init__(self, soonest_s: float, latest_s: float) -> None:
        self.soonest_s = soonest_s
        self.latest_s = latest_s
        self._gap_s = soonest_s
        self._at = 0.0

    def left_s(self, now: float) -> float:
        """How long the one that is asked for has to wait; 0: not at all."""
        left_s = self._at + self._gap_s - now
        if left_s <= 0:
            self._gap_s = self.soonest_s
            return 0.0
        self._gap_s = max(min(self._gap_s * 2, self.latest_s), self.soonest_s)
        return left_s

    def went(self, now: float) -> None:
        """There was one."""
        self._at = now

    def begin(self, now: float) -> None:
        """There was one, and it was no part of a stream."""
        self._at = now
        self._gap_s = self.soonest_s


def _smoothed(known: float | None, seconds: float) -> float:
    return seconds if known is None else known + (seconds - known) / 4


class Hints:
    """A number that changes with every commit that was heard of, and those who wait for it. For one event loop.

    The first who waits starts the listener; it stays. The look at the database is taken only while somebody waits,
    and once for all of them.
    """

    def __init__(self, line: Line, channel: str, *, listening: bool, sending: bool) -> None:
        self._number = 0
        self._line = line
        self._channel = channel
        self._listening = listening
        self._sending = sending
        self._origin = os.urandom(4).hex()
        """Names this store in its own hints, which need no attention here."""
        self._waiters: set[asyncio.Future[None]] = set()
        self._somebody = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None
        self._listener: Connection | None = None
        self._listen_at = 0.0
        self._retry_s = SHORTEST_S
        self._seen: int | None = None
        self._looked_at = 0.0
        self._pause_s = SHORTEST_S
        self._committed_at = 0.0
        self._crowd = Crowd()
        self._company = Company()
        self._sends = Pace(SHORTEST_GAP_S, STREAM_GAP_S)
        self._wakes = Pace(WAKE_SOONEST_S, WAKE_LATEST_S)
        self._waking: asyncio.TimerHandle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._hint: asyncio.Task[None] | None = None

    # Telling

    def with_commit(self) -> list[str] | None:
        """The hint, to be sent by the very statement that commits: nobody is told sooner. Only after a quiet moment,
        and while nobody else does the same, since commits that notify wait for each other."""
        if not self._sending or self._timer is not None:
            return None
        now = time.monotonic()
        if now < self._committed_at + QUIET_S or not self._company.allows():
            return None
        self._sends.begin(now)
        return [self._channel, self._origin]

    def changed(self, hinted: bool = False, took_s: float | None = None) -> None:
        """Something was committed here: wake who waits in this process, and send the others a hint, if none was.
        `took_s`: how long a small commit took."""
        self._bump()
        if took_s is not None:
            self._company.took(hinted, took_s)
        now = self._committed_at = time.monotonic()
        if hinted or not self._sending or self._timer is not None:
            return
        left_s = self._sends.left_s(now)
        if left_s:
            # Commits come quickly, so waiters are awake: tell them of many at once.
            self._timer = asyncio.get_running_loop().call_later(left_s, self._send)
        else:
            self._send()

    def _send(self) -> None:
        self._timer = None
        now = time.monotonic()
        self._sends.went(now)
        if self._hint is not None and not self._hint.done():
            # The one under way is slow; another must follow, since it may have been sent before the last commit.
            self._timer = asyncio.get_running_loop().call_later(self._sends.left_s(now), self._send)
            return
        self._hint = asyncio.create_task(self._notify())

    async def _notify(self) -> None:
        began = time.monotonic()
        # It tells of what is kept already, so nobody needs to wait for the disk once more.
        # If this fails, the others will see by themselves.
        with suppress(Exception):
            await self._line.attempt(_NOTIFY, self._channel, self._origin)
        self._sends.soonest_s = self._crowd.gap_s(time.monotonic() - began)

    # Waiting

    async def news(self) -> int:
        """The number. While somebody listens it is known here, as far as hints have come; else it is asked for."""
        if self._listener is None:
            asked = time.monotonic()
            [(newest, server_us)] = await self._line.patiently(LOOK)
            self._saw(newest, server_us, asked)
        return self._number

    async def wait(self, since: int, timeout_s: float) -> int:
        """Return when the number differs from `since`, at the latest after `timeout_s`."""
        if self._number == since and timeout_s > 0:
            loop = asyncio.get_running_loop()
            waiter = loop.create_future()
            self._waiters.add(waiter)
            self._watch()
            timer = loop.call_later(timeout_s, _wake, waiter)
            try:
                await waiter
            finally:
                timer.cancel()
                self._waiters.discard(waiter)
        return self._number

    def _bump(self) -> None:
        self._number += 1
        for waiter in self._waiters:
            _wake(waiter)

    def _watch(self) -> None:
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._look_on())
        self._somebody.set()

    async def _look_on(self) -> None:
        while True:
            if not self._waiters:
                self._somebody.clear()
                self._pause_s = SHORTEST_S
                await self._somebody.wait()
            if self._listening and self._listener is None and time.monotonic() >= self._listen_at:
                await self._listen()
            left = self._looked_at + self._until_look() - time.monotonic()
            if left <= 0:
                await self._look()
            else:
                await asyncio.sleep(min(left, self._pause_s) if self._listener is None else left)

    def _until_look(self) -> float:
        return self._pause_s if self._listener is None else LISTENING_S

    async def _look(self) -> None:
        """Ask for the newest commit. With a listener this also shows whether its connection still lives."""
        asked = time.monotonic()
        listener = self._listener
        try:
            if listener is not None:
                [(newest, server_us)] = await listener.fetch(self._line.text(LOOK), timeout=_REPLY_S)
            else:
                [(newest, server_us)] = await self._line.attempt(LOOK)
        except Exception:
            # Whoever calls a verb will be told. Until the server is back there is nothing to hear.
            if listener is not None:
                listener.terminate()
            self._looked_at = time.monotonic()
            self._pause_s = LONGEST_S
        else:
            self._saw(newest, server_us, asked)

    def _saw(self, newest: int, server_us: int, asked: float) -> None:
        self._looked_at = time.monotonic()
        self._line.measured(server_us, asked, self._looked_at)
        if newest != self._seen:
            self._seen = newest
            self._pause_s = SHORTEST_S
            self._bump()
        else:
            self._pause_s = min(self._pause_s * 1.5, LONGEST_S)

    async def _listen(self) -> None:
        try:
            connection = await self._line.connect()
            try:
                connection.add_termination_listener(self._deaf)
                await connection.add_listener(self._channel, self._heard)
            except BaseException:
                connection.terminate()
                raise
        except Exception:
            self._listen_at = time.monotonic() + self._retry_s
            self._retry_s = min(self._retry_s * 2, _SLOWEST_RETRY_S)
            return
        self._listener = connection
        self._retry_s = SHORTEST_S
        # What was committed before is heard of by nobody: let everybody look.
        self._bump()

    def _heard(self, connection: Connection, pid: int, channel: str, origin: object) -> None:
        if origin == self._origin or self._waking is not None:
            return
        left_s = self._wakes.left_s(time.monotonic())
        if left_s:
            self._waking = asyncio.get_running_loop().call_later(left_s, self._wake_up)
        else:
            self._wake_up()

    def _wake_up(self) -> None:
        self._waking = None
        self._wakes.went(time.monotonic())
        self._bump()

    def _deaf(self, connection: Connection) -> None:
        if self._listener is connection:
            self._listener = None
            self._looked_at = 0.0
            if self._watching is not None and self._waiters:
                # It may sleep until the next look, which is now due.
                self._watching.cancel()
                self._watching = asyncio.create_task(self._look_on())

    # Leaving

    async def close(self) -> None:
        """Send the hint that is due, and let go of the listener."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._hint = asyncio.create_task(self._notify_after(self._hint))
        if self._hint is not None:
            await asyncio.wait({self._hint}, timeout=_LAST_HINT_S)
            self._hint.cancel()
        if self._waking is not None:
            self._waking.cancel()
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait({self._watching})
        listener, self._listener = self._listener, None
        if listener is not None:
            await farewell(listener)
        self._bump()

    async def _notify_after(self, hint: asyncio.Task[None] | None) -> None:
        if hint is not None:
            await hint
        await self._notify()


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
