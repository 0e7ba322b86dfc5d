"""What is to be made again and again: a schedule, with where it stands."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct


class Schedule(Struct, kw_only=True):
    """A task or a dag that is made at certain times. One of `cron`, `every` (seconds) and `at` says when.

    A *tick* is an instant at which it is due, without its jitter. `next_at` is the next one, None if none is left.
    """

    name: str
    cron: str | None = None
    every: float | None = None
    at: datetime | None = None
    timezone: str = "UTC"
    task: dict[str, Any] | None = None
    dag: dict[str, Any] | None = None
    missed: str = "one"
    max_missed: int = 100
    overlap: str = "allow"
    jitter: float = 0.0
    paused: bool = False
    starts_at: datetime
    created_at: datetime
    next_at: datetime | None = None
    last_at: datetime | None = None
    last_id: str | None = None
    made: int = 0
    skipped: int = 0
    firing: tuple[datetime, ...] = ()
    """Ticks that were taken, and for which something is being made."""
    live: tuple[str, ...] = ()
    """What it made and had not ended when it was looked at last; only known where overlapping is not allowed."""
    error: str | None = None
    """Why the last tick made nothing."""
    version: int = 0


class Run(Struct, frozen=True):
    """A time to come: the tick, and when something is made for it (later by its jitter)."""

    tick: datetime
    due_at: datetime
    local: str
