"""The verbs that end a claim and its group together, in one commit. `Queue` has them.

One by one, the claims in `claim.group` are settled like any other. What a group used is told of its first; of the
others it is nothing then, so that it is counted once. Whoever has no claim at hand, such as a shell, names id and fence
of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dibs import settling
from dibs.errors import Conflict, Invalid, NotFound
from dibs.model.claim import Claim
from dibs.requests import MAX_DELAY_S, failure
from dibs.rules import validation
from dibs.stores.values import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.errors import DibsError
    from dibs.model.claim import Settled
    from dibs.queue import Queue
    from dibs.requests import Held
    from dibs.stores.values import Settlement


class Coalescing:
    """How a queue ends what was taken together."""

    async def complete_group(
        self,
        claim: Claim | Sequence[Held],
        output: Any = None,
        *,
        cost: float | None = None,
        tokens_in: int | None = None,
        tokens_out: int | None = None,
        turns: int | None = None,
        model: str | None = None,
        tokens_cached: int | None = None,
        tokens_cache_written: int | None = None,
        decision: Any = None,
    ) -> list[Settled | DibsError]:
        """As `complete`, for a claim and all in its group, or for all of a list: the same output for each.

        An answer or an error each, the claim's own first. Each output is checked against what its own task expects.
        What was settled one by one before is answered as settling it again is.
        """
        queue = cast("Queue", self)
        claims = await _members(queue, claim)
        cached = (tokens_cached, tokens_cache_written)
        used = await queue._used(claims[0], cost, tokens_in, tokens_out, turns, model, *cached)
        settlements: list[Settlement] = []
        refused: dict[str, DibsError] = {}
        for each, share in _shared(claims, used):
            over = await queue._over_limit(each, share)
            done = settling.completed(each, output, usage=share, decision=decision, over=over)
            others = [other for other in claims if other is not each]
            try:
                settlements.append(await queue._checked(each, done, beside=others))
            except (Conflict, NotFound) as error:
                refused[each.task.id] = error
        answers = iter(await queue.settle(settlements))
        return [refused.get(each.task.id) or next(answers) for each in claims]

    async def fail_group(
        self,
        claim: Claim | Sequence[Held],
        error: str,
        *,
        reason: str = "error",
        retry: bool = True,
        retry_after: Any = None,
        exit_code: int | None = None,
        cost: float | None = None,
        tokens_in: int | None = None,
        tokens_out: int | None = None,
        turns: int | None = None,
        model: str | None = None,
        tokens_cached: int | None = None,
        tokens_cache_written: int | None = None,
    ) -> list[Settled | DibsError]:
        """As `fail`, for a claim and all in its group. Each goes by its own retry policy; those with equal ones come
        back at the same moment, and so together."""
        queue = cast("Queue", self)
        told = failure(error, reason=reason, retry=retry, retry_after=retry_after, exit_code=exit_code)
        claims = await _members(queue, claim)
        cached = (tokens_cached, tokens_cache_written)
        used = await queue._used(claims[0], cost, tokens_in, tokens_out, turns, model, *cached)
        draw, now = queue.draw(), queue.store.now()
        settlements = []
        for each, share in _shared(claims, used):
            failed = settling.failed(
                each,
                **told,
                draw=draw,
                usage=share,
                over=await queue._over_limit(each, share),
                poison=queue.poison,
                now=now,
            )
            # It was one attempt at all of them.
            failed.together = each is not claim
            settlements.append(failed)
        return await queue.settle(settlements)

    async def release_group(self, claim: Claim | Sequence[Held], *, delay: Any = 0) -> list[Settled | DibsError]:
        """As `release`, for a claim and all in its group."""
        delay_s = validation.duration_s(delay, "delay", high=MAX_DELAY_S)
        queue = cast("Queue", self)
        settlements = [
            settling.released(each, delay_s=delay_s, over=await queue._over_budget(each))
            for each in await _members(queue, claim)
        ]
        return await queue.settle(settlements)


def share_of(used: Usage | None) -> Usage | None:
    """What is told of the others of a group where this is told of its first: nothing more of all that is known."""
    if used is None:
        return None
    return Usage(
        cost_usd=None if used.cost_usd is None else 0.0,
        tokens_in=None if used.tokens_in is None else 0,
        tokens_out=None if used.tokens_out is None else 0,
        turns=None if used.turns is None else 0,
        model=used.model,
    )


def with_groups(claims: Sequence[Claim]) -> list[Claim]:
    """All claims, each followed by those of its group."""
    return [each for claim in claims for each in (claim, *claim.group)]


async def _members(queue: Queue, claim: Claim | Sequence[Held]) -> list[Claim]:
    """The claims of a group, the first one first."""
    if isinstance(claim, Claim):
        return [claim, *claim.group]
    members = [await queue._snapshot(each) for each in several(claim)]
    if len({member.task.id for member in members}) < len(members):
        raise Invalid("a group has each of its tasks once.", field="claim")
    return members


def several(claim: Any) -> Sequence[Held]:
    """What names the tasks of a group, if it does."""
    if not isinstance(claim, (list, tuple)) or not claim or isinstance(claim[0], str):
        what = "a group is settled by the claim that `claim` answered, or by id and fence of each of its tasks."
        raise Invalid(what, field="claim")
    return claim


def _shared(claims: Sequence[Claim], used: Usage | None) -> list[tuple[Claim, Usage | None]]:
    """The claims of a group, each with its share of what was used."""
    share = share_of(used)
    return [(claims[0], used), *((other, share) for other in claims[1:])]
