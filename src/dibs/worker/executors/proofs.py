"""Commands of output contracts, run by the worker after the handler and before completion.

The work is still its own then: its lease is renewed, its timeout runs on, and a cancel ends the command. What was made
is written down first (`keeping`), so that a worker which dies or leaves meanwhile leaves only the judgement to be made
again. So is what will be merged. Where the work was done in a worktree, commands run there.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from dibs import checking, keeping, proving, settling
from dibs.errors import Conflict, DibsError, Invalid, NotFound, Unavailable
from dibs.rules import contracts
from dibs.stores.values import Renewal
from dibs.worker.executors.groups import enter_group, leave_group, relay
from dibs.worker.outcomes import Completed, Failed, Lost, Released

if TYPE_CHECKING:
    from dibs.model.made import Made
    from dibs.queue import Queue
    from dibs.rules.contracts import Check
    from dibs.stores.values import Settlement
    from dibs.worker.executors.minder import Minder
    from dibs.worker.executors.threads import DaemonThreads
    from dibs.worker.outcomes import Ending
    from dibs.worker.work import Work

log = logging.getLogger("dibs.worker")

_GIVEN_BACK = Released(reason="worker_left")
"""How untested work ends when the worker leaves. Every other reason to stop has its own ending."""


async def judged(work: Work, ending: Completed, threads: DaemonThreads, minder: Minder, queue: Queue) -> Ending:
    """A completion with what its contract has against it, if commands are part of that; others are judged later."""
    claim, tree, expects = work.claim, work.tree, work.claim.task.expects
    tests = expects is not None and (contracts.commands(expects) if queue.far else checking.commands(expects))
    # What is merged is looked at before, not when it is settled, and is not merged twice.
    merges = tree is not None and tree.merges
    if ending.judged or not (tests or merges):
        return ending
    if _is_stopped(work):
        return _GIVEN_BACK
    try:
        done = settling.completed(claim, ending.output, decision=work.decision)
    except Invalid:
        return ending  # it cannot be kept at all, which is told when it is settled
    done.exit_code, done.output_sanitized = ending.exit_code, ending.sanitized or work.sanitized
    if not await _keep(work, done, queue):
        return Lost()
    if expects is None:
        return ending
    output, decision = done.output or b"null", done.decision or b"null"
    folder = None if tree is None else tree.path
    environment = proving.environment(claim, queue.url) | ({} if tree is None else tree.environment)

    def run(check: Check) -> str | None:
        with minder.starting() as mark:
            return proving.run(check, output, environment | mark, entered, left, folder)

    def entered(group: int) -> None:
        enter_group(work, group)
        minder.mind(group)

    def left(group: int) -> None:
        leave_group(work)
        minder.forget(group)

    try:
        refusal = await relay(work, threads, lambda: checking.refusal(expects, output, decision, run))
    except DibsError as error:
        if not tests and queue.far:
            return ending  # the server can look at it
        return Failed(f"its output could not be checked: {error.message}", exit_code=ending.exit_code)
    if refusal is not None and _is_stopped(work):
        # It was the command that was ended, and says nothing about the output.
        return _GIVEN_BACK
    ending.judged, ending.refusal = True, refusal
    return ending


def made_before(work: Work) -> Completed | None:
    """What an earlier attempt made here, which only has to be judged; None: it has to be done. A group is done anew."""
    made = work.claim.made
    return None if made is None or work.members or not keeping.is_here(made) else taken_over(work, made)


def taken_over(work: Work, made: Made) -> Completed:
    """What an earlier attempt made, as the end of this one; which has used nothing itself."""
    work.decision = made.decision
    work.usage, work.usage_changed = keeping.used_before(work.claim), True
    return Completed(made.output, exit_code=made.exit_code, sanitized=made.sanitized)


async def _keep(work: Work, done: Settlement, queue: Queue) -> bool:
    """Write down what was made and used; False if it is not ours any more. A store that is away does not hold it up."""
    claim = work.claim
    try:
        if work.usage_changed:
            work.usage_changed = False
            await queue.renew_many([Renewal(task_id=claim.task.id, fence=claim.fence, usage=work.usage)])
        await keeping.keep(queue.store, claim, done, None if work.tree is None else work.tree.path)
    except Unavailable as error:
        log.warning("what %s made is not written down while it is judged: %s", claim.task.id, error)
    except (Conflict, NotFound):
        return False
    return True


def _is_stopped(work: Work) -> bool:
    """Whether it was told to stop, which may happen at any moment."""
    return work.stopped is not None
