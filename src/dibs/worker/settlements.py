"""The one place where the end of a piece of work becomes a settlement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from dibs import checking, proving, settling
from dibs.errors import Invalid, Unavailable
from dibs.model.status import Outcome, Status
from dibs.rules import contracts
from dibs.rules.budgets import EXCEEDED, is_shared, why_exceeded
from dibs.worker.outcomes import Completed, Ending, Failed, Lost, Released, Suspended, Uncheckable
from dibs.worker.work import Stop

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.queue import Queue
    from dibs.stores.values import Settlement
    from dibs.worker.work import Work


def settlement(work: Work, ending: Ending, queue: Queue, draw: Callable[[], float] | None = None) -> Settlement | None:
    """What to write for work that has ended; None where the claim is no longer ours to settle. `draw`: else the
    queue's."""
    claim, usage, draw = work.claim, work.usage, draw or queue.draw
    match ending:
        case Completed():
            try:
                sanitized = ending.sanitized or work.sanitized
                done = settling.completed(
                    claim,
                    ending.output,
                    usage=usage,
                    decision=work.decision,
                    sanitized=sanitized,
                    over=work.over_limit,
                )
            except Invalid as error:
                failure = Failed(error.message, reason="invalid_output", retry=False)
                return settlement(work, failure, queue, draw)
            done.exit_code = ending.exit_code
            if claim.task.expects is None or done.next is not Status.COMPLETED:
                return done
            _use_the_handlers_retry(work)
            if ending.judged or queue.far:
                # A server looks for itself at all but the commands, which were run here.
                return settling.judged(claim, done, ending.refusal, draw=draw, poison=queue.poison)
            return settling.checked(claim, done, draw=draw, poison=queue.poison)
        case Failed():
            _use_the_handlers_retry(work)
            failed = settling.failed(
                claim,
                ending.error,
                draw=draw(),
                reason=ending.reason,
                retry_again=ending.retry,
                retry_after=ending.retry_after,
                exit_code=ending.exit_code,
                usage=usage,
                outcome=ending.outcome,
                crash=ending.crash,
                poison=queue.poison,
                now=queue.store.now(),
            )
            failed.artifacts = work.artifacts
            return failed
        case Released():
            over = work.over_limit if ending.reason == EXCEEDED else None
            return settling.released(claim, delay_s=ending.delay_s, reason=ending.reason, usage=usage, over=over)
        case Suspended() | Lost():
            return None
        case _:
            assert_never(ending)


def must_be_checkable(expects: Any, *, far: bool = False) -> None:
    """Nobody shall pay for work whose output cannot be checked: where it cannot, the attempt fails before it begins.

    `far`: only commands are run here; all else is looked at by the server."""
    try:
        proving.must_be_runnable(contracts.commands(expects) if far else checking.commands(expects))
    except (Invalid, Unavailable) as error:
        raise Uncheckable(f"its output could not be checked: {error.message}") from None


def _use_the_handlers_retry(work: Work) -> None:
    """It holds where the task says nothing."""
    if work.claim.task.retry is None:
        work.claim.task.retry = work.handler.retry


def stopped(work: Work, ending: Ending) -> Ending:
    """How work ends that was told to stop, whatever its handler made of that.

    A handler that finished all the same when the worker leaves, or a budget is used up, has finished; one over its
    timeout has not. What one made that used more than its task may is kept, but is no success.
    """
    match work.stopped:
        case Stop.TIMEOUT:
            return Failed(
                f"the attempt was stopped after its timeout of {work.timeout_s:g} s",
                reason="timeout",
                outcome=Outcome.TIMED_OUT,
            )
        case Stop.CANCELLED:
            return Failed("the task was cancelled while it ran", reason="cancelled", retry=False)
        case Stop.LOST:
            return Lost()
        case Stop.OVERSPENT:
            if isinstance(ending, Completed | Suspended):
                return ending
            limit = work.over_limit or "max_cost"
            if is_shared(limit):
                return Released(reason=EXCEEDED)
            return Failed(why_exceeded(work.claim.task, limit), reason=EXCEEDED, retry=False)
        case Stop.LEAVING:
            return ending if isinstance(ending, Completed | Suspended) else Released(reason="worker_left")
        case None:
            return ending
        case _:
            assert_never(work.stopped)
