"""Who is told when something happens, and how telling them went."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class Hook(Struct, kw_only=True, omit_defaults=True):
    """One who is told of events: where, of which, and how far they were told.

    Kinds: `cloudevents` (a signed HTTP request with the event), `slack` (a message to a chat) and `email`. Statuses:
    `active`, `paused` (by somebody), `failing` (tried again at `next_at`; `error` says why) and `disabled` (nobody
    answered for so long that it was given up). Every event up to `seq` that it wants was delivered or, where the
    receiver refused it, given up. `secret` is there only when it was made; `old_secret_until`: until when requests are
    signed with the secret before it, too.
    """

    name: str
    id: str
    kind: str
    url: str
    events: tuple[str, ...]
    task: str | None = None
    dag: str | None = None
    agent: str | None = None
    source: str | None = None
    status: str = "active"
    seq: int = 0
    attempts: int = 0
    failing_since: datetime | None = None
    next_at: datetime | None = None
    error: str | None = None
    disabled_at: datetime | None = None
    old_secret_until: datetime | None = None
    created_at: datetime
    secret: str | None = None


class Delivery(Struct, kw_only=True, omit_defaults=True, gc=False):
    """One try to tell somebody. Outcomes: `delivered`, `failed` (it is tried again) and `refused` (the receiver does
    not want this one; it was given up). `id` is the same for every try of one event; `code` is the status that the
    receiver answered."""

    id: str
    seq: int
    type: str
    at: datetime
    attempt: int
    outcome: str
    code: int | None = None
    error: str | None = None
    took_s: float = 0.0


class HookSpec(Struct, kw_only=True, omit_defaults=True):
    """A hook as it is kept: what somebody set. `old_until` is in micros."""

    id: str
    kind: str
    url: str
    events: tuple[str, ...]
    task: str | None = None
    dag: str | None = None
    agent: str | None = None
    source: str | None = None
    paused: bool = False
    secret: str = ""
    old_secret: str = ""
    old_until: int = 0
    created_at: int = 0


class HookState(Struct, kw_only=True, omit_defaults=True):
    """How far a hook is, as it is kept; instants in micros.

    `attempts` were made in vain for the event after `seq`. `holder` delivers until `until`; nobody else does.
    `pings` were asked for, `pinged` were sent.
    """

    seq: int = 0
    attempts: int = 0
    failing_since: int | None = None
    next_at: int | None = None
    error: str | None = None
    disabled_at: int | None = None
    holder: str = ""
    until: int = 0
    pings: int = 0
    pinged: int = 0
