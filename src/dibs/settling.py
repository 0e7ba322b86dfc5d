"""From the way a claim ended to the `Settlement` a store applies: rules asked, outputs cleaned, digests taken.

Queue verbs, workers and the expiry duty all settle through here, so a failure means the same wherever it is noticed.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from msgspec import Raw
from msgspec.json import encode
from msgspec.structs import replace

from dibs.errors import Invalid
from dibs.model.attempt import Attempt, Limited
from dibs.model.ended import COMPLETED, FAILED, RELEASED, Ended
from dibs.model.status import Outcome, Status
from dibs.rules import budgets, limits, providers, retry, validation
from dibs.stores.values import BY_DUTY, Settlement, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.model.claim import Claim
    from dibs.stores.values import Expired

MAX_ERROR_CHARS = 20_000
OVERSPENT = budgets.EXCEEDED
LARGE = 16 * 1024
"""Bytes of payload or output above which an event names it instead of carrying it."""


def completed(
    claim: Claim,
    output: Any = None,
    *,
    usage: Usage | None = None,
    decision: Any = None,
    artifacts: Sequence[Any] = (),
    sanitized: bool = False,
    over: str | None = None,
) -> Settlement:
    """The work is done. Output that no store could keep is cleaned and flagged; too much of it is refused.

    Work that used more than its task may is no success: it ends as failed, with its output kept. `over`: the limit of
    the task that is known to be exceeded. A budget that it shares is none: whoever is done needs no more of that.
    """
    value, dirty = validation.clean(output)
    body = encode(value)
    if len(body) > validation.MAX_OUTPUT_BYTES:
        raise Invalid(
            f"the output has {len(body):,} bytes; at most {validation.MAX_OUTPUT_BYTES:,} are kept."
            " Store it elsewhere and return a reference.",
            field="output",
        )
    report = None
    if decision is not None:
        report = validation.json_bytes(decision, "decision", max_bytes=validation.MAX_PAYLOAD_BYTES)
    if over is None or budgets.is_shared(over):
        over = _over_own_limit(claim, usage)
    if over is not None:
        error = budgets.why_exceeded(claim.task, over)
        spoiled = failed(claim, error, draw=0.5, reason=OVERSPENT, usage=usage, over=over)
        return replace(
            spoiled,
            digest=_digest(b"completed", body),
            output=body,
            output_sanitized=dirty or sanitized,
            decision=report,
            artifacts=tuple(artifacts),
            told=None,
        )
    return Settlement(
        task_id=claim.task.id,
        fence=claim.fence,
        outcome=Outcome.COMPLETED,
        next=Status.COMPLETED,
        # That of nothing is always the same, and much work gives back nothing.
        digest=_NOTHING if value is None else _digest(b"completed", body),
        output=body,
        output_sanitized=dirty or sanitized,
        decision=report,
        artifacts=tuple(artifacts),
        usage=usage,
        memory=_memory(claim, output=value, output_size=len(body)),
    )


def runs_commands(claim: Claim) -> bool:
    """Whether commands must be run before the work is completed, which takes time."""
    if claim.task.expects is None:
        return False
    from dibs import checking

    return bool(checking.commands(claim.task.expects))


def checked(
    claim: Claim, done: Settlement, *, draw: Callable[[], float], poison: retry.PoisonPolicy | None = None
) -> Settlement:
    """A completion, if it is what the task expects; else its rejection, which is tried again like a failure.

    Raises Unavailable or Invalid where the contract cannot be checked; nothing is decided then.
    """
    if claim.task.expects is None or done.next is not Status.COMPLETED:
        return done
    # Tasks that expect nothing do not pay for the import.
    from dibs import checking

    output, decision = done.output or b"null", done.decision or b"null"
    refusal = checking.refusal(claim.task.expects, output, decision)
    return judged(claim, done, refusal, draw=draw, poison=poison)


def judged(
    claim: Claim,
    done: Settlement,
    refusal: str | None,
    *,
    draw: Callable[[], float],
    poison: retry.PoisonPolicy | None = None,
) -> Settlement:
    """A completion that was checked: itself, or its rejection with the reasons. Where others have to judge it, the
    work is handed in instead."""
    from dibs.rules import contracts

    slow = contracts.is_slow(claim.task.expects)
    done.told = Ended(
        task_id=done.task_id,
        fence=done.fence,
        outcome=COMPLETED,
        output=Raw(done.output or b"null"),
        decision=Raw(done.decision or b"null"),
        artifacts=done.artifacts,
        sanitized=done.output_sanitized,
        judged=True,
        refusal=refusal,
        policy=claim.task.retry,
    )
    # What was handed in tells whether it is said again, not how it was judged.
    handed_in = _digest(b"handed in" if slow else b"rejected", done.output or b"null", done.decision or b"null")
    if refusal is None:
        if not slow:
            return done
        return replace(
            done,
            outcome=Outcome.SUBMITTED,
            next=Status.VALIDATING,
            digest=handed_in,
            counts_attempt=False,
            memory={},
        )
    rejected = failed(
        claim,
        refusal,
        draw=draw(),
        reason="invalid_output",
        exit_code=done.exit_code,
        usage=done.usage,
        outcome=Outcome.REJECTED,
        poison=poison,
    )
    rejected.digest, rejected.told = handed_in, done.told
    return rejected


def concluded(
    claim: Claim, refusal: str | None, *, draw: Callable[[], float], poison: retry.PoisonPolicy | None = None
) -> Settlement:
    """What becomes of work that was handed in under this claim, now that it was judged."""
    task = claim.task
    if refusal is None:
        memory = _memory(claim, output=task.output, output_size=len(encode(task.output)))
        return Settlement(
            task_id=task.id,
            fence=claim.fence,
            outcome=Outcome.COMPLETED,
            next=Status.COMPLETED,
            digest="",
            memory=memory,
            concludes=True,
        )
    rejected = failed(claim, refusal, draw=draw(), reason="invalid_output", outcome=Outcome.REJECTED, poison=poison)
    rejected.concludes = True
    return rejected


def failed(
    claim: Claim,
    error: str | bytes,
    *,
    draw: float,
    reason: str = "error",
    retry_again: bool = True,
    retry_after: float | None = None,
    exit_code: int | None = None,
    usage: Usage | None = None,
    outcome: Outcome = Outcome.FAILED,
    crash: bool = False,
    over: str | None = None,
    confirmed: bool = True,
    poison: retry.PoisonPolicy | None = None,
    by_duty: bool = False,
    now: int = 0,
) -> Settlement:
    """The attempt failed, timed out or expired; `rules.retry` says what follows.

    A failure for no particular reason that tells of a rate limit is one. `now`: for what it says of instants. Whatever
    went wrong, a task that used more than it may is not tried again.
    """
    text, _ = validation.clean_text(error, MAX_ERROR_CHARS)
    task, previous = claim.task, claim.previous_attempts
    given, given_after = reason, retry_after
    if outcome is Outcome.FAILED and reason in ("error", "rate_limit") and retry_again and not crash:
        limit = limits.recognise(text, now)
        if limit is not None:
            reason = "rate_limit"
            retry_after = limit.retry_after if retry_after is None else retry_after
    again = retry_again
    if over or _over_own_limit(claim, usage):
        reason, again = OVERSPENT, False
    verdict = retry.after_failure(
        task,
        previous,
        claim.agent,
        retry.Failure(
            reason=reason,
            error=text,
            outcome=outcome,
            retry=again,
            retry_after=retry_after,
            crash=crash,
            confirmed=confirmed,
        ),
        draw,
        poison or retry.PoisonPolicy(),
    )
    return Settlement(
        task_id=task.id,
        fence=claim.fence,
        outcome=Outcome.RATE_LIMITED if verdict.limited else outcome,
        next=verdict.next,
        digest=BY_DUTY if by_duty else _digest(outcome.encode(), given.encode(), text.encode()),
        used_up=verdict.used_up,
        delay_s=verdict.delay_s,
        counts_attempt=verdict.counts_attempt,
        counts_crash=verdict.counts_crash,
        releases=task.releases + 1 if verdict.limited else 0,
        suspect=verdict.suspect,
        fallback=verdict.fallback,
        limited=Limited(retry_after, draw) if reason == providers.REASON else None,
        poison_pill=verdict.poison_pill,
        reason=verdict.reason,
        error=text,
        fingerprint=verdict.fingerprint,
        exit_code=exit_code,
        timeout_s=_next_timeout(claim, timed_out=outcome is Outcome.TIMED_OUT),
        usage=usage,
        memory=_memory(claim, error=text),
        told=None
        if by_duty
        else Ended(
            task_id=task.id,
            fence=claim.fence,
            outcome=FAILED,
            error=text,
            reason=given,
            retry=retry_again,
            retry_after=given_after,
            policy=task.retry,
        ),
    )


def released(
    claim: Claim,
    *,
    delay_s: float = 0.0,
    reason: str = "released",
    usage: Usage | None = None,
    over: str | None = None,
) -> Settlement:
    """The work is given back unharmed. Releases in a row wait longer and longer, or the head of a lane livelocks.

    `over`: the budget, shared with others, that the attempt overdraws. Then it was stopped, and its task says so until
    it ends otherwise; what it used leaves it no room there before there is more.
    """
    if over is not None:
        reason = OVERSPENT
    releases = claim.task.releases + 1
    wait_s = retry.release_delay_s(releases, delay_s)
    return Settlement(
        task_id=claim.task.id,
        fence=claim.fence,
        outcome=Outcome.RELEASED,
        next=Status.RETRYING if wait_s > 0 else Status.READY,
        digest=_digest(b"released"),
        delay_s=wait_s,
        counts_attempt=False,
        releases=releases,
        timeout_s=_next_timeout(claim, timed_out=False),
        reason=reason,
        error=None if over is None else budgets.why_exceeded(claim.task, over),
        usage=usage,
        told=Ended(task_id=claim.task.id, fence=claim.fence, outcome=RELEASED, reason=reason, delay=delay_s),
    )


def untouched(claim: Claim, reason: str) -> Settlement:
    """A claim given back before any work on it began: not a release that counts, nothing to wait for."""
    given_back = released(claim, reason=reason)
    given_back.releases -= 1
    given_back.next, given_back.delay_s = Status.READY, 0.0
    assert given_back.told is not None
    given_back.told.untouched = True
    return given_back


def expired(found: Expired, *, draw: float, poison: retry.PoisonPolicy | None = None) -> Settlement:
    """Nobody renewed the lease, or the attempt outlived its timeout."""
    claim = found.claim
    if found.timed_out:
        error = f"the attempt was still running after its timeout of {claim.timeout_s:g} s"
        return failed(claim, error, draw=draw, reason="timeout", outcome=Outcome.TIMED_OUT, poison=poison, by_duty=True)
    reason = "crash" if found.confirmed else "expired"
    error = f"{claim.agent} did not renew its lease of {claim.lease_s:g} s"
    return failed(
        claim,
        error,
        draw=draw,
        reason=reason,
        outcome=Outcome.EXPIRED,
        confirmed=found.confirmed,
        poison=poison,
        by_duty=True,
    )


def _over_own_limit(claim: Claim, usage: Usage | None) -> str | None:
    """Which of its own limits the task is over with what this attempt says it used in total; None if it keeps them."""
    if usage is None:
        return None
    told = budgets.Usage(usage.cost_usd, usage.tokens_in, usage.tokens_out, usage.turns)
    return budgets.exceeded(budgets.allowance_of(claim.task), told)


def _next_timeout(claim: Claim, *, timed_out: bool) -> float | None:
    """How long the next attempt may take, this one included among those that timed out."""
    task, previous = claim.task, claim.previous_attempts
    if task.timeout is None:
        return None
    if timed_out:
        this = Attempt(number=task.attempts + 1, fence=claim.fence, agent=claim.agent, outcome=Outcome.TIMED_OUT)
        task, previous = replace(task, attempts=task.attempts + 1), [*previous, this]
    return retry.timeout_s(task, previous)


def _memory(claim: Claim, *, output: Any = None, output_size: int = 0, error: str | None = None) -> dict[str, Any]:
    """What a later memory of past work needs to know of this attempt; large parts by reference."""
    task = claim.task
    memory: dict[str, Any] = {}
    if task.payload is not None:
        small = len(encode(task.payload)) <= LARGE
        memory["payload"] = task.payload if small else {"ref": f"task:{task.id}:payload"}
    if output is not None:
        memory["output"] = output if output_size <= LARGE else {"ref": f"task:{task.id}:output"}
    if error is not None:
        memory["error"] = error
    return memory


def _digest(*parts: bytes) -> str:
    return blake2b(b"\0".join(parts), digest_size=12).hexdigest()


_NOTHING = _digest(b"completed", b"null")
