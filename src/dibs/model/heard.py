"""What a parent hears of a child that has ended."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Heard(Struct, kw_only=True, gc=False):
    """The end of a task that was spawned: `status` is `completed`, `dead_lettered` or `cancelled`."""

    task_id: str
    type: str
    status: str
    ref: str | None = None
    title: str | None = None
    output: Any = None
    error: str | None = None
    reason: str | None = None
