"""Tokens as the store keeps them: who a caller is, and what it did or was refused.

A token that was looked up is trusted for `TRUSTED_S`; so one that was revoked, by whatever process, is refused within a
second everywhere, and whoever asks a hundred times a second costs the store two reads. Nothing else is remembered of a
secret but its digest.

The audit is written beside the requests, never in their way. What repeats is folded: of the same act by the same
caller with the same outcome, the first is written at once, and those of the next minute as one entry that counts them.
So nobody fills the store by knocking.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from dibs.errors import DibsError
from dibs.model.role import Role
from dibs.rules import audit, tokens
from dibs.rules.access import Rights
from dibs.server.callers import Caller, SpawnLimits

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from dibs.queue import Queue

log = logging.getLogger("dibs.server")

TRUSTED_S = 0.5
MOST_TRUSTED = 10_000
FOLDED_S = 60.0
MOST_FOLDED = 1_000
MOST_WAITING = 1_000
"""Entries that wait for the store; what comes beyond that is logged only."""

_decode = msgspec.json.Decoder(tokens.Kept).decode


class Trusted(Struct, frozen=True):
    """Whose token it is, as looked up: until when that is believed (monotonic), and when it ends (micros)."""

    caller: Caller | None
    until: float
    ends_at: int | None


class Folded(Struct):
    """What repeats: who, since when, how often since it was written last, and what it was done to at last."""

    caller: Caller | None
    since: float
    count: int
    target: str


class StoreAuthority:
    """The callers that a queue's store knows. `close` writes what is still to be written."""

    def __init__(self, queue: Queue, *, trusted_s: float = TRUSTED_S) -> None:
        self._queue = queue
        self._trusted_s = trusted_s
        self._trusted: dict[str, Trusted] = {}
        self._asking: dict[str, asyncio.Task[Trusted]] = {}
        self._used: dict[str, int] = {}
        self._folded: dict[tuple[str, str, str], Folded] = {}
        self._waiting: list[tuple[Caller | None, str, str, str, int]] = []
        self._at_work: set[asyncio.Task[None]] = set()
        self._writing: asyncio.Task[None] | None = None
        self._unfolding: asyncio.Task[None] | None = None

    # Who is asking

    async def identify(self, secret: str) -> Caller | None:
        """Whose token this is; None if it is nobody's, or is not valid any more. Raises Unavailable."""
        if not tokens.is_secret(secret):
            return None
        digest = tokens.digest_of(secret)
        known = self._trusted.get(digest)
        if known is None or known.until <= time.monotonic():
            known = await self._asked(digest)
        now = self._queue.store.now()
        if known.caller is None or (known.ends_at is not None and known.ends_at <= now):
            return None
        self._note_use(known.caller.token_id, now)
        return known.caller

    async def _asked(self, digest: str) -> Trusted:
        """What the store says. Those who ask for the same one at the same time are answered together."""
        asking = self._asking.get(digest)
        if asking is None:
            asking = self._asking[digest] = asyncio.create_task(self._ask(digest))
            asking.add_done_callback(lambda _: self._asking.pop(digest, None))
        return await asyncio.shield(asking)

    async def _ask(self, digest: str) -> Trusted:
        # From before the question: what is answered may be as old as that.
        until = time.monotonic() + self._trusted_s
        found = await self._queue.store.documents("", tokens.KIND, name=digest)
        kept = _decode(found[0].body) if found else None
        known = Trusted(None if kept is None else caller_of(kept), until, None if kept is None else kept.ends_at)
        if len(self._trusted) >= MOST_TRUSTED:
            self._trusted.clear()
        self._trusted[digest] = known
        return known

    # When it was used

    def _note_use(self, token_id: str, now: int) -> None:
        """Write down, now and then, that a token was used."""
        last = self._used.get(token_id)
        if last is None or now - last >= tokens.NOTED_EVERY:
            self._used[token_id] = now
            self._beside(self._queue.store.write_document("", tokens.USED, token_id, b"%d" % now))

    # What was done

    async def record(self, caller: Caller | None, act: str, target: str, outcome: str) -> None:
        """Note for the audit what a caller (None: an unknown one) did or was refused. Never raises."""
        if outcome == audit.DONE:
            self._put(caller, act, target, outcome, 1)
            return
        name = ("" if caller is None else caller.token_id, act, outcome)
        folded = self._folded.get(name)
        if folded is not None:
            folded.count += 1
            folded.target = target
            return
        if len(self._folded) < MOST_FOLDED:
            self._folded[name] = Folded(caller, time.monotonic(), 0, target)
            self._put(caller, act, target, outcome, 1)
            if self._unfolding is None or self._unfolding.done():
                self._unfolding = asyncio.create_task(self._unfold_in_time())

    def _put(self, caller: Caller | None, act: str, target: str, outcome: str, count: int) -> None:
        if len(self._waiting) >= MOST_WAITING:
            log.warning("The audit cannot keep up; not recorded: %s %s %s", act, target, outcome)
            return
        self._waiting.append((caller, act, target, outcome, count))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        while self._waiting:
            caller, act, target, outcome, count = self._waiting.pop(0)
            try:
                await self._queue.record_act(
                    act,
                    target,
                    outcome=outcome,
                    by=None if caller is None else caller.name,
                    token_id=None if caller is None else caller.token_id,
                    project=None if caller is None else caller.project,
                    count=count,
                )
            except DibsError as error:
                log.warning("Not recorded in the audit (%s): %s %s %s", error.message, act, target, outcome)

    async def _unfold_in_time(self) -> None:
        while self._folded:
            await asyncio.sleep(FOLDED_S)
            self._unfold()

    def _unfold(self, *, all: bool = False) -> None:
        """Write down what repeated; what did not for a minute is forgotten."""
        now = time.monotonic()
        for name, folded in list(self._folded.items()):
            if not all and now - folded.since < FOLDED_S:
                continue
            if folded.count:
                self._put(folded.caller, name[1], folded.target, name[2], folded.count)
                self._folded[name] = Folded(folded.caller, now, 0, folded.target)
            else:
                del self._folded[name]

    # Living

    def _beside(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do it beside the request; if it fails, it is done another time."""

        async def quietly() -> None:
            try:
                await work
            except DibsError as error:
                log.debug("Not noted that a token was used: %s", error.message)

        task = asyncio.create_task(quietly())
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)

    async def close(self) -> None:
        """Write what is still to be written."""
        if self._unfolding is not None:
            self._unfolding.cancel()
        self._unfold(all=True)
        if self._writing is not None:
            await self._writing
        await asyncio.gather(*self._at_work)


def caller_of(token: tokens.Kept) -> Caller:
    """Whoever has this token."""
    usual = SpawnLimits()
    return Caller(
        name=token.name,
        role=token.role,
        project=token.project,
        types=None if token.types is None else frozenset(token.types),
        token_id=token.id,
        limits=SpawnLimits(
            depth=usual.depth if token.max_depth is None else token.max_depth,
            children=usual.children if token.max_children is None else token.max_children,
            cost_usd=token.max_cost,
        ),
    )


def rights_of(caller: Caller) -> Rights:
    """What this caller may touch."""
    if caller.role is not Role.AGENT:
        return Rights(project=caller.project)
    return Rights(
        project=caller.project,
        agent=caller.name,
        types=caller.types,
        depth=caller.limits.depth,
        children=caller.limits.children,
        cost_usd=caller.limits.cost_usd,
    )
