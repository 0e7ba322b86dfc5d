"""What is made when something happens: a trigger, with where it stands."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct, field


class Trigger(Struct, kw_only=True):
    """A task or a dag that is made when something happens. `on` says what: `webhook`, `event`, `friction` or `files`;
    the parts of the others are None or empty."""

    name: str
    on: str
    task: dict[str, Any] | None = None
    dag: dict[str, Any] | None = None
    where: dict[str, Any] = field(default_factory=dict)
    """Paths into what happened, with the values that they must have."""
    rate: str = "60/min"
    max_depth: int = 3
    paused: bool = False

    scheme: str | None = None
    secrets: tuple[str, ...] = ()
    """Shown once, to whoever added it."""
    events: tuple[str, ...] = ()
    type: str | None = None
    failure_rate: float | None = None
    cost: float | None = None
    window: float | None = None
    least: int | None = None
    cool_down: float | None = None
    paths: tuple[str, ...] = ()

    created_at: datetime
    made: int = 0
    dropped: int = 0
    """What it would have been made for, had there not been too much of it, or a loop."""
    last_at: datetime | None = None
    last_id: str | None = None
    error: str | None = None
    """Why the last one made nothing."""
    after_seq: int = 0
    full_at: int = 0
    recent: tuple[str, ...] = ()
    """What it went off for last; counted, whether it was made by now or not."""
    cools_until: datetime | None = None
    version: int = 0


class Receipt(Struct, kw_only=True, omit_defaults=True):
    """What became of something that happened. `id`: the task or dag that was made for it, now or (`existing`) before;
    none if it does not fit, or was dropped (`reason`). `challenge` is what the sender wants to hear."""

    trigger: str
    event: str
    id: str | None = None
    existing: bool = False
    reason: str | None = None
    challenge: str | None = None


class Preview(Struct, kw_only=True):
    """What a trigger would make for an event: whether it fits, and the template filled in."""

    trigger: str
    fits: bool
    task: dict[str, Any] | None = None
    dag: dict[str, Any] | None = None
