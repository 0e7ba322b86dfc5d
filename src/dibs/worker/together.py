"""Work on a group: the others of a claim. They end as it ends, unless the handler settled them one by one.

Each is a `Work` of its own, so that its lease is kept and its outcome written like any other; but nobody runs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dibs import settling
from dibs.coalescing import share_of
from dibs.model.claim import Settled
from dibs.worker.outcomes import Completed, Failed, Released
from dibs.worker.settlements import settlement, stopped
from dibs.worker.work import Stop, Work

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dibs.errors import DibsError
    from dibs.queue import Queue
    from dibs.stores.values import Settlement
    from dibs.worker.executors import Executors
    from dibs.worker.outcomes import Ending

    Answers = list[Settled | DibsError]
    Patience = Callable[[Callable[[], Awaitable[Answers]]], Awaitable[Answers]]
    """Asks the store, however long it is away while the run lasts."""

_OWN_FAULT = frozenset({Stop.CANCELLED, Stop.OVERSPENT, Stop.LOST})
"""Why a run is stopped that says something about its own task only: the others are given back."""


def gather(work: Work, forget: Callable[[list[Work]], None]) -> list[Work]:
    """The others of a piece of work. `forget` is called with those that are settled before it ends."""
    work.members = [
        Work(claim, work.handler, work.loop, work.arrived, work.lease_until, work.prices) for claim in work.claim.group
    ]
    for member in work.members:
        member.forget = forget
    return work.members


def outcomes(
    work: Work, ending: Ending, queue: Queue, draw: Callable[[], float]
) -> list[tuple[Work, Settlement | None]]:
    """What to write for the others now that the run has ended like this; None where one is no longer ours to settle."""
    shared = _shared(work, ending)
    found = []
    for member in work.members:
        if member.over:
            continue
        member.over = True
        decided = None
        if member.stopped is not Stop.LOST:
            decided = _ended(work, member, stopped(member, member.ending or shared), queue, draw)
            if decided is not None and isinstance(shared, Failed) and member.stopped is None:
                decided.together = True
        found.append((member, decided))
    return found


def _ended(work: Work, member: Work, ending: Ending, queue: Queue, draw: Callable[[], float]) -> Settlement | None:
    """What to write for one of the others. What the run used was told of its first already."""
    member.usage = share_of(work.usage)
    member.decision, member.sanitized = work.decision, work.sanitized
    return settlement(member, ending, queue, draw)


async def settle(work: Work, member: Work, ending: Ending, queue: Queue, patiently: Patience) -> Settled | None:
    """Write how one of the others ended by itself. None: somebody cancelled it, or took it away."""
    member.over = True
    try:
        decided = await _decided(work, member, ending, queue)
        [answer] = await patiently(lambda: queue.settle([decided]))
    except BaseException:
        # It ends with the others then; if they have ended, nothing is left to end it but its lease.
        member.over = work.over
        if work.over:
            _forget(member)
        raise
    _forget(member)
    return answer if isinstance(answer, Settled) else None


def _forget(member: Work) -> None:
    if member.forget is not None:
        member.forget([member])


async def _decided(work: Work, member: Work, ending: Ending, queue: Queue) -> Settlement:
    """What to write for one that ends by itself, once all that its contract wants to be run has run."""
    if isinstance(ending, Completed) and settling.runs_commands(member.claim):
        from dibs import judging

        share = share_of(work.usage)
        done = settling.completed(
            member.claim, ending.output, usage=share, decision=work.decision, sanitized=ending.sanitized
        )
        return await judging.settlement(queue, member.claim, done, blocking=False)
    decided = _ended(work, member, ending, queue, queue.draw)
    assert decided is not None
    return decided


async def judge(work: Work, ending: Ending, executors: Executors) -> None:
    """Run what the contracts of the others want to be run before they are completed as the first is."""
    if not isinstance(ending, Completed):
        return
    for member in work.members:
        if member.claim.task.expects is not None and not member.over:
            member.tree = work.tree
            member.ending = await executors.judge(member, replace(ending, judged=False, refusal=None))


def _shared(work: Work, ending: Ending) -> Ending:
    """How the others end: as the first, if that was what the handler made of all of them."""
    if work.stopped in _OWN_FAULT or (isinstance(ending, Failed) and ending.alone):
        return Released(reason="group_ended")
    if isinstance(ending, Completed):
        return replace(ending, judged=False, refusal=None)
    return ending if isinstance(ending, Failed | Released) else Released(reason="group_ended")
