"""What happens after a failure: again or never, and when.

Two counts decide. `attempts` are tries that ended; `crashes` are those that took their worker with them.
A lease that expired before its start was confirmed counts as neither: the task may never have run, so
it is handed out again at once, as a *suspect*. In this order:

1. three crashes — or the same error from two agents in three attempts — make a **poison pill**;
2. a reason that is not retried, `retry=False`, or the last attempt used up make a **dead letter**;
3. a rate limit is nobody's failure: it uses up no attempt, until it has hit twenty times in a row;
4. anything else is tried again, at once (`ready`) or after a delay (`retrying`). Work lost with its
   worker never waits.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dibs.errors import Invalid
from dibs.model.retry import NOT_RETRIED, Retry
from dibs.model.status import COUNTED, Outcome, Status
from dibs.rules import validation
from dibs.rules.matching import uses_fallback

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.attempt import Attempt
    from dibs.model.task import Task

STRATEGIES = ("immediate", "fixed", "linear", "quadratic", "exponential")

REASONS = frozenset(
    {
        "error",
        "timeout",
        "crash",
        "expired",
        "rate_limit",
        "invalid_output",
        "invalid_input",
        "syntax_error",
        "auth_failure",
        "budget_exceeded",
        "out_of_memory",
        "poison_pill",
        "cancelled",
        "dependency_failed",
    }
)
"""The reasons dibs knows. Agents may give others."""

DAY_S = 86_400.0
MAX_DELAY_S = 365 * DAY_S
MAX_RETRY_AFTER_S = DAY_S
MAX_TIMEOUT_S = 7 * DAY_S
MAX_RELEASE_DELAY_S = 300.0
RATE_LIMIT_DELAY_S = 60.0
MAX_RATE_LIMIT_DELAY_S = 3_600.0
MAX_RATE_LIMITS = 20
"""So many rate limits in a row count as a failure."""

_DEFAULT = Retry()


class Failure(Struct):
    """How an attempt went wrong. `confirmed` is read only when a lease expired: was its start confirmed?"""

    reason: str
    error: str
    outcome: Outcome = Outcome.FAILED
    retry: bool = True
    retry_after: float | None = None
    crash: bool = False
    confirmed: bool = True


class PoisonPolicy(Struct, frozen=True):
    """When a task is given up as harmful. `enabled` governs only the rule about equal errors."""

    crashes: int = 3
    agents: int = 2
    attempts: int = 3
    enabled: bool = True


class Verdict(Struct, frozen=True, kw_only=True):
    """What becomes of a task after a failure.

    `fallback`: the next claim offers its fallback models. `limited`: a rate limit, which is not counted. `used_up`: a
    dead letter only because no attempt is left, which an escalation may change.
    """

    next: Status
    delay_s: float = 0.0
    counts_attempt: bool
    counts_crash: bool
    suspect: bool = False
    poison_pill: bool = False
    reason: str
    fallback: bool = False
    fingerprint: str | None = None
    limited: bool = False
    used_up: bool = False


_DEFAULT_POISON = PoisonPolicy()


def parse(text: object) -> Retry:
    """Reads `strategy[:first delay[:cap]]`, such as `exponential:10s:5m`; `immediate` stands alone.

    Without a cap, the default cap grows to the delay.
    """
    strategy, *durations = text.split(":") if isinstance(text, str) else ("",)
    most = {"immediate": 0, "fixed": 1}.get(strategy, 2)
    if strategy not in STRATEGIES or len(durations) > most:
        raise Invalid(
            "retry must be immediate, fixed:DELAY, linear:DELAY:CAP, quadratic:DELAY:CAP or "
            f"exponential:DELAY:CAP (such as exponential:10s:5m), not {str(text)[:80]!r}.",
            field="retry",
        )
    values = [validation.duration_s(part, "retry", high=MAX_DELAY_S) for part in durations]
    delay = values[0] if values else _DEFAULT.delay
    if len(values) < 2:
        return Retry(strategy=strategy, delay=delay, cap=max(delay, _DEFAULT.cap))
    if values[1] < delay:
        raise Invalid(f"retry {text!r} has a cap below its first delay; write the longer one last.", field="retry")
    return Retry(strategy=strategy, delay=delay, cap=values[1])


def check(policy: object) -> Retry:
    """The policy with its durations as seconds; `Invalid` says which part of it makes no sense."""
    if not isinstance(policy, Retry):
        raise Invalid(
            f"retry must be a dibs.Retry or a text such as exponential:10s:5m, not {type(policy).__name__}.",
            field="retry",
        )
    if policy.strategy not in STRATEGIES:
        raise Invalid(
            f"retry: strategy must be one of {', '.join(STRATEGIES)}, not {str(policy.strategy)[:80]!r}.",
            field="retry",
        )
    try:
        return replace(
            policy,
            delay=validation.duration_s(policy.delay, "delay", high=MAX_DELAY_S),
            cap=validation.duration_s(policy.cap, "cap", high=MAX_DELAY_S),
            multiplier=validation.number(policy.multiplier, "multiplier", 1, 100),
            jitter=validation.number(policy.jitter, "jitter", 0, 1),
            timeout_multiplier=validation.number(policy.timeout_multiplier, "timeout_multiplier", 1, 100),
            retry_on=None if policy.retry_on is None else validation.names(policy.retry_on, "retry_on", ordered=True),
            no_retry_on=validation.names(policy.no_retry_on, "no_retry_on", ordered=True),
        )
    except Invalid as error:
        raise Invalid(f"retry: {error.message}", field="retry") from None


def delay_s(policy: Retry, failures: int, draw: float) -> float:
    """How long to wait after the `failures`-th counted failure (1, 2, …). Capped first, then jittered."""
    if policy.strategy == "immediate" or policy.delay <= 0:
        return 0.0
    try:
        wait = min(policy.delay * _growth(policy, failures), policy.cap)
    except OverflowError:
        wait = policy.cap
    return float(wait * (1 - policy.jitter + 2 * policy.jitter * draw))


def retryable(policy: Retry, reason: str) -> bool:
    """Whether a failure for this reason is tried again. An unknown reason is, unless ruled out by name.

    A reason that `retry_on` names is, too, where `no_retry_on` was left at its default.
    """
    if reason in policy.no_retry_on:
        return policy.no_retry_on == NOT_RETRIED and policy.retry_on is not None and reason in policy.retry_on
    return policy.retry_on is None or reason in policy.retry_on or reason not in REASONS


def after_failure(
    task: Task,
    previous: Sequence[Attempt],
    agent: str,
    failure: Failure,
    draw: float,
    poison: PoisonPolicy = _DEFAULT_POISON,
) -> Verdict:
    """What becomes of `task` now that `agent` failed at it.

    `task.attempts` and `task.crashes` are the counts before this failure; `previous` is its history,
    oldest first, of which only the present life is looked at.
    """
    expired = failure.outcome is Outcome.EXPIRED
    if expired and not failure.confirmed:
        return Verdict(
            next=Status.READY,
            counts_attempt=False,
            counts_crash=False,
            suspect=True,
            reason=failure.reason,
            fallback=uses_fallback(task.fallback_models, task.attempts),
        )
    # `task.releases` counts the claims in a row that ended without an attempt, rate limits among them.
    limited = task.releases + 1 if failure.reason == "rate_limit" else 0
    if 0 < limited < MAX_RATE_LIMITS and failure.retry:
        return Verdict(
            next=Status.RETRYING,
            delay_s=limit_wait_s(failure.retry_after, limited, draw),
            counts_attempt=False,
            counts_crash=False,
            reason=failure.reason,
            fallback=uses_fallback(task.fallback_models, task.attempts),
            limited=True,
        )
    crashed = expired or failure.crash
    attempts = task.attempts + 1
    mark = None if expired else fingerprint(failure.reason, failure.error)
    policy = task.retry or _DEFAULT
    poisonous = (crashed and task.crashes + 1 >= poison.crashes) or (
        poison.enabled and mark is not None and _repeats(task, previous, agent, mark, poison)
    )
    hopeless = poisonous or not failure.retry or not retryable(policy, failure.reason)
    if hopeless or attempts >= task.max_attempts:
        return Verdict(
            next=Status.DEAD_LETTERED,
            counts_attempt=True,
            counts_crash=crashed,
            poison_pill=poisonous,
            reason="poison_pill" if poisonous else failure.reason,
            fallback=not hopeless and uses_fallback(task.fallback_models, attempts),
            fingerprint=mark,
            # What may be started only once is not started again by an escalation either.
            used_up=not hopeless and task.max_attempts > 1,
        )
    if expired:
        wait = 0.0
    elif failure.retry_after is not None:
        wait = min(max(failure.retry_after, 0.0), MAX_RETRY_AFTER_S)
    else:
        wait = delay_s(policy, attempts, draw)
    return Verdict(
        next=Status.RETRYING if wait > 0 else Status.READY,
        delay_s=wait,
        counts_attempt=True,
        counts_crash=crashed,
        reason=failure.reason,
        fallback=uses_fallback(task.fallback_models, attempts),
        fingerprint=mark,
    )


def limit_wait_s(retry_after: float | None, limits_in_a_row: int, draw: float) -> float:
    """How long a rate limit is waited out: as it says, else longer and longer, with up to a tenth more at random."""
    if retry_after is not None:
        return min(max(retry_after, 1.0), MAX_RETRY_AFTER_S)
    wait = min(RATE_LIMIT_DELAY_S * 2.0 ** min(limits_in_a_row - 1, 16), MAX_RATE_LIMIT_DELAY_S)
    return wait * (1 + 0.1 * draw)


def release_delay_s(releases_in_a_row: int, asked_s: float) -> float:
    """How long a released task waits: what was asked; from the second in a row on at least 1, 2, 4 … s.

    Without the floor, a task that everybody gives back would be claimed without end.
    """
    if releases_in_a_row < 2:
        return asked_s
    floor_s = 2.0 ** min(releases_in_a_row - 2, 16)
    return max(asked_s, min(floor_s, MAX_RELEASE_DELAY_S))


def timeout_s(task: Task, previous: Sequence[Attempt]) -> float | None:
    """How long the next attempt may take: longer after each one that timed out in this life."""
    if task.timeout is None:
        return None
    factor = (task.retry or _DEFAULT).timeout_multiplier
    timed_out = sum(attempt.outcome is Outcome.TIMED_OUT for attempt in _this_life(task, previous))
    try:
        longer = task.timeout * float(factor) ** timed_out
    except OverflowError:
        longer = MAX_TIMEOUT_S
    return min(longer, max(MAX_TIMEOUT_S, task.timeout))


def fingerprint(reason: str, error: str) -> str:
    """A short name that equal errors share, whatever ids, numbers, times, paths and quotes they mention."""
    import re

    text = f"{reason}: {error[:2000]}".lower()
    for pattern, mask in _MASKS:
        text = re.sub(pattern, mask, text)
    text = re.sub(_PATH, _shortened, text)
    text = " ".join(re.sub(r"\d+", "#", text).split())
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


_MASKS = (
    (r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<id>"),
    (r"\b\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:z|[+-]\d\d:?\d\d)?)?", "<time>"),
    (r"\b0x[0-9a-f]+\b", "<id>"),
    (r"\b[0-9a-f]{8,}\b", "<id>"),
    # A quote after a letter is an apostrophe.
    (r"(?<!\w)'[^'\n]*'", "<text>"),
    (r'"[^"\n]*"', "<text>"),
    (r"`[^`\n]*`", "<text>"),
    # Long words with several digits: request ids, task ids, tokens.
    (r"\b(?=(?:[^\W\d]*\d){3})\w{12,}\b", "<id>"),
)

_PATH = r"(?:\b[a-z]:)?(?:[\\/][\w.~+@-]+){2,}"


def _shortened(match: object) -> str:
    """A path keeps the name of its file; folders, and names without an ending, vary."""
    name = match[0].replace("\\", "/").rpartition("/")[2]  # type: ignore[index]
    return f"<path>/{name}" if "." in name and not name.startswith("tmp") else "<path>"


def _growth(policy: Retry, failures: int) -> float:
    if policy.strategy == "exponential":
        return float(policy.multiplier) ** (failures - 1)
    if policy.strategy == "quadratic":
        return float(failures) ** 2
    return float(failures) if policy.strategy == "linear" else 1.0


def _this_life(task: Task, previous: Sequence[Attempt]) -> list[Attempt]:
    """The counted attempts since the task was added or retried by hand, where `task.attempts` restarts."""
    counted = [attempt for attempt in previous if attempt.number > 0 and attempt.outcome in COUNTED]
    return counted[len(counted) - task.attempts :] if task.attempts < len(counted) else counted


def _repeats(task: Task, previous: Sequence[Attempt], agent: str, mark: str, poison: PoisonPolicy) -> bool:
    """Whether this error has now come from enough agents, often enough."""
    agents = [
        attempt.agent
        for attempt in _this_life(task, previous)
        if attempt.fingerprint == mark and attempt.outcome in (Outcome.FAILED, Outcome.TIMED_OUT)
    ]
    agents.append(agent)
    return len(agents) >= poison.attempts and len(set(agents)) >= poison.agents
