"""The circuit breaker of a type: when work that keeps failing is no longer handed out, and when it is tried again.

    closed --- failure_threshold failed attempts in a row -----------> open
    open ----- half_open_after_s later ------------------------------> half-open
    half-open - its probe completes, or hands in work to be judged --> closed
    half-open - its probe fails, times out or dies ------------------> open

*Closed*: a completed attempt forgets the failures before it; failures older than `cooldown_s` are forgotten too.
*Open*: nothing of the type is handed out, and what was under way when it opened decides nothing. *Half-open*: exactly
one task, the probe, is handed out, and only that attempt decides. Work that was handed in counts once it is judged:
rejected it is a failure. An attempt that says nothing about the type
(released, rate limited, cancelled, suspended, stopped by a budget, a lease that ran out before the work began) neither
counts nor forgets; if it was the probe, the next claim takes another. Of a group that fails together only the first
counts: it was one attempt at one thing.

A breaker that is not enabled counts nothing; opened by hand, it goes its way as any other.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from dibs.errors import Invalid
from dibs.model.instants import seconds
from dibs.model.status import Outcome
from dibs.rules import validation

EVERY = "*"
"""The type that stands for all without settings of their own."""

MAX_THRESHOLD = 1_000
"""The most failures a breaker may wait for; so many instants are kept at most."""
MAX_WAIT_S = 30 * 86_400.0
"""The longest time a breaker may be told to wait or to remember."""

BY_HAND = "opened by hand"
PROBE_FAILED = "its probe failed"

_FAILURES = frozenset({Outcome.FAILED, Outcome.TIMED_OUT, Outcome.EXPIRED, Outcome.REJECTED})
_NOT_TO_BLAME = frozenset({"rate_limit", "budget_exceeded", "cancelled"})


class State(StrEnum):
    """Where a breaker is."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


_EVENTS = {State.CLOSED: "breaker.closed", State.OPEN: "breaker.opened", State.HALF_OPEN: "breaker.half_open"}


class Verdict(StrEnum):
    """What an attempt that ended says about its type."""

    SUCCESS = "success"
    FAILURE = "failure"
    HANDED_IN = "handed_in"
    NOTHING = "nothing"


class Override(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was set for a type, or for every type (`*`); None: what holds otherwise."""

    failure_threshold: int | None = None
    cooldown_s: float | None = None
    half_open_after_s: float | None = None
    enabled: bool | None = None


def override_of(
    type: str,
    *,
    failure_threshold: int | None = None,
    cooldown_s: Any = None,
    half_open_after_s: Any = None,
    enabled: bool = True,
) -> Override:
    """What is to be set for a breaker, checked: Invalid names the field."""
    validation.text(type, "type")
    if not isinstance(enabled, bool):
        raise Invalid(f"enabled must be True or False, not {enabled!r:.80}.", field="enabled")
    limit = failure_threshold
    return Override(
        failure_threshold=None if limit is None else validation.whole(limit, "failure_threshold", 1, MAX_THRESHOLD),
        cooldown_s=_wait_s(cooldown_s, "cooldown_s"),
        half_open_after_s=_wait_s(half_open_after_s, "half_open_after_s"),
        enabled=enabled,
    )


def _wait_s(value: Any, field: str) -> float | None:
    return None if value is None else validation.duration_s(value, field, low=0.001, high=MAX_WAIT_S)


class Settings(Struct, frozen=True, kw_only=True):
    """What holds for a type."""

    failure_threshold: int = 5
    cooldown_s: float = 300.0
    half_open_after_s: float = 60.0
    enabled: bool = False


DEFAULTS = Settings()


class Record(Struct, frozen=True, kw_only=True):
    """What a breaker remembers. Instants are micros; `failed_at` are the failures in a row that are not forgotten."""

    state: State = State.CLOSED
    failed_at: tuple[int, ...] = ()
    last_failure_at: int | None = None
    opened_at: int | None = None
    half_open_at: int | None = None
    due_at: int | None = None
    """Open: when it becomes half-open."""
    probe: tuple[str, int] | None = None
    """Half-open: the task and fence that decide; None: the next claim takes it."""
    reason: str | None = None

    @property
    def is_troubled(self) -> bool:
        """Whether a completed attempt could change it."""
        return self.state is not State.CLOSED or bool(self.failed_at)


HEALTHY = Record()


def settings_of(own: Override | None, every: Override | None) -> Settings:
    """What holds for a type: its own settings, else those of every type, else the defaults; field by field."""
    return Settings(
        failure_threshold=_first("failure_threshold", own, every),
        cooldown_s=_first("cooldown_s", own, every),
        half_open_after_s=_first("half_open_after_s", own, every),
        enabled=_first("enabled", own, every),
    )


def merged(before: Override | None, wanted: Override) -> Override:
    """What is set for a type once this is set too: what it leaves out stays."""
    given = {name: value for name, value in asdict(wanted).items() if value is not None}
    return wanted if before is None else replace(before, **given)


def verdict(outcome: str, reason: str | None, *, counts_attempt: bool, together: bool = False) -> Verdict:
    """What an attempt says about its type by the way it ended; `together`: with another, which says it for both."""
    if outcome == Outcome.COMPLETED:
        return Verdict.SUCCESS
    if outcome == Outcome.SUBMITTED:
        return Verdict.HANDED_IN
    if outcome in _FAILURES and counts_attempt and not together and reason not in _NOT_TO_BLAME:
        return Verdict.FAILURE
    return Verdict.NOTHING


def ended(record: Record, settings: Settings, said: Verdict, claim: tuple[str, int], now: int) -> Record:
    """The record after an attempt of the type ended; the very same one if that changes nothing."""
    if record.state is State.OPEN:
        return record
    if record.state is State.HALF_OPEN:
        if claim != record.probe:
            return record
        if said in (Verdict.SUCCESS, Verdict.HANDED_IN):
            return closed(record)
        if said is Verdict.FAILURE:
            return _open(_failed(record, settings, now), settings, now, PROBE_FAILED)
        return freed(record)
    if said is Verdict.SUCCESS and record.failed_at:
        return replace(record, failed_at=())
    if said is Verdict.FAILURE and settings.enabled:
        failed = _failed(record, settings, now)
        count = len(failed.failed_at)
        if count >= settings.failure_threshold:
            attempts = "attempt" if count == 1 else "attempts in a row"
            return _open(failed, settings, now, f"{count} failed {attempts}")
        return failed
    return record


def due(record: Record, now: int) -> Record:
    """The record as of now: an open breaker becomes half-open when its time has come."""
    if record.state is State.OPEN and record.due_at is not None and record.due_at <= now:
        return replace(record, state=State.HALF_OPEN, half_open_at=now, due_at=None, probe=None)
    return record


def probed(record: Record, claim: tuple[str, int]) -> Record:
    """This claim is the probe of a half-open breaker."""
    return replace(record, probe=claim)


def freed(record: Record) -> Record:
    """Its probe said nothing: the next claim takes another."""
    return replace(record, probe=None)


def opened(record: Record, settings: Settings, now: int, reason: str | None) -> Record:
    """Open from now on, whatever it was: somebody said so."""
    return _open(record, settings, now, reason or BY_HAND)


def closed(record: Record) -> Record:
    """Closed, its failures forgotten; when they were stays known."""
    if record.state is State.CLOSED and not record.failed_at:
        return record
    return replace(record, state=State.CLOSED, failed_at=(), due_at=None, probe=None, reason=None)


def retimed(record: Record, settings: Settings) -> Record:
    """The record under other settings: an open breaker becomes half-open when those say."""
    if record.state is State.OPEN and record.opened_at is not None:
        return replace(record, due_at=record.opened_at + seconds(settings.half_open_after_s))
    return record


def event_between(before: Record, after: Record) -> str | None:
    """The event that tells of the change; None if its state is the same."""
    return None if before.state is after.state else _EVENTS[after.state]


def event_data(type: str, record: Record) -> dict[str, Any]:
    """What the event of a change carries."""
    return {"type": type, "failures": len(record.failed_at)}


def _failed(record: Record, settings: Settings, now: int) -> Record:
    since = now - seconds(settings.cooldown_s)
    recent = [at for at in record.failed_at if at > since]
    return replace(record, failed_at=(*recent, now)[-MAX_THRESHOLD:], last_failure_at=now)


def _open(record: Record, settings: Settings, now: int, reason: str) -> Record:
    return replace(
        record,
        state=State.OPEN,
        opened_at=now,
        half_open_at=None,
        due_at=now + seconds(settings.half_open_after_s),
        probe=None,
        reason=reason,
    )


def _first(name: str, own: Override | None, every: Override | None) -> Any:
    for override in (own, every):
        wanted = None if override is None else getattr(override, name)
        if wanted is not None:
            return wanted
    return getattr(DEFAULTS, name)
