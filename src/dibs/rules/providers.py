"""The gate of a provider: after somebody was turned away by a rate limit, nobody is sent there for a while.

A limit tells of whoever serves the model, not of the task that met it. So it closes a gate, and every lane behind that
gate waits with all its tasks ready, while other lanes go on. Whose gate: the `provider` that the task names; else the
provider of the model that was chosen for the attempt, as far as its name tells; else that of the task's type.

    open --- an attempt is turned away -------> closed, for as long as was said; else 60 s, twice as long each time,
                                                at most an hour, and up to a tenth more at random
    closed - its time is over ----------------> open, and the limits so far are remembered
    open --- an attempt completes ------------> open, and they are forgotten, as they are after an hour
    closed - somebody resumes it -------------> open, and they are forgotten

While it is closed, attempts that were under way go on. What they say is not new — a storm of limits is one limit — but
for a limit that says to wait longer: then it stays closed for so long.

A task that may use several models waits only while all that an agent offers of them are closed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dibs.model.closures import Closure
from dibs.model.instants import from_micros, seconds
from dibs.rules.retry import MAX_RATE_LIMIT_DELAY_S, limit_wait_s

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from dibs.model.attempt import Limited

REASON = "rate_limit"
"""Why such a gate closes."""

FORGOTTEN_S = MAX_RATE_LIMIT_DELAY_S
"""So long after it opened, a gate is as if nothing had happened."""

LONGER_S = 1.0
"""A limit makes a closed gate wait longer if it says so by more than this: those of a storm differ by moments."""

BY_PREFIX = (
    ("claude", "anthropic"),
    ("gpt-", "openai"),
    ("chatgpt-", "openai"),
    ("codex-", "openai"),
    ("text-embedding-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("gemini-", "google"),
    ("mistral-", "mistral"),
    ("ministral-", "mistral"),
    ("magistral-", "mistral"),
    ("codestral-", "mistral"),
    ("devstral-", "mistral"),
    ("command-", "cohere"),
    ("deepseek-", "deepseek"),
    ("grok-", "xai"),
)
"""Who serves models whose names begin so. Models that anybody may serve are not here."""

_NAMED = frozenset(name for _, name in BY_PREFIX)


class Backoff(Struct, frozen=True, kw_only=True):
    """What is remembered of a gate. Instants are micros.

    `limits`: how often it was closed without a success in between; `since` and `until`: the last time. `shut`: that it
    opened is not noted yet.
    """

    limits: int
    since: int
    until: int
    shut: bool = True


def provider_of(model: str) -> str | None:
    """Who serves a model, as its name tells: `NAME/model`, `NAME:model` of one we know, or a known beginning."""
    name, slash, _ = model.partition("/")
    if slash and name:
        return name
    name, colon, _ = model.partition(":")
    if colon and name in _NAMED:
        return name
    return next((provider for prefix, provider in BY_PREFIX if model.startswith(prefix)), None)


def gate_of(provider: str | None, model: str | None, type: str) -> str:
    """The gate of an attempt: `provider:anthropic`, or `limit:code` where nobody knows who serves the type."""
    if provider is None and model is not None:
        provider = provider_of(model)
    return f"limit:{type}" if provider is None else f"provider:{provider}"


def opens_at(
    closed: Mapping[str, int],
    *,
    provider: str | None,
    models: Sequence[str],
    type: str,
    offered: Collection[str] = (),
) -> int | None:
    """When a lane opens to an agent that offers these models (none: it takes any); None: it is open."""
    usable = [model for model in models if not offered or model in offered]
    untils = [closed.get(gate_of(provider, model, type)) for model in usable or (None,)]
    known = [until for until in untils if until is not None]
    return min(known) if len(known) == len(untils) else None


def open_models(
    closed: Mapping[str, int], *, provider: str | None, models: tuple[str, ...], type: str
) -> tuple[str, ...]:
    """Those of a lane's models that may be chosen now."""
    if not closed or provider is not None:
        return models
    return tuple(model for model in models if gate_of(None, model, type) not in closed)


def slow_down_s(until: int | None, now: int) -> float | None:
    """What agents are told while a gate is closed until then: half of the time that is left; None: nothing."""
    return None if until is None or until <= now else (until - now) / 2_000_000


def turned_away(before: Backoff | None, said: Limited, now: int) -> Backoff:
    """The gate after a limit; the very same record if that changes nothing."""
    if before is not None and before.until > now:
        until = before.until if said.wait_s is None else now + seconds(limit_wait_s(said.wait_s, 1, 0.0))
        if until <= before.until + seconds(LONGER_S):
            return before
        return Backoff(limits=before.limits, since=before.since, until=until)
    limits = 1 if before is None or is_forgotten(before, now) else before.limits + 1
    return Backoff(limits=limits, since=now, until=now + seconds(limit_wait_s(said.wait_s, limits, said.draw)))


def succeeded(before: Backoff, now: int) -> Backoff | None:
    """The gate after an attempt behind it completed; None: there is nothing to remember."""
    return before if before.until > now else None


def is_forgotten(record: Backoff, now: int) -> bool:
    """Whether it has been open for so long that its limits no longer count."""
    return record.until + seconds(FORGOTTEN_S) <= now


def event_data(gate: str, record: Backoff | None) -> dict[str, Any]:
    """What the event of a gate carries: of one that closed, also until when, and how often in a row."""
    if record is None:
        return {"gate": gate}
    return {"gate": gate, "until": from_micros(record.until).isoformat(), "limits": record.limits}


def told(gate: str, record: Backoff) -> Closure:
    """A closed gate as people see it."""
    kind, _, name = gate.partition(":")
    times = "" if record.limits == 1 else f", {record.limits} times in a row"
    return Closure(
        gate=gate,
        kind="limit",
        type=name if kind == "limit" else None,
        provider=name if kind == "provider" else None,
        since=from_micros(record.since),
        until=from_micros(record.until),
        reason=f"rate limit{times}",
        help=f"dibs resume --{kind} {name}, or wait: it opens by itself",
    )
