"""The verb that ends many claims at once, each in its own way. `Queue` has it; it is written here.

For whoever works on many tasks and is no dibs worker: all that ended goes into one commit.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from msgspec import ValidationError, convert

from dibs import settling
from dibs.errors import DibsError, Invalid
from dibs.model.ended import COMPLETED, FAILED, RELEASED, Ended
from dibs.model.retry import Retry
from dibs.model.status import Status
from dibs.requests import MAX_DELAY_S, MAX_LIMIT, agent_text, failure, held, usage
from dibs.rules import retry, validation
from dibs.rules.budgets import EXCEEDED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dibs.model.claim import Claim, Settled
    from dibs.queue import Queue
    from dibs.requests import Held
    from dibs.stores.values import Settlement, Usage

    Draw = Callable[[], float]

_KINDS = (COMPLETED, FAILED, RELEASED)
_STOPPED = (RELEASED, EXCEEDED)
"""The reasons to give back what may have been stopped by a budget."""


class Outcomes:
    """How a queue ends what was done side by side."""

    async def settle_outcomes(
        self, outcomes: Sequence[Ended], *, known: Mapping[tuple[str, int], Claim] | None = None
    ) -> list[Settled | DibsError]:
        """End up to 1,000 claims in one commit: as `complete`, `fail` or `release` would; an answer or an error each.

        `known`: claims that are at hand, by task and fence; the others are looked up.
        """
        if len(outcomes) > MAX_LIMIT:
            raise Invalid(f"{len(outcomes):,} outcomes in one call; at most {MAX_LIMIT:,} are taken.", field="outcomes")
        queue = cast("Queue", self)
        settlements: list[Settlement] = []
        answers: list[Settled | DibsError | None] = []
        draws: dict[str, float] = {}
        for ended in outcomes:
            try:
                named = held((ended.task_id, ended.fence))
                # What failed alike in one call was one attempt at a group: with equal policies it comes back together.
                draw = partial(_drawn, queue, draws, str(ended.error))
                settlements.append(await _settlement(queue, (known or {}).get(named, named), ended, draw))
                answers.append(None)
            except DibsError as error:
                answers.append(error)
        settled = iter(await queue.settle(settlements)) if settlements else iter(())
        return [next(settled) if answer is None else answer for answer in answers]


def _drawn(queue: Queue, draws: dict[str, float], error: str) -> float:
    """One draw for all that failed alike."""
    if error not in draws:
        draws[error] = queue.draw()
    return draws[error]


async def _settlement(queue: Queue, claimed: Held, ended: Ended, draw: Draw) -> Settlement:
    """What one outcome leads to."""
    if ended.outcome not in _KINDS:
        raise Invalid(f"outcome must be one of {', '.join(_KINDS)}, not {ended.outcome!r:.80}.", field="outcome")
    if ended.outcome == RELEASED:
        return await _released(queue, claimed, ended, await _used(queue, claimed, ended))
    used = await _used(queue, claimed, ended)
    end = _completed if ended.outcome == COMPLETED else _failed
    return await end(queue, claimed, ended, used, draw)


async def _used(queue: Queue, claimed: Held, ended: Ended) -> Usage | None:
    """What was used, as told: priced by whoever told it, else here."""
    told = (ended.cost, ended.tokens_in, ended.tokens_out, ended.turns, ended.model)
    if ended.price is None:
        return await queue._used(claimed, *told, ended.tokens_cached, ended.tokens_cache_written)
    used = usage(*told)
    if used is not None:
        used.price = validation.text(ended.price, "price")
    return used


async def _released(queue: Queue, claimed: Held, ended: Ended, used: Usage | None) -> Settlement:
    claim = await queue._snapshot(claimed)
    reason = RELEASED if ended.reason == "error" else validation.text(ended.reason, "reason")
    if validation.flag(ended.untouched, "untouched"):
        return settling.untouched(claim, reason)
    delay_s = validation.duration_s(ended.delay, "delay", high=MAX_DELAY_S)
    # Whoever gives it back for another reason, such as leaving, was not stopped.
    over = await queue._over_budget(claim, used) if reason in _STOPPED else None
    return settling.released(claim, delay_s=delay_s, reason=reason, usage=used, over=over)


async def _snapshot(queue: Queue, claimed: Held, ended: Ended) -> Claim:
    """The claim, with the retry policy of its handler where the task has none."""
    claim = await queue._snapshot(claimed)
    if claim.task.retry is None and ended.policy is not None:
        try:
            claim.task.retry = retry.check(convert(ended.policy, Retry))
        except ValidationError as error:
            raise Invalid(f"policy: {error}.", field="policy") from None
    return claim


async def _completed(queue: Queue, claimed: Held, ended: Ended, used: Usage | None, draw: Draw) -> Settlement:
    kept = await queue._passed_on(ended.artifacts) if ended.artifacts else ()
    claim = await _snapshot(queue, claimed, ended)
    over = await queue._over_limit(claim, used)
    done = settling.completed(
        claim,
        ended.output,
        usage=used,
        decision=ended.decision,
        artifacts=kept,
        sanitized=validation.flag(ended.sanitized, "sanitized"),
        over=over,
    )
    if ended.exit_code is not None:
        done.exit_code = validation.whole(ended.exit_code, "exit_code", -(2**31), 2**31)
    if ended.refusal is not None and not ended.judged:
        raise Invalid("refusal is what a judgement found: say `judged`, too.", field="judged")
    if not validation.flag(ended.judged, "judged") or claim.task.expects is None or done.next is not Status.COMPLETED:
        return await queue._checked(claim, done)
    return _judged(claim, done, ended.refusal, draw=draw, poison=queue.poison)


def _judged(claim: Claim, done: Settlement, refusal: Any, *, draw: Callable[[], float], poison: Any) -> Settlement:
    """A completion whose commands were run elsewhere. What can be looked at here is looked at all the same."""
    from dibs import checking

    told = None if refusal is None else validation.clean_text(agent_text(refusal, "refusal"), 20_000)[0]

    def found(_: Any) -> str | None:
        return told

    output, decision = done.output or b"null", done.decision or b"null"
    return settling.judged(
        claim, done, checking.refusal(claim.task.expects, output, decision, found), draw=draw, poison=poison
    )


async def _failed(queue: Queue, claimed: Held, ended: Ended, used: Usage | None, draw: Draw) -> Settlement:
    told = failure(
        cast("str", ended.error),
        reason=ended.reason,
        retry=ended.retry,
        retry_after=ended.retry_after,
        exit_code=ended.exit_code,
    )
    claim = await _snapshot(queue, claimed, ended)
    failed = settling.failed(
        claim,
        **told,
        draw=draw(),
        usage=used,
        over=await queue._over_limit(claim, used),
        poison=queue.poison,
        now=queue.store.now(),
    )
    failed.together = validation.flag(ended.together, "together")
    return failed
