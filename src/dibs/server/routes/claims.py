"""Taking work, holding it, ending it: what agents do all day."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from dibs.coalescing import with_groups
from dibs.drafting import Planned
from dibs.errors import Denied, DibsError, Invalid
from dibs.model.claim import Claim, Claims, Settled
from dibs.model.ended import COMPLETED, FAILED, RELEASED, Ended
from dibs.model.role import Role
from dibs.model.task import NewTask
from dibs.requests import MAX_WAIT_S, raised
from dibs.rules import validation
from dibs.rules.access import claimable, named
from dibs.server import given as givens
from dibs.server.admitting import secret_of
from dibs.server.authority import rights_of
from dibs.server.handling import encode, router_of
from dibs.server.judged import unjudged
from dibs.server.leaving import gone
from dibs.wire.topics.claims import AskedOf, Spawned, Taken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.claim import News
    from dibs.server.desk import Asking


async def claim(asking: Asking, wait: Any = 0, **given: Any) -> Raw:
    """Whoever leaves while it waits leaves nothing behind: what was taken for it goes back."""
    desk, queue = asking.desk, asking.queue
    patience = min(validation.duration_s(wait, "wait", high=MAX_WAIT_S), desk.settings.max_wait_s)
    if given.get("claim_id") is None and asking.header(b"idempotency-key") is not None:
        given["claim_id"] = asking.header(b"idempotency-key")
    if given.get("types") is None:
        # Those of other types are not to wait in the same group.
        given["types"] = claimable(rights_of(asking.caller), None)
    if patience <= 0:
        claims, due_in = await desk.lobby.claim(queue, given, 0)
    else:
        claims, due_in = await _while_there(asking, given, patience)
        if claims:
            await _still_trusted(asking, claims)
    asking.scope["claimed"] = len(claims)  # type: ignore[typeddict-unknown-key]
    body = encode(Taken(claims=claims, slow_down=claims.slow_down, reason=claims.reason, due_in=due_in))
    if claims:
        every = with_groups(claims)
        desk.held.keep(queue.project, every, len(body) // len(every))
    return Raw(body)


async def _while_there(asking: Asking, given: dict[str, Any], patience: float) -> tuple[Claims, float | None]:
    taking = asyncio.ensure_future(asking.desk.lobby.claim(asking.queue, given, patience))
    leaving = asyncio.ensure_future(gone(asking.receive))
    try:
        await asyncio.wait({taking, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not leaving.done():
            return taking.result()
        if taking.done():
            asking.desk.lobby.give_back(asking.queue, taking.result()[0])
        return Claims(), None
    finally:
        leaving.cancel()
        taking.cancel()


async def _still_trusted(asking: Asking, claims: Claims) -> None:
    """A token may have been revoked while its agent waited: then it gets nothing."""
    desk, secret = asking.desk, secret_of(asking.scope)
    if secret is None or await desk.authority.identify(secret) != asking.caller:
        desk.lobby.give_back(asking.queue, claims)
        await desk.authority.record(asking.caller, asking.verb.name, asking.path, "unknown_token")
        raise Denied("This token is not valid any more; ask for another.", code="unknown_token")


async def complete(asking: Asking, task_id: str, fence: Any, **given: Any) -> Settled:
    return await _end_one(asking, task_id, fence, COMPLETED, given)


async def fail(asking: Asking, task_id: str, fence: Any, **given: Any) -> Settled:
    return await _end_one(asking, task_id, fence, FAILED, given)


async def release(asking: Asking, task_id: str, fence: Any, **given: Any) -> Settled:
    return await _end_one(asking, task_id, fence, RELEASED, given)


async def _end_one(asking: Asking, task_id: str, fence: Any, outcome: str, given: dict[str, Any]) -> Settled:
    [answer] = await _end(asking, [Ended(task_id=task_id, fence=fence, outcome=outcome, **given)])
    return raised(answer)


async def settle_outcomes(asking: Asking, outcomes: Any) -> list[Settled | DibsError]:
    return await _end(asking, givens.outcomes(outcomes))


async def _end(asking: Asking, outcomes: Sequence[Ended]) -> list[Settled | DibsError]:
    known: dict[tuple[str, int], Claim] = {}
    for ended in outcomes:
        held = asking.claim_of(ended.task_id, ended.fence)
        if isinstance(held, Claim):
            known[ended.task_id, ended.fence] = held
    refused = await unjudged(asking, outcomes, known)
    rest = [ended for place, ended in enumerate(outcomes) if place not in refused] if refused else outcomes
    settled = await asking.queue.settle_outcomes(rest, known=known)
    _forget(asking, settled)
    if not refused:
        return settled
    answers = iter(settled)
    return [refused[place] if place in refused else next(answers) for place in range(len(outcomes))]


def _forget(asking: Asking, answers: Sequence[Settled | DibsError]) -> None:
    for answer in answers:
        if isinstance(answer, Settled):
            asking.desk.held.forget(asking.queue.project, answer.task_id, answer.fence)


async def end_group(asking: Asking, claim: Any, **given: Any) -> list[Settled | DibsError]:
    members = givens.members(claim)
    if asking.verb.name == "complete_group":
        ends = [Ended(task_id=id, fence=fence, outcome=COMPLETED) for id, fence in members]
        for refusal in (await unjudged(asking, ends, {})).values():
            raise refusal
    answers: list[Settled | DibsError] = await getattr(asking.queue, asking.verb.name)(members, **given)
    _forget(asking, answers)
    return answers


async def renew_many(asking: Asking, renewals: Any) -> list[News | DibsError]:
    wanted = givens.renewals(renewals)
    return await asking.queue.renew_many(wanted)


async def spawn_below(asking: Asking, task_id: str, fence: Any, tasks: Any, used: Any = None, **given: Any) -> Spawned:
    held = asking.claim_of(task_id, fence)
    specs = [_of_the_caller(asking, spec) for spec in givens.tasks(tasks)]
    found = await asking.queue.spawn_below(held, specs, used=givens.usage(used), **given)
    return Spawned(tasks=found.tasks, existing=found.existing, suspended=found.suspended)


def _of_the_caller(asking: Asking, spec: NewTask | Planned) -> NewTask:
    """A task that is to be spawned. What an agent says of who made it, it says of itself."""
    if isinstance(spec, Planned):
        raise Invalid("spawned tasks get their ids here; leave id out.", field="id")
    if spec.created_by is not None and asking.caller.role is Role.AGENT:
        spec.created_by = named(rights_of(asking.caller), validation.text(spec.created_by, "created_by"))
    return spec


async def ask_under(asking: Asking, task_id: str, fence: Any, used: Any = None, **given: Any) -> AskedOf:
    held = asking.claim_of(task_id, fence)
    asked = await asking.queue.ask_under(held, used=givens.usage(used), **given)
    return AskedOf(question=asked.question, suspended=asked.suspended)


router = router_of(
    "claims",
    {
        "claim": claim,
        "renew_many": renew_many,
        "complete": complete,
        "fail": fail,
        "release": release,
        "complete_group": end_group,
        "fail_group": end_group,
        "release_group": end_group,
        "settle_outcomes": settle_outcomes,
        "spawn_below": spawn_below,
        "ask_under": ask_under,
    },
)
