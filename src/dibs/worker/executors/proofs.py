"""Commands of output contracts, run by the worker after the handler and before completion.

The work is still its own then: its lease is renewed, its timeout runs on, and a cancel ends the command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs import checking, proving, settling
from dibs.errors import DibsError, Invalid
from dibs.worker.executors.groups import enter_group, leave_group, relay
from dibs.worker.outcomes import Failed, Released

if TYPE_CHECKING:
    from dibs.rules.contracts import Check
    from dibs.worker.executors.minder import Minder
    from dibs.worker.executors.threads import DaemonThreads
    from dibs.worker.outcomes import Completed, Ending
    from dibs.worker.work import Work

_GIVEN_BACK = Released(reason="worker_left")
"""How untested work ends when the worker leaves. Every other reason to stop has its own ending."""


async def judged(work: Work, ending: Completed, threads: DaemonThreads, minder: Minder, url: str) -> Ending:
    """A completion with what its contract has against it, if commands are part of that; others are judged later."""
    claim = work.claim
    if not checking.commands(claim.task.expects):
        return ending
    if _is_stopped(work):
        return _GIVEN_BACK
    try:
        done = settling.completed(claim, ending.output, decision=work.decision)
    except Invalid:
        return ending  # it cannot be kept at all, which is told when it is settled
    output, decision = done.output or b"null", done.decision or b"null"

    def run(check: Check) -> str | None:
        minder.prepare()
        return proving.run(check, output, proving.environment(claim, url), entered, left)

    def entered(group: int) -> None:
        enter_group(work, group)
        minder.mind(group)

    def left(group: int) -> None:
        leave_group(work)
        minder.forget(group)

    try:
        refusal = await relay(work, threads, lambda: checking.refusal(claim.task.expects, output, decision, run))
    except DibsError as error:
        return Failed(f"its output could not be checked: {error.message}", exit_code=ending.exit_code)
    if refusal is not None and _is_stopped(work):
        # It was the command that was ended, and says nothing about the output.
        return _GIVEN_BACK
    ending.judged, ending.refusal = True, refusal
    return ending


def _is_stopped(work: Work) -> bool:
    """Whether it was told to stop, which may happen at any moment."""
    return work.stopped is not None
