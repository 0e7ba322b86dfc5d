"""Handlers of groups that run in threads and child processes."""

from __future__ import annotations

from typing import Any


def settles_the_first(ctx: Any, value: int) -> str:
    """Settle the first member by itself, and the rest by returning."""
    settled = ctx.complete(ctx.group[0], "completed by itself")
    assert settled.status == "completed"
    return "the rest"
