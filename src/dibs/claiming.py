"""The verbs by which work is handed out. `Queue` has them; they are written here.

A claim that nobody waits for any more gives back what it took.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

from dibs import duties, settling
from dibs.artifacts.overflow import filled
from dibs.coalescing import with_groups
from dibs.errors import DibsError, Invalid, Unavailable
from dibs.model.claim import Claims
from dibs.reading import POLL_S
from dibs.requests import MAX_WAIT_S, claim_request, default_agent
from dibs.rules import validation
from dibs.stores.chances import Chance

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable

    from dibs.model.claim import Claim
    from dibs.queue import Queue
    from dibs.stores.contract import Store
    from dibs.stores.values import Claimed, ClaimRequest


class Claiming:
    """How agents come to their work."""

    store: Store
    project: str
    due_in: float | None
    kept_until: float
    _blocking: bool
    _giving_back: set[asyncio.Future[Any]]

    async def claim(
        self,
        agent: str | None = None,
        *,
        capabilities: Iterable[str] = (),
        types: Iterable[str] | None = None,
        models: Iterable[str] = (),
        limit: int = 1,
        lease: Any = 60,
        wait: Any = 0,
        start: bool = True,
        claim_id: str | None = None,
    ) -> Claims:
        """Take up to `limit` ready tasks this agent can do, best first; an empty list if there are none within `wait`.

        Each is the agent's until its lease ends: renew it, then settle it once. `start=False` claims without
        starting. Repeating a `claim_id` returns the same claims. Runs the duties that nobody has run lately. While a
        rate limit keeps back what it could do, an empty list says for how long to `slow_down`. A task with a
        `coalesce_key` brings those that wait under the same key with it, in `claim.group`; they count as one.
        """
        request = claim_request(
            default_agent() if agent is None else agent,
            project=self.project,
            capabilities=capabilities,
            types=types,
            models=models,
            limit=limit,
            lease=lease,
            start=start,
            claim_id=claim_id,
        )
        patience = validation.duration_s(wait, "wait", high=MAX_WAIT_S)
        deadline = time.monotonic() + patience
        while True:
            seen = await self.store.news() if patience else 0
            if time.monotonic() >= self.kept_until:
                await cast("Queue", self).run_duties()
            claimed = await self._claim(request)
            if claimed.next_due_in == 0 and await self.store.promote(duties.BATCH):
                # It is due now, and the duty that would find it may be a second away.
                claimed = await self._claim(request)
            left = deadline - time.monotonic()
            if claimed.claims or left <= 0:
                return await self._handed_out(claimed)
            due_in = POLL_S if claimed.next_due_in is None else max(claimed.next_due_in, 0.05)
            await self.store.wait_for_news(seen, min(left, due_in, POLL_S))

    async def _handed_out(self, claimed: Claimed) -> Claims:
        self.due_in = claimed.next_due_in
        await self._know_refs(claimed.claims)
        await self._know_made(claimed.claims)
        found = Claims(claimed.claims)
        found.slow_down, found.reason = claimed.slow_down, claimed.reason
        return found

    def chance(self, agent: str, **options: Any) -> Chance:
        """A claim, with the options of `claim`, for a store to make as soon as it hears of news."""
        return Chance(claim_request(agent, project=self.project, **options))

    async def seized(self, chance: Chance) -> Claims | None:
        """What a chance brought that a store has used (`stores.chances`); None: nothing was decided, claim as ever. If
        the caller stops waiting for it, what it took is given back."""
        import asyncio

        assert chance.taking is not None
        try:
            claimed = await asyncio.shield(chance.taking)
            if claimed is None or claimed.next_due_in == 0:
                return None
            return await self._handed_out(await filled(self.store, claimed))
        except asyncio.CancelledError:
            self.abandon(chance)
            raise

    def abandon(self, chance: Chance) -> None:
        """Nobody wants what a chance may bring."""
        if chance.taking is not None:
            chance.taking.add_done_callback(self._give_back)

    async def _claim(self, request: ClaimRequest) -> Claimed:
        """One claim; if the caller stops waiting for it, what it took is given back."""
        if self._blocking:
            return await self.store.claim(request)
        import asyncio

        taking = asyncio.ensure_future(self.store.claim(request))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            taking.add_done_callback(self._give_back)
            raise

    async def _know_made(self, claims: list[Claim]) -> None:
        """Which of them were done before, and only not judged. What is tried again under a contract is looked up; a
        group is done anew."""
        again = [claim for claim in claims if claim.previous_attempts and claim.task.expects is not None]
        if again:
            from dibs import keeping

            lone = [claim for claim in again if not claim.group and _is_tested(claim)]
            await keeping.find(self.store, lone)

    async def _know_refs(self, claims: list[Claim]) -> None:
        """Resolve what contexts refer to. If that cannot be read now, nobody gets the tasks with half of it."""
        claims = with_groups(claims)
        if not any(claim.context is not None and "refs" in claim.context for claim in claims):
            return
        try:
            await cast("Queue", self)._resolve(claims)
        except BaseException:
            try:
                await self.store.settle([settling.untouched(claim, "abandoned") for claim in claims])
            except DibsError:
                pass  # The leases will end by themselves.
            raise

    def _give_back(self, taken: asyncio.Future[Any]) -> None:
        import asyncio

        if taken.cancelled() or taken.exception() is not None:
            return
        claimed: Claimed | None = taken.result()
        if claimed is None or not claimed.claims:
            return
        settlements = [settling.untouched(claim, "abandoned") for claim in with_groups(claimed.claims)]
        giving = asyncio.ensure_future(self.store.settle(settlements))
        self._giving_back.add(giving)
        giving.add_done_callback(self._given_back)

    def _given_back(self, giving: asyncio.Future[Any]) -> None:
        """Nobody waits for it; where the store is gone, the lease will end by itself."""
        self._giving_back.discard(giving)
        if not giving.cancelled():
            giving.exception()


def _is_tested(claim: Claim) -> bool:
    """Whether commands judge its work. Whose contract cannot be read here is told so when the work is completed."""
    try:
        return settling.runs_commands(claim)
    except (Invalid, Unavailable):
        return False
