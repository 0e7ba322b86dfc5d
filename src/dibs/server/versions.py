"""`ETag` and `If-Match`: whoever changes a setting may say which version of it they have seen.

A version is that of what people set, not of what the queue counts meanwhile: a budget of which something was spent is
still the budget that somebody read. Without `If-Match` the last one wins, as in the shell. The look and the change are
one step for all callers of this process; two servers on one store could still both let in a change of the same moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from litestar.response.base import ASGIResponse
from msgspec.json import Encoder

from dibs.errors import Conflict, NotFound

if TYPE_CHECKING:
    from dibs.server.desk import Asking

_SET: dict[str, tuple[str, ...]] = {
    "Budget": ("scope", "unit", "limit", "default_reserve", "window", "timezone"),
    "Breaker": ("type", "enabled", "failure_threshold", "cooldown_s", "half_open_after_s", "own"),
    "Hook": ("name", "id", "kind", "url", "events", "task", "dag", "agent", "source"),
    "TypeRate": ("type", "amount", "per_s", "burst"),
    "Schedule": (
        *("name", "cron", "every", "at", "timezone", "task", "dag", "missed", "max_missed", "overlap", "jitter"),
        *("paused", "created_at"),
    ),
    "Task": ("id", "priority", "assignee"),
    "Trigger": (
        *("name", "on", "task", "dag", "where", "rate", "max_depth", "paused", "scheme", "events", "type"),
        *("failure_rate", "cost", "window", "least", "cool_down", "paths", "created_at"),
    ),
}
"""What people set of each."""
_encode = Encoder().encode
_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

Look = Callable[["Asking", dict[str, Any]], Awaitable[Any]]
"""Finds the thing that is about to be changed as it is now; NotFound if it is not there."""


def etag(thing: Any) -> str:
    """The version of something that people set."""
    settings = [getattr(thing, name) for name in _SET[type(thing).__name__]]
    return f'"{blake2b(_encode(settings), digest_size=9).hexdigest()}"'


def shown(thing: Any, status: int = 200) -> ASGIResponse:
    """A thing, with its version."""
    from dibs.server.handling import encode

    return ASGIResponse(
        body=encode(thing), status_code=status, headers={"etag": etag(thing), "cache-control": "no-store"}
    )


def looked_at(look: Look) -> Callable[..., Coroutine[Any, Any, ASGIResponse]]:
    """Serves one such thing."""

    async def serve(asking: Asking, **given: Any) -> ASGIResponse:
        return shown(await look(asking, given))

    return serve


def edited(look: Look) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Serves a change of such a thing, if it is still what the caller has seen."""

    async def serve(asking: Asking, **given: Any) -> Any:
        wanted, unless = asking.header(b"if-match"), asking.header(b"if-none-match")
        change = getattr(asking.queue, asking.verb.name)
        if wanted is None and unless is None:
            changed = await change(**given)
        else:
            lock = _locks.setdefault(asking.path, asyncio.Lock())
            async with lock:
                await _check(asking, look, given, wanted, unless)
                changed = await change(**given)
        return changed if changed is None else shown(changed)

    return serve


async def _check(asking: Asking, look: Look, given: dict[str, Any], wanted: str | None, unless: str | None) -> None:
    try:
        now: str | None = etag(await look(asking, given))
    except NotFound:
        now = None
    if wanted is not None and now not in _named(wanted) and not (wanted.strip() == "*" and now is not None):
        what = "It was changed since you looked" if now is not None else "It is not there any more"
        raise Conflict(f"{what}; look again, then decide.", code="changed_meanwhile", field="If-Match")
    if unless is not None and now is not None and (unless.strip() == "*" or now in _named(unless)):
        raise Conflict("It is there already; look at it, then decide.", code="changed_meanwhile", field="If-None-Match")


def _named(header: str) -> set[str]:
    return {each.strip() for each in header.split(",")}
