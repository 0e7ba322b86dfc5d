"""What keeps ready tasks from being handed out, as people see it: pauses, circuit breakers and rate limits."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class Closure(Struct, kw_only=True):
    """One thing that is closed. `gate` names it: `type:code`, `lane:3`, `agent:coder-1`, `everything`, `breaker:code`,
    `provider:anthropic`, `limit:code`, `slots:code`, `rate:code`.

    `kind` is `pause`, `breaker`, `limit` (a provider, or whoever serves a type, turned somebody away), `slots` (as many
    tasks of a type run as may) or `rate` (as many were handed out as may be in a time). `until` None: until somebody
    opens it, or (a breaker) until its probe ends, or (slots) until a task does.
    """

    gate: str
    kind: str
    type: str | None = None
    lane: int | None = None
    agent: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    by: str | None = None
    reason: str | None = None
    help: str | None = None
    provider: str | None = None


class Breaker(Struct, kw_only=True):
    """The circuit breaker of a type, as of now, and the settings that hold for it.

    `state` is `closed` (work flows), `open` (nothing is handed out until `half_open_due_at`) or `half_open` (one task,
    the `probe`, is handed out to see). `failures` counts failed attempts in a row that are not forgotten yet. `own`:
    it has settings of its own. The type `*` stands for every type without.
    """

    type: str
    state: str = "closed"
    failures: int = 0
    last_failure_at: datetime | None = None
    opened_at: datetime | None = None
    half_open_at: datetime | None = None
    half_open_due_at: datetime | None = None
    probe: str | None = None
    reason: str | None = None
    enabled: bool = False
    failure_threshold: int = 5
    cooldown_s: float = 300.0
    half_open_after_s: float = 60.0
    own: bool = False
