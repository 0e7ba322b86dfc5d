"""Who is told of what, and what follows when telling them fails.

A hook wants events by their type — `task.completed`, `task.*` for a whole family, `*` for all — and, after a colon, by
their reason: `*:out_of_memory`. It is told of them in order, one at a time, at least once each.

A receiver that does not answer, or answers that it cannot (a server's error, a rate limit, a door that is shut to us),
is tried again with the *same* event, later and later: nothing is passed over, as long as events are kept. One that
answers that it does not want *this* event (400, 422 …) is offered it a few times more, then it is given up: it must not
keep back those after it. Who says that they are gone (410), or was not reached for days, is disabled until somebody
resumes the hook.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from dibs.errors import Invalid, NotFound
from dibs.model.instants import seconds
from dibs.rules import validation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.model.event import Event
    from dibs.model.hook import HookSpec, HookState

KINDS = ("cloudevents", "slack", "email")

TYPES: dict[str, tuple[str, ...]] = {
    "task": (
        "added",
        "ready",
        "scheduled",
        "claimed",
        "started",
        "progress",
        "released",
        "retrying",
        "validating",
        "waiting",
        "answered",
        "completed",
        "dead_lettered",
        "cancelled",
        "expired",
        "overdue",
        "reviewed",
        "escalated",
        "reassigned",
    ),
    "dag": ("started", "completed", "failed", "cancelled"),
    "gate": ("closed", "opened"),
    "breaker": ("opened", "half_open", "closed"),
    "agent": ("registered", "returned", "lost", "drained", "unregistered"),
    "budget": ("low", "exhausted"),
    "hook": ("disabled",),
}
"""The events there are, by family."""

ALARMS = (
    *("task.dead_lettered", "task.waiting", "breaker.opened", "budget.*", "hook.disabled"),
    *("*:budget_exceeded", "*:out_of_memory"),
)
"""What a chat or a mailbox is told of, unless somebody says otherwise: what needs a person."""

GAP = "gap"
"""Some events were forgotten before the reader came for them. Whoever reads is told, whatever they want."""

MAX_HOOKS = 100
"""In one project."""
MAX_PATTERNS = 50
MAX_URL_CHARS = 2_000

FIRST_DELAY_S = 5.0
MAX_DELAY_S = 1_800.0
MAX_RETRY_AFTER_S = 3_600.0
TRIES_OF_REFUSED = 5
"""How often a receiver is offered an event that it does not want."""
DEAD_AFTER_S = 5 * 86_400.0
"""A receiver that has not taken anything for so long is disabled."""

MAX_OVERLAP_S = 30 * 86_400.0
"""How long two secrets may be valid at once."""

# Answers of a receiver that has nothing against the event, only against us, the place, or the moment.
_NOT_NOW = frozenset({401, 402, 403, 404, 405, 407, 408, 409, 421, 423, 425, 429})
_GONE = 410


class Verdict(StrEnum):
    """What becomes of an event after a try."""

    DELIVERED = "delivered"
    AGAIN = "failed"
    REFUSED = "refused"
    GONE = "gone"


# What a hook wants


def patterns(events: Any, kind: str) -> tuple[str, ...]:
    """Types of events as people name them, checked; of a kind's own choice if they name none."""
    if events is None or events == ():
        return ("*",) if kind == "cloudevents" else ALARMS
    wanted = validation.names([events] if isinstance(events, str) else events, "events", ordered=True)
    if len(wanted) > MAX_PATTERNS:
        raise Invalid(f"events has {len(wanted)} entries; at most {MAX_PATTERNS} are allowed.", field="events")
    for pattern in wanted:
        _check_pattern(pattern)
    return wanted


def wants(patterns: Iterable[str], event: Event) -> bool:
    """Whether one of the patterns is for this event."""
    for pattern in patterns:
        type, _, reason = pattern.partition(":")
        if reason and reason != event.reason:
            continue
        if type in ("*", event.type) or (type.endswith(".*") and event.type.startswith(type[:-1])):
            return True
    return event.type == GAP


def is_for(
    event: Event, patterns: Iterable[str], *, task: str | None = None, dag: str | None = None, agent: str | None = None
) -> bool:
    """Whether somebody who wants these types, of this task, dag or agent alone, is told of the event."""
    if event.type == GAP:
        return True
    if (task not in (None, event.task_id)) or (dag not in (None, event.dag_id)) or (agent not in (None, event.agent)):
        return False
    return wants(patterns, event)


def check_kind(kind: Any) -> str:
    """A kind of hook that there is."""
    if kind not in KINDS:
        raise Invalid(f"kind must be one of {', '.join(KINDS)}, not {kind!r:.80}.", field="kind")
    return str(kind)


def check_url(url: Any, kind: str) -> str:
    """Where a hook of this kind sends to: a web address, or `mailto:` somebody. Whether the server may send there is
    decided when it does."""
    written = validation.text(url, "url", max_chars=MAX_URL_CHARS)
    if not written.isascii() or not written.isprintable() or " " in written:
        raise Invalid("url must not contain blanks or characters that a URL has to escape.", field="url")
    return _check_mail(written) if kind == "email" else _check_web(written)


def _check_mail(written: str) -> str:
    scheme, _, address = written.partition(":")
    if not address:
        scheme, address = "mailto", scheme
    name, _, host = address.rpartition("@")
    plain = all(char.isalnum() or char in "@.!#$%&'*+-/=?^_`{|}~" for char in address)
    if scheme.lower() != "mailto" or not name or "." not in host.strip(".") or "@" in name or not plain:
        raise Invalid("url of an email hook must be like mailto:oncall@example.com.", field="url")
    return f"mailto:{address}"


def _check_web(written: str) -> str:
    if written.startswith("mailto:"):
        raise Invalid("url is an address for mail: say that this is the `kind` email.", field="url")
    try:
        parts = urlsplit(written)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise Invalid("url must be a web address such as https://example.com/dibs.", field="url") from None
    if parts.scheme not in ("https", "http") or not host or port == 0:
        raise Invalid("url must be a web address such as https://example.com/dibs.", field="url")
    if parts.username is not None or parts.password is not None:
        raise Invalid("url must not contain a user or password: requests are signed instead.", field="url")
    if parts.fragment or "\\" in written:
        raise Invalid("url must not contain # or \\.", field="url")
    return written


def _check_pattern(pattern: str) -> None:
    type, colon, reason = pattern.partition(":")
    if colon and not reason:
        raise Invalid(f"events: a reason is missing after the colon of {pattern!r:.80}.", field="events")
    family, _, name = type.partition(".")
    if type == "*" or (family in TYPES and name == "*"):
        return
    if family not in TYPES:
        known = ", ".join(f"{family}.*" for family in TYPES)
        raise Invalid(f"events must be of {known}, or *; there is no {pattern!r:.80}.", field="events")
    if name not in TYPES[family]:
        known = ", ".join(f"{family}.{name}" for name in TYPES[family])
        raise Invalid(f"events: there is no {pattern!r:.80}, but {known}.", field="events")


# How telling them goes on


def message_id(hook_id: str, event: Event) -> str:
    """What the receiver knows a message by: the same for every try."""
    told = f"gap_{event.seq}" if event.type == GAP else str(event.seq)
    return f"msg_{hook_id.removeprefix('hook_')}_{told}"


def ping_id(hook_id: str, number: int) -> str:
    """The id of a test message."""
    return f"msg_{hook_id.removeprefix('hook_')}_ping_{number}"


def verdict(code: int | None, attempts: int) -> Verdict:
    """What becomes of an event that was answered with this status (None: not at all), the `attempts`-th time."""
    if code is None:
        return Verdict.AGAIN
    if 200 <= code < 300:
        return Verdict.DELIVERED
    if code == _GONE:
        return Verdict.GONE
    if 400 <= code < 500 and code not in _NOT_NOW and attempts >= TRIES_OF_REFUSED:
        return Verdict.REFUSED
    return Verdict.AGAIN


def delay_s(attempts: int, draw: float, retry_after: float | None = None) -> float:
    """How long after the `attempts`-th try in vain the next one is made: twice as long each time, up to half an hour,
    less up to a half of it by chance; not before the receiver wants it, up to an hour. `draw` is from [0, 1)."""
    longest = min(FIRST_DELAY_S * 2.0 ** min(attempts - 1, 20), MAX_DELAY_S)
    return max(longest * (1 - draw / 2), min(retry_after or 0.0, MAX_RETRY_AFTER_S))


def moved_on(state: HookState, seq: int) -> HookState:
    """The event of this number was settled: delivered, refused, or not wanted."""
    return replace(state, seq=max(seq, state.seq), attempts=0, failing_since=None, next_at=None, error=None)


def refused(state: HookState, seq: int) -> HookState:
    """The receiver does not want the event of this number. It answers; but it has not taken anything."""
    return replace(state, seq=seq, attempts=0, next_at=None)


def failed(state: HookState, now: int, error: str, wait_s: float) -> HookState:
    """A try was in vain. If it is so for days, the hook is disabled."""
    since = now if state.failing_since is None else state.failing_since
    state = replace(state, attempts=state.attempts + 1, failing_since=since, next_at=now + seconds(wait_s), error=error)
    return disabled(state, now, error) if now - since >= seconds(DEAD_AFTER_S) else state


def disabled(state: HookState, now: int, error: str) -> HookState:
    """Nothing more is sent, until somebody resumes the hook."""
    since = now if state.failing_since is None else state.failing_since
    return replace(state, disabled_at=now, next_at=None, error=error, failing_since=since)


def resumed(state: HookState) -> HookState:
    """It goes on where it was, at once."""
    return replace(moved_on(state, state.seq), disabled_at=None, holder="", until=0)


def status_of(spec: HookSpec, state: HookState) -> str:
    """Paused by somebody, disabled, failing, or active."""
    if spec.paused:
        return "paused"
    if state.disabled_at is not None:
        return "disabled"
    return "active" if state.failing_since is None else "failing"


def valid_secrets(spec: HookSpec, now: int) -> tuple[str, ...]:
    """What a request is signed with: the secret, and the one before it for a while."""
    return (spec.secret, spec.old_secret) if spec.old_secret and now < spec.old_until else (spec.secret,)


def no_hook(name: str) -> NotFound:
    return NotFound(f"There is no hook {name!r}. `dibs hook ls` shows the ones there are.", field="name")
